"""A trace: every step of chosen code, as a driver recorded it.

A *step* is one execution of a line in a frame. What happened inside of the step (the calls it made)
are frames of their own, whose `caller` is that step. A generator or coroutine that is suspended and
resumed is one frame. Steps are numbered in the order in which they began, over all threads.

What reads a trace knows no language and no driver: lines, names, values.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from enum import StrEnum
from operator import attrgetter
from typing import Protocol

from .fast_dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class TracedValue:
    """A value as it was at one moment."""

    #: bounded; made without running code of the program
    text: str
    type: str = ""
    #: the identity of an object that has parts (fields, elements): the same number through the
    #: whole trace, never used again for another object; None for a value without parts, and for
    #: one whose identity the driver does not know (it steps, and the debugger shows no address)
    object: int | None = None

    def text_at(self, step: int) -> str | None:
        """Return the text of the object when a step began; None if the trace does not say it."""
        return None


@dataclass(frozen=True, slots=True)
class Write:
    """A binding that changed: a variable, or a part of an object."""

    #: the variable; of a part, how the language writes it after its owner: `.total`, `['rate']`.
    #: The driver that steps does not know which object owns a part: it gives the path from a
    #: variable of the frame, without an owner: `cart.total`, `items[2]`
    name: str
    #: None: the binding was deleted
    new: TracedValue | None
    #: None: there was no such binding before, or it is unknown
    old: TracedValue | None = None
    #: the object whose part this is; None for a variable
    owner: int | None = None
    #: the frame whose variable this is, where it is not the frame of the step (a nonlocal
    #: variable); a global variable is a part of its module's namespace, an object
    frame: int | None = None
    #: False: the change was seen after this step, but code that was not traced made it
    by_step: bool = True


@dataclass(frozen=True, slots=True)
class Read:
    """A value that a line reads, other than a variable of its own frame, before it is executed."""

    #: as the source has it: `cfg['rate']`, `self.total`, `LIMIT`
    expression: str
    value: TracedValue
    #: the object that holds it, and its part, as in `Write`
    owner: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One execution of a line."""

    number: int
    frame: int
    line: int
    #: what the line changed, calls that it made excluded: their steps have their own changes
    writes: tuple[Write, ...] = ()
    reads: tuple[Read, ...] = ()
    #: an exception that left the line, as `Type: message`
    raised: str | None = None
    #: what the line yielded or awaited, if it suspended its frame
    yielded: TracedValue | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its own frame's variables among `writes`."""
        return tuple(
            each.name
            for each in self.writes
            if each.owner is None and each.frame in (None, self.frame)
        )


class FrameKind(StrEnum):
    FUNCTION = "function"
    GENERATOR = "generator"
    COROUTINE = "coroutine"
    MODULE = "module"
    CLASS = "class"
    #: a comprehension or generator expression
    COMPREHENSION = "comprehension"


@dataclass(slots=True)
class TracedFrame:
    """One call of a function."""

    number: int
    function: str
    path: str
    first_line: int
    kind: FrameKind = FrameKind.FUNCTION
    #: the step that called it; None if code that was not traced did
    caller: int | None = None
    #: the position of the call in the caller's source: line, column, end line, end column
    call_site: tuple[int, int, int, int] | None = None
    thread: str = ""
    task: str | None = None
    #: the process, where it is not the program's first one
    process: int | None = None
    #: the object whose parts are the global variables of its module
    namespace: int | None = None
    #: the variables at its beginning, in the order of its parameters
    arguments: tuple[tuple[str, TracedValue], ...] = ()
    returned: TracedValue | None = None
    #: `Type: message` of the exception that left the frame
    raised: str | None = None
    #: how many steps of it were not kept
    dropped: int = 0
    #: the name that its caller has for it, where it is not the function's own
    called_as: str = ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a limit left out of a trace, between its first and its last part."""

    steps: int = 0
    #: the limit that was reached: `events`, `bytes`, `seconds`
    limit: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a traced run ended, to be compared with the run that it repeats."""

    #: `exited`, `raised`, `reached` (the point that was asked for), `timeout`, `killed`
    how: str
    exit_code: int | None = None
    #: `Type: message`, and where it was raised
    exception: str | None = None
    path: str | None = None
    line: int | None = None
    #: the step in which the exception was raised, or at which recording ended; None: unknown
    step: int | None = None


@dataclass(frozen=True, slots=True)
class TraceUntil:
    """Where recording ends; without it, where the program does."""

    #: the line that is reached for the *hit*-th time: recording ends before it is executed
    path: str | None = None
    line: int | None = None
    hit: int = 1
    #: the first failure of a test, where the runner has decided that it is one
    failure: bool = False


@dataclass(frozen=True, slots=True)
class TraceLimits:
    """How much is kept; the first and the last part of a longer trace."""

    steps: int = 1_000_000
    bytes: int = 200_000_000
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What a driver records of a run."""

    #: directories whose code is traced; libraries inside of them are not
    roots: tuple[str, ...]
    until: TraceUntil = TraceUntil()
    #: trace only functions of these names (`f`, `Class.f`), and what is defined in them
    functions: tuple[str, ...] = ()
    limits: TraceLimits = TraceLimits()
    #: end the program where recording ends
    ends_program: bool = True


class TraceChanges(Protocol):
    """What a driver knows of changes without reading each step; numbers of steps, in any order."""

    def of_object(self, owner: int) -> Iterable[int]:
        """Return the steps with writes of parts of an object."""
        ...

    def of_frame(self, frame: int) -> Iterable[int]:
        """Return the steps of other frames with writes of a frame's variables."""
        ...


@dataclass(slots=True)
class Trace:
    """The frames and steps of one run; frames by number, steps in order."""

    frames: dict[int, TracedFrame] = field(default_factory=dict)
    steps: list[TracedStep] = field(default_factory=list)
    outcome: Outcome = Outcome("exited")
    dropped: Dropped = Dropped()
    #: what the driver could not record, in sentences for the reader
    remarks: tuple[str, ...] = ()
    #: the end of what the program wrote, both streams in the order in which they were read
    output: str = ""
    #: None: only the steps tell. It may tell of steps that the trace does not have
    changes: TraceChanges | None = None
    #: the expression whose chain decided which calls were entered; None: every call was
    entered_for: str | None = None

    def step(self, number: int) -> TracedStep | None:
        """Return the step of that number; None if it was dropped or never was."""
        at = bisect_left(self.steps, number, key=attrgetter("number"))
        found = self.steps[at] if at < len(self.steps) else None
        return found if found is not None and found.number == number else None
