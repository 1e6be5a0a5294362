"""From an exception that was caught to the statement that raised it."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model.questions import LinkKind
from freezeframe.model.trace import TracedStep, TracedValue

from .expressions import Form, StatementKind
from .operands import Operands
from .queries import Computed, EvaluatedAt, Query, chain_end, moved_to
from .source_patterns import EXPECTING
from .traced_values import TracedValues, called_name


class RaisedExceptions:
    """Follows exceptions to where they were raised."""

    def __init__(self, values: TracedValues, operands: Operands) -> None:
        self._values = values
        self._operands = operands

    def expected(self, query: Query) -> Computed | None:
        """Follow `caught.value` of `with pytest.raises(…) as caught` to where it was raised."""
        execution, owner = query.at.execution, query.node.operands[0]
        if owner.form is not Form.NAME or query.node.name not in (".value", ".exception"):
            return None
        written = self._values.index.variable_write(execution.frame, owner.name, execution.first)
        block = self._values.execution(written.step).statement if written is not None else None
        if written is None or block is None or block.kind is not StatementKind.WITH:
            return None
        if block.value is None or not EXPECTING.fullmatch(called_name(block.value)):
            return None
        raised = [
            step
            for step in self._values.index.steps_of(execution.frame)
            if written.step.number < step.number < execution.first and step.raised is not None
        ]
        return self.raised_at(query, raised[-1]) if raised else None

    def caught(self, query: Query) -> Computed:
        """Follow an exception to where it was raised."""
        raised = self._values.raised_before(query.at.execution)
        if raised is None or raised.raised is None:
            return chain_end(query, "the exception was raised by code that was not traced")
        return self.raised_at(query, raised)

    def raised_at(self, query: Query, raised: TracedStep) -> Computed:
        """Return the statement that raised an exception, and what it read."""
        raised = self._values.innermost_raise(raised)
        if raised.raised is None:
            return chain_end(query, "the exception was raised by code that was not traced")
        made = self._values.execution(raised)
        shown = TracedValue(raised.raised)
        at = EvaluatedAt(made, "raised", LinkKind.RAISED, None, shown)
        raising = moved_to(query, at, None)
        if made.statement is None or made.statement.value is None:
            return Computed(raising)
        inside = replace(raising, node=made.statement.value)
        return Computed(inside, self._operands.of(inside))
