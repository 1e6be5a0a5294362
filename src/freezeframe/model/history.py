"""Recorded runs and stops, and the results of queries and comparisons.

A *run* is one execution of a program under a debugger. A *hit* is a stop at a location, counted
from 1 within its run. Locations are `file:line` with the file relative to the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence

from .answers import Chunk
from .fast_dataclass import dataclass
from .runs import Run
from .stops import Frame
from .values import Scope, Value


@dataclass(frozen=True, slots=True)
class Watched:
    """A watched expression, and its value at a stop."""

    expression: str
    text: str


@dataclass(frozen=True, slots=True)
class RecordedStop:
    """One recorded stop. Paths below the workspace are relative to it."""

    #: position in its run, from 1
    number: int
    at_s: float
    reason: str
    thread: int
    thread_name: str
    #: innermost first, at most 20
    frames: tuple[Frame, ...]
    #: index of the frame that `scopes` belong to
    shown: int = 0
    #: the number of frames, if known
    depth: int | None = None
    scopes: tuple[Scope, ...] = ()
    description: str | None = None
    exception: str | None = None
    breakpoints: tuple[int, ...] = ()
    watched: tuple[Watched, ...] = ()
    #: characters printed before the stop
    cursor: int = 0
    #: the command that led to the stop
    command: str = ""
    #: a function breakpoint caused the stop
    entry: bool = False


@dataclass(frozen=True, slots=True)
class SourceText:
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A complete run, as `export` writes it and `replay` replays it."""

    run: Run
    workspace: str
    stops: Sequence[RecordedStop]
    sources: tuple[SourceText, ...] = ()
    output: tuple[Chunk, ...] = ()


# --- answers ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    """One row of a table of hits; `cells` are the texts of its columns, None without a value."""

    number: int
    stop: int
    #: None for the message of a logpoint
    at_s: float | None
    thread: int
    cells: tuple[str | None, ...] = ()
    reason: str = ""
    place: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True)
class HitTable:
    location: str
    run: Run
    #: hits at this location, before `where` is applied
    total: int
    #: names of variables, or the requested expressions
    columns: tuple[str, ...]
    hits: tuple[Hit, ...]
    #: how many hits match `where`, and the index of the first one listed
    matched: int = 0
    start: int = 0
    where: str | None = None
    #: variables that are equal at every hit, with their text
    constant: tuple[Value, ...] = ()
    #: changing variables without a column
    others: tuple[str, ...] = ()
    #: hits for which `where` could not be evaluated, and why
    unanswered: int = 0
    reason: str | None = None
    #: the arguments of the query, without the number of rows
    asked: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HitGroup:
    value: str
    count: int
    #: numbers of the first and last hit of the group
    first: int
    last: int
    #: for each column the smallest and largest value, or the only one
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HitGroups:
    location: str
    run: Run
    by: str
    groups: tuple[HitGroup, ...]
    matched: int
    #: groups left out by --top
    more: int = 0
    columns: tuple[str, ...] = ()
    #: hits without such a value
    unanswered: int = 0
    #: the arguments of the query, without the number of rows
    asked: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference; None on the side that lacks the value."""

    path: str
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class HitDiff:
    location: str
    a: Hit
    b: Hit
    a_run: Run
    b_run: Run
    differences: tuple[Difference, ...]
    #: names of equal variables
    equal: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HitTrend:
    location: str
    run: Run
    expression: str
    points: tuple[float, ...]
    #: number of the hit that each point belongs to
    hits: tuple[int, ...]
    #: hits without a number, and the value of the first of them
    skipped: int = 0
    instead: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """An event of a session. `kind`: start, stop, resume, output, breakpoint, child, exit."""

    cursor: int
    #: seconds since 1970
    time: float
    session: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class EventList:
    events: tuple[SessionEvent, ...]
    #: pass this to --since to continue from here
    end: int
    #: events before the first one listed that were dropped
    dropped: int = 0
    #: events left out by --tail
    skipped: int = 0
    waited_s: float | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """`save`, `import`: a run; `done` is `saved` or `imported`."""

    run: Run
    done: str
    note: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exported:
    path: str
    #: `html` or `jsonl`
    format: str
    #: None: the page is of an answer without a recorded run
    run: Run | None
    size: int
    #: the question whose answer the page shows
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Pruned:
    removed: tuple[Run, ...]
    #: remaining runs of all workspaces
    runs: int
    size: int
    freed: int = 0
    #: dry run: nothing was removed
    dry: bool = False


@dataclass(frozen=True, slots=True)
class Divergence:
    """One location where two runs differ.

    `kind`: `values` (both stopped there, variables differ), `path` (they took different paths),
    `missing` (only one stopped there), `end` (how they ended), `output` (what they printed).
    """

    kind: str
    place: str
    function: str = ""
    #: number of the hit at this location
    hit: int = 0
    #: number of the stop in each run, None if it has none
    a_stop: int | None = None
    b_stop: int | None = None
    differences: tuple[Difference, ...] = ()
    #: names of equal variables
    equal: tuple[str, ...] = ()
    #: location of the second run, if different
    b_place: str = ""
    #: the source line, in each run
    a_text: str = ""
    b_text: str = ""


@dataclass(frozen=True, slots=True)
class RunDiff:
    a: Run
    b: Run
    divergences: tuple[Divergence, ...]
    #: equal stops before the first divergence, and the location of the last of them
    equal_stops: int
    last_equal: str | None = None
    #: divergences that are not listed
    more: int = 0
    #: files that were edited between the runs: their lines were mapped
    edited: tuple[str, ...] = ()
    #: locations where only one run had a breakpoint: not divergences
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
