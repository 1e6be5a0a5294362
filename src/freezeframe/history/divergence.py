"""Find where two runs of a program diverge. Pure.

Stops are matched by location and by hit number at that location. If the source was edited between
the runs, lines of the first run are mapped to the second by their text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from freezeframe.model.history import Difference, Divergence
from freezeframe.model.line_map import LineMap
from freezeframe.model.runs import Run

from . import location_keys
from .event_log import describe_exit
from .queries import HitRow
from .value_diff import differences

Key = tuple[str, int]
#: Stop reasons that the program causes, whatever breakpoints are set.
_PROGRAM_REASONS = frozenset({"exception", "signal"})


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run with what a comparison needs."""

    run: Run
    stops: Sequence[HitRow]
    sources: Mapping[str, str]
    #: the output of the run, by stream
    output: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparison:
    divergences: list[Divergence]
    equal_stops: int
    last_equal: str | None
    edited: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


class _Cursor:
    """Walks through the stops of one run, past those that were compared already."""

    def __init__(self, side: ComparedRun, lines: LineMap | None) -> None:
        self.side = side
        self._keys = _keys(side.stops, lines)
        self.rows = dict(zip(self._keys, side.stops, strict=True))
        self._watched = {location for location, _ in self._keys} | _breakpoints(side.run, lines)
        self._compared: set[Key] = set()
        self._at = 0
        #: locations that the other run did not watch
        self.unwatched: dict[str, None] = {}

    def key(self) -> Key | None:
        """Return the next stop; None at the end."""
        while self._at < len(self._keys) and self._keys[self._at] in self._compared:
            self._at += 1
        return self._keys[self._at] if self._at < len(self._keys) else None

    def alone(self, other: _Cursor) -> Key | None:
        """Return the next stop if the other run never reaches it.

        Passes over those at which the other run could not have stopped.
        """
        while (key := self.key()) is not None and key not in other.rows:
            if _counts(self.rows[key], key, other._watched):
                return key
            self.unwatched[self.rows[key].location] = None
            self.take(key)
        return None

    def take(self, key: Key) -> HitRow:
        self._compared.add(key)
        return self.rows[key]


def compare(one: ComparedRun, other: ComparedRun) -> Comparison:
    """Return every divergence of two runs, in order."""
    lines = LineMap(one.sources, other.sources)
    a, b = _Cursor(one, lines), _Cursor(other, None)
    found: list[Divergence] = []
    equal, last_equal = 0, None
    while True:
        alone_a, alone_b = a.alone(b), b.alone(a)
        key = a.key()
        if key is None and b.key() is None:
            break
        if key is None or key != b.key():
            found += _apart(a, b, alone_a, alone_b)
            continue
        row_a, row_b = a.take(key), b.take(key)
        values = _value_divergence(row_a, row_b, key)
        if values is not None:
            found.append(values)
        elif not found:
            equal, last_equal = equal + 1, f"{row_a.location}, hit {key[1]}"
    found.extend(_ends(one, other))
    return Comparison(
        found, equal, last_equal, lines.edited, tuple(a.unwatched), tuple(b.unwatched)
    )


def _apart(a: _Cursor, b: _Cursor, alone_a: Key | None, alone_b: Key | None) -> list[Divergence]:
    """Return the divergences of two runs that are at different stops, and advance them.

    A stop is *alone* if the other run never reaches it.
    """
    if alone_a and alone_b:
        rows = a.take(alone_a), b.take(alone_b)
        return [_path_divergence(*rows, alone_a, a.side, b.side)]
    if alone_a:
        return [_missing_stop(a.take(alone_a), alone_a, a.side, first=True)]
    if alone_b:
        return [_missing_stop(b.take(alone_b), alone_b, b.side, first=False)]
    # Both runs reach both stops, in another order: compare them all the same.
    key_a, key_b = a.key(), b.key()
    assert key_a is not None
    assert key_b is not None
    found = [_path_divergence(a.rows[key_a], b.rows[key_b], key_a, a.side, b.side)]
    for key in (key_a, key_b):
        values = _value_divergence(a.take(key), b.take(key), key)
        if values is not None:
            found.append(values)
    return found


def _keys(stops: Sequence[HitRow], lines: LineMap | None) -> list[Key]:
    counts: Counter[str] = Counter()
    keys = []
    for row in stops:
        line = lines.translate(row.file, row.line) if lines is not None else row.line
        location = location_keys.format_location(
            row.file, line, location_keys.function_key(row.function)
        )
        # An exception at the line of a breakpoint is not a hit of the breakpoint.
        if row.reason in _PROGRAM_REASONS:
            location = f"{location} {row.reason}"
        counts[location] += 1
        keys.append((location, counts[location]))
    return keys


def _breakpoints(run: Run, lines: LineMap | None) -> set[str]:
    found = set()
    for text in run.breakpoints:
        file, colon, line = text.rpartition(":")
        if colon and line.isdecimal():
            number = lines.translate(file, int(line)) if lines is not None else int(line)
            found.add(location_keys.format_location(file, number))
        else:
            found.add(text)
    return found


def _counts(row: HitRow, key: Key, watched: set[str]) -> bool:
    """Whether the other run could have had this stop, so that its absence is a divergence."""
    if row.reason in _PROGRAM_REASONS:
        return True
    return key[0] in watched or row.function in watched


def _value_divergence(a: HitRow, b: HitRow, key: Key) -> Divergence | None:
    if a.scopes == b.scopes:
        return None  # identical bytes: the usual case
    differ, equal = differences(a.values, b.values)
    if not differ:
        return None
    return Divergence(
        "values",
        b.location,
        b.function,
        key[1],
        a.stop,
        b.stop,
        tuple(differ),
        tuple(equal),
    )


def _text(side: ComparedRun, row: HitRow) -> str:
    text = side.sources.get(row.file or "")
    lines = text.split("\n") if text is not None else []
    return lines[row.line - 1].strip() if row.line and 0 < row.line <= len(lines) else ""


def _path_divergence(
    a: HitRow, b: HitRow, key: Key, one: ComparedRun, other: ComparedRun
) -> Divergence:
    differ, equal = differences(a.values, b.values)
    same = location_keys.function_key(a.function) == location_keys.function_key(b.function)
    return Divergence(
        "path",
        a.location,
        a.function,
        key[1],
        a.stop,
        b.stop,
        tuple(differ) if same else (),
        tuple(equal) if same else (),
        b.location,
        _text(one, a),
        _text(other, b),
    )


def _missing_stop(row: HitRow, key: Key, side: ComparedRun, *, first: bool) -> Divergence:
    values = tuple(
        Difference(name, str(raw[1]) if first else None, None if first else str(raw[1]))
        for name, raw in row.values.items()
    )
    text = _text(side, row)
    return Divergence(
        "missing",
        row.location,
        row.function,
        key[1],
        row.stop if first else None,
        None if first else row.stop,
        values,
        a_text=text if first else "",
        b_text="" if first else text,
    )


def _ends(a: ComparedRun, b: ComparedRun) -> list[Divergence]:
    found: list[Divergence] = []
    if a.run.exit is None or b.run.exit is None:
        return found
    if "ended" not in (a.run.exit.how, b.run.exit.how) or a.run.exit.how != b.run.exit.how:
        return found  # a run that was ended by the user has incomplete output
    for stream in ("stdout", "stderr"):
        left, right = a.output.get(stream, ""), b.output.get(stream, "")
        if left != right:
            found.append(Divergence("output", stream, differences=(_first_line(left, right),)))
    one, other = describe_exit(a.run.exit), describe_exit(b.run.exit)
    if one != other:
        found.append(Divergence("end", "", differences=(Difference("exit", one, other),)))
    return found


def _first_line(a: str, b: str) -> Difference:
    one, other = a.splitlines(), b.splitlines()
    for number in range(max(len(one), len(other))):
        left = one[number] if number < len(one) else None
        right = other[number] if number < len(other) else None
        if left != right:
            return Difference(f"line {number + 1}", left, right)
    return Difference("end", repr(a[-20:]), repr(b[-20:]))
