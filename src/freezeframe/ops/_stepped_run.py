"""One run of a stopped program to where its steps begin, and the steps from there."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from freezeframe.backends.backend import Launch
from freezeframe.backends.selection import DebuggerChoice
from freezeframe.errors import DebuggerError
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.locations import Location
from freezeframe.model.stops import Frame, StopReason
from freezeframe.model.trace import Dropped, Outcome, Trace
from freezeframe.model.values import Value
from freezeframe.questions.selected_calls import SelectedCalls, Site
from freezeframe.questions.stepping import RecordedCall, StepLimits, frames_only, record_call
from freezeframe.session.breakpoints import LogicalBreakpoint
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import SeenStops, seen_stops, wait_for_stop

from ._context import Context
from ._launch_args import is_below
from ._second_session import second_session

#: Seconds for one run to come to where its steps begin: Maven and its like start slowly.
_START_SECONDS = 45.0
#: Frames of a stop that are searched for the user's functions.
_FRAMES = 60
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_FAILURES = (StopReason.EXCEPTION, StopReason.SIGNAL)


@dataclass(frozen=True, slots=True)
class Goal:
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


async def goal_of(ctx: Context, session: Session, stop: StopState, target: Launch) -> Goal:
    """Return the stop with its frames of the workspace."""
    roots = (ctx.workspace.root, target.cwd)
    frames = tuple(
        frame
        for frame in await stop.frames(_FRAMES)
        if not frame.library
        and not frame.suspended
        and not frame.function.startswith("async ")
        and frame.path is not None
        and frame.line is not None
        and is_below(frame.path, roots)
        and session.sources.line(frame.path, frame.line) is not None
    )
    values: dict[str, str] = {}
    if frames and stop.event.reason not in _FAILURES:
        view = await stop.read_frame(frames[0].index)
        values = {value.name: _masked(value) for scope in view.scopes for value in scope.values}
    return Goal(stop, frames, values)


@dataclass(frozen=True, slots=True)
class StepsStart:
    """Where stepping begins; without a location, at the beginning of the program."""

    location: Location | None
    #: the location is in a loop
    repeated: bool = False
    #: the frame of the stop, and its variables that tell the rounds of the loop apart
    frame: int = 0
    reads: tuple[str, ...] = ()


class SteppedRun:
    """One run of the program to one of the goal's functions, and the steps from there."""

    def __init__(
        self,
        ctx: Context,
        target: Launch,
        choice: DebuggerChoice,
        goal: Goal,
        start: StepsStart,
    ) -> None:
        self._ctx = ctx
        self._selected: SelectedCalls | None = None
        self._choice = choice
        self._goal = goal
        self._start = start
        self._repeated = start.repeated
        #: the values of variables in the round that leads to the goal; empty: it is counted
        self._round: dict[str, str] = {}
        #: which call or round of the start leads to the goal, once it is known
        self._known = 0
        self._ends_after_s = 0.0
        #: how long its steps took
        self.stepped_s = 0.0
        #: the line that the recording ended at, if a limit ended it
        self.site: Site = ()
        self._roots = (ctx.workspace.root, target.cwd)
        entry = start.location
        self._target = replace(target, stop_on_entry=entry is None)
        self._entry = LogicalBreakpoint(0, entry) if entry is not None else None
        self._calls = 0

    async def trace(self, seconds: float, selected: SelectedCalls | None = None) -> Trace:
        """Return the trace of the round that leads to the goal: the first one, or the right one.

        Its steps take at most *seconds*. Of *selected* calls, the others are stepped over.
        """
        self._ends_after_s = self.stepped_s + seconds
        self._selected = selected
        trace = await self._of_round()
        if trace.outcome.how in ("reached", "raised") and self._entry is not None:
            self._known = max(self._calls, int(self._entry.hit_count or 0))
        return trace

    async def _of_round(self) -> Trace:
        if self._known:
            # Which round it is may be chance (the order of a map), its values are not.
            return await self._attempt(1 if self._round else self._known)
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
        limits = StepLimits(seconds=max(1.0, self._ends_after_s - self.stepped_s))
        began = time.monotonic()
        until = None if self._goal.is_failure else _until(self._goal)
        recorded = await record_call(
            session, self._roots, limits=limits, until=until, selected=self._selected
        )
        self.stepped_s += time.monotonic() - began
        trace, self.site = recorded.trace, recorded.site
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
        found: dict[str, str] = {}
        for name in self._start.reads:
            try:  # To evaluate a name runs no code of the program.
                value = await stop.backend.evaluate(name, stop.frame_id(index))
            except DebuggerError:
                return {}
            found[name] = _ADDRESS.sub("0x…", value.text)
        return found

    async def _switch(self, session: Session, *, on: bool) -> None:
        if self._entry is None:
            return
        self._entry.enabled = on
        for member in session.root.tree():
            if member.live:
                await member.apply([self._entry])


def _masked(value: Value) -> str:
    return _ADDRESS.sub("0x…", value.text)


def _until(goal: Goal) -> Callable[[StopState, Frame, Sequence[Value]], bool]:
    return lambda stop, frame, values: goal.is_reached(frame, values)
