"""Tables, groups, trends and differences of recorded hits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from freezeframe.errors import NotFound, UsageError
from freezeframe.model.history import Difference, Hit, HitGroup
from freezeframe.model.values import Value

from . import codec, expressions, recorded_values
from .codec import RawValue, children_of
from .queries import HitRow
from .recorded_values import NotRecorded
from .value_diff import differences, normalized

#: Columns of a table for which the caller chose none.
_MAX_COLUMNS = 6
#: Characters of a variable's text that still make a default column.
_MAX_WIDTH = 60


@dataclass(frozen=True, slots=True)
class Chosen:
    """The hits for which an expression is true."""

    rows: list[HitRow]
    unanswered: int = 0
    reason: str | None = None


def choose(rows: Sequence[HitRow], expression: str | None) -> Chosen:
    """Return the hits for which *expression* is true; all hits without an expression.

    Raises NotFound with the recorded names if it can be evaluated for no hit.
    """
    if expression is None:
        return Chosen(list(rows))
    evaluate = expressions.compile(expression)
    kept, unanswered, reason = [], 0, None
    for row in rows:
        try:
            if recorded_values.is_true(evaluate(row.lookup)):
                kept.append(row)
        except NotRecorded as missing:
            unanswered += 1
            reason = reason or str(missing)
    if rows and unanswered == len(rows):
        raise _not_recorded(rows[0], reason or "")
    return Chosen(kept, unanswered, reason)


def _not_recorded(row: HitRow, what: str) -> NotFound:
    names = ", ".join(row.values)
    return NotFound(
        f"nothing recorded here answers to {what}" + (f"; there are {names}." if names else "."),
        next=f"dbg hits {row.location}",
    )


def answers(rows: Sequence[HitRow], expression: str) -> list[tuple[HitRow, Any]]:
    """Return each hit with the value of *expression*; hits without a value are left out.

    Raises NotFound if no hit has a value.
    """
    evaluate = expressions.compile(expression)
    found, missing = [], ""
    for row in rows:
        try:
            found.append((row, evaluate(row.lookup)))
        except NotRecorded as reason:
            missing = missing or str(reason)
    if rows and not found:
        raise _not_recorded(rows[0], missing)
    return found


def columns(rows: Sequence[HitRow], chosen: Sequence[str]) -> Columns:
    """Return the columns of a table: *chosen*, or else the variables that change."""
    if chosen:
        compiled = [expressions.compile(each) for each in chosen]
        for each in chosen:
            answers(rows, each)  # raises NotFound for an unknown name
        return Columns(tuple(chosen), [_cell_of_expression(evaluate) for evaluate in compiled])
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row.values))
    changing: list[str] = []
    moving: list[str] = []
    constant: list[str] = []
    for name in names:
        raws = [row.values.get(name) for row in rows]
        if len(rows) > 1 and len({normalized(raw) for raw in raws}) == 1:
            # Addresses do not get a column by default, but within one run they are values.
            same = len({str(raw[1]) for raw in raws if raw is not None}) == 1
            (constant if same else moving).append(name)
        else:
            changing.append(name)
    narrow = [name for name in changing if _is_narrow(name, rows)]
    taken = (narrow or changing)[:_MAX_COLUMNS]
    taken = [name for name in changing if name in taken]
    if not taken:
        taken, constant = constant[:_MAX_COLUMNS], constant[_MAX_COLUMNS:]
    return Columns(
        tuple(taken),
        [_cell_of_variable(name) for name in taken],
        tuple(codec.value(rows[0].values[name]) for name in constant if name in rows[0].values),
        tuple(name for name in (*changing, *moving) if name not in taken),
    )


@dataclass(frozen=True, slots=True)
class Columns:
    names: tuple[str, ...]
    formatters: list[Callable[[HitRow], str | None]]
    constant: tuple[Value, ...] = ()
    others: tuple[str, ...] = ()

    def without(self, name: str) -> Columns:
        """Return all columns but the one of that name."""
        pairs = zip(self.names, self.formatters, strict=True)
        kept = [(each, formatter) for each, formatter in pairs if each != name]
        names = tuple(each for each, _ in kept)
        return Columns(names, [formatter for _, formatter in kept], self.constant, self.others)

    def cells(self, row: HitRow) -> tuple[str | None, ...]:
        return tuple(formatter(row) for formatter in self.formatters)


def _is_narrow(name: str, rows: Sequence[HitRow]) -> bool:
    first = [row.values[name] for row in rows[:20] if name in row.values]
    return all(len(str(raw[1])) <= _MAX_WIDTH and not codec.is_opaque(raw) for raw in first)


def _cell_of_variable(name: str) -> Callable[[HitRow], str | None]:
    def cell(row: HitRow) -> str | None:
        raw = row.values.get(name)
        return None if raw is None else shown(raw)

    return cell


def _cell_of_expression(evaluate: expressions.Evaluate) -> Callable[[HitRow], str | None]:
    def cell(row: HitRow) -> str | None:
        try:
            value = evaluate(row.lookup)
        except NotRecorded:
            return None
        return repr(value) if isinstance(value, str) else recorded_values.text(value)

    return cell


def shown(raw: RawValue) -> str:
    """Return a recorded value on one line: its text, or its parts if it is opaque."""
    if codec.is_opaque(raw) and children_of(raw):
        inner = ", ".join(f"{child[0]}={shown(child)}" for child in children_of(raw)[:8])
        return f"({inner})"
    return str(raw[1])


def hit(row: HitRow, cells: tuple[str | None, ...] = ()) -> Hit:
    return Hit(
        row.number, row.stop, row.at_s, row.thread, cells, row.reason, row.location, row.function
    )


# --- groups -------------------------------------------------------------------------------------


def groups(
    rows: Sequence[HitRow], by: str, shown_columns: Columns | None, *, by_count: bool
) -> tuple[list[HitGroup], int]:
    """Return the hits grouped by the value of *by*, and how many hits have none.

    Groups are in order of first appearance; with *by_count* the largest first.
    """
    evaluated = answers(rows, by)
    members: dict[str, list[HitRow]] = {}
    for row, value in evaluated:
        name = repr(value) if isinstance(value, str) else recorded_values.text(value)
        members.setdefault(name, []).append(row)
    groups = [
        HitGroup(
            name,
            len(inside),
            inside[0].number,
            inside[-1].number,
            tuple(_span(inside, cell) for cell in shown_columns.formatters)
            if shown_columns
            else (),
        )
        for name, inside in members.items()
    ]
    if by_count:
        groups.sort(key=lambda group: -group.count)
    return groups, len(rows) - len(evaluated)


def _span(rows: Sequence[HitRow], cell: Callable[[HitRow], str | None]) -> str:
    """Return the only value of a group, the range of its numbers, or how many values it has."""
    texts = dict.fromkeys(text for row in rows if (text := cell(row)) is not None)
    if len(texts) <= 1:
        return next(iter(texts), "")
    numbers = []
    for text in texts:
        value = recorded_values.read(["", text])
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{len(texts)} values"
        numbers.append((value, text))
    return f"{min(numbers)[1]} … {max(numbers)[1]}"


# --- trends -------------------------------------------------------------------------------------


def trend(
    rows: Sequence[HitRow], expression: str
) -> tuple[list[float], list[int], int, str | None]:
    """Return the numbers of *expression*, their hits, how many hits have none, and the value of
    the first such hit. Raises UsageError if no value is a number."""
    points, numbers, instead = [], [], None
    evaluated = answers(rows, expression)
    for row, value in evaluated:
        if isinstance(value, int | float):
            points.append(float(value))
            numbers.append(row.number)
        else:
            instead = instead or recorded_values.text(value)[:60]
    if not points:
        raise UsageError(
            f"{expression} is not a number here but {instead}.",
            next=f"dbg hits {rows[0].location} --count-by {expression!r}",
        )
    return points, numbers, len(rows) - len(points), instead


# --- two hits -----------------------------------------------------------------------------------


def between(a: HitRow, b: HitRow) -> tuple[list[Difference], list[str]]:
    """Return what differs between two hits, and the names of what is equal."""
    return differences(a.values, b.values)
