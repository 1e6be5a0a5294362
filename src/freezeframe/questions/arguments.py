"""From a parameter to the expression that the caller passed for it."""

from __future__ import annotations

import re
from dataclasses import replace

from freezeframe.model.questions import LinkKind
from freezeframe.model.trace import FrameKind, TracedFrame, TracedStep, TracedValue

from .expressions import Expression, Form, Parameter, Statement, StatementKind
from .queries import Computed, EvaluatedAt, Query, moved_to
from .traced_values import RECEIVERS, Execution, TracedValues, called_name, own_name
from .value_parts import elements_of


class Arguments:
    """Follows parameters to the calls that passed them."""

    def __init__(self, values: TracedValues) -> None:
        self._values = values

    def passed(self, query: Query, name: str, frame: TracedFrame | None = None) -> Query | Computed:
        """Return the argument that became the parameter *name* of the query's frame."""
        index = self._values.index
        if frame is None:
            frame = index.frames[query.at.execution.frame]
        value = dict(frame.arguments).get(name)
        step = index.step(frame.caller)
        if step is None:
            return Computed(
                query,
                end=f"{name} was passed to {frame.function} by code that was not traced",
            )
        execution = self._values.execution(step)
        at = EvaluatedAt(execution, name, LinkKind.ARGUMENT, None, value)
        moved = moved_to(query, at, value)
        call = self._call(frame, execution)
        source = self._values.files.file(frame.path)
        is_named = not frame.function.endswith(">")
        parameters = source.parameters(frame.first_line) if source and is_named else ()
        if call is not None and parameters:
            found = self._argument(call, parameters, name, frame, execution)
            if isinstance(found, Parameter):
                return self._default(query, frame, found, value)
            if found is not None:
                return self._of_loop(moved, call, found, frame) or self._checked(moved, found)
        if call is not None and self._is_receiver(call, parameters, name, frame):
            return self._checked(moved, (call.operands[0].operands[0], ()))
        return self._by_value(moved, frame)

    def _is_receiver(
        self,
        call: Expression,
        parameters: tuple[Parameter, ...],
        name: str,
        frame: TracedFrame,
    ) -> bool:
        """Whether *name* is the object of a method whose parameters do not list it."""
        first = frame.arguments[0][0] if frame.arguments else ""
        listed = any(each.name == name for each in parameters)
        return name == first and not listed and call.operands[0].form is Form.PART

    def _of_loop(
        self,
        moved: Query,
        call: Expression,
        found: tuple[Expression, tuple[str, ...]],
        frame: TracedFrame,
    ) -> Query | None:
        """Return the element that the variable of a comprehension was in the call of *frame*."""
        node, focus = found
        outer = self._values.outer_execution(moved.at.execution)
        for root in _roots(outer.statement):
            for each in root.walk():
                if each.form is not Form.COMPREHENSION or each.labels or len(each.operands) != 2:
                    continue
                if each.operands[0].position != call.position or node.text != each.targets[0].text:
                    continue
                frames = [
                    inside.number
                    for inside in self._values.calls_inside(outer)
                    if inside.call_site == call.position
                ]
                if frame.number not in frames:
                    return None
                name = f"[{frames.index(frame.number)}]"
                source = each.operands[1]
                element = Expression(source.text, Form.ELEMENT, source.position, (source,), name)
                at = replace(moved.at, execution=outer)
                return replace(moved, node=element, at=at, focus=(*focus, *moved.focus))
        return None

    def _checked(self, moved: Query, found: tuple[Expression, tuple[str, ...]]) -> Query | Computed:
        node, focus = found
        value = self._values.value(node, moved.at.execution) if not focus else None
        is_recorded = node.form is not Form.OPERATION and node.form is not Form.CONSTANT
        # Others are spelled otherwise than the debugger does: `False` and quotes.
        if value is not None and moved.value is not None and not focus and is_recorded:
            same = (
                value.object == moved.value.object
                if value.object is not None and moved.value.object is not None
                else value.text == moved.value.text
            )
            if not same:
                return Computed(moved, end=f"which value {node.text} had then was not recorded")
        return replace(moved, node=node, focus=(*focus, *moved.focus))

    def _call(self, frame: TracedFrame, execution: Execution) -> Expression | None:
        """Return the call that made a frame, if it is a call of that function."""
        source = self._values.files.file(self._values.index.frames[execution.frame].path)
        if source is None:
            return None
        own = own_name(frame)
        if frame.call_site is not None:
            call = source.call_at(frame.call_site)
            if call is not None:
                is_constructor = own in ("__init__", "__new__", "__call__")
                if called_name(call) == own or is_constructor:
                    return call
                # A function in a variable: its text names the function that was called.
                function = self._values.value(call.operands[0], execution)
                is_own = function is not None and own in re.findall(r"\w+", function.text)
                return call if is_own or self._forwards(call, frame, execution) else None
            if frame.kind not in (FrameKind.GENERATOR, FrameKind.COROUTINE):
                return None
            # Such a frame begins with the first round of the loop, or where it is awaited.
        calls = {
            call.position: call
            for root in _roots(execution.statement)
            for call in root.walk()
            if call.form is Form.CALL and called_name(call) == own
        }
        return next(iter(calls.values())) if len(calls) == 1 else None

    def _forwards(self, call: Expression, frame: TracedFrame, execution: Execution) -> bool:
        """Whether a call passes `*args` on to the function of a frame: a decorator's wrapper."""
        spread = [
            node for label, node in zip(call.labels, call.operands[1:], strict=True) if label == "*"
        ]
        value = self._values.value(spread[0], execution) if len(spread) == 1 else None
        passed = elements_of(value.text) if value is not None else []
        received = {each.text for _, each in frame.arguments}
        return bool(passed) and all(each in received for each in passed)

    def _argument(
        self,
        call: Expression,
        parameters: tuple[Parameter, ...],
        name: str,
        frame: TracedFrame,
        execution: Execution,
    ) -> tuple[Expression, tuple[str, ...]] | Parameter | None:
        """Return the argument's expression and the part of it, or the parameter with a default."""
        index = next((i for i, each in enumerate(parameters) if each.name == name), None)
        if index is None:
            return None
        parameter = parameters[index]
        arguments = list(zip(call.labels, call.operands[1:], strict=True))
        for label, node in arguments:
            if label == name:
                return node, ()
        shift = self._shift(call, parameters, frame, execution)
        if index < shift:
            function = call.operands[0]
            return (function.operands[0], ()) if function.form is Form.PART else None
        positional = [(label, node) for label, node in arguments if label in ("", "*")]
        if parameter.star == "*":
            rest = positional[index - shift :]
            if any(label == "*" for label, _ in positional):
                return (rest[0][1], ()) if len(rest) == 1 and index == shift else None
            display = Expression(
                f"*{name}",
                Form.DISPLAY,
                call.position,
                tuple(node for _, node in rest),
                "tuple",
                ("",) * len(rest),
            )
            return display, ()
        if parameter.star == "**":
            return self._keywords(call, parameters, name)
        if not parameter.star:
            at_call = index - shift
            for at, (label, node) in enumerate(positional):
                if label == "*":
                    return node, (f"[{at_call - at}]",)
                if at == at_call:
                    return node, ()
        spread = [node for label, node in arguments if label == "**"]
        if spread:
            return (spread[0], (f"[{name!r}]",)) if len(spread) == 1 else None
        return parameter if parameter.default is not None else None

    def _keywords(
        self, call: Expression, parameters: tuple[Parameter, ...], name: str
    ) -> tuple[Expression, tuple[str, ...]] | None:
        """Return the arguments that a parameter `**name` collects."""
        own = {each.name for each in parameters if not each.star or each.star == "="}
        arguments = zip(call.labels, call.operands[1:], strict=True)
        found = [(label, node) for label, node in arguments if label not in ("", "*", *own)]
        display = Expression(
            f"**{name}",
            Form.DISPLAY,
            call.position,
            tuple(node for _, node in found),
            "dict",
            tuple(label if label == "**" else repr(label) for label, _ in found),
        )
        return display, ()

    def _shift(
        self,
        call: Expression,
        parameters: tuple[Parameter, ...],
        frame: TracedFrame,
        execution: Execution,
    ) -> int:
        """Return how many parameters the call does not write: 1 for the object of a method."""
        if not parameters or parameters[0].name not in RECEIVERS:
            return 0
        function = call.operands[0]
        receiver = dict(frame.arguments).get(parameters[0].name)
        if function.form is Form.PART and len(call.operands) > 1 and receiver is not None:
            # `Base.__init__(self, x)` writes the object itself.
            first = self._values.value(call.operands[1], execution)
            owner = self._values.value(function.operands[0], execution)
            if (
                first is not None
                and receiver.object is not None
                and first.object == receiver.object
                and (owner is None or owner.object != receiver.object)
            ):
                return 0
        return 1

    def _default(
        self, query: Query, frame: TracedFrame, parameter: Parameter, value: TracedValue | None
    ) -> Computed:
        step = TracedStep(self._first_step(frame), frame.number, frame.first_line)
        text = f"def {frame.function.rpartition('.')[2]}(… {parameter.name}={_text(parameter)} …)"
        statement = Statement(StatementKind.DEFINITION, frame.first_line, frame.first_line, text)
        execution = Execution(frame.number, (step,), statement)
        at = EvaluatedAt(execution, parameter.name, LinkKind.DEFAULT, None, value)
        via = query.via if query.at.root else (*query.via, query.at)
        return Computed(replace(query, at=at, via=via, value=value), note="default value")

    def _first_step(self, frame: TracedFrame) -> int:
        steps = self._values.index.steps_of(frame.number)
        return steps[0].number if steps else 0

    def _by_value(self, moved: Query, frame: TracedFrame) -> Query | Computed:
        """Return what the caller's statement read with the same identity, else where it ends."""
        execution = moved.at.execution
        candidates: dict[str, Expression] = {}
        for root in _roots(execution.statement):
            for path in root.paths():
                value = self._values.value(path, execution)
                if value is None or moved.value is None or value.object is None:
                    continue
                if value.object == moved.value.object:
                    candidates.setdefault(path.text, path)
        if len(candidates) == 1:
            return replace(moved, node=next(iter(candidates.values())))
        return Computed(moved, passed_to=frame.function)


def _text(parameter: Parameter) -> str:
    return parameter.default.text if parameter.default is not None else ""


def _roots(statement: Statement | None) -> list[Expression]:
    if statement is None:
        return []
    roots = [statement.value, *(each.value for each in statement.writes)]
    return [each for each in roots if each is not None]
