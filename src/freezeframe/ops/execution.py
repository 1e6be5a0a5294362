"""Execution: continue, step, until, jump, pause, await. Each answers with the stop report."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Feature, StepKind
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.answers import StepTrail, StopReport
from freezeframe.model.places import Location
from freezeframe.model.stops import Frame, StopReason
from freezeframe.session.breakpoints import Wanted
from freezeframe.session.moment import Moment
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.waiting import Ticket
from freezeframe.session.waiting import ticket as told
from freezeframe.session.waiting import wait as wait_for_news

from ._arguments import NextStop, Timeout
from ._blocked import other_stacks, with_stacks
from ._context import Context
from ._places import located
from ._registry import Arg, Effect, Needs, op
from ._reports import running_report, stop_report, trail_of

_Count = Annotated[int, Arg("how many times", short="-n", meta="N")]


#: How long a step is waited for although another session of the tree has stopped meanwhile.
_STEP_S = 0.3
#: How long a program is waited for that was asked to stop, where its stacks are seen all the same.
_PAUSE_S = 2.0


#: Calls into libraries on one line that a step goes through before it gives up.
_MOST_DETOURS = 40


class _Clock:
    """One time limit over several waits."""

    def __init__(self, limit_s: float) -> None:
        self._began = time.monotonic()
        self._limit_s = limit_s

    @property
    def waited_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def left_s(self) -> float:
        return max(0.0, self._limit_s - self.waited_s)


def _clock(ctx: Context, timeout: float | None) -> _Clock:
    return _Clock(ctx.config.timeouts.resume_s if timeout is None else timeout)


async def _answer(
    ctx: Context,
    session: Session,
    ticket: Ticket,
    clock: _Clock,
    trail: tuple[StepTrail, ...] = (),
    *,
    wait: bool = True,
    paused: bool = False,
) -> StopReport:
    """Wait for news of the tree and report it. *paused*: the program was asked to stop."""
    if not wait:
        return running_report(ctx, session, None, trail=trail)
    got = await wait_for_news(session, ticket, clock.left_s)
    if got is None:
        return await _no_news(ctx, session, ticket, clock, trail, paused=paused)
    return await _news(ctx, session, got, trail)


async def _news(
    ctx: Context, session: Session, got: tuple[Session, Moment], trail: tuple[StepTrail, ...]
) -> StopReport:
    stopped, moment = got
    ended = () if session.live or stopped is session else (f"{session.name} has ended",)
    return await stop_report(ctx, stopped, moment, trail=trail, notes=ended)


async def _no_news(
    ctx: Context,
    session: Session,
    ticket: Ticket,
    clock: _Clock,
    trail: tuple[StepTrail, ...],
    *,
    paused: bool = False,
) -> StopReport:
    """Report a program that did not stop in time, with where its threads are."""
    report = running_report(ctx, session, clock.waited_s, trail=trail)
    report = await with_stacks(session, report, paused=paused)
    if session.phase is Phase.RUNNING or report.state != Phase.RUNNING.value:
        return report
    # It stopped or ended while it was looked at.
    got = await wait_for_news(session, ticket, 0)
    if got is None:
        return running_report(ctx, session, clock.waited_s, trail=trail)
    return await _news(ctx, session, got, trail)


async def _resume(session: Session, act: Callable[[], Awaitable[None]]) -> Ticket:
    """Take a turn to resume; return the ticket to wait with."""
    async with session.turn():
        await session.require_stopped(to_resume=True)
        ticket = told(session)
        ticket[session] = session.stop_number
        await act()
        return ticket


async def answer_to(
    ctx: Context, session: Session, act: Callable[[], Awaitable[None]], timeout: float | None
) -> StopReport:
    """Take a turn to let the program run, wait for its next stop, and report it."""
    clock = _clock(ctx, timeout)
    return await _answer(ctx, session, await _resume(session, act), clock)


@op(
    "continue",
    aliases=("c", "cont", "run", "resume"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    example="continue",
    examples=("continue --timeout 5",),
)
async def continue_(
    ctx: Context,
    *,
    thread: Annotated[bool, Arg("the current thread only; the others stay stopped")] = False,
    timeout: Timeout = None,
    wait: NextStop = True,
) -> StopReport:
    """Let the program run to its next stop.

    When the time is up the answer says `running`; `await` takes the wait up again.
    """
    session = ctx.session
    if thread:
        session.require(Feature.SINGLE_THREAD)
    clock = _clock(ctx, timeout)
    ticket = await _resume(session, lambda: session.resume(only=thread))
    return await _answer(ctx, session, ticket, clock, wait=wait)


def _stepped(kind: StepKind, before: Moment, now: Moment) -> bool:
    """Whether a stop is where the step led: a breakpoint on the way of the steps themselves does
    not end them, one in a function that was stepped over does."""
    if now.event.reason is StopReason.STEP:
        return True
    if now.event.reason is not StopReason.BREAKPOINT or now.thread.id != before.thread.id:
        return False
    if before.depth is None or now.depth is None:
        return False
    if kind is StepKind.INTO:
        return now.depth <= before.depth + 1
    return now.depth <= before.depth - (1 if kind is StepKind.OUT else 0)


def _unreadable(session: Session, frame: Frame | None) -> bool:
    return frame is not None and session.sources.unreadable(frame)


async def _to_users_code(
    session: Session, kind: StepKind, before: Moment, now: Moment, clock: _Clock
) -> tuple[Session, Moment] | None:
    """Bring a step that went into unreadable code of a library to code of the user's.

    Out of it, where the user's code called it, and into the next call of the same line where that
    was wanted; where the user's last function has returned, on to the end.
    """
    start = before.standing
    if _unreadable(session, start):
        return session, now
    for detours in range(_MOST_DETOURS):
        frame = now.standing
        # A breakpoint on the way through the line is no news.
        passing = now.event.reason is StopReason.BREAKPOINT and detours and _same_line(start, frame)
        if now.event.reason is not StopReason.STEP and not passing:
            break
        if not _unreadable(session, frame):
            # The rest of a line that something is inlined into is still that line.
            inlined = kind is not StepKind.OUT and (before.inlined or now.inlined)
            goes_on = inlined or (detours and kind is StepKind.INTO)
            if not goes_on or not _same_line(start, frame):
                break
            ticket = await _resume(session, lambda: session.step(kind))
        elif any(not each.library for each in now.known_frames()):
            ticket = await _resume(session, lambda: session.step(StepKind.OUT))
        else:
            ticket = await _resume(session, session.resume)
        got = await wait_for_news(session, ticket, clock.left_s, own_s=_STEP_S)
        if got is None or got[0] is not session:
            return got
        now = got[1]
        if now.view is not None and kind is not StepKind.OUT:
            now.view.returned = None  # of a function that nobody asked to finish
    return session, now


def _same_line(one: Frame | None, other: Frame | None) -> bool:
    if one is None or other is None:
        return False
    return (one.path, one.line, one.function) == (other.path, other.line, other.function)


async def _step(
    ctx: Context, kind: StepKind, count: int, timeout: float | None, wait: bool, instruction: bool
) -> StopReport:
    if count < 1:
        raise UsageError(f"--count takes 1 or more, not {count}.")
    session = ctx.session
    # The steps out of what the selected frame has called are part of the first one.
    inner, depth = await _called_by_selected(session) if kind is StepKind.OUT else (0, None)
    if instruction:
        session.require(Feature.INSTRUCTION_STEP)
    clock = _clock(ctx, timeout)
    trail: list[StepTrail] = []
    while True:
        before = await session.require_stopped()
        ticket = await _resume(session, lambda: session.step(kind, instruction=instruction))
        count -= 0 if inner else 1
        if not wait:
            return await _answer(ctx, session, ticket, clock, tuple(trail), wait=False)
        got = await wait_for_news(session, ticket, clock.left_s, own_s=_STEP_S)
        if got is None:
            return await _no_news(ctx, session, ticket, clock, tuple(trail))
        stopped, moment = got
        if not instruction and stopped is session:
            got = await _to_users_code(session, kind, before, moment, clock)
            if got is None:
                return running_report(ctx, session, clock.waited_s, trail=tuple(trail))
            stopped, moment = got
        if count == 0 or stopped is not session or not _stepped(kind, before, moment):
            return await stop_report(ctx, stopped, moment, trail=tuple(trail))
        if not inner:
            trail.append(trail_of(stopped, before, moment))
        elif depth is None or moment.depth is None:
            inner -= 1
        else:
            # A step out of a library goes out of all of it.
            inner = max(0, moment.depth - depth)


async def _called_by_selected(session: Session) -> tuple[int, int | None]:
    """Return how many frames are inside the one that the user has selected, and its depth."""
    moment = await session.require_stopped()
    if moment.selected == moment.first_selected:
        return 0, None
    depth = moment.depth
    return moment.selected, None if depth is None else depth - moment.selected


@op(
    "next",
    aliases=("n", "step-over", "step over", "over"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    example="next",
    examples=("next --count 10",),
)
async def next_(
    ctx: Context,
    *,
    count: _Count = 1,
    timeout: Timeout = None,
    wait: NextStop = True,
    instruction: Annotated[bool, Arg("one machine instruction")] = False,
) -> StopReport:
    """Run to the next line, over calls.

    With --count, each step on the way is one line: its place and what changed. A breakpoint in
    a function that is stepped over ends the steps; one on their own way does not.
    """
    return await _step(ctx, StepKind.OVER, count, timeout, wait, instruction)


@op(
    "step",
    aliases=("s", "step-in", "step-into", "step in", "step into", "into"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    example="step",
    examples=("step --count 5",),
)
async def step(
    ctx: Context,
    *,
    count: _Count = 1,
    timeout: Timeout = None,
    wait: NextStop = True,
    instruction: Annotated[bool, Arg("one machine instruction")] = False,
) -> StopReport:
    """Run to the next line, into calls."""
    return await _step(ctx, StepKind.INTO, count, timeout, wait, instruction)


@op(
    "finish",
    aliases=("out", "step-out", "step out"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    example="finish",
)
async def finish(
    ctx: Context,
    *,
    count: _Count = 1,
    timeout: Timeout = None,
    wait: NextStop = True,
) -> StopReport:
    """Run until the function of the selected frame returns; the answer has the returned value."""
    return await _step(ctx, StepKind.OUT, count, timeout, wait, False)


async def _place(ctx: Context, where: Location) -> Location:
    """Return where `until` and `jump` go: a bare number is a line of the current file."""
    if where.function is not None and where.function.isdecimal():
        moment = await ctx.session.require_stopped()
        frame = await moment.current_frame()
        where = replace(where, function=None, file=frame.path, line=int(where.function))
    return located(ctx, where)


@op(
    "until",
    aliases=("run-to", "advance"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    example="until app.py:50",
    examples=("until 50",),
)
async def until(
    ctx: Context,
    where: Annotated[
        Location, Arg("file:line, a line of this file, or a function", complete="location")
    ],
    *,
    timeout: Timeout = None,
    wait: NextStop = True,
) -> StopReport:
    """Run until a place is reached, or the next stop before it."""
    session = ctx.session
    clock = _clock(ctx, timeout)
    place = await _place(ctx, where)

    async def go() -> None:
        passing = Wanted(-1 - len(session.private), place)
        session.private.append(passing)
        await session.apply([passing])
        bound = session.bindings.get(passing.id)
        if bound is not None and bound.rejected:
            session.private.remove(passing)
            raise NotFound(f"{where}: {bound.message or 'there is no code there'}.")
        await session.resume()

    ticket = await _resume(session, go)
    return await _answer(ctx, session, ticket, clock, wait=wait)


@op(
    "jump",
    aliases=("goto",),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    feature=Feature.JUMP,
    example="jump 50",
)
async def jump(
    ctx: Context,
    where: Annotated[Location, Arg("file:line, or a line of this file", complete="location")],
    *,
    timeout: Timeout = None,
) -> StopReport:
    """Go on from another line without running what lies between."""
    session = ctx.session
    place = await _place(ctx, where)
    if place.file is None or place.line is None:
        raise UsageError("`jump` takes FILE:LINE or a line.", next="dbg jump LINE")
    path, line = place.file, place.line

    async def go() -> None:
        moment = await session.require_stopped()
        await moment.backend.jump(moment.thread.id, path, line)

    return await answer_to(ctx, session, go, timeout)


@op(
    "pause",
    aliases=("interrupt", "halt"),
    group="execution",
    effect=Effect.WRITES,
    needs=Needs.LIVE,
    feature=Feature.PAUSE,
    control=True,
    example="pause",
)
async def pause(ctx: Context, *, timeout: Timeout = None) -> StopReport:
    """Stop a running program where it is. Works while another client waits.

    A program all of whose threads wait cannot always be stopped; then the answer says where.
    """
    session = ctx.session
    clock = _clock(ctx, timeout)
    backend = session.backend
    if timeout is None and backend is not None and Feature.RUNNING_STACKS in backend.features:
        clock = _Clock(min(_PAUSE_S, clock.left_s))
    moment = session.moment
    if session.phase is Phase.STOPPED and moment is not None:
        await session.require_stopped()
        return await stop_report(ctx, session, moment, notes=("the program stood still already",))
    ticket = told(session)
    await session.require(Feature.PAUSE).pause(None)
    report = await _answer(ctx, session, ticket, clock, paused=True)
    if report.state == Phase.RUNNING.value:
        return replace(report, next=("await", "stop"))
    moment = session.moment
    if moment is not None and moment.event.reason is StopReason.PAUSE:
        report = replace(report, stacks=await other_stacks(moment))
    return report


@op(
    "await",
    aliases=("wait",),
    group="execution",
    needs=Needs.SESSION,
    control=True,
    example="await --timeout 60",
)
async def await_(
    ctx: Context,
    *,
    timeout: Annotated[
        float | None,
        Arg("seconds to wait for a stop (default: 300, see `config`)", short="-t", meta="SECONDS"),
    ] = None,
) -> StopReport:
    """Wait for the next stop of a running program.

    Answers at once when the program stands still or has ended.
    """
    session = ctx.session
    clock = _Clock(ctx.config.timeouts.await_s if timeout is None else timeout)
    moment = session.moment
    if session.phase is Phase.STOPPED and moment is not None:
        moment = await session.require_stopped()
        return await stop_report(ctx, session, moment)
    return await _answer(ctx, session, told(session), clock)
