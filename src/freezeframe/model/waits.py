"""Threads and tasks that wait: for what, and who holds it. The facts of a hang, and its answer."""

from __future__ import annotations

from .answers import Output
from .calls import CallSite, LineOfCall
from .fast_dataclass import dataclass
from .stops import Exit


@dataclass(frozen=True, slots=True)
class Wait:
    """A thread or task that waits."""

    #: identifies the thread or task among those of one program
    waiter: str
    #: as the answer names it: `thread 2 (teller)`, `task one`
    name: str
    #: what it waits for: `lock`, `join`, `task`, `queue`, `future`, `condition`, `sleep`, `child`,
    #: `input`, `io`; empty: the debugger only knows the call
    kind: str = ""
    #: in words of the source: `audit_lock`, `queue.Queue.join`
    what: str = ""
    #: the identity of the lock or queue; None if it is unknown
    resource: str | None = None
    #: the threads or tasks that must go on first, as the program itself records them
    targets: tuple[str, ...] = ()
    #: one of `targets` is enough
    is_any: bool = False
    at: CallSite | None = None
    #: further facts: `3 of 7 items are not done`
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Hold:
    """A lock that a thread or task has taken."""

    holder: str
    resource: str
    #: where it was taken
    at: CallSite | None = None
    #: the statement shows that it is still held; False: it was not seen to be released
    is_certain: bool = False


@dataclass(frozen=True, slots=True)
class WaitFacts:
    """All waits of a program at one moment, and the locks that are held."""

    waits: tuple[Wait, ...] = ()
    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has what somebody waits for."""

    name: str
    #: where it was taken; None if only the lock itself names its owner
    at: CallSite | None = None
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class Waiter:
    """One wait of the answer, with its holders."""

    name: str
    what: str
    at: CallSite | None = None
    holders: tuple[Holder, ...] = ()
    detail: str = ""
    kind: str = ""
    #: waits of other threads at the same location
    alike: int = 0


@dataclass(frozen=True, slots=True)
class LoopValue:
    """A variable of the loop: its value, or how it grows."""

    name: str
    value: str
    #: what a round adds: `+1 a round`; empty for a value that does not change
    growth: str = ""


@dataclass(frozen=True, slots=True)
class LoopReport:
    """The loop that does not end, and one round of it."""

    path: str
    line: int
    text: str
    function: str
    rounds: int = 0
    #: read by the condition or an exit of the loop, the same in each round
    unchanged: tuple[LoopValue, ...] = ()
    grows: tuple[LoopValue, ...] = ()
    #: values that return to what they were: the rounds repeat
    repeats: tuple[LoopValue, ...] = ()
    #: the lines of the last round that was seen
    lines: tuple[LineOfCall, ...] = ()


@dataclass(frozen=True, slots=True)
class HangReport:
    """`hang`: why a program makes no progress, or how it ended."""

    program: str
    #: `deadlock`, `waits`, `loop`, `busy`, `ended`, `stopped`
    how: str
    #: seconds without output before the program was examined
    quiet_s: float = 0.0
    #: share of one processor that it used meanwhile; None if unknown
    processor: float | None = None
    samples: int = 0
    #: the innermost user frame that is in all samples
    frame: CallSite | None = None
    #: the thread of that frame, if there are several
    thread: str = ""
    #: values of that frame
    values: tuple[LoopValue, ...] = ()
    loop: LoopReport | None = None
    #: the threads or tasks that wait for each other, in order; the last one waits for the first
    cycle: tuple[Waiter, ...] = ()
    #: every link of the cycle was observed
    is_certain: bool = True
    waits: tuple[Waiter, ...] = ()
    #: what the program is after the answer: `stopped`, `running`, `ended`, `detached`
    left: str = "ended"
    exit: Exit | None = None
    output: Output = Output()
    pid: int | None = None
    notes: tuple[str, ...] = ()
    via: str | None = None
    next: tuple[str, ...] = ()
