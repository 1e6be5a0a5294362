"""The frame that stays: what all samples of a running thread have in common. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.answers import Stack
from freezeframe.model.stops import Frame


def staying_frame(samples: Sequence[Sequence[Frame]], *, libraries: bool = False) -> Frame | None:
    """Return the innermost user frame that is in all samples, each innermost first.

    With *libraries*: the innermost frame with a source, whoever wrote it.

    A frame is the same if it and all frames that led to it are: their functions, and the lines of
    the calls. The frame itself may be at another line in each sample.
    """
    stacks = [list(reversed(each)) for each in samples if each]
    if not stacks:
        return None
    found = None
    for depth in range(min(map(len, stacks))):
        first = stacks[-1][depth]
        here = [stack[depth] for stack in stacks]
        if any((each.function, each.path) != (first.function, first.path) for each in here):
            break
        if first.path is not None and (libraries or not first.library):
            found = first
        if any(each.line != first.line for each in here):
            break
    return found


def busiest(samples: Sequence[Sequence[Stack]]) -> list[Sequence[Frame]]:
    """Return the samples of the thread that runs: its frames in each sample.

    That is the one of those with user code whose location changes most, the first one if several.
    """
    by_thread: dict[int, list[Sequence[Frame]]] = {}
    states: dict[int, list[str]] = {}
    for sample in samples:
        for stack in sample:
            if not all(frame.library for frame in stack.frames):
                by_thread.setdefault(stack.thread.id, []).append(stack.frames)
                states.setdefault(stack.thread.id, []).append(stack.thread.state)
    if not by_thread:
        return []

    def rank(thread: int) -> tuple[int, int]:
        locations = {
            tuple((frame.function, frame.line) for frame in frames) for frames in by_thread[thread]
        }
        return len(locations), states[thread].count("running")

    return by_thread[max(by_thread, key=rank)]


def thread_of(samples: Sequence[Sequence[Stack]], frames: Sequence[Frame]) -> int | None:
    """Return the thread that has *frames* in the last samples."""
    for sample in reversed(samples):
        for stack in sample:
            if stack.frames is frames:
                return stack.thread.id
    return None
