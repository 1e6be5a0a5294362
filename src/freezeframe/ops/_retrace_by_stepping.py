"""A trace of a stopped program, by stepping: it is run again in a second session to the same stop.

The second run goes to the first statement that the outermost function on the stack needed for the
value in question, in the round of its loop that leads to the stop, and is stepped from there. Where
that takes too many steps, only the calls that the value went through are entered: each further run
enters those that the chain of the run before has named.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from freezeframe.backends.backend import Launch
from freezeframe.backends.selection import DebuggerChoice
from freezeframe.model.locations import Location
from freezeframe.model.questions import Explanation
from freezeframe.model.stops import Frame
from freezeframe.model.trace import Outcome, Trace
from freezeframe.questions.any_expressions import path_text
from freezeframe.questions.any_source import AnySource
from freezeframe.questions.called_names import name_calls
from freezeframe.questions.macro_calls import at_invocations, frame_at_invocation
from freezeframe.questions.own_functions import OwnFunctions
from freezeframe.questions.recording_start import recording_start
from freezeframe.questions.selected_calls import SelectedCalls, needed_calls
from freezeframe.questions.source_files import Files
from freezeframe.questions.source_patterns import CLOSING, code_of
from freezeframe.session.session import Session
from freezeframe.session.source_cache import Sources, body_line, function_block
from freezeframe.session.stop_state import StopState

from ._context import Context
from ._stepped_run import Goal, SteppedRun, StepsStart, goal_of

#: Seconds for the steps of all runs together, for those of the first and of each other run.
_SECONDS, _FIRST_SECONDS, _NEXT_SECONDS = 40.0, 6.0, 12.0
#: Seconds after which the program is not run once more.
_LAST_RUN_S = 60.0
#: How often it is run again to enter more calls.
_MOST_RUNS = 9
#: How many functions of the stack are tried as the beginning.
_MOST_STARTS = 4
_TEST_FILE = re.compile(r"test|spec", re.IGNORECASE)
#: the code of a file outside of functions
_MODULES = frozenset(("<module>", "<main>", "{main}", "(anonymous)", "<anonymous>", ""))

#: Returns the step of the stop in a trace and the chain that begins there; None: it is not there.
FindChain = Callable[[Trace], Awaitable[tuple[int, Explanation] | None]]


async def retrace_by_stepping(
    ctx: Context,
    session: Session,
    stop: StopState,
    target: Launch,
    choice: DebuggerChoice,
    chain: FindChain,
    expression: str = "",
) -> Trace:
    """Return a trace of a second run that ends at *stop*, or as near as it came.

    *expression* is the value in question, in the innermost frame. `outcome` says how the recording
    ended: `reached` and `raised` are the same kind of stop as the first one. The stopped program
    stays as it is.
    """
    goal = await goal_of(ctx, session, stop, target)
    if not goal.frames:
        return Trace(outcome=Outcome("killed"), remarks=("no frame is code of the workspace",))
    roots = (ctx.workspace.root, target.cwd)
    retrace = _Retrace(ctx.hub.sources, goal, chain, OwnFunctions(roots), expression)
    message = stop.exception.message if stop.exception is not None else ""
    lines = ctx.hub.sources.lines
    frames = [frame_at_invocation(each, lines, message) for each in goal.frames]
    starts = _starts(frames, ctx.hub.sources, expression)
    for number, start in enumerate(starts[:_MOST_STARTS]):
        run = SteppedRun(ctx, target, choice, goal, start)
        if number == 0 and (whole := await retrace.whole(run)) is not None:
            return whole
        found = await retrace.selected(run, start)
        if found is not None:
            return found
    return retrace.missed()


class _Retrace:
    """The runs for one question."""

    def __init__(
        self, sources: Sources, goal: Goal, chain: FindChain, own: OwnFunctions, expression: str
    ) -> None:
        self._sources = sources
        self._files = Files(sources)
        self._goal = goal
        self._chain = chain
        self._own = own
        self._expression = expression
        self._left_s = _SECONDS
        self._ends_at = time.monotonic() + _LAST_RUN_S
        self._best = Trace(
            outcome=Outcome("timeout"), remarks=("it did not come to where steps begin",)
        )

    async def whole(self, run: SteppedRun) -> Trace | None:
        """Return a trace that entered every call; None if that takes too many steps."""
        trace = await self._trace(run, _FIRST_SECONDS, None)
        return trace if _is_reached(trace) else None

    async def selected(self, run: SteppedRun, start: StepsStart) -> Trace | None:
        """Return a trace that entered the calls of the chain; None if it never came to the stop."""
        inward = [each for each in reversed(self._goal.frames) if each.index <= start.frame]
        calls = SelectedCalls(tuple(each.line or 0 for each in inward))
        best: Trace | None = None
        for _ in range(_MOST_RUNS):
            if self._left_s < 1 or time.monotonic() > self._ends_at:
                break
            trace = await self._trace(run, _NEXT_SECONDS, calls)
            if not _is_reached(trace):
                if calls.refuse(run.site) is None:
                    break
                continue
            best = trace
            found = await self._chain(trace)
            if found is None:
                break
            more = needed_calls(trace, found[1], found[0], self._files, self._own)
            more -= calls.sites | calls.refused
            if not more:
                break
            calls.sites |= more
        if best is not None:
            best.entered_for = self._expression
            if calls.refused:
                names = sorted({site[-1] for site in calls.refused})
                where = ", ".join(f"line {line} in {function}" for function, line, _ in names[:2])
                best.remarks = (*best.remarks, f"calls take too many steps: {where}")
        return best

    async def _trace(self, run: SteppedRun, seconds: float, calls: SelectedCalls | None) -> Trace:
        before = run.stepped_s
        found = await run.trace(min(self._left_s, seconds), calls)
        trace = for_provenance(found, self._sources)
        self._left_s -= run.stepped_s - before
        if len(trace.steps) > len(self._best.steps):
            self._best = trace
        return trace

    def missed(self) -> Trace:
        """Return the trace that came nearest to the stop; a part of one says nothing."""
        best = self._best
        if not best.dropped.limit:
            return best
        # Which statement made what was changed after the last step is not known.
        reason = f"it was stepped {len(best.steps)} times ({best.dropped.limit})"
        return Trace(outcome=Outcome("timeout"), remarks=(reason,))


def _is_reached(trace: Trace) -> bool:
    return trace.outcome.how in ("reached", "raised") and not trace.dropped.limit


def _starts(frames: Sequence[Frame], sources: Sources, expression: str) -> list[StepsStart]:
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
    found.append(
        StepsStart(Location(file=path, line=line), found[0].repeated, frame=outward[0].index)
    )
    found += [_start(sources, each, expression if each is frames[0] else "") for each in picked]
    return list(dict.fromkeys(found))


def _is_inside(sources: Sources, outer: Frame, inner: Frame) -> bool:
    """Whether the function of a frame is written inside of its caller's."""
    if outer.path != inner.path or outer.line is None or outer.path is None:
        return False
    block = function_block(sources.lines(outer.path), outer.line, outer.function)
    return inner.line in block and inner.line != outer.line


def _start(sources: Sources, frame: Frame, expression: str) -> StepsStart:
    entry = _entry(sources, frame)
    path, line = frame.path or "", frame.line or 0
    if entry is None or entry.file is None:
        return StepsStart(entry, frame=frame.index)
    found = recording_start(sources.lines(path), path, line, frame.function, expression)
    return StepsStart(
        Location(file=path, line=found.line), found.repeated, frame.index, found.reads
    )


def for_provenance(trace: Trace, sources: Sources) -> Trace:
    """Return the trace as provenance reads it.

    Paths of parts are spelled as expressions spell them; the stop at the closing bracket of a
    function is left out, so that its last statement is the last step.
    """
    at_invocations(trace, sources.lines)
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
