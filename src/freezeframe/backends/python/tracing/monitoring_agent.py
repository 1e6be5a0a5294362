"""Drives the recorder by `sys.monitoring`; the module `_freezeframe_driver` from Python 3.12 on.

Runs inside the traced program and imports nothing of this package. Only code that is traced gets
line events; all other code reports its first start and is disabled.
"""

from __future__ import annotations

import sys
from typing import Any

_recorder: Any = sys.modules["_freezeframe_recorder"]
_states, _plans = _recorder.states, _recorder.plans
_getframe = sys._getframe
_monitoring: Any = getattr(sys, "monitoring", None)
_DISABLE = getattr(_monitoring, "DISABLE", None)
_tool = [-1]


def begin() -> str | None:
    """Start to trace; return why that is impossible, if it is."""
    for tool in (4, 3, 2, 5, 1, 0):
        try:
            _monitoring.use_tool_id(tool, "freezeframe")
        except ValueError:
            continue
        _tool[0] = tool
        break
    else:
        return "all tool ids of sys.monitoring are in use"
    events = _monitoring.events
    for event, callback in (
        (events.PY_START, _on_start),
        (events.LINE, _recorder.line),
        (events.PY_RETURN, _on_return),
        (events.PY_YIELD, _on_yield),
        (events.RAISE, _on_raise),
        (events.PY_UNWIND, _on_unwind),
    ):
        _monitoring.register_callback(tool, event, callback)
    _monitoring.set_events(tool, events.PY_START | events.RAISE | events.PY_UNWIND)
    return None


def remark() -> str:
    """Return what could not be recorded."""
    return ""


def watch_children(note: Any) -> None:
    """Call *note* with the arguments and the environment of each child that is started."""

    def audit(event: str, arguments: Any) -> None:
        if event == "subprocess.Popen":
            note(arguments[1], arguments[3])

    sys.addaudithook(audit)


def end() -> None:
    """Stop tracing."""
    if _tool[0] >= 0:
        _monitoring.set_events(_tool[0], 0)
        _monitoring.free_tool_id(_tool[0])
        _tool[0] = -1


def _local_events() -> int:
    events = _monitoring.events
    return int(events.LINE | events.PY_RETURN | events.PY_YIELD)


def _on_start(code: Any, offset: int) -> Any:
    try:
        plan = _plans.get(id(code), False)
        if plan is False:
            plan = _recorder.plan_of(code)
            if plan is not None:
                _monitoring.set_local_events(_tool[0], code, _local_events())
        if plan is None or plan.is_dropped:
            return _DISABLE
        _recorder.start(_getframe(1), plan)
    except BaseException as error:
        _recorder.pass_on(error)
    return None


def _on_return(code: Any, offset: int, value: Any) -> Any:
    try:
        frame = _getframe(1)
        state = _states.get(id(frame))
        if state is None:
            return _recorder.without_state(code)
        _recorder.settle(state, frame)
        _recorder.leave(state, value)
    except BaseException as error:
        _recorder.pass_on(error)
    return None


def _on_yield(code: Any, offset: int, value: Any) -> Any:
    try:
        frame = _getframe(1)
        state = _states.get(id(frame))
        if state is not None:
            _recorder.settle(state, frame)
            _recorder.suspend(state, value)
    except BaseException as error:
        _recorder.pass_on(error)
    return None


def _on_raise(code: Any, offset: int, error: Any) -> Any:
    try:
        if _plans.get(id(code)) is not None:
            state = _states.get(id(_getframe(1)))
            if state is not None:
                _recorder.raised(state, error, offset)
    except BaseException as failure:
        _recorder.pass_on(failure)
    return None


def _on_unwind(code: Any, offset: int, error: Any) -> Any:
    try:
        if _plans.get(id(code)) is not None:
            frame = _getframe(1)
            state = _states.get(id(frame))
            if state is not None:
                state.is_interrupted = True
                _recorder.settle(state, frame)
                _recorder.unwind(state, _recorder.describe(error))
    except BaseException as failure:
        _recorder.pass_on(failure)
    return None
