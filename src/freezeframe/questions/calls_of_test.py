"""The calls of a project's functions between the beginning of a test and its failure. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from freezeframe.model import late_regex
from freezeframe.model.trace import FrameKind, TracedFrame, TracedValue

from .traced_values import Execution, TracedValues

#: files of tests, as projects call them
_TEST = late_regex.compile(
    r"(?i)(?:^|/)(?:tests?|specs?|__tests__|testing)/|(?:^|/)(?:test_|conftest\b)"
    r"|[._-](?:test|spec|tests)\.\w+$|tests?\.(?:java|kt|cs|php)$"
)
_NO_CALLS = (FrameKind.MODULE, FrameKind.CLASS, FrameKind.COMPREHENSION)


def is_test_file(path: str) -> bool:
    """Whether a file holds tests, by its name or directory."""
    return _TEST.search(path) is not None


class CallsOfTest:
    """The calls that a test made until its statement *begin* failed, without its own functions."""

    def __init__(self, values: TracedValues, begin: Execution) -> None:
        index = values.index
        around = [begin.frame]
        while (caller := index.step(index.frames[around[-1]].caller)) is not None:
            around.append(caller.frame)
        outer = index.frames[around[-1]]
        steps = index.steps_of(outer.number)
        first = steps[0].number if steps else begin.first
        end = values.next_step(begin)
        self._index = index
        #: the frames that had not ended
        self.stack = frozenset(around)
        self.frames: list[TracedFrame] = []
        #: those of the test's own functions, and of its helpers
        self._own: set[int] = {outer.number}
        for frame in index.frames.values():
            steps = index.steps_of(frame.number)
            if not steps or not first < steps[0].number < end or frame.kind in _NO_CALLS:
                continue
            if frame.path == outer.path or is_test_file(frame.path):
                self._own.add(frame.number)
            elif frame.number not in self.stack:
                self.frames.append(frame)

    def given(self) -> Iterator[TracedValue]:
        """Yield what the test passed to the functions that it called."""
        for frame in self.frames:
            caller = self._index.step(frame.caller)
            if caller is not None and caller.frame in self._own | self.stack:
                yield from (value for _, value in frame.arguments)
