"""Exceptions and tracebacks as debugpy tells them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe.model.stops import ExceptionInfo, TracebackLine

_LIBRARY = re.compile(
    r"[\\/](site-packages|dist-packages|lib[\\/]python\d[^\\/]*|importlib|debugpy|_pydevd_bundle)[\\/]"
)
_TRACE_LINE = re.compile(r'\s*File "(?P<path>.*)", line (?P<line>\d+), in (?P<name>.*)')
#: what stands between an exception and the one that followed from it
_CHAIN = re.compile(
    r"^(?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):\s*$",
    re.MULTILINE,
)
#: pydevd adds it to the type's name when the stop is not in the frame that raised
_NOTE = re.compile(r"\s+\(note: full exception trace is shown.*", re.DOTALL)


def read(body: Mapping[str, Any]) -> ExceptionInfo:
    """Return what the answer to an `exceptionInfo` request tells."""
    details = body.get("details") or {}
    trace = details.get("stackTrace") or ""
    *earlier, last = _CHAIN.split(trace)
    lines, _ = _read_traceback(last)
    # Innermost cause first in the text; the nearest is what the reader asks for first.
    causes = [words for part in reversed(earlier) if (words := _read_traceback(part)[1])]
    name = _NOTE.sub("", details.get("typeName") or body.get("exceptionId") or "exception")
    return ExceptionInfo(
        type=name.removeprefix("builtins."),
        message=details.get("message") or body.get("description") or "",
        traceback=tuple(lines),
        raw_traceback="" if lines else trace,
        causes=tuple(causes),
        mode=body.get("breakMode"),
    )


def _read_traceback(text: str) -> tuple[list[TracebackLine], str]:
    """Return the lines of one exception's traceback, innermost last, and its own words."""
    lines: list[TracebackLine] = []
    rest = text.strip("\n").splitlines()
    while rest and (rest[0].startswith(" ") or not rest[0]):
        line = rest.pop(0)
        if match := _TRACE_LINE.match(line):
            path = match["path"]
            place = TracebackLine(path, int(match["line"]), match["name"], library=is_foreign(path))
            lines.append(place)
        elif lines and line.strip() and not lines[-1].text:
            lines[-1] = replace(lines[-1], text=line.strip())
    # pydevd writes the innermost frame first.
    return lines[::-1], "\n".join(rest).strip()


def is_chained(frame: Mapping[str, Any]) -> bool:
    """The frame belongs to an exception that came before; pydevd puts it below the stack."""
    return str(frame.get("name", "")).startswith("[Chained Exc: ")


def is_foreign(path: str) -> bool:
    """The file belongs to Python, an installed package or the debugger."""
    return path.startswith("<frozen") or _LIBRARY.search(path) is not None
