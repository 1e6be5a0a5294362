"""Exceptions, described as Python's traceback does; runs inside the program.

Becomes the module `_freezeframe_exceptions`, with debugpy and with pdb. Works in every Python from
3.8 on and imports nothing of this package. A user-defined `__str__` runs only with
*may_run_code*: the exception is uncaught, so Python is about to call `__str__` as well.
"""

from __future__ import annotations

import itertools
import linecache
import sys
import types
from typing import Any

_MOST_LINKS = 5
_MOST_MEMBERS = 12
_MOST_DEPTH = 3
_MOST_NOTES = 10
_MOST_REMOTE = 20
_LONGEST = 400
#: source lines that one call may span
_MOST_LINES = 8


def describe(error: BaseException, may_run_code: bool) -> str:
    """Return `KeyError: 'x'`."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    written: Any = kind.__str__
    if not may_run_code and not isinstance(
        written, (types.WrapperDescriptorType, types.MethodType)
    ):
        return name
    try:
        message = str(error)
    except Exception as why:
        message = f"<{type(why).__name__} in __str__>"
    return f"{name}: {_cut(message)}" if message else name


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…+{len(text) - _LONGEST:,} chars"


def links(error: BaseException, may_run_code: bool) -> list[tuple[str, str]]:
    """Return the exception that this one was raised from (`cause`), or during whose handling
    (`context`)."""
    found: list[tuple[str, str]] = []
    seen = {id(error)}
    current: BaseException | None = error
    while current is not None and len(found) < _MOST_LINKS:
        if current.__cause__ is not None:
            relation, current = "cause", current.__cause__
        elif current.__context__ is not None and not current.__suppress_context__:
            relation, current = "context", current.__context__
        else:
            break
        if id(current) in seen:
            break
        seen.add(id(current))
        if not _is_remote(current):
            found.append((relation, describe(current, may_run_code)))
    return found


def _is_remote(error: BaseException) -> bool:
    kind = type(error)
    return kind.__name__ in ("RemoteTraceback", "_RemoteTraceback") and kind.__module__ in (
        "multiprocessing.pool",
        "concurrent.futures.process",
    )


def details(error: BaseException, may_run_code: bool) -> list[str]:
    """Return the further lines of an exception: notes, the exceptions of a group, the text of a
    syntax error, the traceback of the process that raised it."""
    result = _notes(error) + _template_of(error)
    # Not isinstance, which reads the object's `__class__`.
    if issubclass(type(error), SyntaxError):
        result += _source_of(error)
    result += _members(error, 0, may_run_code)
    cause = error.__cause__
    if cause is not None and _is_remote(cause):
        result.append("raised in a worker process:")
        lines = [line for line in str(getattr(cause, "tb", "")).splitlines() if line.strip(' "')]
        lines = [line for line in lines if line.strip().strip("^~")]
        result += [f"  {_cut(line.rstrip())}" for line in lines[-_MOST_REMOTE:]]
    return result


def _source_of(error: Any) -> list[str]:
    """Return the line that a syntax error is about."""
    if not error.filename:
        return []
    text = (error.text or "").strip()
    return [f"{error.filename}:{error.lineno}" + (f": {text}" if text else "")]


def _template_of(error: BaseException) -> list[str]:
    """Return where in a template an exception was raised; Django stores that in the exception."""
    found: Any = error.__dict__.get("template_debug")
    if type(found) is not dict or not {"name", "line", "during"} <= found.keys():
        return []
    return [f"in template {found['name']}:{found['line']}: {_cut(str(found['during']).strip())}"]


def _notes(error: BaseException) -> list[str]:
    notes: Any = error.__dict__.get("__notes__")
    if type(notes) not in (list, tuple):
        return []
    return [f"note: {_cut(each)}" for each in notes[:_MOST_NOTES] if type(each) is str]


def _members(error: BaseException, depth: int, may_run_code: bool) -> list[str]:
    group = getattr(sys.modules["builtins"], "BaseExceptionGroup", None)
    if group is None or not issubclass(type(error), group) or depth > _MOST_DEPTH:
        return []
    result = []
    members = group.exceptions.__get__(error)
    indent = "  " * depth
    for number, each in enumerate(members[:_MOST_MEMBERS], 1):
        result.append(f"{indent}{number}. {describe(each, may_run_code)}{_raised_at(each)}")
        result += [f"{indent}   {line}" for line in _notes(each)]
        result += [
            f"{indent}   {relation}: {text}" for relation, text in links(each, may_run_code)[:1]
        ]
        result += _members(each, depth + 1, may_run_code)
    if len(members) > _MOST_MEMBERS:
        result.append(f"{indent}… {len(members) - _MOST_MEMBERS} more")
    return result


def _raised_at(error: BaseException) -> str:
    """Return where an exception comes from: the innermost line of its traceback."""
    trace = error.__traceback__
    if trace is None:
        return ""
    steps = list(itertools.islice(_steps(trace), 2000))
    user_steps = [each for each in steps if not _is_installed(each.tb_frame.f_code.co_filename)]
    last = (user_steps or steps)[-1]
    code = last.tb_frame.f_code
    name = code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f" at {name}:{last.tb_lineno} in {code.co_name}"


def _is_installed(path: str) -> bool:
    return "/lib/python" in path or "/site-packages/" in path or path.startswith("<")


def _steps(trace: Any) -> Any:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def line_text(frame: Any, line: int, last_instruction: int) -> str:
    """Return the source at a frame's instruction: a call that spans several lines as a whole."""
    path = frame.f_code.co_filename
    first = last = line
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is not None and last_instruction >= 0:
        found = next(itertools.islice(positions(), last_instruction // 2, None), None)
        if found is not None and found[0] == line and found[1] is not None:
            last = min(found[1], line + _MOST_LINES)
    lines = [linecache.getline(path, number).strip() for number in range(first, last + 1)]
    if lines[0].endswith(":"):
        # `with` and similar statements: the rest is their body.
        del lines[1:]
    return _cut(" ".join(each for each in lines if each))
