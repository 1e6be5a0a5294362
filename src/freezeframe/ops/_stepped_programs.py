"""Record a whole program by stepping, for a comparison with another run of it."""

from __future__ import annotations

import re
import time
from dataclasses import replace

from freezeframe.backends.backend import Launch
from freezeframe.backends.selection import DebuggerChoice
from freezeframe.errors import NotFound
from freezeframe.model.locations import Location
from freezeframe.model.stops import Exit
from freezeframe.model.trace import Trace
from freezeframe.questions.stepping import StepLimits, record_call
from freezeframe.session.breakpoints import LogicalBreakpoint
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_wait import seen_stops, wait_for_stop

from ._context import Context
from ._retrace_by_stepping import for_provenance
from ._second_session import second_session

#: steps of one run; the first part of a longer one is compared
_MOST_STEPS = 3000
#: how long a program may run on after its steps, to see how it ends
_END_S = 10.0
#: the test that `go test` is to run
_GO_TEST = re.compile(r"\^?(?P<name>Test\w+)\$?")


async def run_stepped(
    ctx: Context, target: Launch, choice: DebuggerChoice, root: str, seconds: float
) -> Trace:
    """Run a program in a session of its own, step by step from its entry, and return its trace.

    Functions below *root* are entered, others stepped over. Raises NotFound if it never stopped
    at its entry.
    """
    location = _entry(target)
    entry = [LogicalBreakpoint(0, location)] if location is not None else []
    began = replace(target, stop_on_entry=location is None)
    async with second_session(ctx, began, choice, entry) as session:
        ends_at = time.monotonic() + seconds
        got = await wait_for_stop(session, {session: 0}, seconds)
        if got is None:
            raise NotFound(
                f"the program never stopped at {location or 'its entry'}, so it was not stepped.",
                next="dbg start PROGRAM -b FILE:LINE",
            )
        stopped = got[0]
        limits = StepLimits(_MOST_STEPS, seconds=max(1.0, ends_at - time.monotonic()))
        recording = await record_call(stopped, (root, target.cwd), limits=limits)
        trace = for_provenance(recording.trace, ctx.hub.sources)
        exit = await _end(session)
    if trace.dropped.limit:
        trace.remarks = (
            *trace.remarks,
            f"only its first {len(trace.steps):,} steps were compared ({trace.dropped.limit})",
        )
    if exit is not None and trace.outcome.how in ("exited", "timeout"):
        how = "killed" if exit.signal else "exited"
        trace.outcome = replace(trace.outcome, how=how, exit_code=exit.code)
    return trace


def _entry(target: Launch) -> Location | None:
    """Return the test that is to be run; None: the program's own entry."""
    for argument in target.args:
        name = _GO_TEST.fullmatch(argument.partition("=")[2] or argument)
        if name is not None and "run" in " ".join(target.args):
            return Location(function=name["name"])
    return None


async def _end(session: Session) -> Exit | None:
    """Let the program run to its end; None if it does not end soon."""
    seen = seen_stops(session)
    ends_at = time.monotonic() + _END_S
    while session.root.any_live and time.monotonic() < ends_at:
        for member in session.root.tree():
            if member.phase is Phase.STOPPED:
                seen[member] = member.stop_number
                await member.resume()
        got = await wait_for_stop(session, seen, max(0.0, ends_at - time.monotonic()))
        if got is not None and got[1].exception is not None:
            break
    return session.root.exit
