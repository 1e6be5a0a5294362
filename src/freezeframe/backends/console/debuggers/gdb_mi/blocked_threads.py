"""Find the lock a thread waits for inside the C library, and the thread that holds it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends.backend import RawFrame
from freezeframe.errors import DebuggerError

from .mi_channel import MiChannel, at

#: innermost frames that may wait for a lock
_NEAR = 6


async def with_lock_holders(
    channel: MiChannel, thread: int, start: int, frames: Sequence[RawFrame]
) -> Sequence[RawFrame]:
    """Return the frames; a frame that locks a mutex names the holder where it can be read."""
    if start or not any("lock" in frame.function for frame in frames[:_NEAR]):
        return frames
    try:
        output = await channel.cli("python freezeframe_print_lock()", where=at(thread, 0))
        level, text = json.loads(output.strip().splitlines()[-1])
    except (DebuggerError, ValueError, TypeError, IndexError):
        return frames
    return [
        replace(frame, waits=text) if index == level else frame
        for index, frame in enumerate(frames)
    ]
