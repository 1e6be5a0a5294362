"""Calls of code that was not traced, and what they passed on from code that was."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from operator import attrgetter

from freezeframe.model import late_regex
from freezeframe.model.trace import FrameKind, TracedFrame, TracedStep, TracedValue

from .expressions import Expression, Form, WrittenTarget
from .implicit_calls import OF_REPORTS
from .queries import Query
from .text_spans import known_text, plain_text
from .trace_index import StepWrite
from .traced_values import Execution, TracedValues, called_name, is_equal

#: types whose contents are recorded
BUILT_IN = frozenset(("list", "dict", "tuple", "set"))
#: how methods begin that put something into their object, as most libraries call them
_CHANGING = late_regex.compile(
    r"_?(?:add|set|put|push|append|insert|extend|update|load|write|feed|fill|store|merge|register"
    r"|remove|discard|clear|pop|del)"
)
#: the weight of a plain value
_ENTERED = 2
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


def entered_code(values: TracedValues, query: Query) -> tuple[Query, ...]:
    """Return the last call that library code made into traced code during the query's call.

    What the library returned was decided there, or by an exception that left it.
    """
    if values.calls(query.at.execution):
        return ()  # those may have called the library too
    own = values.index.frames[query.at.execution.frame].thread
    entered = [
        frame
        for frame in frames_during(values, query.at.execution)
        if frame.caller is None
        and frame.thread == own
        and values.index.steps_of(frame.number)
        and frame.function.rpartition(".")[2] not in OF_REPORTS
    ]
    raised = [frame for frame in entered if frame.raised is not None]
    returned = [frame for frame in entered if frame.returned and frame.returned.text != "None"]
    # Of calls inside of each other the outermost one ends last.
    returned.sort(key=lambda frame: values.index.steps_of(frame.number)[-1].number)
    for frame in (raised or returned)[-1:]:
        made = Query(query.node, query.at, frame.returned, called=frame.number)
        return (replace(made, weight=_ENTERED),)
    return ()


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
    if value is None or value.object is None or value.type in BUILT_IN:
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


def last_method_call(
    values: TracedValues,
    value: TracedValue | None,
    begin: int,
    moment: int,
    near: TracedValue | None = None,
) -> tuple[Execution, Expression] | None:
    """Return the last call with arguments of a method of a library's object, between two moments.

    With *near*, the last one that was given a text with that one in it.

    What such an object holds is not recorded; a call that was given something may have changed it.
    """
    if value is None or value.object is None or value.type in BUILT_IN:
        return None
    steps = values.index.trace.steps
    end = bisect_left(steps, moment, key=attrgetter("number"))
    for at in range(end - 1, max(-1, end - _MOST_SEARCHED), -1):
        step = steps[at]
        if step.number <= begin:
            break
        if not _names(values, step, value.object):
            continue
        execution = values.execution(step)
        root = execution.statement.value if execution.statement is not None else None
        for call in root.walk() if root is not None else ():
            function = call.operands[0] if call.form is Form.CALL else call
            if function.form is not Form.PART or len(call.operands) < 2 or call is function:
                continue
            if not _CHANGING.match(called_name(call)):
                continue
            owner = values.value(function.operands[0], execution)
            if owner is None or owner.object != value.object:
                continue
            if near is not None and not _has_text(values, execution, call, near):
                continue
            # Of a traced method the writes were recorded.
            return None if _is_traced(values, execution, call) else (execution, call)
    return None


def _has_text(
    values: TracedValues, execution: Execution, call: Expression, near: TracedValue
) -> bool:
    sought = plain_text(near.text) or ""
    given = [values.value(each, execution) for each in call.operands[1:]]
    texts = [known_text(each.text) for each in given if each is not None]
    return any(sought in each[0] for each in texts if each is not None)


def _is_traced(values: TracedValues, execution: Execution, call: Expression) -> bool:
    own = called_name(call)
    return any(each.function.rpartition(".")[2] == own for each in values.calls(execution))


def _names(values: TracedValues, step: TracedStep, object: int) -> bool:
    """Whether a line reads an object: by a path, or by a variable of its frame."""
    if any(read.value.object == object or read.owner == object for read in step.reads):
        return True
    called = values.index.calls_of(step.number)
    if any(each.returned is not None and each.returned.object == object for each in called):
        return True  # a property
    source = values.files.file(values.index.frames[step.frame].path)
    statement = source.statement(step.line) if source is not None else None
    if statement is None or statement.value is None or statement.value.form is not Form.CALL:
        return False
    name = statement.value.operands[0].root.name
    found = values.index.value_of_variable(step.frame, name, step.number)
    return found is not None and found.object == object


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
