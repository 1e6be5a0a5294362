"""The functions that instrumented code calls; the module `_freezeframe_recording_hooks`.

Runs inside the traced program and imports nothing of this package. Each site
(`instrumentation_agent.py`) has a function of its own. Its code is written when it is called
first: it records what the line before has changed, and what happens at the site.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

_log: Any = sys.modules["_freezeframe_log"]
_code: Any = sys.modules["_freezeframe_code"]
_recorder: Any = sys.modules["_freezeframe_recorder"]
_identities: Any = sys.modules["_freezeframe_identities"]
_values: Any = sys.modules["_freezeframe_values"]
_sites: Any = sys.modules["_freezeframe_instrumentation"]
#: flows that a site may come from, up to which each has code in its function
_MOST = 4
_COMPREHENSION = 5


def make_hook(site: Any) -> Any:
    """Return the function of a site."""
    if site.kind == _sites.RAISED:
        return _raised
    if site.kind == _sites.UNWIND:
        return _unwind
    hook = FunctionType(_stub.__code__, _code.NAMES)
    hook.__kwdefaults__ = {"site": site}
    site.hook = hook
    _made.append(hook)
    return hook


#: the functions of all sites
_made: list[Any] = []


def silence() -> None:
    """Let the functions of all sites do nothing: the program may go on, or be at its end."""
    for each in (*_made, _raised, _unwind):
        each.__code__ = _nothing.__code__


def _nothing(*given: Any) -> None:
    return None


def _stub(*given: Any, site: Any) -> Any:
    return first_call(site, given)  # type: ignore[name-defined]  # noqa: F821


def _first_call(site: Any, given: Any) -> Any:
    """Write the code of a site's function, and call it."""
    hook = site.hook
    if hook.__kwdefaults__ is not None:
        try:
            made = _written(site)
        except BaseException as error:
            _recorder.pass_on(error)
            return None
        hook.__code__ = made
        hook.__kwdefaults__ = None
    return hook(*given)


def _written(site: Any) -> Any:
    scope = _code.Scope(site.passed)
    kind = site.kind
    if kind == _sites.START:
        lines, result = _start_lines(site.plan, scope), ["return state"]
    else:
        lines, result = _settle_lines(site, scope), []
        if kind == _sites.LINE:
            lines += _line_lines(site, scope)
        else:
            lines.append(
                "leave(state, value)" if kind == _sites.RETURN else "suspend(state, value)"
            )
    if scope.needs_locals:
        lines.insert(0, "local = locals_of(frame)")
    if any("frame" in each for each in lines):
        lines[:0] = _FRAME
    parameters = [f"L{at}" for at in range(len(site.passed))]
    if kind != _sites.START:
        parameters[:0] = ["state"] if kind == _sites.LINE else ["state", "value"]
        cut = "return leave(state, value)" if kind == _sites.RETURN else "return"
        lines = ["if state is None: return", f"if state.is_cut: {cut}", *lines]
    body = [
        "try:",
        *(f"    {each}" for each in (*lines, *result)),
        "except BaseException as error: pass_on(error)",
    ]
    return scope.function(f"hook({', '.join(parameters)})", body)


#: finds the frame of the program, behind `_first_call` and the function that it was called by
_FRAME = (
    "frame = getframe(1)",
    "if frame.f_code is first_code: frame = frame.f_back.f_back",
)


def _start_lines(plan: Any, scope: Any) -> list[str]:
    lines = [
        f"plan = {scope.constant(plan)}",
        "if plan.is_dropped: return None",
        "state, step = enter(frame, plan)",
    ]
    names = _code.parameters(plan)
    given = ""
    if names:
        more, given = _code.argument_lines(names, scope)
        lines += more
    record = f"({_log.FRAME}, plan.index, *state.record, {len(names)}, {given})"
    return [*lines, f"extend({record})"]


def _settle_lines(site: Any, scope: Any) -> list[str]:
    """Return code that records what the line has changed that the frame was in."""
    plan = site.plan
    flows = [
        plan.flows.get(offset) or plan.flow(offset, line)
        for offset, line in site.before[: _MOST + 1]
    ]
    if len(flows) > _MOST or any(_code.is_simple(each) for each in flows):
        return [f"settle(frame, state, {scope.constant(site.offset)})"]
    found = [(flow, _code.after_lines(flow, plan, scope)) for flow in flows]
    found = [(flow, lines) for flow, lines in found if lines]
    lines: list[str] = []
    for flow, after in found:
        is_ended = site.kind == _sites.LINE and flow.end == site.offset
        after = [f"sure = {'not state.is_interrupted' if is_ended else 'False'}", *after]
        if len(flows) == 1:
            return [*lines, *after]
        lines += [
            f"F = {scope.constant(flow)}",
            "if state.flow is F:",
            *(f"    {each}" for each in after),
        ]
    return lines


def _line_lines(site: Any, scope: Any) -> list[str]:
    plan = site.plan
    flow = plan.flows.get(site.offset) or plan.flow(site.offset, site.line)
    lines = [
        "step = next_step()",
        "if suspects: release()",
        f"state.flow = {scope.constant(flow)}",
        "state.step = step",
        "state.is_interrupted = False",
        *(["state.calls, state.mark = 0, first.untraced"] if flow.calls > 0 else []),
        f"extend(({_log.STEP}, step, state.number, {scope.constant(site.line)}))",
    ]
    scope.unset = {name for at, name in enumerate(site.names) if site.unset >> at & 1}
    lines += _code.before_lines(flow, plan, scope)
    if flow.until:
        lines.append("count_hit()")
    return [*lines, "if not step & 1023: tick(state, step)"]


def _settle(frame: Any, state: Any, offset: int) -> None:
    """Record what the line that a frame was in has changed."""
    flow = state.flow
    if flow is None:
        return
    if not flow.is_ready:
        flow.is_ready = True
        flow.before, flow.after = _code.functions_of(flow, state.plan)
    if flow.after is not None:
        flow.after(frame, state, flow.end == offset and not state.is_interrupted)


def _raised(state: Any, error: Any) -> None:
    try:
        if state is not None and id(error) != state.error_id:
            state.error_id = id(error)
            _recorder.raised(state, error, -1)
    except BaseException as failure:
        _recorder.pass_on(failure)


def _unwind(state: Any, error: Any) -> None:
    try:
        if state is None:
            return
        if id(error) != state.error_id:
            _recorder.raised(state, error, -1)
        state.is_interrupted = True
        _settle(sys._getframe(1), state, -1)
        _recorder.unwind(state, _recorder.describe(error))
    except BaseException as failure:
        _recorder.pass_on(failure)


_code.NAMES.update(
    first_call=_first_call,
    first_code=_first_call.__code__,
    getframe=sys._getframe,
    pass_on=_recorder.pass_on,
    enter=_recorder.enter,
    leave=_recorder.leave,
    suspend=_recorder.suspend,
    settle=_settle,
    next_step=_recorder.next_step,
    suspects=_identities.suspects,
    release=_identities.release,
    count_hit=_recorder.count_hit,
    tick=_recorder.tick,
)
