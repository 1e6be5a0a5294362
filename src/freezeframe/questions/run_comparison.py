"""Compare two traced runs: the first divergence that explains how they ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from freezeframe.model.divergence import ComparedCall, DivergenceKind, DivergencePoint, RunEnd
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.trace import Trace, TracedFrame, TracedStep

from .compared_values import is_volatile
from .differing_operands import described, differing_writes
from .divergence import ChainLink, DivergenceChain
from .paired_frames import FramePair, Gap, PairedRuns, TracedSide
from .side_by_side import compared_call
from .source_files import SourceLines

#: steps whose values are compared one by one
_MOST_COMPARED = 100_000
#: and where they are only counted, because they are not the reason
_MOST_UNRELATED = 10_000
#: differences that are described
_MOST_DIFFERENCES = 200
_MOST_THEN = 3
_CONTROL = (DivergenceKind.BRANCH, DivergenceKind.RAISED)
_UNEXPLAINED = (DivergenceKind.VALUE, DivergenceKind.OPERANDS)


@dataclass(frozen=True, slots=True)
class ComparedTrace:
    """One of two runs that are to be compared."""

    trace: Trace
    sources: SourceLines
    #: the directory of the version of the source that was run
    root: str
    end: RunEnd
    #: the name of the run as it was recorded
    run: str | None = None


@dataclass(frozen=True, slots=True)
class FoundDivergence:
    first: DivergencePoint | None
    then: tuple[DivergencePoint, ...] = ()
    equal_steps: int = 0
    equal_functions: int = 0
    unrelated: int = 0
    unrelated_example: str = ""
    edited: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    #: the call of the divergence, and of what it led to, step by step
    calls: tuple[ComparedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class CompareOptions:
    #: the runs had the same input: where values first differ is what matters. Otherwise values
    #: differ from the beginning, and where the runs took different ways is
    same_input: bool = True
    #: names of functions that correspond: the two tests
    tests: tuple[str, str] | None = None
    #: compare two calls of this function, by their numbers; both are in the same run
    calls: tuple[str, int, int] | None = None


def compare_runs(a: ComparedTrace, b: ComparedTrace, options: CompareOptions) -> FoundDivergence:
    """Return where run *b*, which failed if one of them did, first diverges from run *a*."""
    one = TracedSide(a.trace, a.sources, a.root)
    other = one if b is a else TracedSide(b.trace, b.sources, b.root)
    runs = PairedRuns(one, other, options.tests)
    comparison = _Comparison(runs, options.same_input)
    if options.calls is not None:
        return comparison.of_calls(*options.calls)
    return comparison.of_runs(b.end)


def calls_of(trace: Trace, name: str) -> list[TracedFrame]:
    """Return the calls of a function, in order; *name* may be qualified."""
    frames = sorted(trace.frames.values(), key=lambda each: each.number)
    return [each for each in frames if f".{each.function}".endswith(f".{name}")]


class _Comparison:
    def __init__(self, runs: PairedRuns, same_input: bool) -> None:
        self._runs = runs
        self._b = runs.b
        self._chain = DivergenceChain(runs)
        self._same_input = same_input

    def of_runs(self, end: RunEnd) -> FoundDivergence:
        step = self._consequence(end)
        chain = self._chain.back_from(step) if step is not None else []
        if not self._same_input:
            # Which way led to the values matters more than where they came from.
            chain = sorted(self._chain.met, key=lambda each: -each.step.number)
        at = self._chosen(chain)
        if at is None:
            return self._by_scan(step)
        return self._found(chain, at)

    def of_calls(self, name: str, first: int, second: int) -> FoundDivergence:
        frames = calls_of(self._b.trace, name)
        pair = self._runs.add(frames[first - 1], frames[second - 1])
        chain = self._chain.back_from(pair.b_steps[-1]) if pair.b_steps else []
        # Before the call the two have nothing in common.
        inside = [each for each in chain if each.step.frame >= pair.b.number]
        chain = inside[: next((i for i, e in enumerate(inside) if e.from_outside), len(inside)) + 1]
        at = self._chosen(chain)
        differs = [each for each in chain if each.is_control or each.point.differences]
        if at is None or not differs:
            found = next(self._in_pair(pair), None)
            step = self._b.trace.step(found[0]) if found is not None else None
            if found is None or step is None:
                return FoundDivergence(None)
            return FoundDivergence(found[1], calls=self._calls([ChainLink(found[1], step)]))
        return replace(self._found(chain, at), unrelated=0, unrelated_example="")

    # --- where the second run ended

    def _consequence(self, end: RunEnd) -> TracedStep | None:
        """Return the step of the failure; None if there is none, or if it is not known."""
        if not end.failed:
            return None
        trace = self._b.trace
        if trace.outcome.how == self._runs.a.trace.outcome.how == "timeout":
            return None  # where the time of both was up says nothing
        found = trace.step(trace.outcome.step) if trace.outcome.step is not None else None
        if found is not None:
            return found
        raised = [each for each in trace.steps if each.raised is not None]
        return raised[-1] if raised and trace.outcome.how != "timeout" else None

    # --- which statement of the chain is the divergence

    def _chosen(self, chain: Sequence[ChainLink]) -> int | None:
        if not chain:
            return None
        # The oldest statements may have done the same: what read their result read another one,
        # as where threads take turns differently.
        last = max((at for at, each in enumerate(chain) if not _is_equal(each)), default=0)
        control = [at for at, each in enumerate(chain) if each.is_control]
        edits = [at for at, each in enumerate(chain) if each.point.kind is DivergenceKind.EDIT]
        if self._same_input:
            # Between two versions the source is all that is different: values from outside, such
            # as times, are not the reason.
            unexplained = chain[last].point.kind in _UNEXPLAINED
            return edits[-1] if edits and unexplained else last
        if edits:
            return edits[-1]
        return control[-1] if control else 0

    def _found(self, chain: Sequence[ChainLink], at: int) -> FoundDivergence:
        link = chain[at]
        first = link.point
        if link.from_outside and at == len(chain) - 1 and first.kind is DivergenceKind.OPERANDS:
            first = replace(first, kind=DivergenceKind.INPUT)
        # The failure itself is said by the end of the run.
        then = _spread(list(reversed(chain[1:at])))
        unrelated = self._unrelated(link.step, {each.step.number for each in chain})
        steps, functions = self._equal(link.step)
        return FoundDivergence(
            first,
            tuple(each.point for each in then),
            steps,
            functions,
            len(unrelated),
            _example(unrelated[0]) if unrelated else "",
            self._runs.lines.edited,
            calls=self._calls([replace(link, point=first), *then, *chain[: min(at, 1)]]),
        )

    def _calls(self, links: Sequence[ChainLink]) -> tuple[ComparedCall, ...]:
        """Return the calls that statements were executed in, each of them step by step."""
        found = []
        for each in links:
            pair = self._runs.pair_of(self._b.index.frames[each.step.frame])
            if pair is not None:
                found.append(compared_call(self._runs, pair, each.point, each.step))
        return tuple(found)

    def _equal(self, step: TracedStep) -> tuple[int, int]:
        frames = self._b.index.frames
        before = [each for each in self._b.trace.steps if each.number < step.number]
        return len(before), len({self._b.key(frames[each.frame]) for each in before})

    # --- all differences, in order

    def _by_scan(self, step: TracedStep | None) -> FoundDivergence:
        """Return the first difference of all: nothing is known to have led to the end."""
        points = self._scan(step.number if step is not None else None)
        steady = [each for each in points if not _is_volatile(each[1])]
        own = [each for each in steady if not _is_definition(each[1])] or steady
        if not self._same_input:
            # Values differ from the beginning: where the runs took different ways says more.
            own = [each for each in own if each[1].kind in _CONTROL] or own
        edited = self._runs.lines.edited
        if not own:
            return FoundDivergence(None, edited=edited, unrelated=len(points))
        number, first = own[0]
        found = self._b.trace.step(number)
        count, functions = self._equal(found) if found is not None else (0, 0)
        return FoundDivergence(
            first,
            equal_steps=count,
            equal_functions=functions,
            unrelated=len(points) - len(steady),
            edited=edited,
            calls=self._calls([ChainLink(first, found)]) if found is not None else (),
        )

    def _unrelated(self, step: TracedStep, chain: set[int]) -> list[DivergencePoint]:
        found = self._scan(step.number, _MOST_UNRELATED)
        return [
            point
            for number, point in found
            if number not in chain and not _is_definition(point) and point.kind != "edit"
        ]

    def _scan(
        self, until: int | None, left: int = _MOST_COMPARED
    ) -> list[tuple[int, DivergencePoint]]:
        """Return every difference before a step, by the number of its step.

        At most *left* steps are compared; calls with more than are left are passed over.
        """
        found: list[tuple[int, DivergencePoint]] = []
        for frame in sorted(self._b.index.frames.values(), key=lambda each: each.number):
            steps = self._b.index.steps_of(frame.number)
            if not steps or (until is not None and steps[0].number >= until):
                continue
            if len(steps) > left or len(found) >= _MOST_DIFFERENCES:
                continue
            left -= len(steps)
            pair = self._runs.pair_of(frame)
            if pair is not None:
                found += islice(self._in_pair(pair, until), _MOST_DIFFERENCES - len(found))
        return sorted(found, key=lambda each: each[0])

    def _is_cut_off(self, pair: FramePair, gap: Gap) -> bool:
        """Whether a run has no steps in a gap because its time was up: it may have taken them."""
        ends = ((self._runs.a, gap.a, pair.a_steps), (self._runs.b, gap.b, pair.b_steps))
        return any(
            side.trace.outcome.how == "timeout" and part[0] >= len(steps)
            for side, part, steps in ends
        )

    def _is_unfinished(self, pair: FramePair, same: TracedStep, step: TracedStep) -> bool:
        """Whether the time of a run was up during a step: what it wrote is not known."""
        ends = (
            (self._runs.a, same, pair.a_steps[-1]),
            (self._runs.b, step, pair.b_steps[-1]),
        )
        return any(
            side.trace.outcome.how == "timeout" and each is last for side, each, last in ends
        )

    def _in_pair(
        self, pair: FramePair, until: int | None = None
    ) -> Iterator[tuple[int, DivergencePoint]]:
        for gap in pair.gaps():
            if self._is_cut_off(pair, gap):
                continue
            step = pair.b_steps[min(max(gap.b[0] - 1, 0), len(pair.b_steps) - 1)]
            if until is None or step.number < until:
                yield step.number, self._chain.parting(pair, gap)[0]
        for step in pair.b_steps:
            if until is not None and step.number >= until:
                return
            same = pair.counterpart(step)
            if same is None or self._is_unfinished(pair, same, step):
                continue
            written = differing_writes(self._runs, same, step)
            if described(same.raised) != described(step.raised):
                point = self._chain.point(DivergenceKind.RAISED, pair, same, step, written)
                yield step.number, replace(point, a_raised=same.raised, b_raised=step.raised)
            elif written:
                yield (
                    step.number,
                    self._chain.point(DivergenceKind.VALUE, pair, same, step, written),
                )


def _is_equal(link: ChainLink) -> bool:
    """Whether nothing that was recorded of a statement is different."""
    point = link.point
    return point.kind is DivergenceKind.VALUE and not (point.differences or point.note)


def _is_volatile(point: DivergencePoint) -> bool:
    return point.kind is DivergenceKind.VALUE and all(
        is_volatile(each.a, each.b) for each in point.differences
    )


def _is_definition(point: DivergencePoint) -> bool:
    """Whether a point is only what a module defines."""
    text = point.statement
    return point.function == "<module>" and (
        text.startswith(("def ", "class ", "import ", "from ", "@", "async def ", "__version"))
    )


def _spread(links: list[ChainLink]) -> list[ChainLink]:
    """Return some of the statements on the way to the failure: branches first, each line once."""
    unique = list({(each.point.path, each.point.line): each for each in links}.values())
    if len(unique) <= _MOST_THEN:
        return unique
    control = [each for each in unique if each.point.kind is not DivergenceKind.VALUE]
    kept = (control + [each for each in unique if each not in control])[:_MOST_THEN]
    return [each for each in unique if each in kept]


def _example(point: DivergencePoint) -> str:
    where = f"{point.path.rpartition('/')[2]}:{point.line}"
    if not point.differences:
        return f"{where} {point.statement}"
    first = point.differences[0]
    return f"{first.path} at {where}"
