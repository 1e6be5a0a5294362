"""Execution: continue, step, until, jump, pause, await. Each answers with the stop report."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Feature, StepKind
from freezeframe.backends.capabilities import Jumps
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.answers import StepTrail, StopReport
from freezeframe.model.locations import Location
from freezeframe.model.stops import Frame, StopReason
from freezeframe.session.breakpoints import LogicalBreakpoint
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_capture import before_resume
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import SeenStops, seen_stops, wait_for_stop

from ._blocked_threads import other_stacks, with_stacks
from ._clock import Clock
from ._common_args import NextStop, Timeout
from ._context import Context
from ._control import wait_for_handback
from ._locations import located
from ._never_hit import named
from ._registry import Arg, Effect, Needs, op
from ._stepped_watches import continue_by_stepping
from ._stop_report import running_report, stop_report, trail_of
from ._test_origin import with_origin

_Count = Annotated[int, Arg("how many times", short="-n", meta="N", bare=True)]


#: How long to wait for a step although another session of the tree has stopped meanwhile.
_STEP_S = 0.3
#: How long to wait for a pause if the debugger can show the stacks of a running program.
_PAUSE_S = 2.0


#: How many library calls on one line a step goes through before it gives up.
_MOST_DETOURS = 40


#: Stops that `continue --count` counts and passes.
_COUNTED = (StopReason.BREAKPOINT, StopReason.WATCHPOINT)


def _clock(ctx: Context, timeout: float | None) -> Clock:
    return Clock(ctx.config.timeouts.resume_s if timeout is None else timeout)


async def _answer(
    ctx: Context,
    session: Session,
    ticket: SeenStops,
    clock: Clock,
    trail: tuple[StepTrail, ...] = (),
    *,
    wait: bool = True,
    paused: bool = False,
) -> StopReport:
    """Wait for a stop or exit in the tree and report it. *paused*: a pause was requested."""
    if not wait:
        return running_report(ctx, session, None, trail=trail)
    got = await wait_for_stop(session, ticket, clock.left_s)
    if got is None:
        return await _report_running(ctx, session, ticket, clock, trail, paused=paused)
    return await _report_stop(ctx, session, got, trail)


async def _report_stop(
    ctx: Context, session: Session, got: tuple[Session, StopState], trail: tuple[StepTrail, ...]
) -> StopReport:
    stopped, stop = got
    ended = () if session.live or stopped is session else (f"{session.name} has ended",)
    return await stop_report(ctx, stopped, stop, trail=trail, notes=ended)


async def _report_running(
    ctx: Context,
    session: Session,
    ticket: SeenStops,
    clock: Clock,
    trail: tuple[StepTrail, ...],
    *,
    paused: bool = False,
) -> StopReport:
    """Report a program that did not stop in time, with where its threads are."""
    report = running_report(ctx, session, clock.waited_s, trail=trail)
    report = await with_stacks(session, report, paused=paused)
    if session.phase is Phase.RUNNING or report.state != Phase.RUNNING.value:
        return report
    # The program stopped or ended while its threads were examined.
    got = await wait_for_stop(session, ticket, 0)
    if got is None:
        return running_report(ctx, session, clock.waited_s, trail=trail)
    return await _report_stop(ctx, session, got, trail)


async def _resume(session: Session, act: Callable[[], Awaitable[None]]) -> SeenStops:
    """Resume the program; return the stops already seen, to wait for a newer one."""
    async with session.exclusive():
        await session.require_stopped(to_resume=True)
        ticket = seen_stops(session)
        ticket[session] = session.stop_number
        await act()
        return ticket


async def answer_to(
    ctx: Context, session: Session, act: Callable[[], Awaitable[None]], timeout: float | None
) -> StopReport:
    """Resume the program, wait for its next stop, and report it."""
    clock = _clock(ctx, timeout)
    return await _answer(ctx, session, await _resume(session, act), clock)


@op(
    "continue",
    aliases=("c", "cont", "run", "resume"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    example="continue",
    examples=("continue 5", "continue --timeout 5"),
)
async def continue_(
    ctx: Context,
    *,
    count: Annotated[int, Arg("stops to run to", short="-n", meta="N", bare=True)] = 1,
    thread: Annotated[bool, Arg("resume the current thread only")] = False,
    timeout: Timeout = None,
    wait: NextStop = True,
) -> StopReport:
    """Let the program run to its next stop.

    With --count, the answer has one line per stop on the way: the location and what changed. An
    exception, a signal or the exit ends the count. When the time is up the answer says `running`;
    `await` continues the wait.
    """
    _check_count(count)
    session = ctx.session
    if thread:
        session.require(Feature.SINGLE_THREAD)
    clock = _clock(ctx, timeout)
    if session.stepped_watches and wait:
        return await continue_by_stepping(ctx, session, clock.left_s)
    trail: list[StepTrail] = []
    while True:
        ticket = await _resume(session, lambda: session.resume(only=thread))
        count -= 1
        if count == 0 or not wait:
            report = await _answer(ctx, session, ticket, clock, tuple(trail), wait=wait)
            return await with_origin(ctx, report)
        got = await wait_for_stop(session, ticket, clock.left_s)
        if got is None:
            return await _report_running(ctx, session, ticket, clock, tuple(trail))
        stopped, stop = got
        if stopped is not session or stop.event.reason not in _COUNTED:
            return await _report_stop(ctx, session, got, tuple(trail))
        trail.append(trail_of(stopped, stop, stop))


def _stepped(kind: StepKind, before: StopState, now: StopState) -> bool:
    """Whether a stop is the end of the step: a breakpoint in the frame being stepped does not end
    the steps; one in a function that was stepped over does."""
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


async def _step_out_of_library(
    session: Session, kind: StepKind, before: StopState, now: StopState, clock: Clock
) -> tuple[Session, StopState] | None:
    """Continue a step that ended in library code without source to the user's code.

    Steps out to the calling user code, then into the next call of the same line if the request was
    a step into; once the user's last function has returned, resumes to the end.
    """
    start = before.user_frame
    if _unreadable(session, start):
        return session, now
    for detours in range(_MOST_DETOURS):
        frame = now.user_frame
        # A breakpoint on the rest of the line is not reported.
        passing = now.event.reason is StopReason.BREAKPOINT and detours and _same_line(start, frame)
        if now.event.reason is not StopReason.STEP and not passing:
            break
        if not _unreadable(session, frame):
            # After an inlined call, the rest of the line is still the same line.
            inlined = kind is not StepKind.OUT and (before.inlined or now.inlined)
            goes_on = inlined or (detours and kind is StepKind.INTO)
            if not goes_on or not _same_line(start, frame):
                break
            ticket = await _resume(session, lambda: session.step(kind))
        elif any(not each.library for each in now.fetched_frames()):
            ticket = await _resume(session, lambda: session.step(StepKind.OUT))
        else:
            ticket = await _resume(session, session.resume)
        got = await wait_for_stop(session, ticket, clock.left_s, prefer_self_s=_STEP_S)
        if got is None or got[0] is not session:
            return got
        now = got[1]
        if now.view is not None and kind is not StepKind.OUT:
            now.view.returned = None  # of a function that the user did not finish
    return session, now


def _same_line(one: Frame | None, other: Frame | None) -> bool:
    if one is None or other is None:
        return False
    return (one.path, one.line, one.function) == (other.path, other.line, other.function)


def _check_count(count: int) -> None:
    if count < 1:
        raise UsageError(f"--count takes 1 or more, not {count}.")


async def _step(
    ctx: Context, kind: StepKind, count: int, timeout: float | None, wait: bool, instruction: bool
) -> StopReport:
    _check_count(count)
    session = ctx.session
    # Stepping out of the frames inside the selected one is part of the first step.
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
        got = await wait_for_stop(session, ticket, clock.left_s, prefer_self_s=_STEP_S)
        if got is None:
            return await _report_running(ctx, session, ticket, clock, tuple(trail))
        stopped, stop = got
        if not instruction and stopped is session:
            got = await _step_out_of_library(session, kind, before, stop, clock)
            if got is None:
                return running_report(ctx, session, clock.waited_s, trail=tuple(trail))
            stopped, stop = got
        if count == 0 or stopped is not session or not _stepped(kind, before, stop):
            # The changes of the last line are those of the stop.
            last = (replace(trail_of(session, before, before), changed=()),) if trail else ()
            return await stop_report(ctx, stopped, stop, trail=(*trail, *last))
        if not inner:
            trail.append(trail_of(stopped, before, stop))
        elif depth is None or stop.depth is None:
            inner -= 1
        else:
            # Stepping out of a library leaves all of its frames.
            inner = max(0, stop.depth - depth)


async def _called_by_selected(session: Session) -> tuple[int, int | None]:
    """Return how many frames are inside the selected one, and the depth of the selected one."""
    stop = await session.require_stopped()
    depth = stop.depth
    return stop.selected, None if depth is None else depth - stop.selected


@op(
    "next",
    aliases=("n", "step-over", "step over", "over"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    example="next",
    examples=("next 10",),
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

    With --count, the answer has one line per step: the location and what changed. A breakpoint in
    a function that is stepped over ends the steps; one in the stepped frame does not.
    """
    return await _step(ctx, StepKind.OVER, count, timeout, wait, instruction)


@op(
    "step",
    aliases=("s", "step-in", "step-into", "step in", "step into", "into"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    example="step",
    examples=("step 5",),
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


async def _location(ctx: Context, where: Location) -> Location:
    """Return the location for `until` and `jump`: a bare number is a line of the current file."""
    if where.function is not None and where.function.isdecimal():
        stop = await ctx.session.require_stopped()
        frame = await stop.current_frame()
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
    """Run until a location is reached, or to the next stop before it."""
    session = ctx.session
    clock = _clock(ctx, timeout)
    location = await _location(ctx, where)

    async def go() -> None:
        passing = LogicalBreakpoint(-1 - len(session.internal_breakpoints), location)
        session.internal_breakpoints.append(passing)
        await session.apply([passing])
        bound = session.bound_breakpoints.get(passing.id)
        if bound is not None and bound.rejected:
            session.internal_breakpoints.remove(passing)
            raise NotFound(f"{where}: {bound.message or 'there is no code there'}.")
        await session.resume()

    ticket = await _resume(session, go)
    report = await _answer(ctx, session, ticket, clock, wait=wait)
    if report.state != Phase.TERMINATED.value:
        return report
    return replace(report, notes=(*report.notes, f"it ended without a stop at {named(location)}"))


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
    """Continue from another line without running the code between."""
    session = ctx.session
    location = await _location(ctx, where)
    if location.file is None or location.line is None:
        raise UsageError("`jump` takes FILE:LINE or a line.", next="dbg jump LINE")
    path, line = location.file, location.line

    async def go() -> None:
        stop = await session.require_stopped()
        assert isinstance(stop.backend, Jumps)
        await before_resume(session, stop)
        await stop.backend.jump(stop.thread.id, path, line)

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

    A program whose threads all wait cannot always be stopped; the answer then says where they wait.
    """
    session = ctx.session
    clock = _clock(ctx, timeout)
    backend = session.backend
    if timeout is None and backend is not None and Feature.RUNNING_STACKS in backend.features:
        clock = Clock(min(_PAUSE_S, clock.left_s))
    stop = session.current_stop
    if session.phase is Phase.STOPPED and stop is not None:
        await session.require_stopped()
        return await stop_report(ctx, session, stop, notes=("the program was already stopped",))
    ticket = seen_stops(session)
    await session.require(Feature.PAUSE).pause(None)
    report = await _answer(ctx, session, ticket, clock, paused=True)
    if report.state == Phase.RUNNING.value:
        return replace(report, next=("await", "stop"))
    stop = session.current_stop
    if stop is not None and stop.event.reason is StopReason.PAUSE:
        report = replace(report, stacks=await other_stacks(stop))
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

    Answers at once when the program is stopped or has ended. While a person or an editor has taken
    the session over, waits until they hand it back.
    """
    session = ctx.session
    clock = Clock(ctx.config.timeouts.await_s if timeout is None else timeout)
    await wait_for_handback(ctx, clock.left_s)
    stop = session.current_stop
    if session.phase is Phase.STOPPED and stop is not None and not stop.resume_unanswered:
        stop = await session.require_stopped()
        return await stop_report(ctx, session, stop)
    return await _answer(ctx, session, seen_stops(session), clock)
