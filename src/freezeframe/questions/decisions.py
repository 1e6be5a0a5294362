"""Which branches led to a statement, in which round of a loop, and which ones did not."""

from __future__ import annotations

from freezeframe.model.questions import Condition, Iteration
from freezeframe.model.trace import TracedStep

from .expressions import Branch, Statement, StatementKind
from .traced_values import Execution, TracedValues

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
    steps = values.index.steps_of(execution.frame)
    at = values.index.last_before(execution.frame, execution.first + 1)
    inside = range(loop.first, loop.body_end + 1)
    begin = at
    while begin > 0 and steps[begin - 1].line in inside:
        begin -= 1
    end = at
    while end + 1 < len(steps) and steps[end + 1].line in inside:
        end += 1
    headers = [
        index
        for index in range(begin, end + 1)
        if _is_header(steps, index, loop) and not _is_header(steps, index - 1, loop, begin)
    ]
    before = sum(1 for index in headers if index <= at)
    if not before:
        return None
    # The header is executed once more when there is nothing left.
    exhausted = headers[-1] == end and end > at
    return Iteration(before, len(headers) - exhausted, loop.first)


def _is_header(steps: list[TracedStep], index: int, loop: Statement, first: int = 0) -> bool:
    return index >= first and loop.first <= steps[index].line <= loop.last


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
    text = statement.value.text if statement.value is not None else statement.text
    if statement.kind in (StatementKind.EXCEPT, StatementKind.CASE):
        text = statement.text
    return Condition(
        text,
        values.index.frames[header.frame].path,
        statement.first,
        taken,
        values.reads([statement.value], header),
        _handled(values, header) if statement.kind is StatementKind.EXCEPT else None,
        decisive,
    )


def _last_execution(
    values: TracedValues, execution: Execution, statement: Statement
) -> Execution | None:
    steps = values.index.steps_of(execution.frame)
    for index in range(values.index.last_before(execution.frame, execution.first), -1, -1):
        if statement.first <= steps[index].line <= statement.last:
            return values.execution(steps[index])
    return None


def _handled(values: TracedValues, header: Execution) -> str | None:
    steps = values.index.steps_of(header.frame)
    at = values.index.last_before(header.frame, header.first)
    return steps[at].raised if at >= 0 else None
