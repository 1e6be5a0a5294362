"""Report each breakpoint hit, also of threads that arrive together; runs inside the debuggee.

Sent there together with `agent.py`, under the same rules. It becomes the module
`_freezeframe_threads`.

When one thread stops, pydevd makes every other one wait at its next line, and does not check
whether that line has a breakpoint; of threads that stop at the same time it reports one. When the
program resumes the others run on (six threads that hit a line three times each: 3 stops of 18).
Here such a thread stops when it would resume.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

_SUSPENDED = 2
#: pydevd's reasons: another thread stopped, or a pause; a breakpoint
_WITH_OTHERS, _BREAKPOINT = 105, 111
#: a breakpoint on a function, exceptions
_OWN_REASONS = (_BREAKPOINT, 208, 122, 137)
#: How long a thread waits at its breakpoint for the end of another thread's step.
_STEP_S = 0.5
#: threads whose stop was reported since they began to wait, by id of the object
_reported: set[int] = set()
#: events of the threads that wait for the end of a step
_waiting: list[Any] = []


def simultaneous_hits(debugger: Any) -> None:
    suspend, wait = debugger.set_suspend, debugger.do_wait_suspend
    _listen(debugger)

    def set_suspend(*arguments: Any, **named: Any) -> Any:
        result = suspend(*arguments, **named)
        for stopped in list(_waiting):
            stopped.set()
        return result

    def do_wait_suspend(thread: Any, frame: Any, event: str, *rest: Any, **named: Any) -> Any:
        info, reason = thread.additional_info, thread.stop_reason
        points = getattr(info, "hit_breakpoint_ids", None)
        hit = True if reason in _OWN_REASONS else None
        _reported.discard(id(thread))
        result = wait(thread, frame, event, *rest, **named)
        while _is_resumed(debugger, thread):
            if hit is None:
                swept = reason == _WITH_OTHERS and event == "line"
                point: Any = _point(debugger, frame) if swept else None
                hit = point is not None and _is_hit(debugger, thread, frame, point)
                reason, points = _BREAKPOINT, [point.breakpoint_id] if hit else None
            if not hit:
                break
            if points and hasattr(info, "hit_breakpoint_ids"):
                info.hit_breakpoint_ids = points
            if _waited_for_step(thread):
                debugger.set_suspend(thread, reason, suspend_other_threads=True)
            # Otherwise another thread has stopped: this one keeps waiting where it is.
            result = wait(thread, frame, event, *rest, **named)
        return result

    debugger.set_suspend = set_suspend
    debugger.do_wait_suspend = do_wait_suspend


def held_signals(debugger: Any) -> None:
    # pydevd waits in the main thread, where Python runs signal handlers: one that raises ends the
    # wait, and on 3.11 all tracing.
    wait, signals = debugger.do_wait_suspend, sys.modules["_freezeframe_signals"]
    main: Any = threading.main_thread()

    def is_in_debugger(_frame: Any) -> bool:
        return bool(getattr(getattr(main, "additional_info", None), "is_tracing", 0))

    def call(handler: Any, number: int, frame: Any) -> None:
        # It may look for a debugger's trace function: a time limit does not count stops then.
        sharing: Any = sys.modules.get("_freezeframe_trace_sharing")
        if sharing is None or sharing.raw_trace() is not None:
            handler(number, frame)
            return
        sharing.set_trace(debugger.trace_dispatch)
        try:
            handler(number, frame)
        finally:
            sharing.set_trace(None)

    signals.watch(is_in_debugger, call if sys.version_info < (3, 12) else None)

    def do_wait_suspend(thread: Any, frame: Any, *arguments: Any, **named: Any) -> Any:
        held = signals.hold()
        try:
            return wait(thread, frame, *arguments, **named)
        finally:
            if held:
                signals.release(frame if sys.version_info >= (3, 12) else None)

    debugger.do_wait_suspend = do_wait_suspend


def _listen(debugger: Any) -> None:
    notices: Any = type(debugger._threads_suspended_single_notification)
    send = notices.send_suspend_notification
    if hasattr(send, "freezeframe"):
        return

    def send_suspend_notification(self: Any, thread_id: Any, thread: Any, reason: Any) -> Any:
        _reported.add(id(thread))
        return send(self, thread_id, thread, reason)

    send_suspend_notification.freezeframe = True  # type: ignore[attr-defined]
    notices.send_suspend_notification = send_suspend_notification


def _is_resumed(debugger: Any, thread: Any) -> bool:
    """Return whether *thread* is to run, not to step, from a line that was not reported."""
    info = thread.additional_info
    steps = info.pydev_state != _SUSPENDED and info.pydev_step_cmd != -1
    return not debugger.pydb_disposed and not steps and id(thread) not in _reported


def _is_hit(debugger: Any, thread: Any, frame: Any, point: Any) -> bool:
    """Do what pydevd does at a line with a breakpoint; return whether it stops."""
    info = thread.additional_info
    if point.expression is not None:
        debugger.handle_breakpoint_expression(point, info, frame)
    if point.has_condition and not debugger.handle_breakpoint_condition(info, point, frame):
        return False
    if point.is_logpoint:
        if info.pydev_message:
            message = debugger.cmd_factory.make_io_message(info.pydev_message + "\n", "1")
            debugger.writer.add_command(message)
        return False
    return True


def _point(debugger: Any, frame: Any) -> Any:
    files: Any = sys.modules["pydevd_file_utils"]
    file = files.get_abs_path_real_path_and_base_from_frame(frame)[1]
    return (debugger.breakpoints.get(file) or {}).get(frame.f_lineno)


def _waited_for_step(thread: Any) -> bool:
    """Let another thread finish its step first; return False if the program stopped meanwhile."""
    saved: Any = sys.modules["_pydev_bundle._pydev_saved_modules"]
    if _another_steps(thread, saved.threading):
        stopped = saved.threading.Event()
        _waiting.append(stopped)
        if thread.additional_info.pydev_state != _SUSPENDED:
            stopped.wait(_STEP_S)
        _waiting.remove(stopped)
    return bool(thread.additional_info.pydev_state != _SUSPENDED)


def _another_steps(thread: Any, threading: Any) -> bool:
    for each in threading.enumerate():
        info = getattr(each, "additional_info", None)
        if each is not thread and info is not None and info.pydev_step_cmd != -1:
            return True
    return False


def see_end(thread: Any) -> None:
    """Stop for an exception that ends *thread*, whatever reports it: no tracing sees it."""
    invoke = getattr(thread, "_invoke_excepthook", None)
    if invoke is None or hasattr(invoke, "freezeframe"):
        return

    def _invoke_excepthook(*arguments: Any) -> Any:
        if not hasattr(threading.excepthook, "freezeframe"):
            see_exception(*sys.exc_info())
        return invoke(*arguments)

    _invoke_excepthook.freezeframe = True  # type: ignore[attr-defined]
    thread._invoke_excepthook = _invoke_excepthook


def see_exception(kind: Any, value: Any, trace: Any) -> None:
    try:
        if kind is not SystemExit:
            sys.modules["_freezeframe_patches"]._stop_for(kind, value, trace)
    except Exception:
        pass
