"""Values of expressions at a moment of a trace, as far as they were recorded."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.questions import ReadValue
from freezeframe.model.trace import FrameKind, Read, TracedFrame, TracedStep, TracedValue
from freezeframe.model.values import is_cut

from .expressions import Expression, Form, Statement, StatementKind
from .implicit_calls import implicit_call, is_called_by_library
from .literals import method_result, operated
from .source_files import Files
from .trace_index import NEVER, TraceIndex
from .value_parts import parts_of, with_parts

#: what has no value worth showing: its name says it
SILENT_TYPES = frozenset(
    (
        "function",
        "module",
        "type",
        "builtin_function_or_method",
        "method",
        "ABCMeta",
        "EnumType",
        "EnumMeta",
        "method_descriptor",
    )
)
_JOINTS = late_regex.compile(r"\.|::|#")
#: of a function's name: `(int, int)`, `<i32>`; not the receiver of `main.(*Cart).add`
_PARAMETERS = late_regex.compile(r"(?:\([^()]*\)|<[^<>]*>)$")
_WRAPPED = late_regex.compile(r"^(?:Ok|Err|Some)\((.*)\)$")
_MOST_READS = 6
#: steps of a frame that are searched for what it read
_MOST_STEPS_BACK = 200
_MOST_TEXT = 80
#: names of the object that a method is called on
RECEIVERS = ("self", "cls", "this")


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a statement: the steps of its lines."""

    frame: int
    steps: tuple[TracedStep, ...]
    statement: Statement | None

    @property
    def first(self) -> int:
        return self.steps[0].number

    @property
    def last(self) -> int:
        return self.steps[-1].number

    @property
    def line(self) -> int:
        return self.statement.first if self.statement is not None else self.steps[0].line


def is_same(one: TracedValue | None, other: TracedValue | None) -> bool:
    """Whether two recorded values can be the same one. What is not known can be."""
    if one is None or other is None:
        return True
    if one.object is not None and other.object is not None:
        return one.object == other.object
    return one.text == other.text or _unwrapped(one.text) == _unwrapped(other.text)


def _unwrapped(text: str) -> str:
    """Return what is in a result or option of Rust, whose `?` and `unwrap` take it out."""
    return _WRAPPED.sub(r"\1", text)


def is_equal(one: TracedValue, other: TracedValue) -> bool:
    """Whether two recorded values are the same object, or plain values of the same text."""
    if one.object is not None or other.object is not None:
        return one.object == other.object
    return one.text == other.text


class TracedValues:
    """Evaluates expressions by what a trace recorded, without guessing."""

    def __init__(self, index: TraceIndex, files: Files) -> None:
        self.index = index
        self.files = files
        #: frame and line of a loop → for each time that it ran: first step, last step, headers
        self.loops: dict[tuple[int, int], list[tuple[int, int, list[int]]]] = {}

    # --- statements

    def execution(self, step: TracedStep) -> Execution:
        """Return the execution of the statement that *step* is a line of."""
        frame = self.index.frames[step.frame]
        source = self.files.file(frame.path)
        statement = source.statement(step.line) if source is not None else None
        steps = self.index.steps_of(step.frame)
        at = self.index.last_before(step.frame, step.number + 1)
        if statement is None or statement.first == statement.last:
            return Execution(step.frame, (step,), statement)
        begin = end = at
        inside = range(statement.first, statement.last + 1)
        while begin > 0 and steps[begin - 1].line in inside:
            begin -= 1
        while end + 1 < len(steps) and steps[end + 1].line in inside:
            end += 1
        return Execution(step.frame, tuple(steps[begin : end + 1]), statement)

    def calls(self, execution: Execution) -> list[TracedFrame]:
        """Return the frames that a statement called, in order."""
        return [frame for step in execution.steps for frame in self.index.calls_of(step.number)]

    def calls_inside(self, execution: Execution) -> list[TracedFrame]:
        """Return the frames that a statement called, those inside of its comprehensions too."""
        found: list[TracedFrame] = []
        for frame in self.calls(execution):
            found.append(frame)
            if frame.kind is FrameKind.COMPREHENSION:
                for step in self.index.steps_of(frame.number):
                    found += self.index.calls_of(step.number)
        return found

    def outer_execution(self, execution: Execution) -> Execution:
        """Return the execution of the statement around a comprehension; itself, if it is none."""
        frame = self.index.frames[execution.frame]
        if (
            frame.kind is not FrameKind.COMPREHENSION
            or (step := self.index.step(frame.caller)) is None
        ):
            return execution
        return self.outer_execution(self.execution(step))

    def next_step(self, execution: Execution) -> int:
        """Return the step of the same frame after a statement; `NEVER` if there is none."""
        steps = self.index.steps_of(execution.frame)
        at = self.index.last_before(execution.frame, execution.last + 1) + 1
        return steps[at].number if at < len(steps) else NEVER

    def yields(self, execution: Execution, source: Expression) -> list[TracedStep]:
        """Return the steps of generators that yielded during a statement, in order.

        Those of the generator that *source* calls, if it is the call of one.
        """
        end = self.next_step(execution)
        thread = self.index.frames[execution.frame].thread
        frames = [
            frame
            for frame in self.index.frames.values()
            if frame.kind is FrameKind.GENERATOR and frame.thread == thread
        ]
        if source.form is Form.CALL:
            name = called_name(source)
            frames = [each for each in frames if own_name(each) == name] or frames
            # A recursive generator yields to itself meanwhile.
            steps = {step.number for step in execution.steps}
            frames = [each for each in frames if each.caller in steps] or frames
        found = [
            step
            for frame in frames
            for step in self.index.steps_of(frame.number)
            if step.yielded is not None and execution.first < step.number < end
        ]
        return sorted(found, key=lambda step: step.number)

    def called(self, execution: Execution, call: Expression) -> TracedFrame | None:
        """Return the frame of a call in a statement; None if it was not traced.

        Without positions, a call is found only if it cannot be confused with another one.
        """
        frames = [
            each for each in self.calls(execution) if each.kind is not FrameKind.COMPREHENSION
        ]
        exact = [
            each
            for each in frames
            if each.call_site == call.position and not is_called_by_library(each, called_name(call))
        ]
        if exact:
            constructors = [each for each in exact if own_name(each) == "__init__"]
            found = constructors or exact
            # Several frames at one position: the rounds of a comprehension, or a decorator's.
            return found[0] if len(found) == 1 else None
        name = called_name(call)
        unknown = [each for each in frames if each.call_site is None and own_name(each) == name]
        return unknown[0] if len(unknown) == 1 and name else None

    def getter(self, execution: Execution, node: Expression) -> TracedFrame | None:
        """Return the frame of a property that a statement read as a field."""
        name = node.name.removeprefix(".")
        for frame in self.calls(execution) if name else ():
            site = frame.call_site
            if site is None or frame.function.rpartition(".")[2] != name:
                continue
            if site[2:] == node.position[2:]:
                return frame
        return None

    def return_of(self, frame: TracedFrame) -> Execution | None:
        """Return the execution of the return statement of a frame, or its last step."""
        steps = self.index.steps_of(frame.number)
        if not steps:
            return None
        for step in reversed(steps):
            execution = self.execution(step)
            statement = execution.statement
            if statement is None or (frame.returned and frame.returned.text == "None"):
                break
            # After it only `with` and `finally` are executed.
            if statement.kind is StatementKind.RETURN and step.raised is None:
                return execution
        return self.execution(steps[-1])

    def raised_before(self, execution: Execution) -> TracedStep | None:
        """Return the innermost step that raised what a handler at *execution* caught."""
        at = self.index.last_before(execution.frame, execution.first)
        raised = self.index.steps_of(execution.frame)[at] if at >= 0 else None
        return self.innermost_raise(raised) if raised is not None else None

    def innermost_raise(self, raised: TracedStep) -> TracedStep:
        """Return the step in which an exception was raised that left *raised*."""
        while raised.raised is not None:
            inner = [
                frame
                for frame in self.index.calls_of(raised.number)
                if frame.raised is not None and self.index.steps_of(frame.number)
            ]
            if not inner:
                break
            raised = self.index.steps_of(inner[-1].number)[-1]
        return raised

    def moment(self, execution: Execution, node: Expression) -> int:
        """Return the moment at which *node* is evaluated: after the calls to its left."""
        moment = execution.first
        for frame in self.calls(execution):
            site = frame.call_site
            if site is not None and site[2:] <= node.position[:2] and node.position[0]:
                last = self.index.steps_of(frame.number)
                if last:
                    moment = max(moment, self.index.end(last[-1]) + 1)
        return moment

    # --- values

    def value(self, node: Expression, execution: Execution) -> TracedValue | None:
        """Return the value of *node* in a statement; None if it was not recorded."""
        form = node.form
        if form is Form.CONSTANT:
            return TracedValue(node.text)
        if form is Form.SAME:
            return self.value(node.operands[0], execution)
        if form is Form.NAME:
            return self._name(node, execution)
        if form is Form.PART:
            return self._part(node, execution)
        if form is Form.CALL:
            frame = self.called(execution, node)
            if frame is None:
                return self._untraced(node, execution)
            if own_name(frame) == "__init__" or frame.kind is FrameKind.GENERATOR:
                return None
            return frame.returned
        if (operator := implicit_call(self.calls(execution), node)) is not None:
            return operator.returned
        if form is Form.OPERATION:
            return self._operated(node.name, node.operands, execution)
        return None

    def _untraced(self, call: Expression, execution: Execution) -> TracedValue | None:
        """Return the result of a call of library code, where it follows from its operands."""
        function, name = call.operands[0], called_name(call)
        if any(call.labels):
            return self._mapping(call, execution) if name == "dict" else None
        if function.form is not Form.PART:
            return self._operated(name, call.operands[1:], execution)
        owner = self.value(function.operands[0], execution) if len(call.operands) == 1 else None
        text = method_result(name, owner.text) if owner is not None else None
        return TracedValue(text, "str") if text is not None else None

    def _mapping(self, call: Expression, execution: Execution) -> TracedValue | None:
        """Return the value of `dict(name=value)`."""
        values = [self.value(each, execution) for each in call.operands[1:]]
        pairs = [f"{label!r}: {v.text}" for label, v in zip(call.labels, values, strict=True) if v]
        is_plain = all(label.isidentifier() for label in call.labels)
        if not is_plain or len(pairs) < len(values):
            return None
        return TracedValue("{" + ", ".join(pairs) + "}", "dict")

    def _operated(
        self, name: str, operands: Sequence[Expression], execution: Execution
    ) -> TracedValue | None:
        values = [self.value(each, execution) for each in operands]
        texts = [self.text_at(each, execution.first) for each in values if each is not None]
        result = operated(name, texts) if len(texts) == len(values) else None
        return TracedValue(result) if result is not None else None

    def read(self, node: Expression, execution: Execution) -> Read | None:
        """Return what the driver recorded of *node* before the statement."""
        text = node.text
        for step in reversed(execution.steps):
            for read in step.reads:
                if read.expression == text or _plain(read.expression) == _plain(text):
                    return read
        return None

    def _name(self, node: Expression, execution: Execution) -> TracedValue | None:
        moment = self.moment(execution, node)
        index = self.index
        own = index.variable_write(execution.frame, node.name, max(moment, execution.first))
        if own is not None:
            return own.write.new
        arguments = dict(index.frames[execution.frame].arguments)
        if node.name in arguments:
            return arguments[node.name]
        read = self.read(node, execution)
        if read is not None:
            return read.value
        namespace = index.frames[execution.frame].namespace
        return index.part_seen(namespace, f".{node.name}", moment) if namespace else None

    def _part(self, node: Expression, execution: Execution) -> TracedValue | None:
        getter = self.getter(execution, node) or implicit_call(self.calls(execution), node)
        if getter is not None:
            return getter.returned
        moment = self.moment(execution, node)
        owner = self.value(node.operands[0], execution)
        part = self.part_name(node, execution, owner)
        if owner is not None and owner.object is not None and part:
            seen = self._read_since(owner.object, part, execution, moment)
            seen = seen or self.index.part_seen(owner.object, part, moment)
            if seen is not None:
                return seen
        read = self.read(node, execution)
        if read is not None:
            return read.value
        by_path = self.index.variable_write(execution.frame, node.text, moment)
        if by_path is not None:
            return by_path.write.new
        if owner is not None and part:
            parts = parts_of(owner.text) or {}
            # Most languages write a field as Python writes a key: `Cart {total: 3}`.
            text = parts.get(part) or parts.get(f"[{part.removeprefix('.')}]")
            if text is not None and not self._changed_since(owner, execution, moment):
                return TracedValue(text)
        return None

    def _read_since(
        self, owner: int, part: str, execution: Execution, moment: int
    ) -> TracedValue | None:
        """Return what the frame has read of a part since its last recorded write.

        Code that is not traced may have written it: what was read then is newer than the write.
        """
        written = self.index.last_write(owner, part, moment)
        after = written.end if written is not None else -1
        steps = self.index.steps_of(execution.frame)
        last = self.index.last_before(execution.frame, execution.last + 1)
        for step in reversed(steps[max(0, last + 1 - _MOST_STEPS_BACK) : last + 1]):
            if step.number <= after:
                break
            for read in step.reads:
                if read.owner == owner and read.name == part:
                    return read.value
        return None

    def _changed_since(self, owner: TracedValue, execution: Execution, moment: int) -> bool:
        """Whether parts of an object were written, so that an old text may be stale."""
        return owner.object is not None and bool(self.index.writes_of_parts(owner.object, moment))

    def part_name(
        self, node: Expression, execution: Execution, owner: TracedValue | None = None
    ) -> str:
        """Return how the trace names a part: `.total`, `['rate']`; "" if that is not known."""
        if node.name:
            return node.name
        read = self.read(node, execution)
        if read is not None and read.name and not read.name.startswith("[-"):
            return read.name
        if len(node.operands) < 2:
            return ""
        key = self.value(node.operands[1], execution)
        text = node.operands[1].text if key is None and _is_number(node.operands[1].text) else ""
        text = key.text if key is not None else text
        if text.startswith("-") and owner is not None:
            parts = parts_of(owner.text)
            if parts is None or is_cut(owner.text):
                return ""
            return f"[{len(parts) + int(text)}]" if _is_number(text) else ""
        return f"[{text}]" if text else ""

    def reads(
        self, nodes: Sequence[Expression | None], execution: Execution, skip: Sequence[str] = ()
    ) -> tuple[ReadValue, ...]:
        """Return the values that expressions of a statement read, and what its calls returned."""
        found: dict[str, str] = {}
        for node in nodes:
            for path in node.paths() if node is not None else ():
                if path.text in found or path.text in skip or path.text in RECEIVERS:
                    continue
                value = self.value(path, execution)
                if value is None or value.type in SILENT_TYPES or value.text == path.text:
                    continue
                found[path.text] = shortened(self.text_at(value, execution.first))
            for call in node.walk() if node is not None else ():
                if call.form is Form.CALL and call is not node and call.text not in found:
                    returned = self.value(call, execution)
                    if returned is not None:
                        found[shortened(call.text, 40)] = shortened(returned.text)
        return tuple(ReadValue(*each) for each in list(found.items())[:_MOST_READS])

    def text_at(self, value: TracedValue, moment: int) -> str:
        """Return the text of a value at *moment*, with the parts that were written until then."""
        if value.object is None:
            return value.text
        text = value.text_at(moment)
        if text is not None:
            return text
        if is_cut(value.text):
            return value.text
        writes = self.index.writes_of_parts(value.object, moment)
        parts = parts_of(value.text) if writes else None
        if parts is None:
            return value.text
        for each in writes:
            if each.write.new is None:
                parts.pop(each.write.name, None)
            else:
                parts[each.write.name] = each.write.new.text
        return with_parts(value.text, parts) or value.text


def called_name(call: Expression) -> str:
    """Return the last name of the called function: `append` of `self.items.append(x)`."""
    function = call.operands[0] if call.operands else call
    return function.name.removeprefix(".")


def own_name(frame: TracedFrame) -> str:
    """Return the last part of a function's name: `add` of `Cart.add`, `cart::Cart::add`."""
    if frame.called_as:
        return frame.called_as
    plain = _PARAMETERS.sub("", frame.function)
    return str(_JOINTS.split(plain)[-1])


def _plain(text: str) -> str:
    return text.replace('"', "'").replace(" ", "")


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def shortened(text: str, most: int = _MOST_TEXT) -> str:
    """Return *text* on one line of at most *most* characters, its end kept."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    tail = most // 4
    return f"{text[: most - tail - 1]}…{text[-tail:]}"
