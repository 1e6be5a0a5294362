"""Frames, files and errors of a program, inspected from inside; pure.

The rules of `agent.py` apply; loaded as the module `_freezeframe_looking`.
"""

from __future__ import annotations

import contextlib
import ctypes
import dis
import linecache
import os
import sys
import sysconfig
import traceback
import types
from typing import Any

_text: Any = sys.modules["_freezeframe_text"]
_loaded: Any = sys.modules["_freezeframe_loaded"]
_DIRECTORY = os.path.dirname(__file__)
#: files whose frames belong to the debugger
AGENT_FILES = frozenset(
    os.path.join(_DIRECTORY, name)
    for name in (
        "agent.py",
        "queries_agent.py",
        "frames_agent.py",
        "pipes_agent.py",
        "program_agent.py",
        "threads_agent.py",
    )
) | {
    sys.modules[f"_freezeframe_{name}"].__file__
    for name in ("failures", "signals", "tasks", "trace_sharing")
}
#: the flag of `compile` for code that may await
AWAITS = 0x2000
_LIBRARIES = tuple(
    os.path.realpath(path) + os.sep
    for path in map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    if path
)


def describe_error(error: BaseException, *, runs_code: bool = True) -> str:
    """Return `ValueError: its message`; without *runs_code*, without calling its `__str__`."""
    text = ""
    with contextlib.suppress(Exception):
        text = str(error) if runs_code else _text.message(error)
    if issubclass(type(error), SyntaxError):
        text = str(vars(SyntaxError)["msg"].__get__(error) or text)
    name = qualified(type(error))
    return f"{name}: {text}" if text else name


def qualified(kind: type) -> str:
    """Return a type's name as the language prints it."""
    module = kind.__module__
    plain = module in ("builtins", "__main__")
    return kind.__qualname__ if plain else f"{module}.{kind.__qualname__}"


def is_one_of(kind: type, names: list[str] | None) -> bool:
    """Whether an exception belongs to a class of one of the *names*: any class if empty."""
    if names is None:
        return False
    known = {name for each in kind.__mro__ for name in (each.__name__, qualified(each))}
    return not names or bool(known.intersection(names))


def program_frame(frame: Any) -> Any:
    """Return the innermost frame of the program, below frames of the debugger."""
    chain = []
    while frame is not None:
        chain.append(frame)
        frame = frame.f_back
    found = None
    for each in reversed(chain):
        if each.f_code.co_filename not in AGENT_FILES:
            found = each
        elif found is not None:
            break
    return found


def is_called_by(frame: Any, code: Any) -> bool:
    """Return whether *frame* runs *code*, or was called from there."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def stack_of(frame: Any) -> list[tuple[Any, int]]:
    """Return frames and their lines, innermost first."""
    found = []
    while frame is not None and frame.f_code.co_filename not in AGENT_FILES:
        found.append((frame, frame.f_lineno))
        frame = frame.f_back
    return found


def stack_of_trace(trace: Any) -> list[tuple[Any, int]]:
    """Return the frames that an exception has passed, the one that raised it first."""
    found: list[tuple[Any, int]] = []
    while trace is not None:
        found.insert(0, (trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found


def without_agent_frames(trace: Any) -> Any:
    """Return the program's part of a traceback."""
    while trace is not None and trace.tb_frame.f_code.co_filename in AGENT_FILES:
        trace = trace.tb_next
    step = trace
    while step is not None and step.tb_next is not None:
        # A recursion that is too deep may end in the tracing code.
        if step.tb_next.tb_frame.f_code.co_filename in AGENT_FILES:
            step.tb_next = None
        step = step.tb_next
    return trace


def path_of(frame: Any) -> str | None:
    name = frame.f_code.co_filename
    return None if name.startswith("<") else os.path.abspath(name)


def caller_of(frame: Any) -> Any:
    """Return the frame that a function returns to; for a coroutine, beyond the event loop."""
    names: Any = sys.modules["_freezeframe_names"]
    caller = frame.f_back
    while caller and names.is_coroutine(frame) and is_library(caller.f_code.co_filename):
        caller = caller.f_back
    return caller


#: calls that a stop and its requests may need
ROOM = 600
#: sys.setrecursionlimit refuses a limit that the stack is too deep for
set_limit = ctypes.pythonapi.Py_SetRecursionLimit


def awaiting_frame(frame: Any) -> Any:
    """Return the user's frame that awaits the task whose outermost coroutine *frame* is."""
    tasks: Any = sys.modules["_freezeframe_tasks"]
    if not tasks.is_coroutine(frame.f_code):
        return None
    task = tasks.task_of([frame])
    by = tasks.awaiter(task) if task is not None else None
    frames = tasks.chain(tasks.coroutine_of(by)) if by is not None else []
    return next((each for each in reversed(frames) if is_of_program(each)), None)


def is_library(path: str) -> bool:
    return path.startswith("<") or os.path.realpath(path).startswith(_LIBRARIES)


def is_import_system(frame: Any) -> bool:
    """Whether a frame imports a module: each import raises and catches exceptions."""
    return str(frame.f_code.co_filename).startswith(("<frozen importlib", "<frozen zipimport"))


def is_of_program(frame: Any) -> bool:
    path = frame.f_code.co_filename
    return path not in AGENT_FILES and not is_library(path)


def arguments(code: Any) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return list(code.co_varnames[:count])


def executable(path: str, line: int) -> tuple[int | None, str | None]:
    """Return the first line from *line* on that has code, or why there is none."""
    loaded = _loaded.edited_lines(path)
    if loaded is not None:
        later = [number for number in loaded if number >= line]
        return (later[0], None) if later else (None, f"no loaded code at or below line {line}")
    linecache.checkcache(path)
    text = "".join(linecache.getlines(path))
    if not text:
        return None, f"{path} cannot be read"
    try:
        todo = [compile(text, path, "exec")]
    except (SyntaxError, ValueError) as error:
        if not path.endswith((".py", ".pyw")):
            return None, f"{os.path.basename(path)} is not Python, and pdb stops in Python only"
        return None, describe_error(error)
    lines: set[int] = set()
    while todo:
        code = todo.pop()
        lines.update(number for _, number in dis.findlinestarts(code) if number)
        todo += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    later = sorted(number for number in lines if number >= line)
    if not later:
        return None, f"no code at or below line {line}"
    return later[0], None


def is_edited(path: str) -> bool | None:
    """Return whether a file differs from what was loaded; None if unknown."""
    edited: bool | None = _loaded.is_edited(path)
    return edited


def is_expression(text: str) -> bool:
    try:
        compile(text.strip(), "<dbg>", "eval", flags=AWAITS)
    except (SyntaxError, ValueError):
        return False
    return True


def write_back(frame: Any) -> None:
    """Store assignments to a function's variables; Python 3.13 and later do it themselves."""
    if sys.version_info < (3, 13):
        import ctypes

        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def exception_fields(error: BaseException, mode: str) -> dict[str, Any]:
    """Return an exception with its traceback and causes."""
    # Python is about to print an uncaught exception with its own `__str__` anyway.
    runs_code = mode != "raised"
    exceptions: Any = sys.modules["_freezeframe_exceptions"]
    links = exceptions.links(error, runs_code)
    lines = [
        {
            "path": each.filename,
            "line": each.lineno,
            "function": each.name,
            "text": exceptions.line_text(step.tb_frame, each.lineno, step.tb_lasti),
            "library": is_library(each.filename),
        }
        for each, step in zip(
            traceback.extract_tb(error.__traceback__),
            exceptions._steps(error.__traceback__),
            strict=True,
        )
        if each.filename not in AGENT_FILES
    ]
    return {
        "type": qualified(type(error)),
        "message": describe_error(error, runs_code=runs_code).partition(": ")[2],
        "traceback": lines,
        "causes": [text for relation, text in links if relation == "cause"],
        "links": links,
        "details": exceptions.details(error, runs_code),
        "mode": mode,
        "test": sys.modules["_freezeframe_failures"].failing_test(error),
    }


def print_traceback(error: BaseException) -> None:
    """Write the traceback that Python itself would have written."""
    trace = without_agent_frames(error.__traceback__)
    sys.excepthook(type(error), error.with_traceback(trace), trace)
