"""Hypotheses at a stop, each in its own run of the program: try."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Annotated, Any

from freezeframe.backends.backend import Feature
from freezeframe.backends.transport.process_files import OpenFiles, open_files
from freezeframe.errors import FreezeframeError, Unsupported, UsageError
from freezeframe.model.stops import StopReason
from freezeframe.model.trials import Trial, TryReport
from freezeframe.questions.trials import is_line_added, with_difference
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState

from ._context import Context
from ._frames import site_of
from ._past import require_present
from ._patched_sources import Edit, changed_target, with_function, with_patch, with_statement
from ._registry import Arg, Effect, Needs, op
from ._retrace import require_traceable
from ._stepped_run import goal_of
from ._trial_runs import TrialRuns, returned_value

_MOST = 16
#: runs at the same time
_AT_ONCE = 2
_SECONDS = 30.0
#: sources whose statements are tried in a copy of the source: an assignment at a stop may not reach
#: a register that the code uses
_IN_SOURCE = (".go",)
_REPLACED = re.compile(r"\s*(?P<name>[\w.]+)\s*=\s*@(?P<file>\S.*)")


@op(
    "try",
    group="questions",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    example="try 'n = 3' 'cfg[\"rate\"] = 5' 'return 7'",
    examples=(
        "try --patch fix.diff",
        "try 'Cart.total = @total.py'",
        "try 'retries = 0' --timeout 60",
    ),
)
async def try_(
    ctx: Context,
    hypotheses: Annotated[
        tuple[str, ...],
        Arg(
            "assignments, statements, `return VALUE`, or `FUNCTION = @FILE`: each is tried alone",
            code=True,
        ),
    ] = (),
    *,
    patch: Annotated[
        tuple[str, ...],
        Arg("a unified diff, applied to a copy of the sources", meta="FILE", complete="file"),
    ] = (),
    timeout: Annotated[
        float | None, Arg("seconds for each run (default: 30)", short="-t", meta="SECONDS")
    ] = None,
) -> TryReport:
    """Try up to 16 hypotheses at this stop, each in a run of its own: how each would end.

    The program is run again to the same line and hit, the hypothesis is applied there, and the run
    goes on to its end; the first row is the run without a change. At an exception the change is
    made before the line that raised. `FUNCTION = @FILE` replaces a Python function of the stop's
    source file, in a copy, by the function or the body that FILE holds. The stopped
    program and the sources stay as they are; what a program does to files and to the network
    happens in every run.
    """
    if not hypotheses and not patch:
        raise UsageError("`try` takes a hypothesis or --patch.", next="dbg try 'NAME = VALUE'")
    if len(hypotheses) + len(patch) > _MOST:
        raise UsageError(f"`try` takes at most {_MOST} hypotheses.", next="dbg try 'NAME = VALUE'")
    session = ctx.session
    stop = await session.require_stopped()
    require_present(session, "try")
    target, choice = require_traceable(ctx, session)
    goal = await goal_of(ctx, session, stop, target)
    if not goal.frames:
        raise Unsupported(
            "no frame of this stop is code of the project.", next="dbg backtrace --all"
        )
    notes = await _shared(session, stop)
    if notes and ctx.progress is not None:
        # Whoever reads it can interrupt the command before the runs have done more.
        await ctx.progress("".join(f"before the runs: {each}\n" for each in notes))
    await ctx.announce("running the program again for each hypothesis")
    seconds = _SECONDS if timeout is None else timeout
    runs = TrialRuns(ctx, target, choice, goal, _known_hit(session, stop), seconds)
    unpatched, hit, whole = await runs.unpatched()
    frame = goal.frames[0]
    tried = await _some_at_once([_at_stop(ctx, runs, each, hit) for each in hypotheses])
    tried = [with_difference(each, whole if each.is_whole else unpatched) for each in tried]
    patched = await _some_at_once([_patched(ctx, runs, each) for each in patch])
    tried += [with_difference(each, whole) for each in patched]
    at = site_of(frame, session.sources)
    count = len(tried) + 1
    return TryReport(
        session.root.name,
        at,
        hit,
        (unpatched, *tried),
        (
            *notes,
            f"{count} runs from the beginning: what it does to files and network was repeated",
        ),
        via=f"{stop.backend.tool}",
    )


async def _some_at_once(work: Sequence[Coroutine[Any, Any, Trial]]) -> list[Trial]:
    turn = asyncio.Semaphore(_AT_ONCE)

    async def one(each: Coroutine[Any, Any, Trial]) -> Trial:
        async with turn:
            return await each

    return await asyncio.gather(*map(one, work))


async def _at_stop(ctx: Context, runs: TrialRuns, text: str, hit: int) -> Trial:
    """Try a hypothesis at the stop, or as a statement in a copy of the source.

    A debugger may not return from a function early; and compiled Go may have a variable in a
    register, where an assignment does not reach it.
    """
    frame = runs.goal.frames[0]
    path, line = frame.path or "", frame.line or 0
    # In Ruby it is an assignment.
    replaced = _REPLACED.fullmatch(text) if path.endswith((".py", ".pyw")) else None
    if replaced is not None:
        edit = with_function(ctx, path, replaced["name"], replaced["file"].strip())
        return await _with_sources(ctx, runs, text, edit)
    returns = returned_value(text) is not None
    can_return = Feature.FORCE_RETURN in runs.goal.stop.backend.features
    if not path.endswith(_IN_SOURCE) and (not returns or can_return):
        return await runs.with_change(text, hit)
    trial = await _with_sources(ctx, runs, text, with_statement(path, line, hit, text))
    at = trial.at
    if at is None or at.path != path or at.line <= line or not is_line_added(path):
        return trial
    return replace(trial, at=replace(at, line=at.line - 1))


async def _patched(ctx: Context, runs: TrialRuns, patch: str) -> Trial:
    label = f"--patch {os.path.basename(patch)}"
    return await _with_sources(ctx, runs, label, with_patch(ctx, patch))


async def _with_sources(ctx: Context, runs: TrialRuns, label: str, edit: Edit) -> Trial:
    try:
        async with changed_target(ctx, runs.target, runs.choice, edit) as (target, choice, tree):
            trial = await runs.patched(label, target, choice)
    except FreezeframeError as error:
        return Trial(label, "refused", problem=" ".join(error.message.split()))
    if trial.at is None:
        return trial
    path = os.path.join(tree.project, os.path.relpath(os.path.realpath(trial.at.path), tree.top))
    return replace(trial, at=replace(trial.at, path=os.path.normpath(path)))


def _known_hit(session: Session, stop: StopState) -> int | None:
    """Return the number of the hit where a plain breakpoint stopped; None if it is not known."""
    if stop.event.reason is not StopReason.BREAKPOINT:
        return None
    entries = session.breakpoints.entries
    hit = [entries[number] for number in stop.event.breakpoints if number in entries]
    plain = [each for each in hit if each.condition is None and each.hit_count is None]
    is_line = plain and plain[0].location.line is not None
    return plain[0].hits if is_line and plain[0].hits else None


async def _shared(session: Session, stop: StopState) -> tuple[str, ...]:
    """Return what of the stopped process another run does not have as it is, or has as well."""
    notes = []
    others = len(await stop.backend.threads()) - 1
    if others > 0:
        notes.append(f"it has {_count(others, 'other thread')}: they may take turns differently")
    found = open_files(session.pid) if session.pid is not None else OpenFiles()
    if found.written:
        shown = ", ".join(os.path.basename(each) for each in found.written[:3])
        more = len(found.written) - 3
        shown += f" and {more} more" if more > 0 else ""
        notes.append(f"the program has {shown} open for writing: every run writes it")
    if found.sockets:
        count = _count(found.sockets, "socket")
        notes.append(f"it has {count} open, the debugger's included: every run makes its own")
    if found.pipes:
        count = _count(found.pipes, "pipe")
        notes.append(f"it has {count} open besides its standard streams: every run makes its own")
    return tuple(notes)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
