"""What a debugger inside a program tells of its threads and tasks while the program runs."""

from __future__ import annotations

from freezeframe.backends.snapshots import Snapshot
from freezeframe.errors import DebuggerTimeout

from .messages import Refused
from .wire import Wire

#: How long a program that runs may take to tell its stacks: less than what an answer may be late.
_SNAPSHOT_S = 2.5


async def snapshot(wire: Wire, pid: int | None, *, stacks: bool) -> Snapshot | None:
    """Return threads and tasks; none of a process that is silent; None where none are told."""
    frames = wire.adapter.frames
    if frames.ask_snapshot is None:
        return None
    arguments = {"expression": frames.ask_snapshot(stacks), "context": "watch"}
    try:
        body = await wire.request("evaluate", arguments, timeout_s=_SNAPSHOT_S)
    except Refused:
        return None
    except DebuggerTimeout:
        # Code that holds the interpreter's lock lets nobody look.
        if not (stacks and frames.silent):
            return None
        return Snapshot(notes=(frames.silent.format(pid=pid or "PID"),))
    return frames.read_snapshot(body.get("result") or "")
