"""Recognize threads that wait for a lock inside the C library, by their frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends.backend import RawFrame

_LOCK = re.compile(r"_*(?:GI_+)?pthread_(mutex_(?:timed|clock)?lock|rwlock_(?:rd|wr)lock)")
_HELD_BY = re.compile(r"held by (?:thread (\d+)|this thread itself)")
#: innermost frames to search for the locking function
_NEAR = 6


def locking_frame(frames: Sequence[RawFrame]) -> int | None:
    """Return the index of the frame that waits for a lock, given a thread's innermost frames."""
    found = None
    for index, frame in enumerate(frames[:_NEAR]):
        if _LOCK.fullmatch(frame.function) is not None:
            found = index
        elif not frame.library:
            break
    return found or None  # the innermost frame of a thread that waits is a system call


def has_owner(frame: RawFrame) -> bool:
    """Whether the C library stores which thread holds the lock that a frame waits for."""
    match = _LOCK.fullmatch(frame.function)
    return match is not None and match[1].startswith("mutex")


def with_lock(frames: Sequence[RawFrame], index: int, holder: str | None) -> Sequence[RawFrame]:
    """Return the frames; the one that waits for a lock says so, and names the holder."""
    match = _LOCK.fullmatch(frames[index].function)
    text = f"in pthread_{match[1]}" if match is not None else f"in {frames[index].function}"
    text += f", held by {holder}" if holder else ""
    return [*frames[:index], replace(frames[index], waits=text), *frames[index + 1 :]]


def holder_name(owner: int, thread: int) -> str:
    return "this thread itself" if owner == thread else f"thread {owner}"


def holder_id(waits: str, thread: int) -> int | None:
    """Return the thread that holds the lock, from the text of a frame that waits for it."""
    match = _HELD_BY.search(waits)
    if match is None:
        return None
    return int(match[1]) if match[1] else thread
