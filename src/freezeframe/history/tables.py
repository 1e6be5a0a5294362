"""Tables, groups, trends and differences of hits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from freezeframe.errors import NotFound, UsageError
from freezeframe.model.history import Difference, Hit, HitGroup
from freezeframe.model.values import Value

from . import codec, plain, where
from .codec import RawValue, children_of
from .compare_values import differences, settled
from .plain import Missing
from .reading import HitRow

#: Columns of variables that nobody chose.
_COLUMNS = 6
#: Characters that a variable may have to get a column by itself.
_WIDE = 60


@dataclass(frozen=True, slots=True)
class Chosen:
    """The hits that an expression chooses."""

    rows: list[HitRow]
    unanswered: int = 0
    reason: str | None = None


def choose(rows: Sequence[HitRow], expression: str | None) -> Chosen:
    """Return the hits for which *expression* is true; all without one.

    Raises NotFound when it can be answered for none, with the names that there are.
    """
    if expression is None:
        return Chosen(list(rows))
    ask = where.compile(expression)
    kept, unanswered, reason = [], 0, None
    for row in rows:
        try:
            if plain.truth(ask(row.find)):
                kept.append(row)
        except Missing as missing:
            unanswered += 1
            reason = reason or str(missing)
    if rows and unanswered == len(rows):
        raise _unknown(rows[0], reason or "")
    return Chosen(kept, unanswered, reason)


def _unknown(row: HitRow, what: str) -> NotFound:
    names = ", ".join(row.values)
    return NotFound(
        f"nothing recorded here answers to {what}" + (f"; there are {names}." if names else "."),
        next=f"dbg hits {row.place}",
    )


def answers(rows: Sequence[HitRow], expression: str) -> list[tuple[HitRow, Any]]:
    """Return each hit with the value of *expression* there; hits without one are left out.

    Raises NotFound where no hit has one.
    """
    ask = where.compile(expression)
    found, missing = [], ""
    for row in rows:
        try:
            found.append((row, ask(row.find)))
        except Missing as reason:
            missing = missing or str(reason)
    if rows and not found:
        raise _unknown(rows[0], missing)
    return found


def columns(rows: Sequence[HitRow], chosen: Sequence[str]) -> Columns:
    """Return the columns of a table: those that are asked for, else what changes."""
    if chosen:
        asked = [where.compile(each) for each in chosen]
        for each in chosen:
            answers(rows, each)  # complain about a name that is nowhere
        return Columns(tuple(chosen), [_teller(ask) for ask in asked])
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row.values))
    changing: list[str] = []
    moving: list[str] = []
    constant: list[str] = []
    for name in names:
        raws = [row.values.get(name) for row in rows]
        if len(rows) > 1 and len({settled(raw) for raw in raws}) == 1:
            # Addresses make poor columns, but within one run they are values.
            same = len({str(raw[1]) for raw in raws if raw is not None}) == 1
            (constant if same else moving).append(name)
        else:
            changing.append(name)
    narrow = [name for name in changing if _is_narrow(name, rows)]
    taken = (narrow or changing)[:_COLUMNS]
    taken = [name for name in changing if name in taken]
    if not taken:
        taken, constant = constant[:_COLUMNS], constant[_COLUMNS:]
    return Columns(
        tuple(taken),
        [_of_name(name) for name in taken],
        tuple(codec.value(rows[0].values[name]) for name in constant if name in rows[0].values),
        tuple(name for name in (*changing, *moving) if name not in taken),
    )


@dataclass(frozen=True, slots=True)
class Columns:
    names: tuple[str, ...]
    tell: list[Callable[[HitRow], str | None]]
    constant: tuple[Value, ...] = ()
    others: tuple[str, ...] = ()

    def without(self, name: str) -> Columns:
        """Return all columns but the one of that name."""
        pairs = zip(self.names, self.tell, strict=True)
        kept = [(each, tell) for each, tell in pairs if each != name]
        names = tuple(each for each, _ in kept)
        return Columns(names, [tell for _, tell in kept], self.constant, self.others)

    def cells(self, row: HitRow) -> tuple[str | None, ...]:
        return tuple(tell(row) for tell in self.tell)


def _is_narrow(name: str, rows: Sequence[HitRow]) -> bool:
    first = [row.values[name] for row in rows[:20] if name in row.values]
    return all(len(str(raw[1])) <= _WIDE and not codec.is_opaque(raw) for raw in first)


def _of_name(name: str) -> Callable[[HitRow], str | None]:
    def tell(row: HitRow) -> str | None:
        raw = row.values.get(name)
        return None if raw is None else shown(raw)

    return tell


def _teller(ask: where.Evaluate) -> Callable[[HitRow], str | None]:
    def tell(row: HitRow) -> str | None:
        try:
            value = ask(row.find)
        except Missing:
            return None
        return repr(value) if isinstance(value, str) else plain.text(value)

    return tell


def shown(raw: RawValue) -> str:
    """Return a recorded value on one line: its text, or its parts where the text says nothing."""
    if codec.is_opaque(raw) and children_of(raw):
        inner = ", ".join(f"{child[0]}={shown(child)}" for child in children_of(raw)[:8])
        return f"({inner})"
    return str(raw[1])


def hit(row: HitRow, cells: tuple[str | None, ...] = ()) -> Hit:
    return Hit(
        row.number, row.stop, row.at_s, row.thread, cells, row.reason, row.place, row.function
    )


# --- groups -------------------------------------------------------------------------------------


def groups(
    rows: Sequence[HitRow], by: str, shown_columns: Columns | None, *, by_count: bool
) -> tuple[list[HitGroup], int]:
    """Return the hits by the value of *by*, and how many have none.

    In the order in which values came up; with *by_count* the most frequent first.
    """
    answered = answers(rows, by)
    members: dict[str, list[HitRow]] = {}
    for row, value in answered:
        name = repr(value) if isinstance(value, str) else plain.text(value)
        members.setdefault(name, []).append(row)
    made = [
        HitGroup(
            name,
            len(inside),
            inside[0].number,
            inside[-1].number,
            tuple(_span(inside, tell) for tell in shown_columns.tell) if shown_columns else (),
        )
        for name, inside in members.items()
    ]
    if by_count:
        made.sort(key=lambda group: -group.count)
    return made, len(rows) - len(answered)


def _span(rows: Sequence[HitRow], tell: Callable[[HitRow], str | None]) -> str:
    """Return the only value in a group, the two ends of its numbers, or how many there are."""
    texts = dict.fromkeys(text for row in rows if (text := tell(row)) is not None)
    if len(texts) <= 1:
        return next(iter(texts), "")
    numbers = []
    for text in texts:
        value = plain.read(["", text])
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{len(texts)} values"
        numbers.append((value, text))
    return f"{min(numbers)[1]} … {max(numbers)[1]}"


# --- trends -------------------------------------------------------------------------------------


def trend(
    rows: Sequence[HitRow], expression: str
) -> tuple[list[float], list[int], int, str | None]:
    """Return the numbers of *expression*, their hits, how many have none, and what the first of
    those had instead. Raises UsageError when none is a number."""
    points, numbers, instead = [], [], None
    answered = answers(rows, expression)
    for row, value in answered:
        if isinstance(value, int | float):
            points.append(float(value))
            numbers.append(row.number)
        else:
            instead = instead or plain.text(value)[:60]
    if not points:
        raise UsageError(
            f"{expression} is not a number here but {instead}.",
            next=f"dbg hits {rows[0].place} --count-by {expression!r}",
        )
    return points, numbers, len(rows) - len(points), instead


# --- two hits -----------------------------------------------------------------------------------


def between(a: HitRow, b: HitRow) -> tuple[list[Difference], list[str]]:
    """Return what differs between two hits, and the names of what is the same."""
    return differences(a.values, b.values)
