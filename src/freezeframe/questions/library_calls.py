"""Calls of code that was not traced, and what they passed on from code that was."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model.trace import FrameKind, TracedFrame, TracedValue

from .expressions import Expression, Form, WrittenTarget
from .queries import Query
from .text_spans import known_text, plain_text
from .trace_index import StepWrite
from .traced_values import Execution, TracedValues, called_name, is_equal

#: steps that are searched for an assignment to an element
_MOST_SEARCHED = 2000


def called_back(values: TracedValues, query: Query) -> TracedFrame | None:
    """Return the frame that library code called and whose result the query's call returned.

    That is known by the identity of the result; of a plain value, if the call names the only
    function that returned it.
    """
    if query.value is None:
        return None
    names = {each.name.removeprefix(".") for each in query.node.walk() if each.name}
    has_identity = query.value.object is not None
    same = [
        frame
        for frame in frames_during(values, query.at.execution)
        if frame.returned is not None
        and is_equal(frame.returned, query.value)
        and (has_identity or frame.function.rpartition(".")[2] in names)
    ]
    return same[-1] if same and (has_identity or len(same) == 1) else None


def callbacks(values: TracedValues, query: Query) -> list[TracedFrame]:
    """Return the frames of functions that the query's call was given, in the order of their end.

    Where a character of a text is followed, only those whose result has it: `re.sub(f, text)`.
    """
    names = {
        each.name.removeprefix(".")
        for each in query.node.operands[1:]
        if each.form in (Form.NAME, Form.PART)
    }
    frames = [
        each
        for each in frames_during(values, query.at.execution)
        if each.returned is not None and each.function.rpartition(".")[2] in names
    ]
    known = known_text(query.value.text) if query.value is not None else None
    if known is None or query.offset is None:
        return frames
    found = []
    for frame in frames:
        text = plain_text(frame.returned.text) if frame.returned is not None else None
        at = known[0].find(text, max(0, query.offset - len(text) + 1)) if text else -1
        if 0 <= at <= query.offset:
            found.append(frame)
    return found


def frames_during(values: TracedValues, execution: Execution) -> list[TracedFrame]:
    """Return the frames that a statement called, and those that library code called in it."""
    found = values.calls(execution)
    end = values.next_step(execution)
    for frame in values.index.frames.values():
        steps = values.index.steps_of(frame.number) if frame.caller is None else []
        if steps and execution.first < steps[0].number < end:
            found.append(frame)
    return [frame for frame in found if frame.kind is not FrameKind.COMPREHENSION]


def last_item_set(
    values: TracedValues, query: Query, value: TracedValue | None, written: StepWrite | None
) -> tuple[Execution, WrittenTarget] | None:
    """Return the last `name[key] = …` before a statement, of an object that library code keeps.

    What such an object holds is not recorded (a table of pandas); its own frame's statements say
    what was put into it since *written*, the last write of the variable.
    """
    if value is None or value.object is None or value.type in ("list", "dict", "tuple", "set"):
        return None
    if query.focus:
        return None
    frame = query.at.execution.frame
    begin = written.step.number if written is not None else 0
    steps = values.index.steps_of(frame)
    last = values.index.last_before(frame, query.at.execution.first)
    for index in range(last, max(-1, last - _MOST_SEARCHED), -1):
        step = steps[index]
        if step.number <= begin:
            break
        is_recorded = any(each.owner == value.object for each in step.writes)
        if is_recorded or values.index.calls_of(step.number):
            continue
        found = values.execution(step)
        for target in found.statement.writes if found.statement is not None else ():
            path = target.target
            is_item = path.form is Form.PART and len(path.operands) == 2
            if is_item and path.operands[0].name == query.node.name:
                return found, target
    return None


def unwrapped_element(query: Query, source: Expression) -> Query | None:
    """Return the element behind enumerate and zip, if one of their items is followed."""
    if source.form is not Form.CALL or not query.focus:
        return None
    name, part = called_name(source), query.focus[0]
    inner: Expression | None = None
    if name == "enumerate" and part == "[1]" and len(source.operands) > 1:
        inner = source.operands[1]
    elif name == "zip" and part[1:-1].isdigit():
        position = int(part[1:-1]) + 1
        inner = source.operands[position] if position < len(source.operands) else None
    if inner is None:
        return None
    element = Expression(inner.text, Form.ELEMENT, inner.position, (inner,))
    return replace(query, node=element, focus=query.focus[1:])
