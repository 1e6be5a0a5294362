"""Threads and tasks of a running program, from a debugger inside it."""

from __future__ import annotations

from freezeframe.backends.snapshots import Snapshot
from freezeframe.errors import DebuggerTimeout

from .adapter_channel import AdapterChannel
from .messages import ErrorResponse

#: How long a running program may take to answer: less than the limit of our own answer.
_SNAPSHOT_S = 2.5


async def snapshot(
    channel: AdapterChannel, pid: int | None, *, stacks: bool, waits: bool
) -> Snapshot | None:
    """Return threads and tasks; an empty snapshot if the process is silent; None if unsupported."""
    frames = channel.adapter.frames
    if frames.snapshot_query is None:
        return None
    arguments = {"expression": frames.snapshot_query(stacks, waits), "context": "watch"}
    try:
        body = await channel.request("evaluate", arguments, timeout_s=_SNAPSHOT_S)
    except ErrorResponse:
        return None
    except DebuggerTimeout:
        # Code that holds the interpreter's lock blocks the debugger.
        if not (stacks and frames.silent):
            return None
        return Snapshot(notes=(frames.silent.format(pid=pid or "PID"),))
    return frames.read_snapshot(body.get("result") or "")
