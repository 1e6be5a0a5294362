"""What an expression reads, each operand with its value and how much it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from freezeframe.model.trace import TracedValue

from .expressions import Expression, Form
from .queries import Query
from .traced_values import RECEIVERS, SILENT_TYPES, TracedValues

#: how much an operand says about the value that was made of it
DECIDED, VALUE, OBJECT, RECEIVER = 3, 2, 1, 0


class ReadOperands:
    """The operands of expressions."""

    def __init__(self, values: TracedValues) -> None:
        self._values = values

    def _every(
        self, node: Expression, query: Query, bound: frozenset[str] = frozenset()
    ) -> Iterator[Query]:
        """Yield what an expression reads: variables, fields, elements, results of calls."""
        operands = node.operands
        if node.targets:
            bound |= {each.name for target in node.targets for each in target.walk()}
        if node.form is Form.CALL:
            function, *arguments = operands
            owner = function.operands[:1] if function.form is Form.PART else ()
            operands = (*owner, *arguments)
        for operand in operands:
            if operand.form in (Form.NAME, Form.PART) and operand.root.name not in bound:
                made = self._operand(query, operand)
                if made.value is None:
                    # Names that were not recorded are functions, classes and modules.
                    if operand.form is Form.PART and self._value(operand.root, query) is not None:
                        yield made
                elif made.value.type not in SILENT_TYPES:
                    yield made
            elif operand.form is Form.CALL and not any(n.name in bound for n in operand.walk()):
                yield self._operand(query, operand)
            elif operand.form not in (Form.CONSTANT, Form.DEFINITION):
                yield from self._every(operand, query, bound)

    def _operand(
        self, query: Query, node: Expression, weight: int | None = None, **changes: object
    ) -> Query:
        value = self._value(node, query)
        if weight is None:
            weight = VALUE if value is None or value.object is None else OBJECT
            if node.name in RECEIVERS:
                weight = RECEIVER
        made = Query(node, query.at, value, weight=weight)
        return replace(made, **changes) if changes else made  # type: ignore[arg-type]

    def _value(self, node: Expression, query: Query) -> TracedValue | None:
        return self._values.value(node, query.at.execution)
