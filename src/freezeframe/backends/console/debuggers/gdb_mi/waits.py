"""What a thread waits for inside the C library: a mutex, and the thread that holds it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends.backend import RawFrame
from freezeframe.backends.console.reader import quote
from freezeframe.errors import DebuggerError

from .line import Line, at, rows

_LOCK = re.compile(r"_*(?:GI_+)?pthread_(mutex_(?:timed|clock)?lock|rwlock_(?:rd|wr)lock)")
#: frames from the innermost on among which the function that locks is
_NEAR = 6
#: What glibc keeps behind the word of a mutex that the kernel is asked to wait on: a count, and
#: the thread that holds it. That word is the first argument of the system call, whose register the
#: kernel leaves as it is.
_OWNERS = ("*(int *)((char *)$rdi + 8)", "*(int *)((char *)$x0 + 8)")
_THREAD = re.compile(r"LWP (\d+)")


async def told(
    line: Line, thread: int, start: int, frames: Sequence[RawFrame]
) -> Sequence[RawFrame]:
    """Return the frames; one that locks a mutex with who holds it, as far as that can be read."""
    if start or not frames:
        return frames
    found = None
    for index, frame in enumerate(frames[:_NEAR]):
        if (match := _LOCK.fullmatch(frame.function)) is not None:
            found = index, match[1]
        elif not frame.library:
            break
    if found is None or found[0] == 0:
        return frames
    index, what = found
    words = f"in pthread_{what}"
    if what.startswith("mutex"):
        holder = await _holder(line, thread)
        words += f", held by {holder}" if holder else ""
    told = list(frames)
    told[index] = replace(told[index], waits=words)
    return told


async def _holder(line: Line, thread: int) -> str | None:
    for expression in _OWNERS:
        try:
            asked = f"-data-evaluate-expression{at(thread, 0)} {quote(expression)}"
            owner = int(str((await line.ask(asked))["value"]), 0)
            listed = rows((await line.ask("-thread-info")).get("threads"))
        except (DebuggerError, ValueError, KeyError):
            continue
        for each in listed:
            match = _THREAD.search(str(each.get("target-id", "")))
            if match is not None and int(match[1]) == owner:
                own = int(each["id"]) == thread
                return "this thread itself" if own else f"thread {each['id']}"
        return None
    return None
