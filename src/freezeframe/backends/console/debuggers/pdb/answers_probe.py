"""What is asked at the prompt by a program, not by a person: JSON in, JSON out.

Under the rules of `main_probe.py`; it becomes the module `_freezeframe_answers`.
"""

from __future__ import annotations

import json
import sys
import threading
import types
from typing import Any

_looking: Any = sys.modules["_freezeframe_looking"]
_objects: Any = sys.modules["_freezeframe_objects"]
_text: Any = sys.modules["_freezeframe_text"]
_assigning: Any = sys.modules["_freezeframe_assigning"]

_MAX_CHILDREN = 2_000
#: characters of a variable's text, and of an evaluated expression's
_SHORT, _LONG = 1_000, 60_000
_DEFINITIONS = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)


def mark(debugger: Any, arg: str) -> str:
    return arg


def filters(debugger: Any, arg: str) -> str:
    debugger.filters = json.loads(arg)
    return ""


# --- breakpoints --------------------------------------------------------------------------------


def break_(debugger: Any, arg: str) -> str:
    place = json.loads(arg)
    condition = place.get("condition")
    if condition:
        compile(condition, "<condition>", "eval")
    function = place.get("function")
    if function is not None:
        debugger.last_function += 1
        number = debugger.functions[function] = f"f{debugger.last_function}"
        debugger.meant = {}
        return json.dumps({"number": number})
    path = debugger.canonic(place["path"])
    line, why = _looking.executable(path, place["line"])
    if line is not None:
        why = debugger.set_break(path, line, False, condition)
    if why:
        return f"*** {why}"
    number = str(debugger.get_breaks(path, line)[-1].number)
    told = {"number": number, "path": place["path"], "line": line}
    return json.dumps({**told, "edited": _looking.is_edited(path)})


def unbreak(debugger: Any, arg: str) -> str:
    if arg.startswith("f"):
        debugger.functions = {name: n for name, n in debugger.functions.items() if n != arg}
        debugger.meant = {}
    else:
        debugger.clear_bpbynumber(arg)
    return ""


# --- where it stands ----------------------------------------------------------------------------


def threads(debugger: Any, arg: str) -> str:
    here = threading.get_ident()
    told = [
        {"id": each.native_id, "name": each.name, "state": "stopped" if each.ident == here else ""}
        for each in threading.enumerate()
        if each.native_id is not None
    ]
    return json.dumps(told)


def _stack(debugger: Any, thread: int) -> Any:
    if thread == threading.get_native_id():
        return debugger.frames
    known = {each.native_id: each.ident or 0 for each in threading.enumerate()}
    return _looking.stack_of(_looking.own(sys._current_frames().get(known.get(thread, 0))))


def frames(debugger: Any, arg: str) -> str:
    thread, start, count = json.loads(arg)
    told = [
        {
            "function": frame.f_code.co_qualname,
            "path": _looking.path_of(frame),
            "line": line,
            "module": frame.f_globals.get("__name__"),
            "library": _looking.is_library(frame.f_code.co_filename),
        }
        for frame, line in _stack(debugger, thread)[start : start + count]
    ]
    return json.dumps(told)


def _frame(debugger: Any, thread: int, level: int) -> Any:
    stack = _stack(debugger, thread)
    if level >= len(stack):
        raise LookupError("there is no such frame")
    return stack[level][0]


def jump(debugger: Any, arg: str) -> str:
    path, line = json.loads(arg)
    frame = debugger.frames[0][0]
    if debugger.canonic(frame.f_code.co_filename) != debugger.canonic(path):
        return "*** it lies in another file"
    try:
        frame.f_lineno = line
    except ValueError as error:
        return f"*** {error}"
    debugger.frames = _looking.stack_of(frame)
    debugger.setup(frame, None)
    debugger.kept.clear()
    return ""


def exception(debugger: Any, arg: str) -> str:
    if debugger.thrown is None:
        return "null"
    return json.dumps(_looking.explained(*debugger.thrown))


# --- values -------------------------------------------------------------------------------------


def scope(debugger: Any, arg: str) -> str:
    thread, level, kind = json.loads(arg)
    frame = _frame(debugger, thread, level)
    named = dict(frame.f_globals if kind == "globals" else frame.f_locals)
    given = [] if kind == "globals" else _looking.arguments(frame.f_code)
    named = {**{name: named[name] for name in given if name in named}, **named}
    told = []
    for name, value in named.items():
        if (name.startswith("__") and name.endswith("__")) or name == ".0":
            continue
        debugger.kept[thread, level, name] = value
        told.append(described(debugger, name, value, name))
    return json.dumps({"values": told, "arguments": given})


def children(debugger: Any, arg: str) -> str:
    thread, level, expression, start, count = json.loads(arg)
    value = _value(debugger, thread, level, expression)
    end = start + min(_MAX_CHILDREN if count is None else count, _MAX_CHILDREN)
    told = []
    for name, each, path in _text.children(value, start, end) or []:
        whole = f"{expression}{path}" if path else f"{expression} … {name}"
        debugger.kept[thread, level, whole] = each
        one = described(debugger, name, each, whole)
        told.append(one if path else {**one, "expression": None, "ref": 0})
    return json.dumps({"values": told})


def _value(debugger: Any, thread: int, level: int, expression: str) -> Any:
    """Return what was shown under an expression at this stop, not what it would be by now."""
    key = (thread, level, expression)
    if key not in debugger.kept:
        frame = _frame(debugger, thread, level)
        with debugger.running_code():
            debugger.kept[key] = eval(expression, frame.f_globals, frame.f_locals)
    return debugger.kept[key]


def evaluate(debugger: Any, arg: str) -> str:
    thread, level, expression, how = json.loads(arg)
    frame = _frame(debugger, thread, level)
    if how == "run":
        debugger.kept.clear()
    variables = frame.f_locals
    if how == "run" and not _looking.is_expression(expression):
        _assigning.check(expression, frame)
        code = compile(_assigning.declared(expression, frame), "<dbg>", "exec")
        with debugger.running_code():
            exec(code, frame.f_globals, variables)
            _looking.write_back(frame)
        return json.dumps({"name": expression, "text": ""})
    with debugger.running_code():
        value = eval(expression.strip(), frame.f_globals, variables)
        if how == "truth":
            return json.dumps(bool(value))
        if how == "text":
            return json.dumps(str(value))
    if how == "run":
        _looking.write_back(frame)
    debugger.kept[thread, level, expression] = value
    return json.dumps(described(debugger, expression, value, expression, _LONG, asked=True))


def described(
    debugger: Any,
    name: str,
    value: Any,
    expression: str | None,
    limit: int = _SHORT,
    *,
    asked: bool = False,
) -> dict[str, Any]:
    """Return what is told of a value.

    Of the program's code only a `__repr__` runs, and only for an expression that was asked for.
    """
    failed = False
    kind = type(value)
    try:
        with debugger.running_code():
            text = _text.text_of(value, limit, asked=asked)
    except _text.Failed as why:
        text, failed = str(why), True
    definition = issubclass(kind, _DEFINITIONS)
    return {
        "name": name,
        "text": text,
        "type": _objects.name_of(kind),
        "expression": expression,
        "count": _text.count(value),
        "ref": int(bool(_text.children(value, 0, 1))),
        "failed": failed,
        "definition": definition and _objects.named(value).rpartition(".")[2] == name,
    }


COMMANDS = {
    "ff_mark": mark,
    "ff_filters": filters,
    "ff_break": break_,
    "ff_unbreak": unbreak,
    "ff_threads": threads,
    "ff_frames": frames,
    "ff_jump": jump,
    "ff_exception": exception,
    "ff_scope": scope,
    "ff_children": children,
    "ff_eval": evaluate,
}
