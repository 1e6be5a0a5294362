"""Stack space for a stop where the program has used it up; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_recursion`. A program that catches
a RecursionError may stop a few calls below its limit. pydevd needs more calls than that to report a
stop: it would fail halfway, and the thread would wait for ever.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Any

#: calls that a stop and its requests may need
_ROOM = 600
#: sys.setrecursionlimit refuses a limit that the stack is too deep for
_set_limit = ctypes.pythonapi.Py_SetRecursionLimit
#: threads whose limit was raised, and the program's own limit. Without a lock: where the stack is
#: full, the call that releases a lock may fail.
_given: dict[int, int] = {}
#: those whose limit is restored by the callback that raised it
_held: set[int] = set()


def make_room(debugger: Any) -> None:
    """Make *debugger* stop threads whose stacks are nearly full."""
    suspend, wait = debugger.set_suspend, debugger.do_wait_suspend

    def set_suspend(thread: Any, *arguments: Any, **named: Any) -> Any:
        if thread is threading.current_thread():
            enlarge(sys._getframe())
        return suspend(thread, *arguments, **named)

    def do_wait_suspend(thread: Any, frame: Any, *arguments: Any, **named: Any) -> Any:
        enlarge(sys._getframe())
        try:
            return wait(thread, frame, *arguments, **named)
        finally:
            # What `tracing_agent.py` has installed needs the higher limit a little longer.
            is_needed = type(getattr(frame, "f_trace", None)).__name__ == "Once"
            if _given and not is_needed and threading.get_ident() not in _held:
                give_back()

    debugger.set_suspend = set_suspend
    debugger.do_wait_suspend = do_wait_suspend


def enlarge(frame: Any) -> None:
    """Raise the limit for the current thread, if little is left above *frame*."""
    ident = threading.get_ident()
    if ident in _given:
        return
    remaining = sys.getrecursionlimit()
    while frame is not None:
        frame, remaining = frame.f_back, remaining - 1
    if remaining < _ROOM:
        limit = next(iter(_given.values())) if _given else sys.getrecursionlimit()
        _set_limit(limit + _ROOM)
        _given[ident] = limit


def hold(frame: Any) -> bool:
    """Raise the limit like `enlarge`, until `give_back`; return whether that must be called."""
    ident = threading.get_ident()
    if ident in _given:
        return False
    enlarge(frame)
    if ident in _given:
        _held.add(ident)
    return ident in _held


def give_back() -> None:
    """Restore the program's limit; the last action for a stop."""
    _held.discard(threading.get_ident())
    limit = _given.pop(threading.get_ident(), None)
    if limit is not None and not _given and sys.getrecursionlimit() == limit + _ROOM:
        _set_limit(limit)


def cut_context(error: Any, is_debugger_s: Any) -> None:
    """Remove the exceptions that the debugger itself was handling when the stack ended."""
    while error is not None:
        before = error.__context__
        while before is not None and _raised_by(before, is_debugger_s):
            before = before.__context__
        if before is not error.__context__:
            error.__context__ = before
        error = before


def _raised_by(error: Any, is_debugger_s: Any) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and bool(is_debugger_s(trace.tb_frame))
