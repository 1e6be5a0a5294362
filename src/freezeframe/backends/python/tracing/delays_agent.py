"""Small delays at lines that several threads execute, and tasks in another order.

The module `_freezeframe_delays`. Runs inside the program and imports nothing of this package. A
race needs two threads at the same lines at the same time: where a second thread executes a line of
the program's own code, it waits for a random moment now and then. Tasks of asyncio that are ready
at the same time are resumed in another order now and then: only tasks, whose order nothing
promises. Nothing else of the program is changed.
"""

from __future__ import annotations

import _thread
import sys
import time
from typing import Any

#: of the executions of a line that threads share, one in so many waits
_ONE_IN = 12
_LONGEST_S = 0.004
#: all delays of one process together
_MOST_S = 2.0


class _Delays:
    is_own: Any = None
    #: id of a code object and line → the thread that executed it first; 0: several have
    lines: dict[tuple[int, int], int] = {}
    #: code objects, held so that their ids are not used again
    codes: dict[int, Any] = {}
    spent_s = 0.0
    state = 1


def begin(settings: Any, path_of: Any) -> None:
    """Wait at shared lines of the code that *path_of* knows, from now on."""
    _Delays.is_own, _Delays.state = path_of, settings["seed"] * 2 + 1
    sys.setswitchinterval(settings["switch_s"])
    if sys.version_info >= (3, 12):
        _begin_monitoring()
    else:
        import threading

        threading.settrace(_on_event)
        sys.settrace(_on_event)


def _random() -> int:
    """Return a number below 1000. The program's own random numbers stay as they are."""
    _Delays.state = (_Delays.state * 6364136223846793005 + 1442695040888963407) & ((1 << 64) - 1)
    return (_Delays.state >> 33) % 1000


def _begin_monitoring() -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    for tool in (4, 3, 5):
        try:
            monitoring.use_tool_id(tool, "freezeframe-delays")
        except ValueError:
            continue
        events = monitoring.events
        monitoring.register_callback(tool, events.LINE, _on_line)
        monitoring.register_callback(tool, events.PY_START, _starting(monitoring, tool))
        monitoring.set_events(tool, events.PY_START)
        return


def _starting(monitoring: Any, tool: int) -> Any:
    def on_start(code: Any, offset: int) -> Any:
        if _is_loop(code):
            _reorder(sys._getframe(1).f_locals.get("self"))
            return None
        if _Delays.is_own(code) is not None:
            monitoring.set_local_events(tool, code, monitoring.events.LINE)
        return monitoring.DISABLE

    return on_start


def _is_loop(code: Any) -> bool:
    """Whether a code object is the one that runs what is ready in asyncio's event loop."""
    return bool(code.co_name == "_run_once" and code.co_filename.endswith("base_events.py"))


def _reorder(loop: Any) -> None:
    """Let tasks that are ready change positions; everything else stays where it is."""
    ready = getattr(loop, "_ready", None)
    if ready is None or len(ready) < 2 or _random() % 2:
        return
    tasks = sys.modules["asyncio.tasks"].Task
    positions = [
        at
        for at, handle in enumerate(ready)
        if isinstance(getattr(handle._callback, "__self__", None), tasks)
    ]
    for last in range(len(positions) - 1, 0, -1):
        other = positions[_random() % (last + 1)]
        ready[positions[last]], ready[other] = ready[other], ready[positions[last]]


def _on_line(code: Any, line: int) -> Any:
    if _thread._count() and _Delays.spent_s < _MOST_S:
        _pass(code, line)
    return None


def _on_event(frame: Any, event: str, argument: Any) -> Any:
    if event == "call":
        if _is_loop(frame.f_code):
            _reorder(frame.f_locals.get("self"))
            return None
        return _on_event if _Delays.is_own(frame.f_code) is not None else None
    if event == "line" and _thread._count() and _Delays.spent_s < _MOST_S:
        _pass(frame.f_code, frame.f_lineno)
    return _on_event


def _pass(code: Any, line: int) -> None:
    key, me = (id(code), line), _thread.get_ident()
    first = _Delays.lines.get(key)
    if first is None:
        _Delays.codes[id(code)] = code
        _Delays.lines[key] = me
        return
    if first == me:
        return
    if first:
        _Delays.lines[key] = 0
    number = _random()
    if number % _ONE_IN == 0:
        wait_s = _LONGEST_S * number / 1000
        _Delays.spent_s += wait_s
        time.sleep(wait_s)
