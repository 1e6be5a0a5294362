"""Frames, files and errors of a program, looked at from inside; pure.

Under the rules of `main_probe.py`; it becomes the module `_freezeframe_looking`.
"""

from __future__ import annotations

import contextlib
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
#: files whose frames are the debugger's
OURS = frozenset(
    os.path.join(_DIRECTORY, name)
    for name in ("main_probe.py", "answers_probe.py", "looking_probe.py", "pipes_probe.py")
)
_LIBRARIES = tuple(
    os.path.realpath(path) + os.sep
    for path in map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    if path
)


def words(error: BaseException, *, asked: bool = True) -> str:
    """Return `ValueError: its message`; where nobody asked, without its own `__str__`."""
    text = ""
    with contextlib.suppress(Exception):
        text = str(error) if asked else _text.message(error)
    if issubclass(type(error), SyntaxError):
        text = str(vars(SyntaxError)["msg"].__get__(error) or text)
    name = qualified(type(error))
    return f"{name}: {text}" if text else name


def qualified(kind: type) -> str:
    """Return a type's name as the language prints it."""
    module = kind.__module__
    plain = module in ("builtins", "__main__")
    return kind.__qualname__ if plain else f"{module}.{kind.__qualname__}"


def own(frame: Any) -> Any:
    """Return the innermost frame that is the program's, where the debugger may be at work above."""
    chain = []
    while frame is not None:
        chain.append(frame)
        frame = frame.f_back
    found = None
    for each in reversed(chain):
        if each.f_code.co_filename not in OURS:
            found = each
        elif found is not None:
            break
    return found


def stack_of(frame: Any) -> list[tuple[Any, int]]:
    """Return frames and their lines, innermost first."""
    found = []
    while frame is not None and frame.f_code.co_filename not in OURS:
        found.append((frame, frame.f_lineno))
        frame = frame.f_back
    return found


def stack_of_trace(trace: Any) -> list[tuple[Any, int]]:
    """Return where an exception has passed, the place where it was raised first."""
    found: list[tuple[Any, int]] = []
    while trace is not None:
        found.insert(0, (trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found


def without_ours(trace: Any) -> Any:
    """Return the part of a traceback that is the program's."""
    while trace is not None and trace.tb_frame.f_code.co_filename in OURS:
        trace = trace.tb_next
    step = trace
    while step is not None and step.tb_next is not None:
        # A recursion that is too deep may end in what traces it.
        if step.tb_next.tb_frame.f_code.co_filename in OURS:
            step.tb_next = None
        step = step.tb_next
    return trace


def path_of(frame: Any) -> str | None:
    name = frame.f_code.co_filename
    return None if name.startswith("<") else os.path.abspath(name)


def caller_of(frame: Any) -> Any:
    """Return the frame that a function returns to; of a coroutine, beyond the event loop."""
    names: Any = sys.modules["_freezeframe_names"]
    caller = frame.f_back
    while caller and names.is_coroutine(frame) and is_library(caller.f_code.co_filename):
        caller = caller.f_back
    return caller


def is_library(path: str) -> bool:
    return path.startswith("<") or os.path.realpath(path).startswith(_LIBRARIES)


def arguments(code: Any) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return list(code.co_varnames[:count])


def executable(path: str, line: int) -> tuple[int | None, str | None]:
    """Return the line at or behind *line* that can be stopped at, or why there is none."""
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
        return None, words(error)
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
    """Return whether a file has another text than what was loaded; None where nothing tells."""
    told: bool | None = _loaded.is_edited(path)
    return told


def is_expression(text: str) -> bool:
    try:
        compile(text.strip(), "<dbg>", "eval")
    except (SyntaxError, ValueError):
        return False
    return True


def write_back(frame: Any) -> None:
    """Make assignments to a function's variables stick; since Python 3.13 they do by themselves."""
    if sys.version_info < (3, 13):
        import ctypes

        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def explained(error: BaseException, mode: str) -> dict[str, Any]:
    """Return an exception with its traceback and causes."""
    # What nobody catches, Python is about to tell in the exception's own words.
    asked = mode != "raised"
    exceptions: Any = sys.modules["_freezeframe_exceptions"]
    links = exceptions.links(error, asked)
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
        if each.filename not in OURS
    ]
    return {
        "type": qualified(type(error)),
        "message": words(error, asked=asked).partition(": ")[2],
        "traceback": lines,
        "causes": [text for relation, text in links if relation == "cause"],
        "links": links,
        "details": exceptions.details(error, asked),
        "mode": mode,
    }
