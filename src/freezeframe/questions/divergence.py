"""Where two runs first diverge, of what led to how the second one ended.

From the failure backwards: at each statement the values that it read are compared with those of
the corresponding step of the other run, and one that differs is followed to the statement that
made it. Differences that lead nowhere, such as times and addresses, are never met on this way. The
last statement of the chain had the same values in both runs, and did something else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.model.divergence import DivergenceKind, DivergencePoint, NextLine
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.history import Difference
from freezeframe.model.trace import FrameKind, TracedFrame, TracedStep, TracedValue

from .compared_values import is_same_text, is_volatile
from .differing_operands import DifferingOperand, DifferingOperands, described, differing_writes
from .expressions import StatementKind
from .paired_frames import FrameKey, FramePair, Gap, PairedRuns, TracedSide
from .traced_values import Execution, shortened

#: statements that are followed back
_MOST_STATEMENTS = 400
_MOST_STATEMENT = 110
_MOST_DIFFERENCES = 4
_YIELDING = (FrameKind.GENERATOR, FrameKind.COMPREHENSION)


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One statement on the way from the failure back to the divergence."""

    point: DivergencePoint
    #: the step of the second run
    step: TracedStep
    #: what differed there was there before the traced code saw it
    from_outside: bool = False

    @property
    def is_control(self) -> bool:
        return self.point.kind in (DivergenceKind.BRANCH, DivergenceKind.RAISED)


@dataclass(frozen=True, slots=True)
class _Omission:
    """Steps of the first run that the second one did not take, one of which wrote a value."""

    pair: FramePair
    gap: Gap

    @property
    def number(self) -> int:
        """Distinguishes it from steps, whose numbers are positive."""
        return -1 - self.pair.a_steps[self.gap.a[0]].number


_Source = TracedStep | _Omission


class DivergenceChain:
    """The way back from a step of the second run to the first divergence that led to it."""

    def __init__(self, runs: PairedRuns) -> None:
        self._runs = runs
        self._a, self._b = runs.a, runs.b
        self._operands = DifferingOperands(runs)
        #: every statement that was met on the way, also where that led back
        self.met: list[ChainLink] = []
        #: the calls of each function of the second run, and the steps at a line of it
        self._functions: dict[FrameKey, list[TracedFrame]] = {}
        self._hits: dict[tuple[str, str, int], list[int]] = {}

    def back_from(self, step: TracedStep) -> list[ChainLink]:
        """Return the chain, newest first; empty if the step cannot be compared."""
        chain: list[ChainLink] = []
        #: step → its position in the chain, and where else its values may have come from
        seen: dict[int, tuple[int, list[_Source]]] = {}
        #: the steps of the chain
        order: list[int] = []
        at: _Source | None = step
        for _ in range(_MOST_STATEMENTS):
            located: tuple[FramePair, _Source] | None
            if isinstance(at, _Omission):
                located = at.pair, at
            else:
                located = self._located(at) if at is not None else None
            if located is None:
                break
            pair, here = located
            is_known = here.number in seen
            if not is_known:
                made, sources = self._link(pair, here)
                seen[here.number] = (len(chain), sources)
                chain.append(made)
                self.met.append(made)
                order.append(here.number)
            # A call of the statement led back to what the statement passed to it.
            position, sources = seen[here.number]
            if is_known and not sources:
                # Nothing else of it can be followed: what it passed came from outside, unless a
                # statement in between read something else.
                left = [each for each in order[position + 1 :] if seen[each][1]]
                if not left:
                    break
                position, sources = seen[left[-1]]
            del chain[position + 1 :], order[position + 1 :]
            at = sources.pop(0) if sources else None
        return chain

    def _located(self, step: TracedStep) -> tuple[FramePair, TracedStep] | None:
        """Return the innermost paired frame around a step, and the step of that frame."""
        at: TracedStep | None = step
        while at is not None:
            frame = self._b.index.frames[at.frame]
            pair = self._runs.pair_of(frame)
            if pair is not None and at.number in pair.b_at:
                return pair, at
            at = self._b.index.step(frame.caller)
        return None

    # --- one statement

    def _link(self, pair: FramePair, step: _Source) -> tuple[ChainLink, list[_Source]]:
        if isinstance(step, _Omission):
            return self._parting(pair, step.gap, None)
        same = pair.counterpart(step)
        if same is None:
            return self._parting(pair, pair.gap_at(step), step)
        operands = self._operands.at(pair, same, step)
        written = differing_writes(self._runs, same, step)
        differences = [*(each.difference for each in operands), *written]
        kind = DivergenceKind.OPERANDS if operands else DivergenceKind.VALUE
        is_raised = described(same.raised) != described(step.raised)
        calls = [*self._a.index.calls_of(same.number), *self._b.index.calls_of(step.number)]
        if any(each.raised is not None for each in calls):
            is_raised = False  # the exception comes from inside
        if is_raised:
            kind = DivergenceKind.RAISED
        point = self.point(kind, pair, same, step, differences)
        if is_raised:
            point = replace(point, a_raised=same.raised, b_raised=step.raised)
        sources = self._sources(pair, step, operands)
        is_edited = point.a_statement != ""
        if not sources and is_edited and not is_raised:
            point = replace(point, kind=DivergenceKind.EDIT)
        if not sources and not operands and not is_edited:
            point = replace(point, note=self._unexplained(same, step, point))
        outside = not sources and bool(operands) and not is_edited
        return ChainLink(point, step, outside), sources

    def _parting(
        self, pair: FramePair, gap: Gap, step: TracedStep | None
    ) -> tuple[ChainLink, list[_Source]]:
        """Return the branch at which the runs went different ways; *step*: of the second run."""
        point, before = self.parting(pair, gap)
        found: list[DifferingOperand] = []
        sources: list[_Source] = []
        if before is not None:
            found = self._operands.at(pair, *before)
            sources = self._sources(pair, before[1], found)
        if pair.a_steps and step is not None:
            reference = pair.a_steps[min(gap.a[0], len(pair.a_steps) - 1)]
            others = self._operands.at(pair, reference, step, aligned=False)
            sources += self._sources(pair, step, others)
            found = found or others
        differences = tuple(each.difference for each in found)[:_MOST_DIFFERENCES]
        if differences:
            point = replace(point, differences=differences)
        at = before[1] if before else step or pair.b_steps[0]
        return ChainLink(point, at, bool(found)), sources

    def _sources(
        self, pair: FramePair, step: TracedStep, operands: Sequence[DifferingOperand]
    ) -> list[_Source]:
        """Return the steps of the second run that made what differs at a step, likely ones first.

        What its calls returned, then what it read. Where the first run wrote a value later, in
        steps that the second one did not take, these are the reason.
        """
        found: list[_Source] = []
        # Of `f(g(x))` the value is what f returned; what g returned led to it through f's argument.
        for frame in reversed(self._b.index.calls_of(step.number)):
            inner = self._runs.pair_of(frame)
            end = _different_end(inner) if inner is not None and inner.b_steps else None
            if end is not None:
                found.append(end)
        execution = self._b.values.execution(step)
        statement = execution.statement
        if statement is not None and statement.kind is StatementKind.FOR and statement.value:
            # The generator that gave the loop its element.
            found += self._b.values.yields(execution, statement.value)[-1:]
        ranked = sorted(operands, key=lambda each: is_volatile(each.a_text, each.b_text))
        for each in ranked:
            writer = self._operands.writer(each)
            source = self._omitted(pair, each, writer) or writer
            if source is not None:
                found.append(source)
        return found

    def _omitted(
        self, pair: FramePair, operand: DifferingOperand, writer: TracedStep | None
    ) -> _Omission | None:
        """Return the steps that only the first run took and in which it wrote the value."""
        other = self._operands.other_writer(operand)
        gap = pair.omission_of(other) if other is not None else None
        if other is None or gap is None:
            return None
        if writer is not None and writer.number in pair.b_at:
            same = pair.counterpart(writer)
            if same is None or same.number > other.number:
                return None  # the second run wrote it after that, or in other steps
        return _Omission(pair, gap)

    def _unexplained(self, same: TracedStep, step: TracedStep, point: DivergencePoint) -> str:
        """Return what is known of a statement with the same values that did something else."""
        a = [self._a.key(each) for each in self._a.index.calls_of(same.number)]
        b = [self._b.key(each) for each in self._b.index.calls_of(step.number)]
        if a != b:
            names = [", ".join(dict.fromkeys(name for _, name in side)) for side in (a, b)]
            called = [f"called {name}" if name else "called nothing traced" for name in names]
            return f"{{a}} {called[0]}; {{b}} {called[1]}"
        if point.differences:
            return "the values that it read were the same, as far as they were recorded"
        return ""

    # --- points

    def parting(
        self, pair: FramePair, gap: Gap
    ) -> tuple[DivergencePoint, tuple[TracedStep, TracedStep] | None]:
        """Return the branch before a gap, and the corresponding steps that it is, if any."""
        a_next = pair.a_steps[gap.a[0]] if gap.a[0] < len(pair.a_steps) else None
        b_next = pair.b_steps[gap.b[0]] if gap.b[0] < len(pair.b_steps) else None
        edited = self._edited_line(pair, gap, a_next, b_next)
        before = None
        if gap.b[0] > 0 and gap.a[0] > 0:
            before = (pair.a_steps[gap.a[0] - 1], pair.b_steps[gap.b[0] - 1])
        if edited is not None:
            return edited, before
        if before is None:
            step = b_next or pair.b_steps[0]
            return self.point(DivergenceKind.INPUT, pair, None, step, ()), None
        point = self.point(DivergenceKind.BRANCH, pair, *before, ())
        point = replace(
            point,
            a_next=_next_line(self._a, pair.a, a_next),
            b_next=_next_line(self._b, pair.b, b_next),
            a_raised=before[0].raised if a_next is None else None,
            b_raised=before[1].raised if b_next is None else None,
        )
        return point, before

    def _edited_line(
        self,
        pair: FramePair,
        gap: Gap,
        a_next: TracedStep | None,
        b_next: TracedStep | None,
    ) -> DivergencePoint | None:
        """Return the edit behind a gap: lines of it that only one version of the source has."""
        path = self._a.relative(pair.a.path)
        lines = self._runs.lines
        if path not in lines.edited:
            return None
        a_only = b_only = False
        if a_next is not None and gap.a[0] < gap.a[1]:
            a_only = (lines.translate(path, a_next.line) or 0) < 0
        if b_next is not None and gap.b[0] < gap.b[1]:
            b_only = lines.is_new(path, b_next.line)
        if not a_only and not b_only:
            return None
        step = b_next or pair.b_steps[-1]
        point = self.point(DivergenceKind.EDIT, pair, None, step, ())
        if a_next is not None:
            text = self._a.files.line(pair.a.path, a_next.line)
            point = replace(point, a_line=a_next.line, a_statement=shortened(text, _MOST_STATEMENT))
        if not b_only:
            point = replace(point, note="{b} does not have the statement of {a}")
        elif not a_only:
            point = replace(point, note="only {b} has this statement", a_statement="", a_line=None)
        return point

    def point(
        self,
        kind: DivergenceKind,
        pair: FramePair,
        same: TracedStep | None,
        step: TracedStep,
        differences: Sequence[Difference],
    ) -> DivergencePoint:
        execution = self._b.values.execution(step)
        text = _text(execution, self._b.files.line(pair.b.path, step.line))
        a_text, a_line = "", None
        if same is not None:
            other = self._a.values.execution(same)
            a_text = _text(other, self._a.files.line(pair.a.path, same.line))
            a_line = same.line
        is_edited = bool(a_text) and a_text != text
        return DivergencePoint(
            kind,
            pair.b.path,
            step.line,
            pair.b.function,
            shortened(text, _MOST_STATEMENT),
            self.hit(pair.b, step),
            a_line if is_edited else None,
            shortened(a_text, _MOST_STATEMENT) if is_edited else "",
            tuple(dict.fromkeys(differences))[:_MOST_DIFFERENCES],
        )

    def hit(self, frame: TracedFrame, step: TracedStep) -> int:
        """Return which execution of its line a step is."""
        key = (*self._b.key(frame), step.line)
        if key not in self._hits:
            self._hits[key] = sorted(
                other.number
                for each in self._same_function(frame)
                for other in self._b.index.steps_of(each.number)
                if other.line == step.line
            )
        return bisect_right(self._hits[key], step.number)

    def _same_function(self, frame: TracedFrame) -> list[TracedFrame]:
        if not self._functions:
            for each in self._b.index.frames.values():
                self._functions.setdefault(self._b.key(each), []).append(each)
        return self._functions[self._b.key(frame)]


def _next_line(side: TracedSide, frame: TracedFrame, step: TracedStep | None) -> NextLine | None:
    if step is None:
        return None
    return NextLine(step.line, shortened(side.files.line(frame.path, step.line), 80))


def _text(execution: Execution, line: str) -> str:
    return execution.statement.text if execution.statement is not None else line


def _different_end(pair: FramePair) -> TracedStep | None:
    """Return the step where a call returned, raised or yielded something different, if it did."""
    last = pair.b_steps[-1]
    if described(pair.a.raised) != described(pair.b.raised):
        return last
    for step in pair.b_steps if pair.b.kind in _YIELDING else ():
        same = pair.counterpart(step) if step.yielded is not None else None
        if step.yielded is not None and (
            same is None or not _is_same_value(same.yielded, step.yielded)
        ):
            return step
    return None if _is_same_value(pair.a.returned, pair.b.returned) else last


def _is_same_value(one: TracedValue | None, other: TracedValue | None) -> bool:
    if one is None or other is None:
        return one is other
    return is_same_text(one.text, other.text)
