"""Writes of parts that no target of a statement names: by their paths, or by `xs += …`."""

from __future__ import annotations

import re
from dataclasses import replace

from freezeframe.model import late_regex
from freezeframe.model.trace import Write

from .expressions import Expression, Form, WrittenTarget
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


def part_path_write(
    index: TraceIndex, frame: int, name: str, part: str, moment: int
) -> StepWrite | None:
    """Return the last write of a part of a variable: `[z]` of `argv` is `argv.z`.

    None if all of the variable was written later.
    """
    key = part.strip(".[]'\"")
    variants = (f"{name}.{key}", f"{name}[{key}]", f"{name}['{key}']", f'{name}["{key}"]')
    found = [index.variable_write(frame, each, moment) for each in variants]
    last = max(
        (each for each in found if each is not None), key=lambda each: each.end, default=None
    )
    whole = index.variable_write(frame, name, moment) if last is not None else None
    while last is not None and whole is not None and whole.end > last.end:
        if not _is_mutation(whole, name):
            return None
        whole = index.variable_write(frame, name, whole.end)
    return last


def _is_mutation(written: StepWrite, name: str) -> bool:
    """Whether a step changed parts of a variable, and did not give it another value."""
    return any(each.name.startswith((f"{name}.", f"{name}[")) for each in written.step.writes)


def path_assignment(
    values: TracedValues, execution: Execution, write: Write
) -> WrittenTarget | None:
    """Return the assignment of a statement that made a write whose owner is not known."""
    statement = execution.statement
    written = statement.writes if statement is not None else ()
    own = write.name.removeprefix("this.")  # Java's fields need no object
    for each in reversed(written):
        if each.target.text in (write.name, own):
            return each
    names = [each for each in re.split(r"[.\[\]'\"]+|->", write.name) if each]
    keys = {each: _keys_of(values, each.target, execution) for each in written}
    for each in reversed(written):
        if keys[each] == names:
            return each
    # The same object under another name.
    is_part = len(names) > 1 and len(written) == 1 and written[0].target.form is Form.PART
    return written[0] if is_part and keys[written[0]][-1] == names[-1] else None


def _keys_of(values: TracedValues, target: Expression, execution: Execution) -> list[str]:
    """Return the names of a path with the values of its keys: `o`, `z` of `o[key]`."""
    if target.form is not Form.PART:
        return [target.text]
    owner, *keys = target.operands
    found = _keys_of(values, owner, execution)
    if not keys:
        return [*found, target.name.removeprefix(".")]
    value = values.value(keys[0], execution)
    return [*found, (value.text if value is not None else keys[0].text).strip("'\"")]


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
