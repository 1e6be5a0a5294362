"""Which lines of the workspace a program executes; the module `_freezeframe_coverage`.

Runs inside the program and imports nothing of this package. Each line is written when it is
executed for the first time, so that nothing is lost with a program that is killed; from then on it
costs nothing (`sys.monitoring`), or its function is not traced any more once all of it is known.
"""

from __future__ import annotations

import os
import sys
from typing import Any


class _Coverage:
    path_of: Any = None
    file = -1
    #: code object → its lines that were executed, and how many it has
    seen: dict[Any, tuple[set[int], int]] = {}
    #: line events since the last line that was new
    idle = 0


#: line events without a new line after which a frame is not followed any more: it is in a long loop
_MOST_IDLE = 20_000


def begin(file: str, path_of: Any) -> None:
    """Write the lines of the code that *path_of* knows to *file*, from now on."""
    _Coverage.path_of = path_of
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    _Coverage.file = os.open(file, flags, 0o600)
    if sys.version_info >= (3, 12):
        _begin_monitoring()
        return
    import threading

    threading.settrace(_on_event)
    sys.settrace(_on_event)


def _begin_monitoring() -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    for tool in (4, 3, 5):
        try:
            monitoring.use_tool_id(tool, "freezeframe-coverage")
        except ValueError:
            continue
        events = monitoring.events
        monitoring.register_callback(tool, events.LINE, _on_line)
        monitoring.register_callback(tool, events.PY_START, _starting(monitoring, tool))
        monitoring.set_events(tool, events.PY_START)
        return


def _starting(monitoring: Any, tool: int) -> Any:
    def on_start(code: Any, offset: int) -> Any:
        if _Coverage.path_of(code) is not None:
            monitoring.set_local_events(tool, code, monitoring.events.LINE)
        return monitoring.DISABLE

    return on_start


def _on_line(code: Any, line: int) -> Any:
    _write(code, line)
    return sys.monitoring.DISABLE  # type: ignore[attr-defined]


def _on_event(frame: Any, event: str, argument: Any) -> Any:
    code = frame.f_code
    known = _Coverage.seen.get(code)
    if event == "call":
        if known is None:
            if _Coverage.path_of(code) is None:
                return None
            lines = {line for _, _, line in code.co_lines() if line}
            count = len(lines - {code.co_firstlineno}) or 1
            known = _Coverage.seen[code] = (set(), count)
        return _on_event if len(known[0]) < known[1] else None
    if event != "line" or known is None:
        return _on_event
    if frame.f_lineno not in known[0]:
        known[0].add(frame.f_lineno)
        _write(code, frame.f_lineno)
        _Coverage.idle = 0
    else:
        _Coverage.idle += 1
    if len(known[0]) >= known[1] or _Coverage.idle > _MOST_IDLE:
        _Coverage.idle = 0
        frame.f_trace_lines = False
    return _on_event


def _write(code: Any, line: int) -> None:
    name = getattr(code, "co_qualname", code.co_name)
    text = f"{_Coverage.path_of(code)}\t{name}\t{line}\n"
    os.write(_Coverage.file, text.encode("utf-8", "surrogateescape"))
