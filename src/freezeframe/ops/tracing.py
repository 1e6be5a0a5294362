"""The life of a call: trace."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Launch
from freezeframe.backends.python.tracing.traced_run import run_traced
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.calls import CallReport, CallRow, CallSite, CallTable
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.locations import Location
from freezeframe.model.stops import Exit, Frame, StopReason
from freezeframe.model.trace import Trace, TraceLimits, TraceRequest, TraceUntil
from freezeframe.questions.call_report import call_report, call_row, too_few
from freezeframe.questions.python_functions import function_at
from freezeframe.questions.stepping import RecordedCall, StepLimits, frames_only, record_call
from freezeframe.session.breakpoints import LogicalBreakpoint
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.source_cache import body_line, enclosing_block
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import SeenStops, seen_stops, wait_for_stop

from ._common_args import Timeout
from ._context import Context
from ._frames import site_of
from ._launch_args import own_directories
from ._launch_program import LaunchRequest, prepare_launch
from ._locations import located
from ._never_hit import without_breakpoints
from ._past import require_present, user_frame
from ._registry import Arg, Effect, Needs, op
from ._retrace import traced_again
from ._second_session import second_session
from ._stop_report import how_it_ended
from ._stored_traces import store_trace

#: Seconds for the whole answer unless the caller says how many.
_SECONDS = 30.0
#: How long calls after the traced one are counted.
_COUNT_S = 3.0
#: Calls of a table.
_MOST_CALLS = 50
_PYTHON = "Python"
#: The id of the breakpoint at a function's entry; those of `until` are near -1.
_ENTRY_ID = -1000


class _Entry:
    """The breakpoint at the function's entry, which is set only while a call is waited for."""

    def __init__(self, session: Session, location: Location, condition: str | None) -> None:
        self.session = session
        self.breakpoint = LogicalBreakpoint(_ENTRY_ID, location, condition=condition)

    async def arm(self) -> None:
        """Set it in every process of the program."""
        for member in self.session.root.tree():
            # A stop removes the breakpoints of an operation.
            if member.live and self.breakpoint not in member.internal_breakpoints:
                member.internal_breakpoints.append(self.breakpoint)
                await member.apply([self.breakpoint])

    async def disarm(self) -> None:
        for member in self.session.root.tree():
            if self.breakpoint in member.internal_breakpoints:
                member.internal_breakpoints.remove(self.breakpoint)
                await member.apply([self.breakpoint])


class _OwnEntry(_Entry):
    """The same in a session of its own, from before the program's first line on."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.breakpoint = next(iter(session.breakpoints))

    async def arm(self) -> None:
        await self._switch(on=True)

    async def disarm(self) -> None:
        await self._switch(on=False)

    async def _switch(self, *, on: bool) -> None:
        if self.breakpoint.enabled != on:
            self.breakpoint.enabled = on
            for member in self.session.root.tree():
                if member.live:
                    await member.apply([self.breakpoint])


@dataclass(slots=True)
class _Search:
    """The calls of a function, as the program makes them."""

    session: Session
    entry: _Entry
    ends_at: float
    #: calls that were reached so far
    calls: int = 0
    passed: Counter[int] = field(default_factory=Counter)
    #: the process of the last call
    at: Session | None = None

    @property
    def left_s(self) -> float:
        return max(0.0, self.ends_at - time.monotonic())


@op(
    "trace",
    group="questions",
    effect=Effect.RESUMES,
    needs=Needs.WORKSPACE,
    example="trace price",
    examples=(
        "trace price --if 'n > 10'",
        "trace Cart.checkout --call 2 -- python app.py",
        "trace price --calls -- go test ./shop",
    ),
)
async def trace(
    ctx: Context,
    where: Annotated[
        Location, Arg("a function, or a line of it as file:line", complete="location")
    ],
    command: Annotated[
        tuple[str, ...],
        Arg("after `--`: the command to start for this answer (default: the session)", rest=True),
    ] = (),
    *,
    call: Annotated[int, Arg("the Nth call", meta="N")] = 1,
    condition: Annotated[
        str | None,
        Arg("the first call where this holds at the entry", short="-c", name="if", meta="EXPR"),
    ] = None,
    calls: Annotated[bool, Arg("a table of all calls")] = False,
    steps: Annotated[int, Arg("record at most this many steps", meta="N")] = 2000,
    timeout: Timeout = None,
) -> CallReport | CallTable:
    """Show the life of one call: arguments, what each line changed, branches, loops, the result.

    With a command after `--` the program is started for this answer alone and ended with it.
    Without, the current session continues to the next call of the function and stops in its
    caller after the call. Breakpoints that are hit meanwhile are passed, and the answer says so.
    At an exception or a failing test the calls before it are shown, from a second run.
    """
    if call < 1 or steps < 1:
        raise UsageError("--call and --steps take 1 or more.")
    if where.condition is not None and condition is None:
        condition, where = where.condition, replace(where, condition=None)
    question = _Question(where, condition, call, calls, steps, timeout or _SECONDS)
    if command:
        return await _of_command(ctx, command, question)
    return await _of_session(ctx, question)


@dataclass(frozen=True, slots=True)
class _Question:
    where: Location
    condition: str | None
    call: int
    calls: bool
    steps: int
    seconds: float
    #: about the calls before the current stop, in a recording that may begin after the program
    upto_stop: bool = False


# --- in a session of its own


async def _of_command(
    ctx: Context, command: tuple[str, ...], question: _Question
) -> CallReport | CallTable:
    ready = await prepare_launch(ctx, LaunchRequest(command[0], command[1:]))
    if _PYTHON in ready.choice.debugger.languages and question.condition is None:
        return await _traced_inside(ctx, ready.target, question)
    where = _at_entry(ctx, located(ctx, question.where, program=ready.target.program))
    entry = LogicalBreakpoint(0, where, condition=question.condition)
    async with second_session(ctx, ready.target, ready.choice, [entry]) as session:
        search = _Search(session, _OwnEntry(session), time.monotonic() + question.seconds)
        async with frames_only(session):
            stop = await _call(search, question.call, {session: 0})
        if stop is None:
            raise _never_called(ctx, search, question)
        roots = (ctx.workspace.root, ready.target.cwd)
        if question.calls:
            table = await _table(ctx, search, question, roots)
            return replace(table, exit=session.exit)
        recording = await _recorded(search, question, roots)
        store_trace(ctx, session.name, ready.target, recording.trace)
        report = _report(ctx, recording, question)
        counted = await _count_calls(search, recording)
        # Recursive calls inside of the recorded one were not counted.
        counted = counted and not _is_recursive(report)
        return replace(report, calls=search.calls, at_least=not counted, exit=session.exit)


def _is_recursive(report: CallReport) -> bool:
    """Whether a line of the call calls the same function, by its name."""
    name = re.split(r"\W", report.function)[-1]
    return any(re.search(rf"\b{name}\b", each.text) for each in report.lines)


async def _traced_inside(
    ctx: Context, target: Launch, question: _Question
) -> CallReport | CallTable:
    """Answer from a run that is traced inside the program: every call, at little cost."""
    where = located(ctx, question.where, program=target.program)
    roots = own_directories(ctx.workspace.root, target)
    name = _function_name(ctx, where)
    limits = TraceLimits(seconds=question.seconds)
    traced = await run_traced(target, TraceRequest(roots, TraceUntil(), (name,), limits))
    store_trace(ctx, os.path.splitext(os.path.basename(target.program))[0], target, traced)
    return _from_trace(ctx, traced, question, name, where.file)


def _function_name(ctx: Context, where: Location) -> str:
    name = where.function or function_at(ctx.hub.sources.lines(where.file or ""), where.line or 0)
    if name is None:
        raise NotFound(f"{where} is in no function.", next="dbg help trace")
    return name


def _from_trace(
    ctx: Context, traced: Trace, question: _Question, name: str, path: str | None
) -> CallReport | CallTable:
    """Answer from what a whole run has recorded."""
    found = [
        frame
        for frame in sorted(traced.frames.values(), key=lambda each: each.number)
        if f".{frame.function}".endswith(f".{name}") and path in (None, frame.path)
    ]
    exit = Exit(traced.outcome.exit_code) if traced.outcome.exit_code is not None else None
    more = bool(traced.dropped.steps) or traced.outcome.how == "timeout"
    if len(found) < question.call:
        raise _too_few_calls(question, len(found), traced)
    sources = ctx.hub.sources
    if question.calls:
        rows = [call_row(traced, each, n, sources) for n, each in enumerate(found, 1)]
        first = found[0]
        return CallTable(first.function, first.path, first.first_line, tuple(rows), more, exit=exit)
    report = call_report(traced, found[question.call - 1], sources)
    notes = (*report.notes, *traced.remarks)
    return replace(
        report, number=question.call, calls=len(found), at_least=more, exit=exit, notes=notes
    )


def _too_few_calls(question: _Question, calls: int, trace: Trace) -> NotFound:
    outcome = trace.outcome
    made = too_few(calls)
    if question.upto_stop:
        return NotFound(
            f"{made} of {question.where} is recorded on the way to this stop.",
            next=f"dbg trace {question.where} --calls" if calls else "dbg backtrace",
        )
    how = {
        "timeout": f"within {question.seconds:g} s",
        "raised": f"before {outcome.exception}",
    }.get(outcome.how, f"and exited with code {outcome.exit_code}")
    fact = f"the program made {made} of {question.where} in the workspace's code {how}"
    # What was not traced may have made it.
    return NotFound(
        "; ".join((fact, *trace.remarks)) + ".",
        next=f"dbg trace {question.where}" if calls else "dbg help trace",
    )


async def _count_calls(search: _Search, recording: RecordedCall) -> bool:
    """Count the calls after the recorded one; return whether the program has made all of them."""
    search.ends_at = min(search.ends_at, time.monotonic() + _COUNT_S)
    session = recording.session
    async with frames_only(search.session):
        if session.phase is Phase.STOPPED:
            await _call(search, -1, await _resumed(search, session))
    return not search.session.root.any_live


# --- in the current session


async def _of_session(ctx: Context, question: _Question) -> CallReport | CallTable:
    ctx.found = session = ctx.hub.find(ctx.session_name, ctx.workspace)
    session.last_command = ctx.typed
    stop = await session.require_stopped(to_resume=True)
    require_present(session, "trace")
    where = located(ctx, question.where)
    is_named = where.function is not None or (where.file or "").endswith(".py")
    if stop.event.reason is StopReason.EXCEPTION and question.condition is None and is_named:
        return await _before_exception(ctx, session, stop, question, where)
    location = _at_entry(ctx, where)
    entry = _Entry(session, location, question.condition)
    search = _Search(session, entry, time.monotonic() + question.seconds)
    try:
        async with frames_only(session):
            async with session.exclusive():
                await entry.arm()
                reached = question.condition is None and _is_at_entry(search, stop)
            if reached:
                search.calls, search.at = 1, session
            if not reached or question.call > 1:
                seen = await _resumed(search, session)
                reached = await _call(search, question.call, seen) is not None
        if not reached:
            raise _never_called(ctx, search, question)
        target = session.target
        roots = (ctx.workspace.root, *((target.cwd,) if target is not None else ()))
        if question.calls:
            table = await _table(ctx, search, question, roots)
            return replace(table, now=_now(session), exit=session.exit)
        recording = await _recorded(search, question, roots)
    finally:
        await entry.disarm()
    if isinstance(target, Launch):
        store_trace(ctx, session.root.name, target, recording.trace)
    report = _report(ctx, recording, question)
    traced = recording.session
    session.root.last_reported = traced
    passed = tuple(sorted((recording.passed + search.passed).items()))
    return replace(report, passed=passed, now=_now(traced), exit=traced.exit)


async def _before_exception(
    ctx: Context, session: Session, stop: StopState, question: _Question, where: Location
) -> CallReport | CallTable:
    """Answer from the program's past: after an exception, what matters was called before it."""
    name = _function_name(ctx, where)
    second = await traced_again(ctx, session, stop, await user_frame(stop))
    past = replace(question, upto_stop=True)
    answer = _from_trace(ctx, second.trace, past, name, where.file)
    # How the second run ended is nothing about this program.
    if isinstance(answer, CallTable):
        return replace(answer, exit=None)
    return replace(answer, exit=None, notes=(*second.notes, *answer.notes))


def _is_at_entry(search: _Search, stop: StopState) -> bool:
    """Whether the program has just stopped where the function begins."""
    frame = stop.thread.frame
    bound = search.session.bound_breakpoints.get(search.entry.breakpoint.id)
    if frame is None or bound is None or stop.event.reason is not StopReason.BREAKPOINT:
        return False
    return bound.verified and (bound.path, bound.line) == (frame.path, frame.line)


def _now(session: Session) -> CallSite | None:
    stop = session.current_stop
    frame = stop.thread.frame if stop is not None else None
    return None if frame is None else CallSite(frame.path or "", frame.line or 0, frame.function)


# --- both


def _at_entry(ctx: Context, location: Location) -> Location:
    """Return where the function around a line begins; a function's name stays as it is."""
    if location.file is None or location.line is None:
        return location
    try:
        lines = ctx.hub.sources.lines(location.file)
    except OSError:
        return location
    first, last = enclosing_block(lines, location.line)
    if (first, last) == (1, len(lines)):
        return location
    line = body_line(lines, range(first, last + 1))
    return replace(location, line=min(line, location.line))


async def _resumed(search: _Search, session: Session) -> SeenStops:
    """Resume a stopped process; return the stops that were seen before."""
    async with session.exclusive():
        await search.entry.arm()
        seen = seen_stops(search.session)
        seen[session] = session.stop_number
        await session.resume()
    return seen


async def _call(search: _Search, number: int, seen: SeenStops) -> StopState | None:
    """Wait until the program reaches the function's call *number*; None if it does not."""
    entry = search.entry.breakpoint.id
    while True:
        got = await wait_for_stop(search.session, seen, search.left_s)
        if got is None:
            return None
        member, stop = got
        seen[member] = stop.number
        if entry in stop.event.breakpoints:
            search.calls += 1
            search.at = member
            if search.calls == number:
                return stop
        elif stop.event.reason not in (StopReason.BREAKPOINT, StopReason.WATCHPOINT):
            return None
        search.passed.update(id for id in stop.event.breakpoints if id > 0 and id != entry)
        async with member.exclusive():
            await search.entry.arm()
            await member.resume()


async def _recorded(search: _Search, question: _Question, roots: Sequence[str]) -> RecordedCall:
    """Record the call that the program has reached, without stops at calls inside of it."""
    session = search.at or search.session
    await search.entry.disarm()
    limits = StepLimits(steps=question.steps, seconds=search.left_s)
    recording = await record_call(session, roots, limits=limits, into=False)
    await search.entry.arm()
    return recording


async def _table(
    ctx: Context, search: _Search, question: _Question, roots: Sequence[str]
) -> CallTable:
    rows: list[CallRow] = []
    left = question.steps
    while True:
        recording = await _recorded(search, replace(question, steps=left), roots)
        made = recording.trace
        frame = made.frames[1]
        row = call_row(made, frame, search.calls, ctx.hub.sources)
        rows.append(replace(row, ended=recording.finished or frame.raised is not None))
        left -= len(made.steps)
        limit = made.dropped.limit or ("steps" if left < 1 else None)
        session = recording.session
        if limit or len(rows) >= _MOST_CALLS or session.phase is not Phase.STOPPED:
            break
        async with frames_only(search.session):
            seen = await _resumed(search, session)
            if await _call(search, search.calls + 1, seen) is None:
                break
    return CallTable(
        frame.function,
        frame.path,
        frame.first_line,
        tuple(rows),
        at_least=search.session.root.any_live,
        limit=limit,
    )


def _report(ctx: Context, recording: RecordedCall, question: _Question) -> CallReport:
    made = recording.trace
    report = call_report(made, made.frames[1], ctx.hub.sources)
    return replace(
        report,
        number=question.call,
        condition=question.condition,
        ended=recording.finished or report.raised is not None,
        called_from=report.called_from or _site(ctx, recording.called_from),
        passed=tuple(sorted(recording.passed.items())),
    )


def _site(ctx: Context, frame: Frame | None) -> CallSite | None:
    return None if frame is None else site_of(frame, ctx.hub.sources)


def _never_called(ctx: Context, search: _Search, question: _Question) -> NotFound:
    """Return the error for a call that was not made: what the program did in place of it."""
    session, where = search.session, question.where
    bound = session.bound_breakpoints.last_verified(search.entry.breakpoint.id)
    if not search.calls and (bound is None or not bound.verified):
        why = f": {bound.message}" if bound is not None and bound.message else ""
        return NotFound(f"{where} was not found in the program{why}.", next="dbg help trace")
    made = too_few(search.calls)
    fact = f"the program made {made} of {where}"
    if question.condition:
        fact += f" with {question.condition}"
    member = next((each for each in session.root.tree() if each.current_stop is not None), session)
    stop = member.current_stop
    if not session.root.any_live:
        exit = session.root.exit
        fact += f" and {how_it_ended(exit)}" if exit is not None else " and ended"
    elif stop is None:
        fact += f" within {question.seconds:g} s"
    elif stop.exception is not None:
        fact += f" before {stop.exception.type}: {stop.exception.message}"
    else:
        fact += f" before it stopped ({stop.event.reason.value})"
    # A child that was not debugged may have made it.
    fact = "; ".join((fact, *without_breakpoints(ctx, session.root)))
    return NotFound(f"{fact}.", next=f"dbg trace {where}" if search.calls else "dbg help trace")
