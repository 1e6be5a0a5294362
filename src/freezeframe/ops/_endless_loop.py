"""The loop that a busy program is in: samples, the frame that stays, and some rounds of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from freezeframe.backends.backend import Feature, StepKind
from freezeframe.errors import DebuggerError
from freezeframe.model.answers import Stack, StopReport
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.stops import Frame, StopReason
from freezeframe.model.values import Value
from freezeframe.model.waits import LoopReport
from freezeframe.questions.loop_round import ObservedLine, loop_report
from freezeframe.questions.samples import busiest, staying_frame, thread_of
from freezeframe.questions.stepping import StepLimits, record_call
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import seen_stops, wait_for_stop

from ._blocked_threads import stacks_of_running

#: samples of a busy program, and the seconds for all of them
_SAMPLES, _SAMPLES_S = 20, 4.0
_BETWEEN_S = 0.02
#: samples of a program that is stopped and resumed for each
_STOPPED_SAMPLES = 6
#: seconds for a pause, and for the return of one call
_PAUSE_S, _RETURN_S = 4.0, 2.0
#: how much of the loop is recorded: rounds, steps, seconds, and seconds until it came round
_ROUNDS, _STEPS, _ROUNDS_S, _LONGEST_S = 6, 300, 6.0, 20.0


@dataclass(frozen=True, slots=True)
class BusyThread:
    """The samples of the thread that runs, and the frame that all of them have."""

    samples: int
    thread: int | None
    frame: Frame | None
    #: the innermost frame that all samples have, of a library perhaps: where the loop is
    inner: Frame | None = None
    #: the debugger inside of the program does not answer
    is_silent: bool = False


async def sample(session: Session) -> BusyThread:
    """Look at a running program several times; it goes on afterwards."""
    ends_at = time.monotonic() + _SAMPLES_S
    taken: list[Sequence[Stack]] = []
    empty = StopReport(session=session.name, state=Phase.RUNNING.value)
    while len(taken) < _SAMPLES and time.monotonic() < ends_at and session.live:
        report = await stacks_of_running(session, empty)
        if not report.stacks and report.notes and not taken:
            return BusyThread(0, None, None, is_silent=True)
        if not report.stacks:
            break
        taken.append(report.stacks)
        await session.changed.wait(_BETWEEN_S)
    while not taken or (len(taken) < _STOPPED_SAMPLES and time.monotonic() < ends_at):
        seen = await _stopped_sample(session)
        if seen is None:
            break
        taken.append(seen)
    frames = busiest(taken)
    if not frames:
        return BusyThread(len(taken), None, None)
    inner = staying_frame(frames, libraries=True)
    thread = thread_of(taken, frames[-1])
    return BusyThread(len(taken), thread, staying_frame(frames) or inner, inner)


async def _stopped_sample(session: Session) -> Sequence[Stack] | None:
    """Stop a program that shows its stacks only then; read them, and resume it."""
    stop = await paused(session)
    if stop is None:
        return None
    stacks = []
    for thread in await stop.backend.threads():
        frames = await stop.frames(60, thread=thread.id)
        stacks.append(Stack(thread, tuple(frames), selected=-1))
    async with session.exclusive():
        await session.resume()
    return stacks


async def paused(session: Session) -> StopState | None:
    """Stop a running program; None if it does not stop in time."""
    if session.phase is Phase.STOPPED:
        return await session.require_stopped()
    if session.backend is None or Feature.PAUSE not in session.backend.features:
        return None
    seen = seen_stops(session)
    try:
        await session.require_backend().pause(None)
    except DebuggerError:
        return None
    got = await wait_for_stop(session, seen, _PAUSE_S)
    return got[1] if got is not None and got[0] is session else None


async def observed_loop(
    session: Session, busy: BusyThread, roots: Sequence[str]
) -> LoopReport | None:
    """Stop in the frame that stays and record some rounds of its loop.

    The program is stopped afterwards, unless the loop does not come round in time.
    """
    stop = await paused(session)
    if stop is None or busy.inner is None:
        return None
    if busy.thread is not None and stop.thread.id != busy.thread:
        known = {each.id for each in await stop.backend.threads()}
        if busy.thread in known:
            await session.select_thread(busy.thread)
    if not await _left_inner_calls(session, busy.inner):
        return None
    function, started = busy.inner.function, time.monotonic()
    visits: Counter[int] = Counter()
    observed: list[ObservedLine] = []

    def until(stop: StopState, frame: Frame, values: Sequence[Value]) -> bool:
        line = frame.line or 0
        if frame.function == function:
            observed.append(ObservedLine(line, {value.name: value for value in values}))
            visits[line] += 1
        most, passed_s = max(visits.values(), default=0), time.monotonic() - started
        if most > _ROUNDS or sum(visits.values()) > _STEPS:
            return True
        return passed_s > (_ROUNDS_S if most > 2 else _LONGEST_S)

    limits = StepLimits(steps=2 * _STEPS, seconds=2 * _LONGEST_S)
    recorded = await record_call(session, roots, limits=limits, into=False, until=until)
    if not recorded.trace.frames:
        return None
    return loop_report(recorded.trace, recorded.trace.frames[1], observed, session.sources)


async def _left_inner_calls(session: Session, frame: Frame) -> bool:
    """Step out until *frame* is the innermost one; return whether it is."""
    for _ in range(200):
        stop = await session.require_stopped()
        frames = await stop.frames(60)
        at = next((i for i, each in enumerate(frames) if _is_same(each, frame)), None)
        if at == 0:
            return True
        if at is None:
            return False
        async with session.exclusive():
            seen = seen_stops(session)
            seen[session] = session.stop_number
            await session.step(StepKind.OUT)
        got = await wait_for_stop(session, seen, _RETURN_S)
        if got is None:
            await paused(session)
            return False
        if got[1].event.reason in (StopReason.EXCEPTION, StopReason.SIGNAL):
            return False
    return False


def _is_same(one: Frame, other: Frame) -> bool:
    return (one.function, one.path) == (other.function, other.path)
