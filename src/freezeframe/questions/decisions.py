"""Which branches led to a statement, in which round of a loop, and which ones did not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

from freezeframe.model.questions import Condition, Iteration
from freezeframe.model.trace import TracedFrame, TracedStep

from .any_expressions import source_text
from .expressions import Branch, Expression, Form, Statement, StatementKind
from .traced_values import Execution, TracedValues
from .value_parts import truth

_MOST_DECISIVE = 2


def conditions(
    values: TracedValues, execution: Execution, *, outer: bool = False
) -> tuple[Condition, ...]:
    """Return the innermost branch that led to a statement; with *outer*, all in its function."""
    found: list[Condition] = []
    for branch in _branches(values, execution):
        if branch.header.kind in (StatementKind.FOR, StatementKind.WITH):
            continue
        made = _condition(values, execution, branch)
        if made is not None:
            found.append(made)
            if not outer:
                break
    return tuple(found)


def innermost(values: TracedValues, execution: Execution) -> Execution | None:
    """Return the execution of the innermost condition that led to a statement."""
    for branch in _branches(values, execution):
        if branch.header.kind in (StatementKind.IF, StatementKind.WHILE, StatementKind.CASE):
            found = _last_execution(values, execution, branch.header)
            # The statement of the line is that of all arms: it does not name the chosen one.
            return replace(found, statement=branch.header) if found is not None else None
    return None


def iteration(values: TracedValues, execution: Execution) -> Iteration | None:
    """Return the round of the innermost loop around a statement, or of the loop that it heads."""
    statement = execution.statement
    if statement is not None and statement.kind is StatementKind.FOR:
        return rounds(values, execution, statement)
    for branch in _branches(values, execution):
        if branch.header.kind in (StatementKind.FOR, StatementKind.WHILE) and branch.taken:
            return rounds(values, execution, branch.header)
    return None


def rounds(values: TracedValues, execution: Execution, loop: Statement) -> Iteration | None:
    """Return the round of *loop* in which a statement of its body, or its header, is executed."""
    runs = values.loops.get((execution.frame, loop.first))
    if runs is None:
        runs = _runs(values.index.steps_of(execution.frame), loop)
        values.loops[execution.frame, loop.first] = runs
    at = values.index.last_before(execution.frame, execution.first + 1)
    for begin, end, headers in runs:
        if not begin <= at <= end or not headers:
            continue
        before = bisect_right(headers, at)
        # The header is executed once more when there is nothing left.
        exhausted = headers[-1] == end and end > at
        return Iteration(before, len(headers) - exhausted, loop.first) if before else None
    return None


def _runs(steps: list[TracedStep], loop: Statement) -> list[tuple[int, int, list[int]]]:
    """Return each time that a loop ran in a frame: its first and last step, and its headers."""
    found: list[tuple[int, int, list[int]]] = []
    begin: int | None = None
    headers: list[int] = []
    was_header = False
    for index, step in enumerate(steps):
        if loop.first <= step.line <= loop.body_end:
            if begin is None:
                begin, headers, was_header = index, [], False
            is_header = step.line <= loop.last
            if is_header and not was_header:
                headers.append(index)
            was_header = is_header and loop.first != loop.last
        elif begin is not None:
            found.append((begin, index - 1, headers))
            begin = None
    if begin is not None:
        found.append((begin, len(steps) - 1, headers))
    return found


def untaken_exits(values: TracedValues, execution: Execution) -> tuple[Condition, ...]:
    """Return the nearest branches before a statement that would have left its block."""
    source = values.files.file(values.index.frames[execution.frame].path)
    if source is None or execution.statement is None:
        return ()
    found: list[Condition] = []
    for early in source.exits(execution.statement):
        header = _last_execution(values, execution, early.header)
        if header is None or len(found) == _MOST_DECISIVE:
            break
        found.append(_made(values, header, early.header, not early.in_body, decisive=True))
    return tuple(found)


def untaken_writes(
    values: TracedValues, written: Execution, target: str, moment: int
) -> tuple[Condition, ...]:
    """Return the branches, decided between a write and *moment*, whose bodies write it again."""
    source = values.files.file(values.index.frames[written.frame].path)
    if source is None or written.statement is None:
        return ()
    found: dict[int, Condition] = {}
    steps = values.index.steps_of(written.frame)
    last = values.index.last_before(written.frame, moment)
    for other in source.other_writes(written.statement, target):
        for branch in source.branches(other):
            header = next(
                (
                    step
                    for step in reversed(steps[: last + 1])
                    if branch.header.first <= step.line <= branch.header.last
                ),
                None,
            )
            if header is None or header.number < written.first:
                continue  # not decided after the write: the next one outwards may be
            after = values.index.last_before(written.frame, header.number + 1) + 1
            if after < len(steps) and steps[after].line in range(
                branch.header.first, branch.header.last + 1
            ):
                break  # what the condition calls was being executed: it was not decided yet
            inside = range(branch.header.last + 1, branch.header.body_end + 1)
            entered = after < len(steps) and steps[after].line in inside
            if entered == branch.taken:
                break  # the write is further inside, or its line raised
            if branch.header.kind in (StatementKind.IF, StatementKind.WHILE):
                made = _made(
                    values, values.execution(header), branch.header, not branch.taken, decisive=True
                )
                found.setdefault(branch.header.first, made)
            break
    return tuple(found.values())[:_MOST_DECISIVE]


def untaken_raises(
    values: TracedValues, execution: Execution
) -> tuple[tuple[Execution, Statement], ...]:
    """Return the conditions under which what a statement called would have raised, newest first.

    Each with the statement that raises; the condition was evaluated, and did not lead there.
    """
    found: dict[tuple[str, int], tuple[Execution, Statement]] = {}
    for frame in _frames_inside(values, execution):
        source = values.files.file(frame.path)
        steps = values.index.steps_of(frame.number)
        if source is None or not steps:
            continue
        end = Execution(frame.number, (steps[-1],), None)
        for statement in source.raises(frame.first_line):
            if any(statement.first <= step.line <= statement.last for step in steps):
                continue
            branch = next(iter(source.branches(statement)), None)
            if branch is None or branch.header.kind is not StatementKind.IF:
                continue
            header = _last_execution(values, end, branch.header)
            if header is not None:
                found[frame.path, branch.header.first] = header, statement
    return tuple(sorted(found.values(), key=lambda each: each[0].first, reverse=True))


def _frames_inside(values: TracedValues, execution: Execution) -> Iterator[TracedFrame]:
    """Yield the frames that a statement called, and those that they called, in order."""
    end = values.next_step(execution)
    thread = values.index.frames[execution.frame].thread
    for frame in values.index.frames.values():
        steps = values.index.steps_of(frame.number)
        if steps and execution.first < steps[0].number < end and frame.thread == thread:
            yield frame


def _branches(values: TracedValues, execution: Execution) -> tuple[Branch, ...]:
    source = values.files.file(values.index.frames[execution.frame].path)
    if source is None or execution.statement is None:
        return ()
    return source.branches(execution.statement)


def _condition(values: TracedValues, execution: Execution, branch: Branch) -> Condition | None:
    header = _last_execution(values, execution, branch.header)
    if header is None:
        return None
    return _made(values, header, branch.header, branch.taken)


def _made(
    values: TracedValues,
    header: Execution,
    statement: Statement,
    taken: bool,
    *,
    decisive: bool = False,
) -> Condition:
    node = _deciding(values, header, statement.value, taken) if statement.value else None
    text = statement.text
    if node is not None and statement.value is not None:
        text = source_text(node.text, statement.value.text)
    if statement.kind in (StatementKind.EXCEPT, StatementKind.CASE):
        text = statement.text
    return Condition(
        text,
        values.index.frames[header.frame].path,
        statement.first,
        taken,
        values.reads([node], header),
        _handled(values, header) if statement.kind is StatementKind.EXCEPT else None,
        decisive,
    )


def _deciding(values: TracedValues, header: Execution, node: Expression, taken: bool) -> Expression:
    """Return the operand of `and` that was false, or of `or` that was true, if it is known."""
    if node.form is Form.SAME:
        return _deciding(values, header, node.operands[0], taken)
    if node.form is not Form.LOGIC or (node.name == "or") is not taken:
        return node
    for operand in node.operands:
        inner = _deciding(values, header, operand, taken)
        value = values.value(inner, header)
        if value is not None and truth(value.text) is taken:
            return inner
    return node


def _last_execution(
    values: TracedValues, execution: Execution, statement: Statement
) -> Execution | None:
    if statement.first <= execution.line <= statement.last:
        return execution  # `if x: y = 1`: one step does both
    steps = values.index.steps_of(execution.frame)
    for index in range(values.index.last_before(execution.frame, execution.first), -1, -1):
        if statement.first <= steps[index].line <= statement.last:
            return values.execution(steps[index])
    return None


def _handled(values: TracedValues, header: Execution) -> str | None:
    steps = values.index.steps_of(header.frame)
    at = values.index.last_before(header.frame, header.first)
    return steps[at].raised if at >= 0 else None
