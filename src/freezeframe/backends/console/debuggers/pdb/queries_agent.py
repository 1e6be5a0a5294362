"""The `ff_` commands, which Freezeframe sends: JSON in, JSON out.

The rules of `agent.py` apply; loaded as the module `_freezeframe_answers`.
"""

from __future__ import annotations

import inspect
import json
import sys
import threading
import types
from typing import Any

_looking: Any = sys.modules["_freezeframe_looking"]
_objects: Any = sys.modules["_freezeframe_objects"]
_text: Any = sys.modules["_freezeframe_text"]
_pages: Any = sys.modules["_freezeframe_pages"]
_assigning: Any = sys.modules["_freezeframe_assigning"]
_tasks: Any = sys.modules["_freezeframe_tasks"]

_MAX_CHILDREN = 2_000
#: characters of a variable's text, and of an evaluated expression's
_SHORT, _LONG = 1_000, 60_000
_DEFINITIONS = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)


def echo(debugger: Any, arg: str) -> str:
    return arg


def filters(debugger: Any, arg: str) -> str:
    debugger.filters = json.loads(arg)
    return ""


# --- breakpoints --------------------------------------------------------------------------------


def break_(debugger: Any, arg: str) -> str:
    location = json.loads(arg)
    condition = location.get("condition")
    if condition:
        compile(condition, "<condition>", "eval")
    function = location.get("function")
    if function is not None:
        debugger.last_function += 1
        number = debugger.functions[function] = f"f{debugger.last_function}"
        debugger.matching_functions = {}
        return json.dumps({"number": number})
    path = debugger.canonic(location["path"])
    line, why = _looking.executable(path, location["line"])
    if line is not None:
        why = debugger.set_break(path, line, False, condition)
    if why:
        return f"*** {why}"
    number = str(debugger.get_breaks(path, line)[-1].number)
    answer = {"number": number, "path": location["path"], "line": line}
    return json.dumps({**answer, "edited": _looking.is_edited(path)})


def unbreak(debugger: Any, arg: str) -> str:
    if arg.startswith("f"):
        debugger.functions = {name: n for name, n in debugger.functions.items() if n != arg}
        debugger.matching_functions = {}
    else:
        debugger.clear_bpbynumber(arg)
    return ""


# --- threads and frames -------------------------------------------------------------------------


def threads(debugger: Any, arg: str) -> str:
    here = threading.get_ident()
    found = [
        {"id": each.native_id, "name": each.name, "state": "stopped" if each.ident == here else ""}
        for each in threading.enumerate()
        if each.native_id is not None
    ]
    return json.dumps(found)


def tasks(debugger: Any, arg: str) -> str:
    def is_other(path: str) -> bool:
        return path in _looking.AGENT_FILES or _looking.is_library(path)

    return json.dumps(_tasks.listing(is_other))


def _stack(debugger: Any, thread: int) -> list[tuple[Any, int, str | None]]:
    """Return the frames of a thread, their lines, and the task of those not on the stack.

    These belong to coroutines that await the task of the stack.
    """
    if thread == threading.get_native_id():
        found = debugger.frames
    else:
        known = {each.native_id: each.ident or 0 for each in threading.enumerate()}
        frame = sys._current_frames().get(known.get(thread, 0))
        found = _looking.stack_of(_looking.program_frame(frame))
    task = _tasks.task_of([frame for frame, _ in found])
    awaiting = _tasks.awaiting(task) if task is not None else []
    suspended = [(frame, frame.f_lineno, name) for name, frames in awaiting for frame in frames]
    return [*((frame, line, None) for frame, line in found), *suspended]


def frames(debugger: Any, arg: str) -> str:
    thread, start, count = json.loads(arg)
    stack = _stack(debugger, thread)
    task = _tasks.task_of([frame for frame, _, by in stack if by is None])
    running = _tasks.name_of(task) if task is not None else None
    found = [
        {
            "function": frame.f_code.co_qualname,
            "path": _looking.path_of(frame),
            "line": line,
            "module": frame.f_globals.get("__name__"),
            "library": _looking.is_library(frame.f_code.co_filename),
            "task": by or (running if frame is stack[0][0] else None),
            "suspended": by is not None,
        }
        for frame, line, by in stack[start : start + count]
    ]
    return json.dumps(found)


def _frame(debugger: Any, thread: int, level: int) -> Any:
    stack = _stack(debugger, thread)
    if level >= len(stack):
        raise LookupError("there is no such frame")
    return stack[level][0]


def jump(debugger: Any, arg: str) -> str:
    path, line = json.loads(arg)
    frame = debugger.frames[0][0]
    if debugger.canonic(frame.f_code.co_filename) != debugger.canonic(path):
        return "*** the line is in another file"
    try:
        frame.f_lineno = line
    except ValueError as error:
        return f"*** {error}"
    debugger.frames = _looking.stack_of(frame)
    debugger.setup(frame, None)
    debugger.shown_values.clear()
    return ""


def exception(debugger: Any, arg: str) -> str:
    if debugger.thrown is None:
        return "null"
    return json.dumps(_looking.exception_fields(*debugger.thrown))


# --- values -------------------------------------------------------------------------------------


def scope(debugger: Any, arg: str) -> str:
    thread, level, kind = json.loads(arg)
    frame = _frame(debugger, thread, level)
    variables = dict(frame.f_globals if kind == "globals" else frame.f_locals)
    arguments = [] if kind == "globals" else _looking.arguments(frame.f_code)
    variables = {**{name: variables[name] for name in arguments if name in variables}, **variables}
    values = []
    for name, value in variables.items():
        # A name with `@` is part of an assertion that pytest has rewritten.
        if (name.startswith("__") and name.endswith("__")) or name == ".0" or name[:1] == "@":
            continue
        if name == "__pdb_convenience_variables":
            continue
        debugger.shown_values[thread, level, name] = value
        values.append(describe_value(debugger, name, value, name))
    return json.dumps({"values": values, "arguments": arguments})


def children(debugger: Any, arg: str) -> str:
    thread, level, expression, start, count = json.loads(arg)
    value = _value(debugger, thread, level, expression)
    end = start + min(_MAX_CHILDREN if count is None else count, _MAX_CHILDREN)
    values = []
    if type(value) is _pages.Page:
        expression = value.expression
        with debugger.running_code():
            found = _pages.turned(value)
    else:
        found = _text.children(value, start, end)
    for name, each, path in found or []:
        whole = f"{expression}{path}" if path else f"{expression} … {name}"
        debugger.shown_values[thread, level, whole] = each
        one = describe_value(debugger, name, each, whole)
        values.append(one if path else {**one, "expression": None, "ref": 0})
    return json.dumps({"values": values})


def _value(debugger: Any, thread: int, level: int, expression: str) -> Any:
    """Return the value shown for an expression at this stop, not its value by now."""
    key = (thread, level, expression)
    if key not in debugger.shown_values:
        frame = _frame(debugger, thread, level)
        with debugger.running_code():
            debugger.shown_values[key] = _evaluated(expression, frame, frame.f_locals)
    return debugger.shown_values[key]


def evaluate(debugger: Any, arg: str) -> str:
    thread, level, expression, how = json.loads(arg)
    frame = _frame(debugger, thread, level)
    if how == "run":
        debugger.shown_values.clear()
    variables = frame.f_locals
    if how == "run" and not _looking.is_expression(expression):
        _assigning.check(expression, frame)
        with debugger.running_code():
            _evaluated(_assigning.declared(expression, frame), frame, variables, "exec")
            _looking.write_back(frame)
        return json.dumps({"name": expression, "text": ""})
    with debugger.running_code():
        value = _evaluated(expression.strip(), frame, variables)
        if how == "truth":
            return json.dumps(bool(value))
        if how == "text":
            return json.dumps(str(value))
    if how == "run":
        _looking.write_back(frame)
    debugger.shown_values[thread, level, expression] = value
    return json.dumps(
        describe_value(debugger, expression, value, expression, _LONG, may_run_code=True)
    )


def _evaluated(text: str, frame: Any, variables: Any, mode: str = "eval") -> Any:
    """Return the value of code, which may await."""
    code = compile(text, "<dbg>", mode, flags=_looking.AWAITS)
    value = eval(code, frame.f_globals, variables)
    return _awaited(value) if code.co_flags & inspect.CO_COROUTINE else value


def _awaited(coroutine: Any) -> Any:
    """Run a coroutine on an event loop of its own: the program's tasks do not run meanwhile."""
    import asyncio

    events: Any = asyncio.events
    running = events._get_running_loop()
    loop = asyncio.new_event_loop()
    events._set_running_loop(None)
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()
        events._set_running_loop(running)


def describe_value(
    debugger: Any,
    name: str,
    value: Any,
    expression: str | None,
    limit: int = _SHORT,
    *,
    may_run_code: bool = False,
) -> dict[str, Any]:
    """Return the fields of a value.

    Runs no code of the program but, with *may_run_code*, a `__repr__`: for an expression that the
    user evaluates.
    """
    failed, page = False, None
    if type(value) is _pages.Page:
        page, value = value, value.value
    kind = type(value)
    try:
        with debugger.running_code():
            shown = value if page is None else page.shown()
            text = _text.text_of(shown, limit, may_run_code=may_run_code)
            count = _text.count(value) if page is None else _pages.length(value)
    except _text.Failed as why:
        text, count, failed = str(why), None, True
    definition = issubclass(kind, _DEFINITIONS)
    return {
        "name": name,
        "text": text,
        "type": _objects.name_of(kind),
        "expression": expression,
        "count": count,
        "ref": int(bool(_text.children(value, 0, 1)) if page is None else not page.is_text()),
        "failed": failed,
        "definition": definition and _objects.named(value).rpartition(".")[2] == name,
    }


COMMANDS = {
    "ff_mark": echo,
    "ff_filters": filters,
    "ff_break": break_,
    "ff_unbreak": unbreak,
    "ff_threads": threads,
    "ff_tasks": tasks,
    "ff_frames": frames,
    "ff_jump": jump,
    "ff_exception": exception,
    "ff_scope": scope,
    "ff_children": children,
    "ff_eval": evaluate,
}
