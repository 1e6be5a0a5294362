"""Writes of parts that no target names: by paths, by `xs += …`, by `xs.append(x)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.model import late_regex
from freezeframe.model.trace import TracedFrame, TracedValue, Write

from .expressions import Expression, Form, Statement, WrittenTarget
from .queries import Query
from .trace_index import StepWrite, TraceIndex
from .traced_values import Execution, TracedValues, called_name, is_equal
from .value_parts import elements_of, index_of

#: a field or an element, as a path or as Ruby writes its own: `c.total`, `items[2]`, `@total`
_PART = late_regex.compile(r"[.\[@]")
_WORD = late_regex.compile(r"\w+")
_MOST_STEPS = 100_000
#: methods that put one of their arguments into their object
_ADDING = frozenset(("append", "appendleft", "add", "insert", "extend", "push", "put")) | frozenset(
    ("setdefault", "update", "setattr", "__setitem__")
)
_EMPTY = frozenset(("[]", "{}", "set()"))


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


def own_field(frame: TracedFrame, node: Expression) -> Expression | None:
    """Return a name as the field of its method's object, in languages that write it so."""
    has_fields = frame.path.endswith((".java", ".kt", ".cc", ".cpp", ".cxx", ".hpp", ".h"))
    if node.form is not Form.NAME or node.name == "this" or not has_fields:
        return None
    if all(name != "this" for name, _ in frame.arguments):
        return None
    this = Expression("this", Form.NAME, name="this")
    return Expression(f"this.{node.name}", Form.PART, operands=(this,), name=f".{node.name}")


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


def last_put(index: TraceIndex, value: TracedValue | None, moment: int) -> StepWrite | None:
    """Return the last statement that put something into a container that began empty."""
    if value is None or value.object is None or value.text not in _EMPTY:
        return None
    written = index.writes_of_parts(value.object, moment)
    last = written[-1] if written else None
    return None if last is None or last.write.new is None or index.is_first_sight(last) else last


def adding_calls(statement: Statement) -> list[Expression]:
    """Return the calls of a statement that put an argument into an object: `xs.append(x)`."""
    roots = [statement.value, *(each.value for each in statement.writes)]
    return [
        call
        for root in roots
        if root is not None
        for call in root.walk()
        if call.form is Form.CALL and called_name(call) in _ADDING
    ]


def added_argument(
    values: TracedValues, execution: Execution, calls: Sequence[Expression], write: Write
) -> Expression | None:
    """Return the argument of one of these calls that became a part of an object."""
    for call in calls:
        same = [
            argument
            for argument in call.operands[1:]
            if (value := values.value(argument, execution)) is not None
            and write.new is not None
            and is_equal(value, write.new)
        ]
        labelled = [
            argument
            for label, argument in zip(call.labels, call.operands[1:], strict=True)
            if write.name in (f"[{label!r}]", f".{label}")
        ]
        if labelled or len({each.text for each in same}) == 1:
            return (labelled or same)[-1]
        if len(calls) == 1 and len(call.operands) > 1 and called_name(call) == "append":
            return call.operands[1]
    return None
