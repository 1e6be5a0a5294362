"""Where two runs of a program part. Pure.

Stops are matched by place and by which hit of the place they are. Where the source was edited
between the runs, the lines of the first are carried over to the second by what they say.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from freezeframe.model.history import Difference, Divergence
from freezeframe.model.runs import Run
from freezeframe.model.stops import Exit

from . import places
from .compare_values import differences
from .reading import HitRow

Key = tuple[str, int]
#: Reasons that are nobody's doing but the program's.
_BREAKS = frozenset({"exception", "signal"})


@dataclass(frozen=True, slots=True)
class Side:
    """One run, as it is compared."""

    run: Run
    stops: Sequence[HitRow]
    sources: Mapping[str, str]
    #: what it printed, by stream
    output: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    divergences: list[Divergence]
    equal_stops: int
    last_equal: str | None
    edited: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


class Lines:
    """Carries places of one version of the source over to another."""

    def __init__(self, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        self._maps: dict[str, dict[int, int]] = {}
        for file, text in old.items():
            if file in new and new[file] != text:
                self._maps[file] = _line_map(text.split("\n"), new[file].split("\n"))

    @property
    def edited(self) -> tuple[str, ...]:
        return tuple(sorted(self._maps))

    def carried(self, file: str | None, line: int | None) -> int | None:
        """Return the line in the new text; the negative of it where it is there no more."""
        if file is None or line is None or file not in self._maps:
            return line
        return self._maps[file].get(line, -line)


def _line_map(old: list[str], new: list[str]) -> dict[int, int]:
    """Return where each line went: unchanged ones, and those that were edited in place."""
    found: dict[int, int] = {}
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and last - first == end - begin):
            for offset in range(last - first):
                found[first + offset + 1] = begin + offset + 1
        elif tag == "replace":
            found.update(_similar(old, new, first, last, begin, end))
    return found


def _similar(
    old: list[str], new: list[str], first: int, last: int, begin: int, end: int
) -> dict[int, int]:
    """Match the lines of a block that grew or shrank by likeness, in order."""
    found: dict[int, int] = {}
    at = begin
    for number in range(first, last):
        best, likeness = -1, 0.6
        for candidate in range(at, end):
            ratio = difflib.SequenceMatcher(
                None, old[number].strip(), new[candidate].strip(), autojunk=False
            ).ratio()
            if ratio > likeness:
                best, likeness = candidate, ratio
        if best >= 0:
            found[number + 1] = best + 1
            at = best + 1
    return found


def compare(a: Side, b: Side) -> Found:
    """Return every divergence of two runs, first one first."""
    lines = Lines(a.sources, b.sources)
    keys_a = _keys(a.stops, lines)
    keys_b = _keys(b.stops, None)
    at_a, at_b = dict(zip(keys_a, a.stops, strict=True)), dict(zip(keys_b, b.stops, strict=True))
    watched_a = {place for place, _ in keys_a} | _breakpoints(a.run, lines)
    watched_b = {place for place, _ in keys_b} | _breakpoints(b.run, None)
    found: list[Divergence] = []
    unwatched_a: dict[str, None] = {}
    unwatched_b: dict[str, None] = {}
    equal, last_equal = 0, None
    i = j = 0
    done_a: set[Key] = set()
    done_b: set[Key] = set()
    while i < len(keys_a) or j < len(keys_b):
        while i < len(keys_a) and keys_a[i] in done_a:
            i += 1
        while j < len(keys_b) and keys_b[j] in done_b:
            j += 1
        key_a = keys_a[i] if i < len(keys_a) else None
        key_b = keys_b[j] if j < len(keys_b) else None
        if key_a is None and key_b is None:
            break
        if key_a is not None and key_a == key_b:
            values = _compared(at_a[key_a], at_b[key_a], key_a)
            if values is not None:
                found.append(values)
            elif not found:
                equal, last_equal = equal + 1, f"{at_a[key_a].place}, hit {key_a[1]}"
            i, j = i + 1, j + 1
            continue
        # One of them is where the other never came, or comes later.
        extra_a = key_a is not None and key_a not in at_b
        extra_b = key_b is not None and key_b not in at_a
        if extra_a and key_a is not None and not _counts(at_a[key_a], key_a, watched_b):
            unwatched_a[at_a[key_a].place] = None
            i += 1
        elif extra_b and key_b is not None and not _counts(at_b[key_b], key_b, watched_a):
            unwatched_b[at_b[key_b].place] = None
            j += 1
        elif extra_a or extra_b:
            row_a = at_a[key_a] if key_a is not None else None
            row_b = at_b[key_b] if key_b is not None else None
            if extra_a and extra_b and row_a is not None and row_b is not None:
                found.append(_parted(row_a, row_b, key_a, a, b))
                i, j = i + 1, j + 1
            elif extra_a and row_a is not None:
                found.append(_missing(row_a, key_a, a, b, first=True))
                i += 1
            elif row_b is not None:
                found.append(_missing(row_b, key_b, b, a, first=False))
                j += 1
        else:
            # Both come there, in another order: matched all the same.
            assert key_a is not None
            assert key_b is not None
            found.append(_parted(at_a[key_a], at_b[key_b], key_a, a, b))
            for key in (key_a, key_b):
                values = _compared(at_a[key], at_b[key], key)
                if values is not None:
                    found.append(values)
                done_a.add(key)
                done_b.add(key)
    found.extend(_ends(a, b))
    return Found(found, equal, last_equal, lines.edited, tuple(unwatched_a), tuple(unwatched_b))


def _keys(stops: Sequence[HitRow], lines: Lines | None) -> list[Key]:
    counts: Counter[str] = Counter()
    made = []
    for row in stops:
        line = lines.carried(row.file, row.line) if lines is not None else row.line
        place = places.place(row.file, line, places.function_key(row.function))
        # An exception where a breakpoint stands is another thing than the breakpoint's hit.
        if row.reason in _BREAKS:
            place = f"{place} {row.reason}"
        counts[place] += 1
        made.append((place, counts[place]))
    return made


def _breakpoints(run: Run, lines: Lines | None) -> set[str]:
    found = set()
    for text in run.breakpoints:
        file, colon, line = text.rpartition(":")
        if colon and line.isdecimal():
            carried = lines.carried(file, int(line)) if lines is not None else int(line)
            found.add(places.place(file, carried))
        else:
            found.add(text)
    return found


def _counts(row: HitRow, key: Key, watched: set[str]) -> bool:
    """Whether it means something that only one run has this stop."""
    if row.reason in _BREAKS:
        return True
    return key[0] in watched or row.function in watched


def _compared(a: HitRow, b: HitRow, key: Key) -> Divergence | None:
    if a.scopes == b.scopes:
        return None  # the same to the byte: most are
    differ, equal = differences(a.values, b.values)
    if not differ:
        return None
    return Divergence(
        "values",
        b.place,
        b.function,
        key[1],
        a.stop,
        b.stop,
        tuple(differ),
        tuple(equal),
    )


def _text(side: Side, row: HitRow) -> str:
    text = side.sources.get(row.file or "")
    lines = text.split("\n") if text is not None else []
    return lines[row.line - 1].strip() if row.line and 0 < row.line <= len(lines) else ""


def _parted(a: HitRow, b: HitRow, key: Key | None, one: Side, other: Side) -> Divergence:
    differ, equal = differences(a.values, b.values)
    same = places.function_key(a.function) == places.function_key(b.function)
    return Divergence(
        "path",
        a.place,
        a.function,
        key[1] if key else 0,
        a.stop,
        b.stop,
        tuple(differ) if same else (),
        tuple(equal) if same else (),
        b.place,
        _text(one, a),
        _text(other, b),
    )


def _missing(row: HitRow, key: Key | None, side: Side, other: Side, *, first: bool) -> Divergence:
    values = tuple(
        Difference(name, str(raw[1]) if first else None, None if first else str(raw[1]))
        for name, raw in row.values.items()
    )
    text = _text(side, row)
    return Divergence(
        "missing",
        row.place,
        row.function,
        key[1] if key else 0,
        row.stop if first else None,
        None if first else row.stop,
        values,
        a_text=text if first else "",
        b_text="" if first else text,
    )


def _ends(a: Side, b: Side) -> list[Divergence]:
    found: list[Divergence] = []
    if a.run.exit is None or b.run.exit is None:
        return found
    if "ended" not in (a.run.exit.how, b.run.exit.how) or a.run.exit.how != b.run.exit.how:
        return found  # somebody put an end to one of them: it could not say the rest
    for stream in ("stdout", "stderr"):
        left, right = a.output.get(stream, ""), b.output.get(stream, "")
        if left != right:
            found.append(Divergence("output", stream, differences=(_first_line(left, right),)))
    one, other = how(a.run.exit), how(b.run.exit)
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


def how(exit: Exit) -> str:
    """Return how a run ended, in a word or two."""
    if exit.signal:
        return exit.signal
    return f"code {exit.code}" if exit.code is not None else exit.how
