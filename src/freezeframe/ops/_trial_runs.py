"""Runs of a program to a stop and on from there, each with one change, in sessions of their own."""

from __future__ import annotations

import re
import time
from dataclasses import replace

from freezeframe.backends.backend import Feature, Launch
from freezeframe.backends.capabilities import Assignment, ForcedReturns
from freezeframe.backends.selection import DebuggerChoice
from freezeframe.errors import FreezeframeError, Unsupported
from freezeframe.model.calls import CallSite
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.locations import Location
from freezeframe.model.stops import StopReason
from freezeframe.model.testing import ResultCounts
from freezeframe.model.trials import Trial
from freezeframe.session.breakpoints import LogicalBreakpoint
from freezeframe.session.resume_requests import send_resume
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState
from freezeframe.session.stop_wait import seen_stops, wait_for_stop

from ._context import Context
from ._second_session import second_session
from ._stepped_run import Goal
from ._test_report import printed, runner_of

#: characters of output that are kept of a trial
_OUTPUT = 4000
#: hits of the line that are looked at to find the one of the stop
_MOST_HITS = 2000
#: failures of tests that are passed on the way to the results
_MOST_FAILURES = 200
_FAILURES = frozenset((StopReason.EXCEPTION, StopReason.SIGNAL))
_RETURN = re.compile(r"return\b\s*(?P<value>.*)", re.DOTALL)
_ASSIGNMENT = re.compile(r"(?P<target>[^=!<>]+?)\s*(?<![=!<>])=(?!=)\s*(?P<value>.+)", re.DOTALL)
_ENTRY = 1


@dataclass(slots=True)
class TrialRuns:
    """The runs for one stop."""

    ctx: Context
    target: Launch
    choice: DebuggerChoice
    goal: Goal
    #: the number of the line's hit that is the stop, if it is known
    hit: int | None
    seconds: float

    async def unpatched(self) -> tuple[Trial, int, Trial]:
        """Run the program to its end without a change; return the hit of the stop as well, and
        the same run with its whole output.

        Raises Unsupported if the run never came to the stop.
        """
        entry = LogicalBreakpoint(_ENTRY, self._location(), hit_count=self._count())
        async with second_session(self.ctx, self.target, self.choice, [entry]) as session:
            ends_at = time.monotonic() + self.seconds
            hits, stop = await self._reached(session, ends_at)
            if stop is None and not self.goal.is_failure:
                raise Unsupported(
                    "the program was run again and never came to this stop.",
                    next="dbg restart",
                )
            entry.enabled = False
            for member in session.tree():
                if member.live:
                    await member.apply([entry])
            printed_before = _printed(session)
            if stop is not None:
                await _resume(session)
            trial = await self._rest(session, "", ends_at)
            if self.goal.is_failure:
                printed_before = 0
            whole = replace(trial, output=_output(session, 0))
            return replace(trial, output=_output(session, printed_before)), hits, whole

    async def with_change(self, text: str, hit: int) -> Trial:
        """Run the program to the stop, apply a hypothesis there, and run it to its end."""
        entry = LogicalBreakpoint(_ENTRY, self._location(), hit_count=str(hit))
        async with second_session(self.ctx, self.target, self.choice, [entry]) as session:
            ends_at = time.monotonic() + self.seconds
            got = await wait_for_stop(session, {session: 0}, self.seconds)
            if got is None or _ENTRY not in got[1].event.breakpoints:
                return Trial(text, "refused", problem="this run did not come to the stop")
            member, stop = got
            printed_before = 0 if self.goal.is_failure else _printed(session)
            try:
                await _apply(member, stop, text, self.goal.frames[0].index)
            except FreezeframeError as error:
                return Trial(text, "refused", problem=error.message)
            trial = await self._rest(session, text, ends_at)
            return replace(trial, output=_output(session, printed_before))

    async def patched(self, label: str, target: Launch, choice: DebuggerChoice) -> Trial:
        """Run the program with other sources, from its beginning to its end."""
        async with second_session(self.ctx, target, choice) as session:
            trial = await self._rest(session, label, time.monotonic() + self.seconds)
            return replace(trial, output=_output(session, 0), is_whole=True)

    def _location(self) -> Location:
        frame = self.goal.frames[0]
        return Location(file=frame.path, line=frame.line)

    def _count(self) -> str | None:
        return None if self.hit is None else str(self.hit)

    async def _reached(self, session: Session, ends_at: float) -> tuple[int, StopState | None]:
        """Run to the stop; return the number of the hit, and None for a stop that is a failure."""
        seen = {session: 0}
        hits = 0
        while hits < _MOST_HITS:
            got = await wait_for_stop(session, seen, max(0.0, ends_at - time.monotonic()))
            if got is None or got[1].event.reason in _FAILURES:
                # The last time that the line began is the one that failed.
                return max(1, hits), None
            member, stop = got
            hits += 1
            if self.hit is not None:
                return self.hit, stop
            if not self.goal.is_failure:
                frame = await stop.frame(0)
                view = await stop.read_frame(0)
                values = [value for scope in view.scopes for value in scope.values]
                if self.goal.is_reached(frame, values):
                    return hits, stop
            seen[member] = stop.number
            await _resume(member)
        return max(1, hits), None

    async def _rest(self, session: Session, text: str, ends_at: float) -> Trial:
        """Run on to the end; of tests to their results."""
        seen = seen_stops(session)
        for member in session.tree():
            stop = member.current_stop
            if stop is not None and stop.event.reason in _FAILURES:
                seen[member] = stop.number - 1
        failure: Trial | None = None
        for _ in range(_MOST_FAILURES):
            got = await wait_for_stop(session, seen, max(0.0, ends_at - time.monotonic()))
            if got is None:
                break
            member, stop = got
            seen[member] = stop.number
            if stop.event.reason in _FAILURES:
                failure = failure or await _raised(session, stop, text)
                if self.target.runner is None:
                    return failure
            await _resume(member)
        counts = _counts(session, self.target)
        if session.any_live:
            return Trial(text, "running", counts=counts)
        if failure is not None:
            return replace(failure, exit=session.exit, counts=counts)
        return Trial(text, "ended", exit=session.exit, counts=counts)


def returned_value(text: str) -> str | None:
    """Return the value of `return VALUE`; None for other hypotheses."""
    found = _RETURN.fullmatch(text.strip())
    return None if found is None else found["value"].strip().rstrip(";")


def _counts(session: Session, target: Launch) -> ResultCounts:
    runner = runner_of(session) if target.runner is not None else None
    summary = runner.summary(printed(session)) if runner is not None else None
    return summary.counts if summary is not None else ResultCounts()


async def _raised(session: Session, stop: StopState, text: str) -> Trial:
    error = stop.exception
    what = f"{error.type}: {error.message}".rstrip(": ") if error is not None else None
    what = what or stop.event.description or stop.event.reason.value
    frames = await stop.frames(60)
    own = next((each for each in frames if not each.library and each.path), None)
    at = CallSite(own.path or "", own.line or 0, own.function) if own is not None else None
    return Trial(text, "raised", exception=what.partition("\n")[0], at=at)


async def _resume(session: Session) -> None:
    async with session.exclusive():
        await session.resume()


def _printed(session: Session) -> int:
    return session.root.output.end


def _output(session: Session, start: int) -> str:
    """Return what the program printed after *start*, from its beginning."""
    found = session.root.output.read(since=start, streams=frozenset({"stdout", "stderr"}))
    return "".join(chunk.text for chunk in found.chunks)[:_OUTPUT]


async def _apply(session: Session, stop: StopState, text: str, frame: int) -> None:
    """Apply a hypothesis at a stop and resume the program."""
    value = returned_value(text)
    if value is not None:
        backend = session.require(Feature.FORCE_RETURN)
        assert isinstance(backend, ForcedReturns)
        seen = seen_stops(session)
        seen[session] = session.stop_number
        async with session.exclusive():
            await send_resume(session, backend.force_return(stop.thread.id, value or None), stop)
        await wait_for_stop(session, seen, 10.0)
    else:
        await stop.frames(1)
        assigned = _ASSIGNMENT.fullmatch(text.strip())
        backend = stop.backend
        id = stop.frame_id(0)
        is_plain = assigned is not None and Feature.SET in backend.features
        if is_plain and assigned is not None and isinstance(backend, Assignment):
            await backend.assign(assigned["target"], assigned["value"], id)
        else:
            await backend.evaluate(text, id, statement=True)
    if session.current_stop is not None:
        await _resume(session)
