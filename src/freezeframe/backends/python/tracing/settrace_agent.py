"""Drives the recorder by `sys.settrace`; the module `_freezeframe_driver` before Python 3.12.

Runs inside the traced program and imports nothing of this package. Frames of code that is not
traced have no local trace function, and run at full speed.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

_recorder: Any = sys.modules["_freezeframe_recorder"]
_states, _plans = _recorder.states, _recorder.plans
_get_state = _states.get
_YIELD, _RETURN = "YIELD_VALUE", "RETURN_VALUE"


def begin() -> str | None:
    """Start to trace; return why that is impossible, if it is."""
    if sys.gettrace() is not None:
        return "the program has a trace function already"
    threading.settrace(_on_call)
    sys.settrace(_on_call)
    return None


def remark() -> str:
    """Return what could not be recorded."""
    if sys.gettrace() not in (_on_call, None):
        return "the program set a trace function of its own, which ended the recording"
    return ""


def watch_children(note: Any) -> None:
    """Call *note* with the arguments and the environment of each child that is started."""

    def audit(event: str, arguments: Any) -> None:
        if event == "subprocess.Popen":
            note(arguments[1], arguments[3])

    sys.addaudithook(audit)


def end() -> None:
    """Stop tracing."""
    if sys.gettrace() is _on_call:
        sys.settrace(None)
    if getattr(threading, "_trace_hook", None) is _on_call:
        threading.settrace(None)


def _on_call(frame: Any, event: str, value: Any, get: Any = _plans.get) -> Any:
    # Called for every function of every library: the first question decides most of them.
    if get(id(frame.f_code), False) is None:
        return None
    try:
        code = frame.f_code
        plan = _plans.get(id(code), False)
        if plan is False:
            plan = _recorder.plan_of(code)
        if plan is None:
            return None
        state = _get_state(id(frame))
        # A generator that is resumed has a state.
        if state is None or state.plan is not plan:
            if plan.is_dropped:
                return None
            _recorder.start(frame, plan)
        return _on_event
    except BaseException as error:
        _recorder.pass_on(error)
    return None


def _on_event(frame: Any, event: str, value: Any, record: Any = _recorder.line) -> Any:
    if event == "line":
        record(None, frame.f_lineno, frame)
        return _on_event
    try:
        state = _get_state(id(frame))
        if state is None:
            return None
        if event == "exception":
            _recorder.raised(state, value[1], frame.f_lasti)
        elif event == "return":
            _on_return(state, frame, value)
    except BaseException as error:
        _recorder.pass_on(error)
    return _on_event


def _on_return(state: Any, frame: Any, value: Any) -> None:
    """Record a return, a yield or the end by an exception, which have the same event."""
    opcode = state.plan.opcode(frame.f_lasti)
    if opcode not in (_YIELD, _RETURN):
        state.is_interrupted = True
    _recorder.settle(state, frame)
    if opcode == _YIELD:
        _recorder.suspend(state, value)
    elif opcode == _RETURN:
        _recorder.leave(state, value)
    else:
        _recorder.unwind(state, state.error)
