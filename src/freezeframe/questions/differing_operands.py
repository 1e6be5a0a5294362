"""What a statement read in two runs, and which of it differs."""

from __future__ import annotations

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.history import Difference
from freezeframe.model.trace import TracedStep, TracedValue
from freezeframe.model.values import is_cut

from .compared_values import is_same_text, plain
from .expressions import Expression, Form, evaluated
from .paired_frames import FramePair, PairedRuns, TracedSide
from .traced_values import RECEIVERS, SILENT_TYPES, Execution, shortened
from .value_parts import first_difference


@dataclass(frozen=True, slots=True)
class DifferingOperand:
    """A variable, field or element that a statement read, with both values."""

    node: Expression
    #: the statement of the second run, and of the first
    execution: Execution
    there: Execution
    a_text: str
    b_text: str
    value: TracedValue

    @property
    def difference(self) -> Difference:
        return Difference(self.node.text, shortened(self.a_text), shortened(self.b_text))


def described(text: str | None) -> str | None:
    return None if text is None else plain(text)


def differing_writes(runs: PairedRuns, a: TracedStep, b: TracedStep) -> list[Difference]:
    """Return what two corresponding steps wrote with different values."""
    one = {each.name: each.new for each in a.writes if each.by_step}
    found = []
    for write in b.writes:
        if not write.by_step or write.name not in one:
            continue
        left, right = one[write.name], write.new
        if left is None or right is None or right.type in SILENT_TYPES:
            continue
        texts = runs.a.plain(left.text), runs.b.plain(right.text)
        if not is_same_text(*texts):
            found.append(Difference(write.name, shortened(texts[0]), shortened(texts[1])))
    return found


class DifferingOperands:
    """Compares what corresponding steps read, and finds who wrote it."""

    def __init__(self, runs: PairedRuns) -> None:
        self._a, self._b = runs.a, runs.b

    def at(
        self, pair: FramePair, a: TracedStep, b: TracedStep, *, aligned: bool = True
    ) -> list[DifferingOperand]:
        """Return what the statement of step *b* read with another value than in run a.

        Without *aligned* the same names are looked up at step *a*, which is another statement.
        """
        here, there = self._b.values.execution(b), self._a.values.execution(a)
        if not aligned:
            there = Execution(pair.a.number, (a,), there.statement)
        found: dict[str, DifferingOperand] = {}
        for root in evaluated(here.statement):
            for node in root.paths():
                if node.text in found or node.text in RECEIVERS:
                    continue
                operand = self._compared(node, here, there)
                if operand is not None:
                    found[node.text] = operand
        # A plain value says more than the object that it is in.
        return sorted(found.values(), key=lambda each: each.value.object is not None)

    def _compared(
        self, node: Expression, here: Execution, there: Execution
    ) -> DifferingOperand | None:
        mine = self._b.values.value(node, here)
        other = self._a.values.value(node, there) if mine is not None else None
        if mine is None or other is None or mine.type in SILENT_TYPES:
            return None
        b_text = self._b.plain(self._b.values.text_at(mine, here.first))
        a_text = self._a.plain(self._a.values.text_at(other, there.first))
        if is_same_text(a_text, b_text):
            return None
        return DifferingOperand(node, here, there, a_text, b_text, mine)

    def writer(self, operand: DifferingOperand) -> TracedStep | None:
        """Return the step of run b that made the value; the caller's for an argument."""
        node, execution = operand.node, operand.execution
        index, moment = self._b.index, operand.execution.first
        inside = self._part_writer(operand)
        if inside is not None:
            return inside
        if node.form is Form.PART:
            part = _owner_writer(self._b, node, execution)
            if part is not None or node.operands[0].text in RECEIVERS:
                return part
            return self.writer(self._owner_of(operand))
        written = index.variable_write(execution.frame, node.name, moment)
        if written is not None:
            return written.step if written.step.number < moment else None
        frame = index.frames[execution.frame]
        if node.name in dict(frame.arguments):
            return index.step(frame.caller)
        return _global_writer(self._b, node, execution)

    def other_writer(self, operand: DifferingOperand) -> TracedStep | None:
        """Return the step of run a that wrote its value of a variable, field or element."""
        node, there = operand.node, operand.there
        if node.form is Form.PART:
            return _owner_writer(self._a, node, there)
        written = self._a.index.variable_write(there.frame, node.name, there.first)
        if written is not None:
            return written.step if written.step.number < there.first else None
        return _global_writer(self._a, node, there)

    def _owner_of(self, operand: DifferingOperand) -> DifferingOperand:
        root = operand.node.operands[0]
        value = self._b.values.value(root, operand.execution)
        kept = value if value is not None else TracedValue("")
        return DifferingOperand(root, operand.execution, operand.there, "", "", kept)

    def _part_writer(self, operand: DifferingOperand) -> TracedStep | None:
        """Return the step that wrote the first part that differs, inside of an object."""
        if operand.value.object is None or is_cut(operand.b_text):
            return None
        index, moment = self._b.index, operand.execution.first
        holder: int | None = operand.value.object
        found: TracedStep | None = None
        for name in first_difference(operand.b_text, operand.a_text):
            if holder is None:
                break
            written = index.part_write(holder, name, moment)
            if written is not None and written.write.by_step:
                found = written.step
            seen = index.part_seen(holder, name, moment)
            holder = seen.object if seen is not None else None
        return found


def _owner_writer(side: TracedSide, node: Expression, execution: Execution) -> TracedStep | None:
    """Return the step that wrote a field or an element."""
    values, moment = side.values, execution.first
    owner = values.value(node.operands[0], execution)
    part = values.part_name(node, execution, owner)
    holder = owner.object if owner is not None else None
    read = values.read(node, execution)
    if holder is None and read is not None:
        holder, part = read.owner, read.name or part
    if holder is None or not part:
        return None
    written = side.index.part_write(holder, part, moment)
    return written.step if written is not None else None


def _global_writer(side: TracedSide, node: Expression, execution: Execution) -> TracedStep | None:
    read = side.values.read(node, execution)
    owner, name = side.index.frames[execution.frame].namespace, f".{node.name}"
    if read is not None and read.owner is not None:
        owner, name = read.owner, read.name
    if owner is None:
        return None
    written = side.index.part_write(owner, name, execution.first)
    return written.step if written is not None else None
