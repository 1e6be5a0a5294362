"""Statements that were not executed and name what a value should have had."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model import late_regex
from freezeframe.model.questions import Link, LinkKind
from freezeframe.model.values import is_cut

from .expressions import Form, SourceFile, Statement, StatementKind
from .traced_values import Execution, TracedValues, shortened

#: the last part of a dotted name
_WORD = late_regex.compile(r"[^\W\d]\w{3,}\b(?!\.)")
#: names of values that say nothing about a program
_COMMON = frozenset(("None", "True", "False", "class", "object", "self", "dict", "list", "tuple"))
_MOST_NAMES = 6
_MOST_STATEMENT, _MOST_CONDITION = 48, 44
_DECIDING = (StatementKind.IF, StatementKind.WHILE)


def omitted_links(
    values: TracedValues, actual: str, expected: str, begin: Execution, most: int
) -> list[Link]:
    """Return the branches that kept statements from being executed, the newest first.

    The statements name what is in the text of *expected* and not in that of *actual*. *begin* is
    where the two were compared; its file is left out, unless it is the only one.
    """
    if is_cut(actual) or "…" in actual:
        return []
    known = set(_WORD.findall(actual)) | _COMMON
    names = [each for each in dict.fromkeys(_WORD.findall(expected)) if each not in known]
    if not 0 < len(names) <= _MOST_NAMES:
        return []
    own, function = values.index.frames[begin.frame].path, values.index.frames[begin.frame].function
    executed = _executed(values, begin.first)
    named: dict[str, list[tuple[str, int]]] = {}
    for path in [each for each in executed if each != own] or [own]:
        for number, text in enumerate(values.files.lines(path), 1):
            if any(each in text for each in names):
                for name in {*names}.intersection(_WORD.findall(text)):
                    named.setdefault(name, []).append((path, number))
    if not named:
        return []
    # The word that fewest lines have says most.
    found: dict[int, Link] = {}
    for path, number in min(named.values(), key=len):
        source, lines = values.files.file(path), executed[path]
        statement = source.statement(number) if source and number not in lines else None
        made = _link(values, source, statement, lines) if source and statement else None
        if made is not None and made.step is not None and made.function != function:
            found.setdefault(made.step, made)
    return [link for _, link in sorted(found.items(), reverse=True)[:most]]


def _executed(values: TracedValues, moment: int) -> dict[str, dict[int, int]]:
    """Return the lines of each file that were executed, with the last step of each."""
    found: dict[str, dict[int, int]] = {}
    for step in values.index.trace.steps:
        if step.number < moment:
            path = values.index.frames[step.frame].path
            found.setdefault(path, {})[step.line] = step.number
    return found


def _link(
    values: TracedValues, source: SourceFile, statement: Statement, executed: dict[int, int]
) -> Link | None:
    """Return the nearest condition around a statement that was evaluated and led elsewhere."""
    if statement.kind is StatementKind.DEFINITION:
        return None
    for branch in source.branches(statement):
        header = branch.header
        if header.kind not in _DECIDING or header.first not in executed:
            continue
        if header.value is None or header.value.form is Form.CONSTANT:
            continue
        step = values.index.step(executed[header.first])
        if step is None:
            return None
        frame = values.index.frames[step.frame]
        condition = replace(values.execution(step), statement=header)
        return Link(
            frame.path,
            header.first,
            frame.function,
            shortened(header.text, _MOST_CONDITION),
            header.text,
            LinkKind.NOT_EXECUTED,
            step.number,
            reads=values.reads([header.value], condition),
            note=f"so line {statement.first} was not executed: "
            f"{shortened(statement.text, _MOST_STATEMENT)}",
        )
    return None
