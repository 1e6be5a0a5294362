"""What a debugger inside a program tells of its threads and tasks while the program runs."""

from __future__ import annotations

from freezeframe.backends.snapshots import Snapshot
from freezeframe.errors import DebuggerTimeout

from .messages import Refused
from .wire import Wire

#: How long a program that runs may take to tell its stacks.
_SNAPSHOT_S = 3.0


async def snapshot(wire: Wire, *, stacks: bool) -> Snapshot | None:
    """Return threads and tasks; None for an adapter that tells none, or not in time."""
    frames = wire.adapter.frames
    if frames.ask_snapshot is None:
        return None
    arguments = {"expression": frames.ask_snapshot(stacks), "context": "watch"}
    try:
        body = await wire.request("evaluate", arguments, timeout_s=_SNAPSHOT_S)
    except (Refused, DebuggerTimeout):
        # Code that holds the interpreter's lock lets nobody look.
        return None
    return frames.read_snapshot(body.get("result") or "")
