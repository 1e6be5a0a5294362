"""Watchpoints by stepping: where a debugger has none, `continue` steps until a value changes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends.backend import Core, Feature, StepKind
from freezeframe.backends.breakpoint_hits import holds
from freezeframe.errors import EvaluationFailed, Unsupported
from freezeframe.model.answers import StopReport
from freezeframe.model.stops import Frame, StopReason, WatchHit, Watchpoint
from freezeframe.questions.stepping import frames_only
from freezeframe.session.session import Session
from freezeframe.session.stepped_watches import SteppedWatch
from freezeframe.session.stop_capture import count_watch_hits
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import seen_stops, wait_for_stop

from ._context import Context
from ._stop_report import running_report, stop_report

#: steps of one `continue`
_MOST_STEPS = 1_000
#: frames that are counted where the debugger does not report how many there are
_DEEPEST = 5_000
_MESSAGE = f"by stepping: `continue` steps this thread, at most {_MOST_STEPS:,} lines at a time"


async def add(
    session: Session, stop: StopState, expression: str, access: str, condition: str | None
) -> Watchpoint:
    """Watch an expression of the selected frame by stepping. Raises Unsupported."""
    if access != "write":
        raise Unsupported(
            f"{stop.backend.tool} does not see reads of a value.", next=f"dbg watch {expression}"
        )
    if not stop.backend.tool.mutable:
        raise Unsupported(
            "a variable of this language never changes once it has a value.", next="dbg locals"
        )
    if isinstance(session.target, Core):
        raise Unsupported("a core file does not run.", next=f"dbg print {expression}")
    value = await stop.backend.evaluate(expression, stop.frame_id(stop.selected))
    # A debugger that has some watchpoints counts them by itself.
    first = 100 if Feature.WATCHPOINTS in stop.backend.features else 0
    id = max((first, *session.watchpoints)) + 1
    depth = await _depth(stop) - stop.selected
    session.stepped_watches[id] = SteppedWatch(
        id, expression, condition, stop.thread.id, depth, value.text
    )
    return Watchpoint(id, expression, access, condition, True, _MESSAGE)


async def _depth(stop: StopState) -> int:
    return stop.depth if stop.depth is not None else len(await stop.frames(_DEEPEST))


async def continue_by_stepping(ctx: Context, session: Session, limit_s: float) -> StopReport:
    """Step until a watched value changes, the program stops for another reason, or a limit."""
    ends_at = time.monotonic() + limit_s
    stop = await session.require_stopped(to_resume=True)
    steps = 0
    hits: Sequence[WatchHit] = ()
    written = stop.thread.frame
    member: Session | None = session
    async with frames_only(session):
        while steps < _MOST_STEPS:
            frame = stop.thread.frame
            is_library = frame is not None and frame.library
            written = written if is_library else frame
            got = await _stepped(session, StepKind.OUT if is_library else StepKind.INTO, ends_at)
            steps += 1
            if got is None:
                member = None
                break
            member, stop = got
            if member is not session:
                break
            hits = await _hits(session, stop, written)
            if hits or stop.event.reason is not StopReason.STEP:
                break
    if member is None:
        return running_report(ctx, session, limit_s)
    note = f"watched by stepping: {steps:,} steps"
    if hits:
        event = replace(
            stop.event, reason=StopReason.WATCHPOINT, watch=replace(hits[0], also=tuple(hits[1:]))
        )
        stop.event = event
        count_watch_hits(session, event)
    elif steps == _MOST_STEPS:
        note += ", and no change; `continue` goes on"
    return await stop_report(ctx, member, stop, notes=(note,))


async def _stepped(
    session: Session, kind: StepKind, ends_at: float
) -> tuple[Session, StopState] | None:
    async with session.exclusive():
        seen = seen_stops(session)
        seen[session] = session.stop_number
        await session.step(kind)
    return await wait_for_stop(session, seen, max(0.0, ends_at - time.monotonic()))


async def _hits(session: Session, stop: StopState, written: Frame | None) -> Sequence[WatchHit]:
    """Return the watched values that have changed, and those whose frame is gone."""
    found = []
    depth = await _depth(stop)
    for watch in list(session.stepped_watches.values()):
        if watch.thread != stop.thread.id:
            continue
        level = depth - watch.depth
        if level < 0:
            del session.stepped_watches[watch.id]
            found.append(WatchHit(watch.id, watch.expression, ended=True))
            continue
        await stop.frames(level + 1)
        frame = stop.frame_id(level)
        try:
            now = (await stop.backend.evaluate(watch.expression, frame)).text
        except EvaluationFailed:
            continue  # it has no value at this line
        if now == watch.text:
            continue
        old, watch.text = watch.text, now
        if watch.condition is not None:
            try:
                if not holds((await stop.backend.evaluate(watch.condition, frame)).text):
                    continue
            except EvaluationFailed:
                pass  # what cannot be decided is shown
        path = written.path if written is not None else None
        line = written.line if written is not None else None
        found.append(WatchHit(watch.id, watch.expression, old, now, path, line))
    return found
