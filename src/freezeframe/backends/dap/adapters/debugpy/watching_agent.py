"""Stop after the line that changed a watched expression; runs inside the debuggee.

Sent there when the first watchpoint is set, under the rules of `agent.py`; becomes the module
`_freezeframe_watching`. While there are watchpoints, each line of the program's own code is
observed: from 3.12 on by events of `sys.monitoring`, before by a trace function beside pydevd's.
Libraries run at full speed, and what they change is seen after the line that called them.
`watch_agent.py` compares.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import types
from typing import Any

_watch: Any = sys.modules["_freezeframe_watch"]
_patches: Any = sys.modules["_freezeframe_patches"]
_BREAKPOINT = 111
_MONITORED = sys.version_info >= (3, 12)
#: id of code → the code, and whether it is the program's own
_codes: dict[int, tuple[Any, bool]] = {}
#: hits of the present stop, by thread
_hits: dict[int, list[dict[str, Any]]] = {}
#: threads that wait at a stop, and run code for the debugger
_suspended: set[int] = set()
_state: dict[str, Any] = {"tool": None, "wrapped": None, "pid": os.getpid(), "tracing": False}


def add(id: int, expression: str, condition: str | None, frame_id: int) -> str:
    """Set a watchpoint on an expression of a frame of a stopped thread; see `watch_agent.py`."""
    schema: Any = sys.modules["_pydevd_bundle._debug_adapter.pydevd_base_schema"]
    frame_id = schema.BaseSchema._translate_id_from_dap(frame_id)
    frames = _patches.current().suspended_frames_manager
    frame = frames.find_frame(frames.get_thread_id_for_variable_reference(frame_id), frame_id)
    if frame is None:
        raise LookupError("the frame is gone")
    how = str(_watch.add(id, expression, condition, frame))
    _start()
    return how


def remove(id: int) -> None:
    _watch.forget(id)
    if not _watch.watches:
        _stop_observing()


def hits() -> str:
    """Return the hits of the present stop as JSON: thread ident → hits; and forget them."""
    taken = dict(_hits)
    _hits.clear()
    return json.dumps({str(ident): found for ident, found in taken.items()})


# --- the program's own code -----------------------------------------------------------------------


def _is_own(frame: Any) -> bool:
    code = frame.f_code
    known = _codes.get(id(code))
    if known is None:
        try:
            own = not _patches._is_debugger_s(frame) and _patches.current().in_project_scope(frame)
        except Exception:
            own = False
        known = _codes[id(code)] = (code, bool(own))
    return known[1]


def _caller(frame: Any) -> Any:
    """Return the nearest caller that is the program's own."""
    back = frame.f_back
    while back is not None and not _is_own(back):
        back = back.f_back
    return back


def _threads() -> list[tuple[int, Any]]:
    """Return the program's threads with their innermost frames."""
    found = []
    for ident, frame in list(sys._current_frames().items()):
        thread = threading._active.get(ident)  # type: ignore[attr-defined]
        if not getattr(thread, "is_pydev_daemon_thread", False):
            found.append((ident, frame))
    return found


# --- events ---------------------------------------------------------------------------------------


def _on_line(frame: Any, line: int) -> None:
    if not _is_idle() and _watch.passed(frame, frame.f_code, line) and not _has_breakpoint(frame):
        _stop(frame, "line")
        if _MONITORED:
            # pydevd gets this event too, and would end a step that begins here with it.
            pydevd: Any = sys.modules["_pydevd_sys_monitoring._pydevd_sys_monitoring"]
            local = pydevd._thread_local_info
            local.f_disable_next_line_if_match = (frame.f_code.co_filename, line)


def _on_enter(frame: Any) -> None:
    if not _is_idle():
        _watch.passed(frame, frame.f_code, frame.f_lineno)


def _on_leave(frame: Any, ends: bool) -> None:
    """*frame* returns, raises or suspends: *ends* is False for the last."""
    if _is_idle():
        return
    back = _caller(frame)
    if back is not None:
        _watch.passed(frame, back.f_code, back.f_lineno, ends)
    elif _watch.passed(frame, None, None, ends):
        # No line of the program follows.
        _stop(frame, "return")


def _is_idle() -> bool:
    """Return whether there is nothing to do: the debugger, not the program, runs code here."""
    if not _suspended:
        return not _watch.watches and not _watch.is_pending()
    return threading.get_ident() in _suspended


def _has_breakpoint(frame: Any) -> bool:
    """Return whether pydevd decides after this whether to stop at the line: both are one stop."""
    threads: Any = sys.modules["_freezeframe_threads"]
    return threads._point(_patches.current(), frame) is not None


def _stop(frame: Any, event: str) -> None:
    debugger = _patches.current()
    if debugger is None or debugger.pydb_disposed:
        return
    thread: Any = threading.current_thread()
    info = getattr(thread, "additional_info", None)
    if info is None:
        info = debugger.set_additional_thread_info(thread)
    info.hit_breakpoint_ids = []
    debugger.set_suspend(thread, _BREAKPOINT, suspend_other_threads=True)
    if _MONITORED:
        info.trace_suspend_type = "sys_monitor"
    debugger.do_wait_suspend(thread, frame, event, None)


def _wrap(debugger: Any) -> None:
    """Report hits with the stop that follows them, whatever its reason."""
    if _state["wrapped"] is debugger:
        return
    _state["wrapped"] = debugger
    wait = debugger.do_wait_suspend

    def do_wait_suspend(thread: Any, frame: Any, event: str, *rest: Any, **named: Any) -> Any:
        if _watch.watches and _is_own(frame):
            _watch.passed(frame, frame.f_code, frame.f_lineno)
        found = _watch.take()
        ident = threading.get_ident()
        if found:
            _hits[ident] = found
        _suspended.add(ident)
        try:
            return wait(thread, frame, event, *rest, **named)
        finally:
            _suspended.discard(ident)
            _hits.pop(ident, None)
            # A value that the user has changed was written by no line.
            _watch.refresh()
            for ident, innermost in _threads() if _state["tracing"] else ():
                _trace_frames(ident, innermost)

    debugger.do_wait_suspend = do_wait_suspend


def _start() -> None:
    if _state["pid"] != os.getpid():
        _state.update(pid=os.getpid(), tool=None, tracing=False)
    _wrap(_patches.current())
    for ident, frame in _threads():
        own = frame if _is_own(frame) else _caller(frame)
        if own is not None:
            _watch.at(ident, own.f_code, own.f_lineno)
    if _MONITORED:
        _monitor()
    else:
        _trace()


def _stop_observing() -> None:
    if _MONITORED:
        _stop_monitoring()
    else:
        _stop_tracing()


def leave() -> None:
    """Leave the program as if no watchpoint had ever been set."""
    _watch.clear()
    _stop_observing()


getattr(os, "register_at_fork", dict)(after_in_child=_watch.clear)


# --- from 3.12 on ---------------------------------------------------------------------------------


def _monitor() -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    events = monitoring.events
    tool = _state["tool"]
    if tool is None:
        tool = next((id for id in (3, 4, 2, 1) if monitoring.get_tool(id) is None), None)
        if tool is None:
            raise RuntimeError("every tool id of sys.monitoring is in use")
        monitoring.use_tool_id(tool, "freezeframe watch")
        _state["tool"] = tool
    lines = events.LINE | events.PY_RETURN | events.PY_YIELD
    frame_at = sys._getframe

    def observe(code: Any) -> None:
        monitoring.set_local_events(tool, code, lines)

    def on_start(code: Any, _offset: int, *_rest: Any) -> Any:
        frame = frame_at(1)
        if not _is_own(frame):
            return monitoring.DISABLE
        if monitoring.get_local_events(tool, code) != lines:
            observe(code)
        _on_enter(frame)
        return None

    def on_throw(code: Any, _offset: int, _error: Any) -> None:
        frame = frame_at(1)
        if _is_own(frame):
            _on_enter(frame)

    def on_unwind(code: Any, _offset: int, _error: Any) -> None:
        frame = frame_at(1)
        if _is_own(frame):
            _on_leave(frame, True)

    monitoring.register_callback(tool, events.LINE, lambda code, line: _on_line(frame_at(1), line))
    monitoring.register_callback(
        tool, events.PY_RETURN, lambda code, at, value: _on_leave(frame_at(1), True)
    )
    monitoring.register_callback(
        tool, events.PY_YIELD, lambda code, at, value: _on_leave(frame_at(1), False)
    )
    for event, callback in (
        (events.PY_START, on_start),
        (events.PY_RESUME, on_start),
        (events.PY_THROW, on_throw),
        (events.PY_UNWIND, on_unwind),
    ):
        monitoring.register_callback(tool, event, callback)
    monitoring.set_events(
        tool, events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND
    )
    for _, frame in _threads():
        while frame is not None:
            if _is_own(frame):
                observe(frame.f_code)
            frame = frame.f_back
    # Code may have been disabled by an earlier watchpoint.
    monitoring.restart_events()


def _stop_monitoring() -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    tool, _state["tool"] = _state["tool"], None
    if tool is None:
        return
    monitoring.set_events(tool, 0)
    for code, own in list(_codes.values()):
        if own:
            monitoring.set_local_events(tool, code, 0)
    for event in ("LINE", "PY_RETURN", "PY_YIELD", "PY_START", "PY_RESUME", "PY_THROW"):
        monitoring.register_callback(tool, getattr(monitoring.events, event), None)
    monitoring.register_callback(tool, monitoring.events.PY_UNWIND, None)
    monitoring.free_tool_id(tool)


# --- up to 3.11 -----------------------------------------------------------------------------------


class Tracer:
    """A trace function that is called together with that of the program, in its place."""

    __slots__ = ("program",)
    #: `trace_sharing_agent.py` takes trace functions of other modules for the program's
    __module__ = "watchpoints"
    #: it stops the program: it is called after the debugger's, and changes of the thread's trace
    #: function inside of it are not the program's
    stops = True

    def __init__(self, program: Any) -> None:
        self.program = program

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        if self.program is not None:
            self.program(frame, event, arg)
        if not _state["tracing"] or not _is_own(frame):
            return None
        if event == "line":
            _on_line(frame, frame.f_lineno)
        elif event == "call":
            _on_enter(frame)
        elif event == "return":
            _on_leave(frame, not _is_suspended(frame, arg))
        return self


def _is_suspended(frame: Any, _value: Any) -> bool:
    """Return whether a frame that returns is a generator that yields."""
    return str(sys.modules["_freezeframe_async"]._opcode(frame)).startswith("YIELD_")


def _trace() -> None:
    sharing: Any = sys.modules["_freezeframe_trace_sharing"]
    tracing: Any = sys.modules["_freezeframe_tracing"]
    if _state["tracing"]:
        return
    if tracing._state["library"] is None:
        raise RuntimeError("its trace functions cannot be set from outside")
    _state["tracing"] = True
    for ident, frame in _threads():
        tracer = sharing.programs[ident] = Tracer(sharing.programs.get(ident))
        if ident in tracing._hooks.armed:
            tracing._arm(ident)
        else:
            tracing._set_tracer(ident, tracer)
        _trace_frames(ident, frame)
    threading.settrace(Tracer(None))


def trace_begun() -> None:
    """Observe the frame that a stop of this thread, which ends now, was at the call of.

    When that event ends, CPython sets the frame's trace function to what pydevd's returns. A
    profile function gets the same event after it.
    """
    ident = threading.get_ident()
    before: Any = sys.getprofile()
    if not _state["tracing"]:
        return
    if before is not None and type(before) not in (types.FunctionType, types.MethodType):
        return  # a profiler in C could not be set again

    def begun(frame: Any, event: str, arg: Any) -> None:
        sys.setprofile(before)
        if before is not None:
            before(frame, event, arg)
        if _state["tracing"]:
            _trace_frames(ident, frame)

    if getattr(before, "__code__", None) is not begun.__code__:
        sys.setprofile(begun)


def _trace_frames(ident: int, frame: Any) -> None:
    """Observe the lines of frames that have begun; pydevd sets their trace functions at a stop."""
    sharing: Any = sys.modules["_freezeframe_trace_sharing"]
    tracer = sharing.programs.get(ident)
    while frame is not None and type(tracer) is Tracer:
        if _is_own(frame):
            present = frame.f_trace
            own = sharing.debugger_of(present)
            if own is None and sharing.program_of(present) is None:
                frame.f_trace = tracer
            elif not issubclass(type(present), sharing.Local):
                frame.f_trace = sharing.Local(tracer, own, frame)
            elif type(present.program) is not Tracer:
                present.program = tracer
        frame = frame.f_back


def _stop_tracing() -> None:
    if not _state["tracing"]:
        return
    _state["tracing"] = False
    sharing: Any = sys.modules["_freezeframe_trace_sharing"]
    for ident, tracer in list(sharing.programs.items()):
        if type(tracer) is Tracer:
            sharing.programs[ident] = tracer.program
    threading.settrace(None)
