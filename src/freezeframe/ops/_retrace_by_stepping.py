"""A trace of a stopped program, by stepping: it is run again in a second session to the same stop.

The second run goes to the first statement that the outermost function on the stack needed for the
value in question, in the round of its loop that leads to the stop, and is stepped from there. Where
that takes too many steps, a function further in is tried, and at last only what is called first.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from freezeframe.backends.backend import Launch
from freezeframe.backends.selection import DebuggerChoice
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.locations import Location
from freezeframe.model.stops import Frame, StopReason
from freezeframe.model.trace import Dropped, Outcome, Trace
from freezeframe.model.values import Value
from freezeframe.questions.any_expressions import path_text
from freezeframe.questions.any_source import AnySource
from freezeframe.questions.called_names import name_calls
from freezeframe.questions.recording_start import recording_start
from freezeframe.questions.source_patterns import CLOSING, code_of
from freezeframe.questions.stepping import RecordedCall, StepLimits, frames_only, record_call
from freezeframe.session.breakpoints import LogicalBreakpoint
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.source_cache import Sources, body_line, function_block
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import SeenStops, seen_stops, wait_for_stop

from ._context import Context
from ._second_session import second_session

#: Seconds for the steps of all runs together, and for the first of them.
_SECONDS, _FIRST_SECONDS = 24.0, 14.0
#: Seconds for one run to come to where its steps begin: Maven and its like start slowly.
_START_SECONDS = 45.0
#: Frames of a stop that are searched for the user's functions.
_FRAMES = 60
#: Seconds for the steps of one more run, and the calls inside of each other that it steps into.
_SHALLOW_SECONDS, _SHALLOW_DEPTH = 8.0, 1
#: How often the program is run again.
_MOST_RUNS = 4
_STEPPED_OVER = "it takes too many steps: inner calls were stepped over"
_TEST_FILE = re.compile(r"test|spec", re.IGNORECASE)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
#: the code of a file outside of functions
_MODULES = frozenset(("<module>", "<main>", "{main}", "(anonymous)", "<anonymous>", ""))

_FAILURES = (StopReason.EXCEPTION, StopReason.SIGNAL)


@dataclass(frozen=True, slots=True)
class _Goal:
    """The stop of the first run, as it is recognised in the second one."""

    stop: StopState
    #: the user's frames, innermost first
    frames: tuple[Frame, ...]
    #: the variables of the innermost one, by name
    values: dict[str, str]

    @property
    def is_failure(self) -> bool:
        return self.stop.event.reason in _FAILURES

    def is_reached(self, frame: Frame, values: Sequence[Value]) -> bool:
        """Whether a stop of the second run is this one: the same line with the same values."""
        first = self.frames[0]
        if (frame.path, frame.line, frame.function) != (first.path, first.line, first.function):
            return False
        second = {value.name: _masked(value) for value in values}
        return all(second.get(name, text) == text for name, text in self.values.items())


async def retrace_by_stepping(
    ctx: Context,
    session: Session,
    stop: StopState,
    target: Launch,
    choice: DebuggerChoice,
    expression: str = "",
) -> Trace:
    """Return a trace of a second run that ends at *stop*, or as near as it came.

    *expression* is the value in question, in the innermost frame. `outcome` says how the recording
    ended: `reached` and `raised` are the same kind of stop as the first one. The stopped program
    stays as it is.
    """
    goal = await _goal(ctx, session, stop, target)
    if not goal.frames:
        return Trace(outcome=Outcome("killed"), remarks=("no frame is code of the workspace",))
    left_s = _SECONDS
    best = Trace(outcome=Outcome("timeout"), remarks=("it did not come to where steps begin",))
    starts = _starts(goal.frames, ctx.hub.sources, expression)
    for run, start in enumerate(starts):
        if run == _MOST_RUNS or left_s < 1:
            break
        seconds = min(left_s, _FIRST_SECONDS) if run == 0 else left_s
        second = _SecondRun(ctx, target, choice, goal, start, seconds)
        trace = _for_provenance(await second.trace(), ctx.hub.sources)
        left_s -= second.stepped_s
        reached = trace.outcome.how in ("reached", "raised")
        if reached and not trace.dropped.limit:
            return trace
        best = trace if len(trace.steps) > len(best.steps) else best
    if best.dropped.limit:
        start, depth = _shallow_start(goal.frames, starts[0], ctx.hub.sources, expression)
        shallow = _SecondRun(ctx, target, choice, goal, start, _SHALLOW_SECONDS, depth=depth)
        trace = _for_provenance(await shallow.trace(), ctx.hub.sources)
        if trace.outcome.how in ("reached", "raised") and not trace.dropped.limit:
            trace.remarks = (*trace.remarks, _STEPPED_OVER)
            return trace
        # Which statement made what was changed after the last step is not known.
        reason = f"it was stepped {len(best.steps)} times ({best.dropped.limit})"
        return Trace(outcome=Outcome("timeout"), remarks=(reason,))
    return best


async def _goal(ctx: Context, session: Session, stop: StopState, target: Launch) -> _Goal:
    roots = (ctx.workspace.root, target.cwd)
    frames = tuple(
        frame
        for frame in await stop.frames(_FRAMES)
        if not frame.library
        and not frame.suspended
        and not frame.function.startswith("async ")
        and frame.path is not None
        and frame.line is not None
        and any(frame.path.startswith(root) for root in roots)
        and session.sources.line(frame.path, frame.line) is not None
    )
    values: dict[str, str] = {}
    if frames and stop.event.reason not in _FAILURES:
        view = await stop.read_frame(frames[0].index)
        values = {value.name: _masked(value) for scope in view.scopes for value in scope.values}
    return _Goal(stop, frames, values)


@dataclass(frozen=True, slots=True)
class _Start:
    """Where stepping begins; without a location, at the beginning of the program."""

    location: Location | None
    #: the location is in a loop
    repeated: bool = False
    #: the frame of the stop, and its variables that tell the rounds of the loop apart
    frame: int = 0
    reads: tuple[str, ...] = ()


def _starts(frames: Sequence[Frame], sources: Sources, expression: str) -> list[_Start]:
    """Return where to begin, in the order of the attempts: from the outside inward."""
    outward = list(reversed(frames))
    if len(outward) > 1 and outward[0].function.startswith(f"{outward[1].function}::{{"):
        del outward[0]  # what the harness of Rust calls
    outermost = 0
    while outermost + 1 < len(outward) and _is_inside(sources, *outward[outermost : outermost + 2]):
        outermost += 1  # a closure that a library calls, perhaps for many elements
    for index in range(outermost + 1, len(outward)):
        inner = outward[index]
        is_beside = os.path.dirname(inner.path or "") == os.path.dirname(outward[0].path or "")
        if not (is_beside and _TEST_FILE.search(os.path.basename(inner.path or ""))):
            break
        if _start(sources, inner, "").repeated:
            outermost = index  # a function of the tests that goes through many inputs
    outward = outward[outermost:]
    picked = [outward[0], outward[len(outward) // 2], outward[-1]]
    found = [_start(sources, outward[0], expression if len(outward) == 1 else "")]
    path, line = outward[0].path, outward[0].line
    found.append(_Start(Location(file=path, line=line), found[0].repeated))
    found += [_start(sources, each, expression if each is frames[0] else "") for each in picked]
    return list(dict.fromkeys(found))


def _shallow_start(
    frames: Sequence[Frame], outermost: _Start, sources: Sources, expression: str
) -> tuple[_Start, int]:
    """Return where to begin if inner calls are stepped over, and how many calls are not.

    The stop itself must not be in a call that is stepped over.
    """
    calls = outermost.frame - frames[0].index
    if len(frames) == 1 or (outermost.location is not None and 0 <= calls <= _SHALLOW_DEPTH):
        return outermost, _SHALLOW_DEPTH
    return _start(sources, frames[0], expression), 0


def _is_inside(sources: Sources, outer: Frame, inner: Frame) -> bool:
    """Whether the function of a frame is written inside of its caller's."""
    if outer.path != inner.path or outer.line is None or outer.path is None:
        return False
    block = function_block(sources.lines(outer.path), outer.line, outer.function)
    return inner.line in block and inner.line != outer.line


def _start(sources: Sources, frame: Frame, expression: str) -> _Start:
    entry = _entry(sources, frame)
    path, line = frame.path or "", frame.line or 0
    if entry is None or entry.file is None:
        return _Start(entry)
    found = recording_start(sources.lines(path), path, line, frame.function, expression)
    return _Start(Location(file=path, line=found.line), found.repeated, frame.index, found.reads)


def _for_provenance(trace: Trace, sources: Sources) -> Trace:
    """Return the trace as provenance reads it.

    Paths of parts are spelled as expressions spell them; the stop at the closing bracket of a
    function is left out, so that its last statement is the last step.
    """
    callers = {frame.caller for frame in trace.frames.values()}
    steps = []
    for step in trace.steps:
        text = sources.line(trace.frames[step.frame].path, step.line) or ""
        empty = not step.writes and step.raised is None and step.number not in callers
        if empty and code_of(text) in CLOSING and step.number != trace.outcome.step:
            continue
        writes = tuple(replace(write, name=path_text(write.name)) for write in step.writes)
        steps.append(replace(step, writes=writes))
    trace.steps = steps
    made: dict[str, AnySource] = {}

    def file(path: str) -> AnySource | None:
        if path not in made:
            try:
                made[path] = AnySource(sources.lines(path), path)
            except OSError:
                return None
        return made[path]

    name_calls(trace, file)
    return trace


def _masked(value: Value) -> str:
    return _ADDRESS.sub("0x…", value.text)


class _SecondRun:
    """One run of the program to one of the goal's functions, and the steps from there."""

    def __init__(
        self,
        ctx: Context,
        target: Launch,
        choice: DebuggerChoice,
        goal: _Goal,
        start: _Start,
        seconds: float,
        *,
        depth: int | None = None,
    ) -> None:
        self._ctx = ctx
        self._depth = depth
        self._choice = choice
        self._goal = goal
        self._start = start
        self._repeated = start.repeated
        #: the values of variables in the round that leads to the goal; empty: it is counted
        self._round: dict[str, str] = {}
        self._seconds = seconds
        #: how long its steps took
        self.stepped_s = 0.0
        self._roots = (ctx.workspace.root, target.cwd)
        entry = start.location
        self._target = replace(target, stop_on_entry=entry is None)
        self._entry = LogicalBreakpoint(0, entry) if entry is not None else None
        self._calls = 0

    async def trace(self) -> Trace:
        """Return the trace of the round that leads to the goal: the first one, or the right one."""
        if self._repeated:
            self._round = await self._values_of(self._goal.stop, self._start.frame)
            if self._round:
                trace = await self._attempt(1)
                if trace.outcome.how not in ("exited", "killed"):
                    return trace
                self._round = {}
            await self._count()
            return await self._attempt(max(1, self._calls))
        trace = await self._attempt(1)
        if trace.outcome.how != "exited" or self._calls < 2:
            return trace
        # The first call returned before the stop: the call that leads to it was counted.
        return await self._attempt(self._calls)

    def _session(self) -> AbstractAsyncContextManager[Session]:
        entries = [self._entry] if self._entry is not None else []
        if self._entry is not None:
            self._entry.enabled = True
        self._calls = 0
        filters = self._ctx.workspace.filters
        return second_session(self._ctx, self._target, self._choice, entries, filters)

    async def _count(self) -> None:
        """Run to the goal and count how often the start is passed until then."""
        async with self._session() as session, frames_only(session):
            await self._to_call(session, -1, {session: 0})

    async def _attempt(self, number: int) -> Trace:
        if self._entry is not None and number > 1:
            # The debugger itself may count, which is faster.
            self._entry.hit_count = str(number)
            number = 1
        async with self._session() as session:
            async with frames_only(session):
                at = await self._to_call(session, number, {session: 0})
            if at is None:
                return Trace(outcome=Outcome("timeout" if session.root.any_live else "killed"))
            await self._switch(session, on=False)
            recorded = await self._recorded(at)
            if recorded.trace.outcome.how in ("reached", "raised", "timeout"):
                return recorded.trace
            await self._switch(session, on=True)
            return await self._counted(session, recorded)

    async def _recorded(self, session: Session) -> RecordedCall:
        left_s = max(1.0, self._seconds - self.stepped_s)
        limits = StepLimits(seconds=left_s, depth=self._depth)
        began = time.monotonic()
        until = None if self._goal.is_failure else _until(self._goal)
        recorded = await record_call(session, self._roots, limits=limits, until=until)
        self.stepped_s += time.monotonic() - began
        trace = recorded.trace
        if trace.outcome.how == "timeout" and not trace.dropped.limit:
            trace.dropped = Dropped(limit="seconds")  # the time ended in the middle of a step
        if trace.outcome.how == "raised":
            missed = not self._goal.is_failure
        else:
            missed = not recorded.reached
        if missed:
            how = "timeout" if trace.dropped.limit else "exited"
            trace.outcome = replace(trace.outcome, how=how)
        return recorded

    async def _counted(self, session: Session, recorded: RecordedCall) -> Trace:
        """Run on to the goal and count the calls until then."""
        member = recorded.session
        trace = recorded.trace
        if member.phase is not Phase.STOPPED:
            return trace
        async with frames_only(session):
            seen = seen_stops(session)
            seen[member] = member.stop_number
            async with member.exclusive():
                await member.resume()
            await self._to_call(session, -1, seen)
        return trace

    async def _to_call(self, session: Session, number: int, seen: SeenStops) -> Session | None:
        """Run to the entry of the function for the Nth time; None where it does not come there."""
        ends_at = time.monotonic() + _START_SECONDS
        while True:
            got = await wait_for_stop(session, seen, max(0.0, ends_at - time.monotonic()))
            if got is None:
                return None
            member, stop = got
            seen[member] = stop.number
            if self._entry is None:
                return member
            if self._entry.id in stop.event.breakpoints:
                self._calls += 1
                if self._round:
                    values = await self._values_of(stop, 0)
                    if values == self._round:
                        return member
                elif self._calls == number:
                    return member
            elif not await self._is_earlier_failure(stop):
                return None
            async with member.exclusive():
                await member.resume()

    async def _is_earlier_failure(self, stop: StopState) -> bool:
        """Whether a test fails before the one of the goal: the first run was continued there."""
        if not self._goal.is_failure or stop.event.reason not in _FAILURES:
            return False
        first = self._goal.frames[0]
        return not any(
            (each.path, each.line, each.function) == (first.path, first.line, first.function)
            for each in await stop.frames(_FRAMES)
        )

    async def _values_of(self, stop: StopState, index: int) -> dict[str, str]:
        """Return the variables of a frame that tell the rounds apart; {} if one is unknown."""
        view = await stop.read_frame(index)
        values = {each.name: _masked(each) for scope in view.scopes for each in scope.values}
        found = {name: values[name] for name in self._start.reads if name in values}
        return found if len(found) == len(self._start.reads) else {}

    async def _switch(self, session: Session, *, on: bool) -> None:
        if self._entry is None:
            return
        self._entry.enabled = on
        for member in session.root.tree():
            if member.live:
                await member.apply([self._entry])


def _until(goal: _Goal) -> Callable[[StopState, Frame, Sequence[Value]], bool]:
    return lambda stop, frame, values: goal.is_reached(frame, values)


def _entry(sources: Sources, frame: Frame) -> Location | None:
    """Return where the function of a frame begins; None for the code of a whole file."""
    path, line = frame.path or "", frame.line or 0
    lines = sources.lines(path)
    block = function_block(lines, line, frame.function)
    if block:
        return Location(file=path, line=body_line(lines, block))
    if frame.function in _MODULES:
        return None
    return Location(function=frame.function)
