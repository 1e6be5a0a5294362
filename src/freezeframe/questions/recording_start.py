"""Where to begin to step: the first statement that the value of a failing expression needs.

A test often runs the same code for many inputs. Stepping begins in the round that fails, at the
first statement of that round which makes a value that the failing statement reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.session.source_cache import function_block

from .any_source import AnySource
from .expressions import Expression, Form, Statement, StatementKind
from .source_patterns import LOOP

#: functions that call a closure for each element
_EACH = late_regex.compile(r"\.(?:forEach|for_each|map|each|every|some)\(")
_LOOPS = (StatementKind.FOR, StatementKind.WHILE)
#: variables that stand for everything, and so would make everything needed
_WHOLE = frozenset(("self", "this", "t", "tb", "assert", "expect", "require", "console"))


@dataclass(frozen=True, slots=True)
class RecordingStart:
    line: int
    #: the line is in a loop: it may be executed many times before the failure
    repeated: bool
    #: variables that the statement there reads: their values tell its rounds apart
    reads: tuple[str, ...] = ()


def recording_start(
    lines: Sequence[str], path: str, line: int, function: str, expression: str = ""
) -> RecordingStart:
    """Return where to begin to step to the statement at *line*: that line at the latest."""
    source = AnySource(lines, path)
    statement = source.statement(line)
    if statement is None:
        return RecordingStart(line, repeated=False)
    loop = next(
        (each.header for each in source.branches(statement) if each.header.kind in _LOOPS), None
    )
    block = function_block(lines, line, function)
    begin = loop.last + 1 if loop is not None else block.start + 1 if block else line
    needed = _names(source.expression(expression)) if expression else _read(statement)
    for branch in source.branches(statement):
        if branch.header.first >= begin:
            needed |= _read(branch.header)
    first, begins = statement.first, statement
    for above in _before(source, statement.first, begin):
        made = _made(above)
        if above.kind in _LOOPS or made & needed:
            needed |= _read(above) | (made if above.kind in _LOOPS else set())
            if above.first < first:
                first, begins = above.first, above
    repeated = loop is not None or (bool(block) and _is_repeated(lines, block.start))
    written = {each.target.root.name for each in begins.writes}
    return RecordingStart(first, repeated, tuple(sorted(_read(begins) - written)))


def _is_repeated(lines: Sequence[str], line: int) -> bool:
    """Whether the function that begins at *line* is written inside of a loop."""
    depth = _indent(lines[line - 1])
    for above in range(line, 0, -1):
        text = lines[above - 1]
        if above != line and (not text.strip() or _indent(text) >= depth):
            continue
        depth = _indent(text)
        if LOOP.match(text) or _EACH.search(text):
            return True
        if depth == 0:
            break
    return False


def _indent(text: str) -> int:
    text = text.expandtabs(4)
    return len(text) - len(text.lstrip())


def _before(source: AnySource, line: int, begin: int) -> list[Statement]:
    """Return the statements from *line* back to *begin*, nearest first."""
    found: dict[int, Statement] = {}
    for above in range(line - 1, begin - 1, -1):
        statement = source.statement(above)
        if statement is not None and statement.first >= begin:
            found.setdefault(statement.first, statement)
    return list(found.values())


def _names(node: Expression | None) -> set[str]:
    if node is None:
        return set()
    return {each.root.name for each in node.paths() if each.root.form is Form.NAME} - _WHOLE


def _read(statement: Statement) -> set[str]:
    found = _names(statement.value)
    for each in statement.writes:
        found |= _names(each.value)
    return found


def _made(statement: Statement) -> set[str]:
    """Return the variables that a statement assigns, or whose objects its call may change."""
    found = {each.target.root.name for each in statement.writes}
    if statement.kind is StatementKind.PLAIN and not statement.writes:
        found |= _names(statement.value)
    return found - _WHOLE
