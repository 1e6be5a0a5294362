"""Exceptions and tracebacks as debugpy tells them. Pure."""

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
from freezeframe.model.stops import ExceptionInfo, LinkedException, TracebackLine

_LIBRARY = re.compile(
    r"[\\/](site-packages|dist-packages|lib[\\/]python\d[^\\/]*|importlib|debugpy|_pydevd_bundle)[\\/]"
)
#: the last line of a script that pip, uv or setuptools writes for an entry point, and how long the
#: longest of them is
_LAUNCHER = re.compile(rb"^\s*sys\.exit\([\w.]+\(\)\)\s*\Z", re.MULTILINE)
_LAUNCHER_BYTES = 2048
#: its own files; what is compiled of it names a file that is not there
_PYDEVD = re.compile(r"(?:^|[\\/])_pydevd_|[\\/]debugpy[\\/]_vendored[\\/]|^<stringsource>$")
_TRACE_LINE = re.compile(r'\s*File "(?P<path>.*)", line (?P<line>\d+), in (?P<name>.*)')
#: what stands between an exception and the one that followed from it
_CHAIN = re.compile(
    r"^(?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):\s*$",
    re.MULTILINE,
)
#: pydevd adds it to the name of the function that the stop is in
CURRENT = " (Current frame)"
#: what `raised_probe.py` puts before its JSON
_MARK = "@freezeframe "
#: what pydevd says of an exception that says nothing
_WORDLESS = "exception: no description"
#: what `async_probe.py` puts before the names of functions
_TASK = re.compile(r"\[Task: (.*?)\] (?=\S+$)")
_AWAITING = re.compile(r"\[Chained Exc: awaiting (.*?)\] (?=\S+$)")
#: pydevd adds it to the type's name when the stop is not in the frame that raised
_NOTE = re.compile(r"\s+\(note: full exception trace is shown.*", re.DOTALL)


def read(body: Mapping[str, Any]) -> ExceptionInfo:
    """Return what the answer to an `exceptionInfo` request tells."""
    details = body.get("details") or {}
    trace = details.get("stackTrace") or ""
    if trace.startswith(_MARK) and (info := _read_told(body, trace[len(_MARK) :])) is not None:
        return info
    *earlier, last = _CHAIN.split(trace)
    told = _read_traceback(last)[0]
    lines = [line for line in told if not _is_pydevd(line.path)]
    # Innermost cause first in the text; the nearest is what the reader asks for first.
    causes = [words for part in reversed(earlier) if (words := _read_traceback(part)[1])]
    if told and _is_pydevd(told[-1].path):
        causes = []  # of what went wrong in pydevd, when the program had used up the stack
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
    return "" if message == _WORDLESS else message


def _read_told(body: Mapping[str, Any], text: str) -> ExceptionInfo | None:
    """Return what `raised_probe.py` tells; None where it cannot be read."""
    try:
        told = json.loads(text)
        lines = [
            TracebackLine(str(path), int(line), str(name), str(source), library=is_foreign(path))
            for path, line, name, source in told["lines"]
        ]
        links = tuple(LinkedException(str(how), str(words)) for how, words in told["links"])
        details = tuple(str(line) for line in told["details"])
        mode = "test-failing" if told["failing"] else body.get("breakMode")
    except (ValueError, KeyError, TypeError):
        return None
    if lines and _is_pydevd(lines[-1].path):
        links = ()  # of what went wrong in pydevd, when the program had used up the stack
    return ExceptionInfo(
        type=_type(body),
        message=_message(body),
        traceback=tuple(line for line in lines if not _is_pydevd(line.path)),
        causes=tuple(each.words for each in links if each.relation == "cause"),
        mode=mode,
        links=links,
        details=details,
    )


def _read_traceback(text: str) -> tuple[list[TracebackLine], str]:
    """Return the lines of one exception's traceback, innermost last, and its own words."""
    lines: list[TracebackLine] = []
    rest = text.strip("\n").splitlines()
    while rest and (rest[0].startswith(" ") or not rest[0]):
        line = rest.pop(0)
        if match := _TRACE_LINE.match(line):
            path = match["path"]
            name = match["name"].removesuffix(CURRENT)
            place = TracebackLine(path, int(match["line"]), name, library=is_foreign(path))
            lines.append(place)
        elif lines and line.strip() and not lines[-1].text:
            lines[-1] = replace(lines[-1], text=line.strip())
    # pydevd writes the innermost frame first.
    return lines[::-1], "\n".join(rest).strip()


def is_none(frame: Mapping[str, Any]) -> bool:
    """The frame is no part of the program's stack.

    It belongs to an exception that came before, which pydevd puts below the stack, or to pydevd: a
    recursion that is too deep may end in what looks on.
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
    """The file belongs to Python, an installed package or the debugger."""
    return path.startswith("<frozen") or _LIBRARY.search(path) is not None or _is_launcher(path)


@functools.lru_cache(maxsize=256)
def _is_launcher(path: str) -> bool:
    """The file is a script that an installer wrote, which only calls a function of a package."""
    if os.path.basename(os.path.dirname(path)) not in ("bin", "Scripts"):
        return False
    try:
        return _LAUNCHER.search(files.read_bytes(path, limit=_LAUNCHER_BYTES)) is not None
    except OSError:
        return False
