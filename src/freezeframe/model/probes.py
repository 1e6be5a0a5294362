"""What passed at a line, without stopping: the answer of `probe`."""

from __future__ import annotations

from .fast_dataclass import dataclass
from .stops import Exit


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """The values at one hit, counted from 1."""

    hit: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProbeColumn:
    """One expression over all hits."""

    expression: str
    #: different values; None: more than were counted
    distinct: int | None
    #: the most frequent values, with their number of hits
    frequent: tuple[tuple[str, int], ...] = ()
    #: smallest and largest value, with the first hit that had it; only if all values are numbers
    least: tuple[str, int] | None = None
    greatest: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """The hits of a line. `first` and `last` are its first and last rows, without overlap."""

    location: str
    path: str | None
    line: int | None
    hits: int
    columns: tuple[ProbeColumn, ...]
    first: tuple[ProbeRow, ...] = ()
    last: tuple[ProbeRow, ...] = ()
    #: the condition of `--until`, and the row where it first held
    until: str | None = None
    found: ProbeRow | None = None
    #: how the program ended; None: it was ended with the answer
    exit: Exit | None = None
    #: the exception that ended or stopped it
    exception: str | None = None
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
