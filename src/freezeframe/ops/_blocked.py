"""Programs that do not come to a stop: where their threads wait, as far as it can be seen."""

from __future__ import annotations

import asyncio
import os

from freezeframe.backends.backend import Backend, Feature
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import Thread
from freezeframe.session.session import Session

_MOST_THREADS = 8
_DEEPEST = 60


async def where_it_waits(session: Session) -> tuple[str, ...]:
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
