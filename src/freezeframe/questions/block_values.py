"""Values of blocks, and of variables that a call changes through a reference.

In Rust and its like `match` and `if` have values: that of the arm that was executed. A call may
change a variable of its caller that was passed by reference: `parse(text, &mut out)`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from freezeframe.model.trace import Write

from .expressions import Expression, Form
from .queries import Query
from .trace_index import StepWrite
from .traced_values import Execution, TracedValues

_BLOCK = re.compile(r"(?:match|if|switch|unsafe|loop)\b")
_REFERENCE = re.compile(r"^(?:0x[0-9a-fA-F]+\s*(?:->\s*)?|@0x[0-9a-fA-F]+:?\s*|[&*]+(?:mut )?)+")


def arm_of(values: TracedValues, query: Query) -> Query | None:
    """Return the value of the arm that gave the value of a block; None if it is no block.

    The arm is the last line of the block that the frame executed before the assignment.
    """
    execution = query.at.execution
    statement = execution.statement
    if statement is None or not _BLOCK.match(_plain(query.node).text):
        return None
    steps = values.index.steps_of(execution.frame)
    at = values.index.last_before(execution.frame, execution.first)
    if at < 0 or not statement.last < steps[at].line <= statement.end:
        return None
    arm = values.execution(steps[at])
    if arm.statement is None or arm.statement.value is None or arm.statement.writes:
        return None
    node = arm.statement.value
    if query.node.form is Form.ITEM:
        part = query.node.name
        if (
            node.form is Form.DISPLAY
            and part[1:-1].isdigit()
            and int(part[1:-1]) < len(node.operands)
        ):
            node = node.operands[int(part[1:-1])]
        else:
            node = Expression(node.text, Form.ITEM, operands=(node,), name=part)
    return replace(query, node=node, at=replace(query.at, execution=arm))


def _plain(node: Expression) -> Expression:
    return node.operands[0] if node.form is Form.ITEM else node


def written_by_reference(
    values: TracedValues, execution: Execution, write: Write
) -> StepWrite | None:
    """Return the write of a parameter in a called function that changed the caller's variable."""
    if write.owner is not None or write.new is None:
        return None
    new = _value(write.new.text)
    for frame in reversed(values.calls(execution)):
        names = {name for name, _ in frame.arguments if name not in ("self", "this")}
        for step in reversed(values.index.steps_of(frame.number)):
            for each in step.writes:
                value = each.new.text if each.new is not None else None
                if each.name in names and value is not None and _value(value) == new:
                    return StepWrite(step, each, values.index.end(step))
    return None


def _value(text: str) -> str:
    return _REFERENCE.sub("", text)
