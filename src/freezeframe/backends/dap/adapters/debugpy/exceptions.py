"""Exceptions and tracebacks as debugpy reports them. Pure."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe import files
from freezeframe.backends.backend import RawFrame
from freezeframe.backends.python import failing_test
from freezeframe.model.stops import ExceptionInfo, LinkedException, TracebackLine

_LIBRARY = re.compile(
    r"[\\/](site-packages|dist-packages|lib[\\/]python\d[^\\/]*|importlib|debugpy|_pydevd_bundle)[\\/]"
)
#: the last line of a script that pip, uv or setuptools writes for an entry point, and the maximum
#: length of such a script
_LAUNCHER = re.compile(rb"^\s*sys\.exit\([\w.]+\(\)\)\s*\Z", re.MULTILINE)
_LAUNCHER_BYTES = 2048
#: pydevd's files; its compiled code names a file that does not exist
_PYDEVD = re.compile(r"(?:^|[\\/])_pydevd_|[\\/]debugpy[\\/]_vendored[\\/]|^<stringsource>$")
_TRACE_LINE = re.compile(r'\s*File "(?P<path>.*)", line (?P<line>\d+), in (?P<name>.*)')
#: separates an exception from the one that followed from it
_CHAIN = re.compile(
    r"^(?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):\s*$",
    re.MULTILINE,
)
#: pydevd adds it to the name of the function that the stop is in
CURRENT = " (Current frame)"
#: the prefix of the JSON of `exception_info_agent.py`
_PREFIX = "@freezeframe "
#: pydevd's text for an exception without a message
_NO_MESSAGE = "exception: no description"
#: `async_agent.py` puts it before the names of functions
_TASK = re.compile(r"\[Task: (.*?)\] (?=\S+$)")
_AWAITING = re.compile(r"\[Chained Exc: awaiting (.*?)\] (?=\S+$)")
#: pydevd adds it to the type's name when the stop is not in the frame that raised
_NOTE = re.compile(r"\s+\(note: full exception trace is shown.*", re.DOTALL)


def read(body: Mapping[str, Any]) -> ExceptionInfo:
    """Return the exception in the answer to an `exceptionInfo` request."""
    details = body.get("details") or {}
    trace = details.get("stackTrace") or ""
    if (
        trace.startswith(_PREFIX)
        and (info := _read_details(body, trace[len(_PREFIX) :])) is not None
    ):
        return info
    *earlier, last = _CHAIN.split(trace)
    all_lines = _read_traceback(last)[0]
    lines = [line for line in all_lines if not _is_pydevd(line.path)]
    # The innermost cause comes first in the text; readers want the nearest first.
    causes = [message for part in reversed(earlier) if (message := _read_traceback(part)[1])]
    if all_lines and _is_pydevd(all_lines[-1].path):
        causes = []  # causes of a failure in pydevd, when the program had used up the stack
    return ExceptionInfo(
        type=_type(body),
        message=_message(body),
        traceback=tuple(lines),
        raw_traceback="" if lines else trace,
        causes=tuple(causes),
        mode=body.get("breakMode"),
    )


def _type(body: Mapping[str, Any]) -> str:
    details = body.get("details") or {}
    name = _NOTE.sub("", details.get("typeName") or body.get("exceptionId") or "exception")
    return name.removeprefix("builtins.")


def _message(body: Mapping[str, Any]) -> str:
    details = body.get("details") or {}
    message = str(details.get("message") or body.get("description") or "")
    return "" if message == _NO_MESSAGE else message


def _read_details(body: Mapping[str, Any], text: str) -> ExceptionInfo | None:
    """Return the exception that `exception_info_agent.py` reports; None if it cannot be read."""
    try:
        details_json = json.loads(text)
        lines = [
            TracebackLine(str(path), int(line), str(name), str(source), library=is_foreign(path))
            for path, line, name, source in details_json["lines"]
        ]
        links = tuple(
            LinkedException(str(how), str(message)) for how, message in details_json["links"]
        )
        details = tuple(str(line) for line in details_json["details"])
        mode = "test-failing" if details_json["failing"] else body.get("breakMode")
        test = failing_test(details_json["test"])
    except (ValueError, KeyError, TypeError):
        return None
    if lines and _is_pydevd(lines[-1].path):
        links = ()  # links of a failure in pydevd, when the program had used up the stack
    return ExceptionInfo(
        type=_type(body),
        message=_message(body),
        traceback=tuple(line for line in lines if not _is_pydevd(line.path)),
        causes=tuple(each.words for each in links if each.relation == "cause"),
        mode=mode,
        links=links,
        details=details,
        test=test,
    )


def _read_traceback(text: str) -> tuple[list[TracebackLine], str]:
    """Return the lines of one exception's traceback, innermost last, and its message."""
    lines: list[TracebackLine] = []
    rest = text.strip("\n").splitlines()
    while rest and (rest[0].startswith(" ") or not rest[0]):
        line = rest.pop(0)
        if match := _TRACE_LINE.match(line):
            path = match["path"]
            name = match["name"].removesuffix(CURRENT)
            entry = TracebackLine(path, int(match["line"]), name, library=is_foreign(path))
            lines.append(entry)
        elif lines and line.strip() and not lines[-1].text:
            lines[-1] = replace(lines[-1], text=line.strip())
    # pydevd writes the innermost frame first.
    return lines[::-1], "\n".join(rest).strip()


def is_none(frame: Mapping[str, Any]) -> bool:
    """Return whether the frame is not part of the program's stack.

    It belongs to an earlier exception, which pydevd puts below the stack, or to pydevd itself: a
    recursion that is too deep may end in the tracing code.
    """
    path = str((frame.get("source") or {}).get("path", ""))
    name = str(frame.get("name", ""))
    chained = name.startswith("[Chained Exc: ") and _AWAITING.match(name) is None
    return chained or _is_pydevd(path)


def read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    """Return a frame with its task: the one that runs in it, or that awaits there."""
    for pattern in (_TASK, _AWAITING):
        if match := pattern.match(frame.function):
            running = pattern is _TASK
            return replace(
                frame,
                function=frame.function[match.end() :],
                task=match[1],
                suspended=not running,
            )
    return frame


def _is_pydevd(path: str) -> bool:
    return _PYDEVD.search(path) is not None


def is_foreign(path: str) -> bool:
    """Return whether the file belongs to Python, an installed package or the debugger."""
    return path.startswith("<frozen") or _LIBRARY.search(path) is not None or _is_launcher(path)


@functools.lru_cache(maxsize=256)
def _is_launcher(path: str) -> bool:
    """Return whether the file is an installer's script, which only calls a function of a
    package."""
    if os.path.basename(os.path.dirname(path)) not in ("bin", "Scripts"):
        return False
    try:
        return _LAUNCHER.search(files.read_bytes(path, limit=_LAUNCHER_BYTES)) is not None
    except OSError:
        return False
