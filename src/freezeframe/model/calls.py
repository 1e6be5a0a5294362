"""What one call of a function did, and what several calls did: the answers of `trace`."""

from __future__ import annotations

from .fast_dataclass import dataclass
from .stops import Exit


@dataclass(frozen=True, slots=True)
class CallArgument:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class LineChange:
    """What a line changed: one value for each execution that changed it, in order."""

    name: str
    #: an empty text: the variable was deleted
    values: tuple[str, ...]
    #: before the first of them; None: there was none
    old: str | None = None


@dataclass(frozen=True, slots=True)
class LineOfCall:
    """A line that a call executed; in a loop, all its executions together."""

    line: int
    text: str
    #: how many loops are around the line
    depth: int = 0
    times: int = 1
    changes: tuple[LineChange, ...] = ()
    #: of a condition: the rounds of the loop where it held, and where it did not, counted from 1;
    #: outside a loop there is one round
    taken_in: tuple[int, ...] = ()
    not_taken_in: tuple[int, ...] = ()
    #: of the head of a loop
    rounds: int | None = None
    #: the rounds of the loop around the line that executed it; empty: all of them
    in_rounds: tuple[int, ...] = ()
    #: an exception that left the line
    raised: str | None = None


@dataclass(frozen=True, slots=True)
class CallSite:
    path: str
    line: int
    function: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class CallReport:
    """The life of one call: its arguments, its lines, how it ended."""

    function: str
    path: str
    line: int
    #: the line of the call where its lines begin, and the number of calls, if it is known
    number: int = 1
    calls: int | None = None
    #: there may be more calls than `calls`
    at_least: bool = False
    #: the condition that the call was chosen by
    condition: str | None = None
    arguments: tuple[CallArgument, ...] = ()
    lines: tuple[LineOfCall, ...] = ()
    #: None: it returned nothing, or the debugger does not tell
    returned: str | None = None
    raised: str | None = None
    #: the line that it left at, where that is neither a return statement nor its last line
    left_at: int | None = None
    #: False: it had not ended when the recording did
    ended: bool = True
    called_from: CallSite | None = None
    #: calls of the same function that were made inside of this one
    recursive: int = 0
    #: the limit that ended the recording: `steps`, `bytes`, `seconds`; and the steps until then
    limit: str | None = None
    steps: int = 0
    #: breakpoints that were hit meanwhile and passed: id and how often
    passed: tuple[tuple[int, int], ...] = ()
    #: where the program is stopped now; None: it was started for this answer, or has ended
    now: CallSite | None = None
    exit: Exit | None = None
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call in a table of calls."""

    number: int
    arguments: tuple[CallArgument, ...] = ()
    #: the line that it left at, and its text
    left_at: int | None = None
    left_text: str = ""
    returned: str | None = None
    raised: str | None = None
    ended: bool = True


@dataclass(frozen=True, slots=True)
class CallTable:
    """Several calls of one function."""

    function: str
    path: str
    line: int
    rows: tuple[CallRow, ...] = ()
    #: there may be more calls
    at_least: bool = False
    limit: str | None = None
    now: CallSite | None = None
    exit: Exit | None = None
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
