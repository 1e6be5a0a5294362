"""Writes of parts that no target of a statement names: by their paths, or by `xs += …`."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model import late_regex
from freezeframe.model.trace import Write

from .expressions import Expression
from .queries import Query
from .trace_index import StepWrite, TraceIndex
from .traced_values import Execution, TracedValues
from .value_parts import elements_of, index_of

#: a field or an element, as a path or as Ruby writes its own: `c.total`, `items[2]`, `@total`
_PART = late_regex.compile(r"[.\[@]")
_WORD = late_regex.compile(r"\w+")
_MOST_STEPS = 100_000


def path_write(values: TracedValues, node: Expression, execution: Execution) -> StepWrite | None:
    """Return the last write of a path in the frame of a statement: `cart.total`."""
    moment = values.moment(execution, node)
    return values.index.variable_write(execution.frame, node.text, moment)


def written_inside(index: TraceIndex, execution: Execution, write: Write) -> StepWrite | None:
    """Return the write that a call of the statement made of the part, if the write is of a path.

    It is the last one inside with the same field or key and the same value.
    """
    if write.owner is not None or write.new is None or not _PART.search(write.name):
        return None
    part = _WORD.findall(write.name)[-1]
    steps = range(execution.first + 1, index.end(execution.steps[-1]) + 1)
    for number in reversed(steps) if len(steps) < _MOST_STEPS else ():
        step = index.step(number)
        for each in step.writes if step is not None else ():
            new = each.new.text if each.new is not None else None
            is_part = _PART.search(each.name) and _WORD.findall(each.name)[-1] == part
            if step and is_part and new == write.new.text:
                return StepWrite(step, each, index.end(step))
    return None


def extension(query: Query, write: Write) -> Query | None:
    """Follow an element that `xs += …` put into its list: into what was added."""
    execution, index = query.at.execution, index_of(write.name)
    for each in execution.statement.writes if execution.statement is not None else ():
        if not each.augmented or each.value.name != "+" or index is None:
            continue
        before = [
            other.old
            for step in execution.steps
            for other in step.writes
            if other.name == each.target.text and other.new and other.new.object == write.owner
        ]
        count = len(elements_of(before[-1].text)) if before and before[-1] is not None else 0
        if before and index >= count:
            focus = (f"[{index - count}]", *query.focus)
            return replace(query, node=each.value.operands[1], value=None, focus=focus)
    return None
