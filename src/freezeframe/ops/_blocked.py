"""Programs that do not come to a stop: where their threads wait, as far as it can be seen."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

from freezeframe.backends.backend import Backend, Feature
from freezeframe.backends.snapshots import Snapshot, TakesSnapshots
from freezeframe.errors import DebuggerError
from freezeframe.model.answers import Stack, StopReport
from freezeframe.model.stops import Thread
from freezeframe.session.moment import Moment
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session

_MOST_THREADS = 8
_DEEPEST = 60


async def with_stacks(session: Session, report: StopReport, *, paused: bool = False) -> StopReport:
    """Add to the report of a program that runs on where its threads and tasks are.

    *paused*: it was asked to stop, and did not. As it is where nothing can be seen.
    """
    if report.state != Phase.RUNNING.value or report.waited_s is None or not session.live:
        return report
    backend = session.require_backend()
    seen: Snapshot | None = None
    if isinstance(backend, TakesSnapshots):
        try:
            seen = await backend.snapshot()
        except DebuggerError:
            seen = None
    if seen is None:
        notes = await _where_it_waits(session) if paused else ()
        return replace(report, notes=(*report.notes, *notes))
    notes = ("it stops as soon as a thread is back from what it waits for",) if paused else ()
    return replace(report, stacks=seen.stacks, tasks=seen.tasks, notes=(*report.notes, *notes))


async def other_stacks(moment: Moment) -> tuple[Stack, ...]:
    """Return the stacks of the threads beside the one that a pause is reported for."""
    try:
        threads = [each for each in await moment.backend.threads() if each.id != moment.thread.id]
    except DebuggerError:
        return ()
    stacks = []
    for thread in threads[:_MOST_THREADS]:
        try:
            frames = await moment.frames(_DEEPEST, thread=thread.id)
        except DebuggerError as error:
            stacks.append(Stack(thread, (), error=error.message, selected=-1))
            continue
        more = None if len(frames) == _DEEPEST else 0
        stacks.append(Stack(thread, tuple(frames), more, selected=-1))
    return tuple(stacks)


async def _where_it_waits(session: Session) -> tuple[str, ...]:
    """Return a line for each thread of a program that was asked to stop and did not.

    Nothing where the debugger shows stacks of stopped programs only.
    """
    backend = session.backend
    if backend is None or Feature.RUNNING_STACKS not in backend.features:
        return ()
    try:
        threads = await backend.threads()
    except DebuggerError:
        return ()
    shown = threads[:_MOST_THREADS]
    lines = await asyncio.gather(*(_line(session, backend, thread) for thread in shown))
    found = tuple(line for line in lines if line)
    if not found:
        return ()
    more = len(threads) - len(shown)
    return (
        "it stops as soon as a thread is back from what it waits for:",
        *found,
        *((f"{more} more threads",) if more else ()),
    )


async def _line(session: Session, backend: Backend, thread: Thread) -> str | None:
    """Return where a thread is, in the user's own code where that has called what waits."""
    try:
        frames, _ = await backend.frames(thread.id, 0, _DEEPEST)
    except DebuggerError:
        return None
    known = [frame for frame in frames if frame.path is not None and frame.line is not None]
    own = next((frame for frame in known if not frame.library), None)
    if own is None or own.path is None or own.line is None:
        return None
    text = (session.sources.line(own.path, own.line) or "").strip()
    called = known[0].function if known[0] is not own else ""
    inside = f" (within {called})" if called else ""
    place = f"{os.path.basename(own.path)}:{own.line}"
    return f"{thread.name} is at {place} in {own.function}{inside}: {text}"
