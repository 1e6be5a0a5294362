"""What was recorded: runs, their stops, and what is found by asking and comparing them.

A *run* is one life of a program under a debugger. A *hit* is a stop at a place, counted from 1
within its run. Places are `file:line` with the file relative to the workspace.
"""

from __future__ import annotations

from .answers import Chunk
from .records import dataclass
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
    """One stop, as it was seen. Paths are relative to the workspace where they are below it."""

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
    #: how many frames there were, where that was known
    depth: int | None = None
    scopes: tuple[Scope, ...] = ()
    description: str | None = None
    exception: str | None = None
    breakpoints: tuple[int, ...] = ()
    watched: tuple[Watched, ...] = ()
    #: characters printed before it
    cursor: int = 0
    #: the command that led here
    command: str = ""
    #: a breakpoint on the function itself stopped it
    entry: bool = False


@dataclass(frozen=True, slots=True)
class SourceText:
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A whole run: what `export` writes and `replay` walks through."""

    run: Run
    workspace: str
    stops: tuple[RecordedStop, ...]
    sources: tuple[SourceText, ...] = ()
    output: tuple[Chunk, ...] = ()


# --- answers ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    """One row of a table of hits; `cells` are what its columns hold, None where there is none."""

    number: int
    stop: int
    at_s: float
    thread: int
    cells: tuple[str | None, ...] = ()
    reason: str = ""
    place: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True)
class HitTable:
    location: str
    run: Run
    #: at this place, before `where`
    total: int
    #: names of variables, or the expressions that were asked for
    columns: tuple[str, ...]
    hits: tuple[Hit, ...]
    #: how many there are with `where`, and the index of the first one here
    matched: int = 0
    start: int = 0
    where: str | None = None
    #: variables that were the same at every hit, with their text
    constant: tuple[Value, ...] = ()
    #: changing variables that got no column
    others: tuple[str, ...] = ()
    #: hits for which `where` could not be answered, and why
    unanswered: int = 0
    reason: str | None = None
    #: the words of the question, without how many rows are wanted
    asked: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HitGroup:
    value: str
    count: int
    #: numbers of the first and last hit in it
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
    #: groups that were left out by --top
    more: int = 0
    columns: tuple[str, ...] = ()
    #: hits for which there is no such value
    unanswered: int = 0
    #: the words of the question, without how many rows are wanted
    asked: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs; None on the side where it is not there."""

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
    #: names of what is the same
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
    #: hits without a number there, and what the first of them had instead
    skipped: int = 0
    instead: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """Something that happened. `kind`: start, stop, resume, output, breakpoint, child, exit."""

    cursor: int
    #: seconds since 1970
    time: float
    session: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class EventList:
    events: tuple[SessionEvent, ...]
    #: pass it to --since to go on from here
    end: int
    #: events before the first one here that are kept no more
    dropped: int = 0
    #: events left out by --tail
    skipped: int = 0
    waited_s: float | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """`save`, `import`: a run, and what was done: `saved`, `imported`."""

    run: Run
    done: str
    note: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exported:
    path: str
    #: `html` or `jsonl`
    format: str
    run: Run
    size: int


@dataclass(frozen=True, slots=True)
class Pruned:
    removed: tuple[Run, ...]
    #: what is left, over all workspaces
    runs: int
    size: int
    freed: int = 0
    #: nothing was removed, this is what would be
    dry: bool = False


@dataclass(frozen=True, slots=True)
class Divergence:
    """One place where two runs differ.

    `kind`: `values` (both were there, variables differ), `path` (they went different ways),
    `missing` (only one of them came there), `end` (how they ended), `output` (what they printed).
    """

    kind: str
    place: str
    function: str = ""
    #: which hit of the place
    hit: int = 0
    #: numbers of the stops in each run, None where it has none
    a_stop: int | None = None
    b_stop: int | None = None
    differences: tuple[Difference, ...] = ()
    #: names of what is the same there
    equal: tuple[str, ...] = ()
    #: where the second run was, when not at the same place
    b_place: str = ""
    #: the line of source there, in each run
    a_text: str = ""
    b_text: str = ""


@dataclass(frozen=True, slots=True)
class RunDiff:
    a: Run
    b: Run
    divergences: tuple[Divergence, ...]
    #: stops that were equal before the first divergence, and where the last of them was
    equal_stops: int
    last_equal: str | None = None
    #: divergences that are not listed
    more: int = 0
    #: files whose text differs between the runs: lines were matched through the change
    edited: tuple[str, ...] = ()
    #: places that only one run was watched at, so that nothing follows from them
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
