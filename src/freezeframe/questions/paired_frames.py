"""Which frames and steps of two traces correspond to each other.

Frames are paired from the outermost ones inward: two frames correspond if they are calls of the
same function, the same one in order, made by corresponding steps. Steps of paired frames are
aligned by their lines, which are matched through edits of the source.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.line_map import LineMap
from freezeframe.model.trace import Trace, TracedFrame, TracedStep

from .source_files import Files, SourceLines
from .trace_index import TraceIndex
from .traced_values import TracedValues

#: steps of one frame that are aligned after their first difference
_MOST_ALIGNED = 600

FrameKey = tuple[str, str]


class TracedSide:
    """One of the two runs, with what is looked up in its trace."""

    def __init__(self, trace: Trace, sources: SourceLines, root: str) -> None:
        """*root* is the directory of the version of the source that was run."""
        self.trace = trace
        self.index = TraceIndex(trace)
        self.files = Files(sources)
        self.values = TracedValues(self.index, self.files)
        self._roots = tuple(dict.fromkeys((root, os.path.realpath(root))))
        self._relative: dict[str, str] = {}

    def relative(self, path: str) -> str:
        found = self._relative.get(path)
        if found is None:
            found = path
            for root in self._roots:
                if path.startswith(root + os.sep):
                    found = path[len(root) + 1 :]
            self._relative[path] = found
        return found

    def key(self, frame: TracedFrame) -> FrameKey:
        return self.relative(frame.path), frame.function

    def texts(self) -> dict[str, str]:
        """Return the text of each file that was executed, by its relative path."""
        paths = {frame.path for frame in self.trace.frames.values()}
        return {self.relative(path): "\n".join(self.files.lines(path)) for path in paths}

    def plain(self, text: str) -> str:
        """Return *text* without the directory of this version."""
        for root in self._roots:
            text = text.replace(root, "")
        return text


@dataclass(frozen=True, slots=True)
class Gap:
    """Steps of a pair of frames that do not correspond: indices from, to, of each side."""

    a: tuple[int, int]
    b: tuple[int, int]


class FramePair:
    """Two frames that correspond, and their steps."""

    def __init__(
        self,
        a: TracedFrame,
        b: TracedFrame,
        a_steps: Sequence[TracedStep],
        b_steps: Sequence[TracedStep],
        a_lines: Sequence[int],
    ) -> None:
        """*a_lines* are the lines of the steps of *a*, as the source of *b* counts them."""
        self.a, self.b = a, b
        self.a_steps, self.b_steps = a_steps, b_steps
        #: for each step of b the index of the step of a
        self.a_of = align(a_lines, [step.line for step in b_steps])
        self.b_at = {step.number: at for at, step in enumerate(b_steps)}

    def counterpart(self, step: TracedStep) -> TracedStep | None:
        at = self.a_of[self.b_at[step.number]]
        return None if at is None else self.a_steps[at]

    def gap_at(self, step: TracedStep) -> Gap:
        """Return the gap that a step of b without a counterpart is in."""
        first = last = self.b_at[step.number]
        while first > 0 and self.a_of[first - 1] is None:
            first -= 1
        while last + 1 < len(self.a_of) and self.a_of[last + 1] is None:
            last += 1
        return self._gap(first, last + 1)

    def omission_of(self, step: TracedStep) -> Gap | None:
        """Return the gap that a step of a is in; None if it has a counterpart or is of no gap."""
        at = next((i for i, each in enumerate(self.a_steps) if each.number == step.number), None)
        if at is None or at in self.a_of:
            return None
        return next((gap for gap in self.gaps() if gap.a[0] <= at < gap.a[1]), None)

    def _gap(self, first: int, end: int) -> Gap:
        before = self.a_of[first - 1] if first else -1
        after = self.a_of[end] if end < len(self.a_of) else len(self.a_steps)
        assert before is not None
        assert after is not None
        return Gap((before + 1, after), (first, end))

    def gaps(self) -> Iterable[Gap]:
        """Yield the steps that do not correspond, in order."""
        at = 0
        while at <= len(self.a_of):
            end = at
            while end < len(self.a_of) and self.a_of[end] is None:
                end += 1
            gap = self._gap(at, end)
            if gap.b[0] < gap.b[1] or gap.a[0] < gap.a[1]:
                yield gap
            at = end + 1


def align(a: Sequence[int], b: Sequence[int]) -> list[int | None]:
    """Return for each line of *b* the index of the line of *a* that corresponds to it."""
    shorter = min(len(a), len(b))
    head = 0
    while head < shorter and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < shorter - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    found: list[int | None] = [*range(head)]
    middle: list[int | None] = [None] * (len(b) - head - tail)
    inner_a = a[head : min(len(a) - tail, head + _MOST_ALIGNED)]
    inner_b = b[head : min(len(b) - tail, head + _MOST_ALIGNED)]
    matcher = SequenceMatcher(None, inner_a, inner_b, autojunk=False)
    for i, j, size in matcher.get_matching_blocks():
        for offset in range(size):
            middle[j + offset] = head + i + offset
    return [*found, *middle, *range(len(a) - tail, len(a))]


class PairedRuns:
    """The frames of two runs that correspond, found when they are asked for."""

    def __init__(self, a: TracedSide, b: TracedSide, tests: tuple[str, str] | None = None) -> None:
        """*tests* are functions that correspond although they have different names."""
        self.a, self.b = a, b
        self.lines = LineMap(a.texts(), b.texts())
        self._pairs: dict[int, FramePair | None] = {}
        self._children: dict[tuple[int, int], dict[int, TracedFrame]] = {}
        self._roots = self._paired(self._outermost(a), self._outermost(b), threads=True)
        if tests is not None:
            self._pair_tests(*tests)

    def add(self, a: TracedFrame, b: TracedFrame) -> FramePair:
        """Pair two frames that were chosen."""
        made = self._made(a, b)
        self._pairs[b.number] = made
        return made

    def pair_of(self, frame: TracedFrame) -> FramePair | None:
        """Return the pair that a frame of b is in; None if no frame of a corresponds to it."""
        around = [frame]
        while around[-1].number not in self._pairs:
            caller = self.b.index.step(around[-1].caller)
            if caller is None:
                break
            around.append(self.b.index.frames[caller.frame])
        for each in reversed(around):
            if each.number not in self._pairs:
                self._pairs[each.number] = self._found(each)
        return self._pairs[frame.number]

    # --- pairing

    def _found(self, frame: TracedFrame) -> FramePair | None:
        caller = self.b.index.step(frame.caller)
        if caller is None:
            partner = self._roots.get(frame.number)
        else:
            outer = self._pairs.get(caller.frame)
            partner = self._called(outer, caller, frame) if outer is not None else None
        return None if partner is None else self._made(partner, frame)

    def _called(
        self, outer: FramePair, caller: TracedStep, frame: TracedFrame
    ) -> TracedFrame | None:
        """Return the frame of a that corresponds to one which a step of *outer* called."""
        same = outer.counterpart(caller)
        if same is not None:
            key = (outer.b.number, caller.number)
            a_steps: Sequence[TracedStep] = (same,)
            b_steps: Sequence[TracedStep] = (caller,)
        else:
            gap = outer.gap_at(caller)
            key = (outer.b.number, -1 - gap.b[0])
            a_steps, b_steps = outer.a_steps[slice(*gap.a)], outer.b_steps[slice(*gap.b)]
        known = self._children.get(key)
        if known is None:
            a = [each for step in a_steps for each in self.a.index.calls_of(step.number)]
            b = [each for step in b_steps for each in self.b.index.calls_of(step.number)]
            known = self._children[key] = self._paired(a, b)
        return known.get(frame.number)

    def _paired(
        self, a: Iterable[TracedFrame], b: Iterable[TracedFrame], *, threads: bool = False
    ) -> dict[int, TracedFrame]:
        """Return the frame of a for each one of b: the same function, the same one in order."""
        waiting: defaultdict[tuple[object, ...], list[TracedFrame]] = defaultdict(list)
        for each in a:
            waiting[*self.a.key(each), each.thread if threads else ""].append(each)
        taken: Counter[tuple[object, ...]] = Counter()
        found: dict[int, TracedFrame] = {}
        for each in b:
            key = (*self.b.key(each), each.thread if threads else "")
            if taken[key] < len(waiting[key]):
                found[each.number] = waiting[key][taken[key]]
                taken[key] += 1
        return found

    def _outermost(self, side: TracedSide) -> list[TracedFrame]:
        frames = side.index.frames.values()
        found = [each for each in frames if side.index.step(each.caller) is None]
        return sorted(found, key=lambda each: each.number)

    def _pair_tests(self, a: str, b: str) -> None:
        ends_a, ends_b = f".{a}", f".{b}"
        one = [e for e in self._outermost(self.a) if f".{e.function}".endswith(ends_a)]
        other = [e for e in self._outermost(self.b) if f".{e.function}".endswith(ends_b)]
        if one and other:
            self._roots[other[-1].number] = one[-1]

    def _made(self, a: TracedFrame, b: TracedFrame) -> FramePair:
        a_steps = self.a.index.steps_of(a.number)
        path = self.a.relative(a.path)
        lines = [self.lines.translate(path, step.line) or 0 for step in a_steps]
        return FramePair(a, b, a_steps, self.b.index.steps_of(b.number), lines)
