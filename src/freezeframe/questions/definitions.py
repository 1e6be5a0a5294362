"""Where an expression got its value: the write, the argument or the return before it."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model.questions import LinkKind
from freezeframe.model.trace import FrameKind, TracedFrame, TracedStep, TracedValue, Write
from freezeframe.model.values import is_cut

from .arguments import Arguments
from .block_values import arm_of, written_by_reference
from .class_attributes import attribute_write, imported_write, is_missing
from .decisions import rounds
from .enclosing_scopes import enclosing_variable
from .expressions import Expression, Form, StatementKind, WrittenTarget
from .generator_values import resumes, yielded_by
from .implicit_calls import implicit_call
from .library_calls import (
    called_back,
    entered_code,
    last_item_set,
    last_method_call,
    unwrapped_element,
)
from .operands import Operands
from .path_writes import (
    added_argument,
    adding_calls,
    extension,
    last_put,
    own_field,
    part_path_write,
    path_assignment,
    path_write,
    written_inside,
)
from .queries import Computed, EvaluatedAt, Query, chain_end, moved_to
from .raised_exceptions import RaisedExceptions
from .read_operands import OBJECT
from .trace_index import StepWrite
from .traced_values import Execution, TracedValues, called_name, is_same
from .value_parts import parts_of

#: variants of Rust that hold a value
_WRAPPING = frozenset(("Ok", "Err", "Some"))
_CHANGED = "changed by code that was not traced"


class Definitions:
    """Follows an expression one statement back."""

    def __init__(self, values: TracedValues) -> None:
        self._values = values
        self._index = values.index
        self._operands = Operands(values)
        self._arguments = Arguments(values)
        self._exceptions = RaisedExceptions(values, self._operands)

    def before(self, query: Query) -> Query | Computed:
        """Return where the value was before, if it was only passed on; else how it was made."""
        passed = self._operands.passed_on(query)
        if passed is not None:
            return passed
        form = query.node.form
        operator = implicit_call(self._values.calls(query.at.execution), query.node)
        if operator is not None and is_same(query.value, operator.returned):
            return self._returned(query, operator)
        if form is Form.NAME:
            return self._name(query)
        if form is Form.PART:
            return self._part(query)
        if form is Form.CALL:
            return self._call(query)
        if form is Form.ELEMENT:
            return self._element(query)
        if form is Form.ENTERED:
            return self._entered(query)
        if form is Form.CAUGHT:
            return self._exceptions.caught(query)
        if form is Form.SENT:
            return Computed(query, note="sent to the generator")
        return Computed(query, self._operands.of(query))

    def operands_of(self, query: Query) -> tuple[Query, ...]:
        """Return what an expression reads, what decided its value first."""
        return self._operands.of(query)

    def raised_at(self, query: Query, raised: TracedStep) -> Computed:
        """Return the statement that raised an exception, and what it read."""
        return self._exceptions.raised_at(query, raised)

    def writes_of_parts(self, query: Query, most: int) -> list[Query | Computed]:
        """Return the last statements that wrote parts of the query's object, newest first."""
        if query.value is None or query.value.object is None:
            return []
        execution = query.at.execution
        is_call = query.node.form is Form.CALL
        moment = self._values.next_step(execution) if is_call else execution.first
        found: list[Query | Computed] = []
        steps: set[int] = set()
        for each in reversed(self._index.writes_of_parts(query.value.object, moment)):
            if len(steps) == most or self._index.is_first_sight(each):
                break
            if each.step.number not in steps:
                steps.add(each.step.number)
                part = replace(query, focus=(each.write.name,))
                found.append(self._from_part(part, each, f"{query.node.text}{each.write.name}"))
        return found

    def made_at(self, query: Query) -> int:
        """Return the step at which an operand got its value, as far as it is easy to tell."""
        execution, node = query.at.execution, query.node
        written: StepWrite | None = None
        if node.form is Form.NAME:
            written = self._index.variable_write(execution.frame, node.name, execution.first)
        elif node.form is Form.PART:
            owner = self._values.value(node.operands[0], execution)
            part = self._values.part_name(node, execution, owner)
            if owner is not None and owner.object is not None:
                written = self._index.part_write(owner.object, part, execution.first)
        elif node.form is Form.CALL:
            frame = self._values.called(execution, node)
            steps = self._index.steps_of(frame.number) if frame is not None else []
            return steps[-1].number if steps else execution.first
        return written.step.number if written is not None else 0

    # --- variables and parts

    def _name(self, query: Query) -> Query | Computed:
        execution, name = query.at.execution, query.node.name
        moment = self._values.moment(execution, query.node)
        written = self._index.variable_write(execution.frame, name, moment)
        arguments = dict(self._index.frames[execution.frame].arguments)
        value = written.write.new if written is not None else arguments.get(name)
        read = None
        if value is None and written is None:
            read = self._values.read(query.node, execution)
            value = read.value if read is not None else None
        if query.focus and value is not None and value.object is not None:
            part = self._index.part_write(value.object, query.focus[0], moment)
            if part is not None:
                return self._from_part(query, part, f"{name}{query.focus[0]}")
        if query.focus and value is not None and value.object is None:
            part = part_path_write(self._index, execution.frame, name, query.focus[0], moment)
            if part is not None:
                return self._from_part(query, part, f"{name}{query.focus[0]}")
        changed = last_item_set(self._values, query, value, written)
        if changed is not None:
            at, target = changed
            moved = moved_to(query, EvaluatedAt(at, target.target.text), None)
            put = target.value
            inside = replace(moved, node=Expression(put.text, Form.OTHER, put.position, (put,)))
            older = replace(moved, node=target.target.root, weight=OBJECT, value=value)
            return Computed(inside, (*self._operands.of(inside), older))
        if not query.focus and (last := last_put(self._index, value, moment)) is not None:
            inner = replace(query, focus=(last.write.name,), part=None)
            return self._from_part(inner, last, f"{name}{last.write.name}")
        if written is not None:
            return self._from_write(query, written, name)
        if name in arguments:
            return self._arguments.passed(query, name)
        owner, part_name = self._index.frames[execution.frame].namespace, f".{name}"
        if read is not None and read.owner is not None:
            owner, part_name = read.owner, read.name
        if owner is not None:
            part = self._index.part_write(owner, part_name, moment)
            if part is not None and is_same(value, part.write.new):
                return self._from_write(query, part, name)
            if read is not None and read.owner is not None:
                return chain_end(query, f"{name} was set before the trace began")
        enclosing = self._enclosing(query, value)
        if enclosing is not None:
            return enclosing
        return chain_end(query, f"the trace does not say where {name} was set")

    def _enclosing(self, query: Query, value: TracedValue | None) -> Query | Computed | None:
        """Return the definition of a variable of an enclosing function, if it can only be one."""
        execution, name = query.at.execution, query.node.name
        found = enclosing_variable(self._values, execution.frame, name, execution.first, value)
        if isinstance(found, StepWrite):
            return self._from_write(query, found, name)
        if found is not None:
            return self._arguments.passed(query, name, found)
        field = own_field(self._index.frames[execution.frame], query.node)
        return self._part(replace(query, node=field)) if field is not None else None

    def _part(self, query: Query) -> Query | Computed:
        node, execution = query.node, query.at.execution
        if (expected := self._exceptions.expected(query)) is not None:
            return expected
        getter = self._values.getter(query.at.execution, query.node)
        if getter is not None:
            return self._returned(query, getter)
        owner = self._values.value(node.operands[0], execution)
        if by_path := path_write(self._values, node, execution):
            return self._from_write(query, by_path, node.text)
        part = self._values.part_name(node, execution, owner)
        if not part:
            return Computed(query, self._operands.of(query))
        holder = owner.object if owner is not None else None
        if holder is None and (read := self._values.read(node, execution)) is not None:
            holder, part = read.owner, read.name or part
        if holder is not None:
            moment = self._values.moment(execution, node)
            written = self._index.part_write(holder, part, moment)
            if written is not None:
                if query.focus and written.write.new is not None:
                    inner = written.write.new.object
                    deep = (
                        self._index.part_write(inner, query.focus[0], moment)
                        if inner is not None
                        else None
                    )
                    if deep is not None:
                        return self._from_part(query, deep, f"{node.text}{query.focus[0]}")
                return self._from_write(query, written, node.text)
        known = query.part or (query.value.text if query.value is not None else None)
        if (shared := self._shared(query, owner, part)) is not None:
            return shared
        if owner is None and node.operands[0].form is Form.NAME:
            around = replace(query, node=node.operands[0], value=None, focus=(part, *query.focus))
            enclosing = self._enclosing(replace(around, part=known), None)
            if enclosing is not None:
                return enclosing
            return Computed(query)  # a module, a class: nothing that the trace follows
        if owner is not None and is_missing(self._index, owner, part, execution.first):
            why = "the trace does not say what its class has or computes"
            return chain_end(query, f"{node.text} is not a field of its object; {why}")
        return replace(
            query,
            node=node.operands[0],
            value=owner,
            focus=(part, *query.focus),
            part=known,
        )

    def _shared(
        self, query: Query, owner: TracedValue | None, part: str
    ) -> Query | Computed | None:
        """Follow what a class or a module defines, where the object itself has no such field."""
        if not part.startswith("."):
            return None
        name = query.node.operands[0].name
        found = attribute_write(self._values, owner, name, part[1:])
        if found is None or found.step.number > query.at.execution.first:
            return None
        inner = replace(query, value=None) if query.focus else query
        return self._from_write(inner, found, query.node.text)

    def _from_part(self, query: Query, written: StepWrite, target: str) -> Query | Computed:
        """Follow a part of the value: the rest of the focus stays."""
        new = written.write.new
        plain = new.text if new is not None and new.object is None else None
        known = query.part if len(query.focus) == 1 else None
        if None not in (plain, known) and plain != known and not is_cut(plain or ""):
            return chain_end(query, f"{target} was {_CHANGED}")
        inner = replace(query, focus=query.focus[1:], value=None)
        return self._from_write(inner, written, target)

    def _from_write(self, query: Query, written: StepWrite, target: str) -> Query | Computed:
        write, step = written.write, written.step
        if not is_same(query.value, write.new):
            file = self._index.frames[step.frame].path.rpartition("/")[2]
            return chain_end(query, f"{target} was {_CHANGED} after {file}:{step.line}")
        if not query.focus and (called := self._changed_by_call(query, written, target)):
            return called
        execution = self._values.execution(step)
        at = EvaluatedAt(execution, target, LinkKind.WRITE, write.old, write.new)
        moved = moved_to(query, at, write.new)
        if not write.by_step:
            added = extension(moved, write)
            if added is not None:
                return added
            return Computed(moved, note=_CHANGED, end=f"{target} was {_CHANGED}")
        if execution.statement is None:
            return Computed(moved, note="the source of this line cannot be read")
        assignment = self._assignment(execution, write, target)
        if assignment is not None and assignment.value.form is Form.DEFINITION:
            defined = imported_write(self._values, assignment.target.text, write.new)
            if defined is not None:
                return self._from_write(query, defined, target)
        if assignment is not None:
            moved = replace(moved, node=assignment.value)
            return arm_of(self._values, moved) or moved
        if inside := written_inside(self._index, execution, write):
            return self._from_write(replace(query, value=inside.write.new), inside, target)
        if changed := written_by_reference(self._values, execution, write):
            return self._from_write(replace(query, value=changed.write.new), changed, target)
        return self._made(moved, write) or self._mutated(moved, write)

    def _changed_by_call(self, query: Query, written: StepWrite, target: str) -> Computed | None:
        """Follow an object of a library to the last call that may have changed it."""
        value, moment = written.write.new, query.at.execution.first
        found = last_method_call(self._values, value, written.end, moment, query.near)
        if found is None or value is None:
            return None
        execution, call = found
        passed = replace(moved_to(query, EvaluatedAt(execution, target), query.near), node=call)
        operands = [each for each in self._operands.of(passed) if each.node is not call.operands[0]]
        receiver = call.operands[0].operands[0].text
        inner = tuple(each for each in operands if each.node.text != receiver)
        return Computed(passed, inner, note=f"{value.type} is not traced: probably changed here")

    def _made(self, query: Query, write: Write) -> Query | None:
        """Follow a part of an object that a statement made: the expression that made all of it."""
        execution = self._values.outer_execution(query.at.execution)
        statement = execution.statement
        if statement is None or write.owner is None:
            return None
        names = [
            each.name
            for step in execution.steps
            for each in step.writes
            if each.owner is None and each.new is not None and each.new.object == write.owner
        ]
        made = [each.value for each in statement.writes if each.target.text in names]
        returned = self._index.frames[execution.frame].returned
        is_returned = returned is not None and returned.object == write.owner
        if is_returned and statement.kind is StatementKind.RETURN and statement.value is not None:
            made.append(statement.value)
        if len(made) != 1 or made[0].form in (Form.NAME, Form.PART):
            return None
        return replace(
            query,
            node=made[0],
            at=replace(query.at, execution=execution),
            value=None,
            focus=(write.name, *query.focus),
            part=write.new.text if write.new is not None else None,
        )

    def _assignment(self, execution: Execution, write: Write, target: str) -> WrittenTarget | None:
        statement = execution.statement
        assert statement is not None
        if write.owner is None:
            return path_assignment(self._values, execution, write)
        by_name = [
            each
            for each in statement.writes
            if each.target.form is Form.PART and self._is_target(each.target, execution, write)
        ]
        if by_name:
            return by_name[-1]
        # A global variable is a part of its module's namespace.
        names = [
            each
            for each in statement.writes
            if each.target.form is Form.NAME and f".{each.target.text}" == write.name
        ]
        return names[-1] if names else None

    def _is_target(self, target: Expression, execution: Execution, write: Write) -> bool:
        owner = self._values.value(target.operands[0], execution)
        if owner is not None and owner.object is not None and owner.object != write.owner:
            return False
        part = self._values.part_name(target, execution, owner)
        return part == write.name or (not part and target.name == "")

    def _mutated(self, query: Query, write: Write) -> Query | Computed:
        """Follow a part that a call wrote: the argument with the same value, or all of them."""
        statement = query.at.execution.statement
        assert statement is not None
        calls = adding_calls(statement)
        argument = added_argument(self._values, query.at.execution, calls, write)
        if argument is not None:
            return replace(query, node=argument)
        node = calls[0] if len(calls) == 1 else statement.value
        if node is None:
            return Computed(query)
        made = replace(query, node=node)
        return Computed(made, self._operands.of(made))

    # --- calls

    def _call(self, query: Query) -> Query | Computed:
        if query.called is not None:
            frame: TracedFrame | None = self._index.frames[query.called]
            query = replace(query, called=None)
        else:
            frame = self._values.called(query.at.execution, query.node)
        if frame is not None and frame.raised and (steps := self._index.steps_of(frame.number)):
            return self._exceptions.raised_at(query, steps[-1])
        if frame is None:
            if resumes(self._values, query) and (found := self._yielded(query)):
                return found
            inner = called_back(self._values, query)
            if inner is not None:
                return self._returned(query, inner)
            name, own = query.node.operands[0].text, called_name(query.node)
            ran = any(
                each.function.rpartition(".")[2] == own
                for each in self._values.calls_inside(query.at.execution)
            )
            note = None if ran or name in _WRAPPING else f"{name}() was not traced"
            own_code = entered_code(self._values, query) if note is not None else ()
            return Computed(query, (*own_code, *self._operands.of(query)), note=note)
        if frame.function.rpartition(".")[2] == "__init__":
            return self._constructed(query, frame)
        return self._returned(query, frame)

    def _constructed(self, query: Query, frame: TracedFrame) -> Query | Computed:
        made = dict(frame.arguments).get("self")
        if query.focus and made is not None and made.object is not None:
            steps = self._index.steps_of(frame.number)
            end = self._index.end(steps[-1]) + 1 if steps else 0
            written = self._index.part_write(made.object, query.focus[0], end)
            if written is not None:
                return self._from_part(query, written, f"{query.node.text}{query.focus[0]}")
        return Computed(query, self._operands.of(query))

    def _returned(self, query: Query, frame: TracedFrame) -> Query | Computed:
        if frame.kind is FrameKind.GENERATOR:
            yielded = yielded_by(self._values, query, frame)
            return yielded or Computed(query, self._operands.of(query))
        if not query.focus and not is_same(query.value, frame.returned):
            return chain_end(query, f"{query.node.text} was {_CHANGED}")
        execution = self._values.return_of(frame)
        if execution is None:
            return chain_end(query, f"the steps of {frame.function} were not kept")
        name = f"{frame.function}()"
        at = EvaluatedAt(execution, name, LinkKind.RETURN, None, frame.returned)
        moved = moved_to(query, at, frame.returned)
        statement = execution.statement
        if frame.function.endswith("<lambda>"):
            source = self._values.files.file(frame.path)
            body = source.lambda_at(frame.first_line) if source is not None else None
            return replace(moved, node=body) if body is not None else Computed(moved)
        if statement is None or statement.kind is not StatementKind.RETURN:
            ended = statement is not None and frame.returned is not None
            note = f"{frame.function} ended here without a value" if ended else None
            return Computed(moved, note=note)
        if statement.value is None:
            return Computed(moved)
        return replace(moved, node=statement.value)

    # --- loops, with, except

    def _element(self, query: Query) -> Query | Computed:
        """Follow the variable of a loop: the element of the round, or the yield that gave it."""
        source, execution = query.node.operands[0], query.at.execution
        assert execution.statement is not None
        unwrapped = unwrapped_element(query, source)
        if unwrapped is not None:
            return unwrapped
        name = query.node.name
        if not name:
            counted = rounds(self._values, execution, execution.statement)
            name = f"[{counted.round - 1}]" if counted is not None else ""
        value = self._values.value(source, execution)
        if name and value is not None and source.form in (Form.NAME, Form.PART):
            parts = parts_of(self._values.text_at(value, execution.first)) or {}
            if value.type in ("list", "tuple") or name in parts:
                known = query.value.text if query.value is not None else None
                if known is None or parts.get(name, known) == known or query.focus:
                    return replace(
                        query,
                        node=source,
                        value=value,
                        focus=(name, *query.focus),
                        part=query.part or known,
                    )
        if (yielded := self._yielded(query)) is not None:
            return yielded
        read = Expression(source.text, Form.OTHER, source.position, (source,))
        made = replace(query, node=read, value=None, focus=())
        return Computed(made, self._operands.of(made))

    def _yielded(self, query: Query) -> Query | None:
        """Return the yield of a traced generator that gave the value, if it can only be that one.

        Between the steps of the loop's header and of its body the generator ran last.
        """
        source = query.node.operands[0] if query.node.form is Form.ELEMENT else query.node
        found = self._values.yields(query.at.execution, source)
        if query.node.form is Form.ELEMENT and query.node.name:
            index = int(query.node.name[1:-1])
            same_frame = {step.frame for step in found}
            found = found[index : index + 1] if len(same_frame) == 1 else []
        if not found:
            return None
        step = found[-1]
        inner = self._values.execution(step)
        statement = inner.statement
        if statement is None or statement.value is None or not statement.value.operands:
            return None
        if not query.focus and not is_same(query.value, step.yielded):
            return None
        name = f"{self._index.frames[step.frame].function}()"
        at = EvaluatedAt(inner, name, LinkKind.RETURN, None, step.yielded)
        return replace(moved_to(query, at, step.yielded), node=statement.value.operands[0])

    def _entered(self, query: Query) -> Query | Computed:
        for frame in self._values.calls(query.at.execution):
            if frame.function.rpartition(".")[2] in ("__enter__", "__aenter__"):
                return self._returned(query, frame)
        made = replace(query, node=query.node.operands[0], value=None)
        return Computed(made, self._operands.of(made), note="entered by code that was not traced")
