"""Stops, frames, threads, breakpoints: what a debugger reports."""

from __future__ import annotations

from enum import StrEnum

from .fast_dataclass import dataclass
from .testing import FailingTest


class StopReason(StrEnum):
    ENTRY = "entry"
    BREAKPOINT = "breakpoint"
    STEP = "step"
    PAUSE = "pause"
    EXCEPTION = "exception"
    SIGNAL = "signal"
    WATCHPOINT = "watchpoint"
    JUMP = "jump"
    ATTACH = "attach"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a stack; index 0 is the innermost."""

    index: int
    function: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    module: str | None = None
    address: str | None = None
    #: not the user's code: folded in a backtrace
    library: bool = False
    #: `f7.0`: stop 7, frame 0
    handle: str | None = None
    #: reference for a debugger that provides the source itself
    source_reference: int = 0
    #: `n=3, name="x"`, if the debugger reports arguments with the frame
    arguments: str | None = None
    #: what a thread in this function waits for, if the function shows it
    waits: str | None = None
    #: optimized code: lines and variables may not match the source
    optimized: bool = False
    #: the task that runs in the innermost frame, or that awaits in this suspended frame
    task: str | None = None
    #: not on the stack: a coroutine that resumes when the task of the stack is done
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    id: int
    name: str
    state: str = "stopped"
    #: innermost frame, if it was requested
    frame: Frame | None = None
    current: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A task of an event loop that is not done."""

    name: str
    #: `running`, `waiting`, `ready`, `not started`
    state: str
    #: its innermost frame in the user's code
    frame: Frame | None = None
    #: what the task waits for: `asyncio.sleep`, `task fetch-2`, `gather of 3`
    awaits: str | None = None
    #: the task that awaits this one
    awaited_by: str | None = None


@dataclass(frozen=True, slots=True)
class TracebackLine:
    path: str
    line: int
    function: str
    text: str = ""
    #: not the user's code
    library: bool = False


@dataclass(frozen=True, slots=True)
class LinkedException:
    """An exception that preceded another one."""

    #: `cause`: the other was raised from it; `context`: the other was raised while handling it
    relation: str
    words: str


@dataclass(frozen=True, slots=True)
class ExceptionInfo:
    type: str
    message: str
    #: innermost last, as the language prints it
    traceback: tuple[TracebackLine, ...] = ()
    #: the traceback as the debugger printed it, if it could not be parsed
    raw_traceback: str = ""
    #: "KeyError: 'x'" of the exception that this one was raised from, and of its causes
    causes: tuple[str, ...] = ()
    #: the whole chain, nearest first; empty if the debugger reports causes only
    links: tuple[LinkedException, ...] = ()
    #: further lines besides the message: notes, the exceptions of a group, a worker's traceback
    details: tuple[str, ...] = ()
    #: `raised`, `uncaught`, `userUnhandled`, …: why the debugger stopped for it
    mode: str | None = None
    #: the test that fails with it, if that is known
    test: FailingTest | None = None


@dataclass(frozen=True, slots=True)
class WatchHit:
    """One hit of a watchpoint."""

    id: int
    expression: str
    #: its text before and after; None if the debugger does not report it
    old: str | None = None
    new: str | None = None
    #: the line of the access, if the program stopped at another one
    path: str | None = None
    line: int | None = None
    #: the watched variable went out of scope, and the watchpoint was removed
    ended: bool = False
    #: watchpoints hit by the same access, or ended at the same time
    also: tuple[WatchHit, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """Why and where the program stopped."""

    number: int
    reason: StopReason
    thread: Thread
    frame: Frame | None
    #: the debugger's description, if it says more than the reason
    description: str | None = None
    #: ids of the breakpoints that were hit
    breakpoints: tuple[int, ...] = ()
    exception: ExceptionInfo | None = None
    all_threads: bool = True
    watch: WatchHit | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """How the program ended. `code` and `signal` None: the debugger did not report it."""

    code: int | None = None
    signal: str | None = None
    #: `ended`, `killed`, `detached`, `lost`
    how: str = "ended"
    #: the last message of a debugger that was lost
    reason: str | None = None


class BreakpointState(StrEnum):
    REQUESTED = "wanted"  # not sent to a debugger yet; JSON answers have the text
    BOUND = "bound"
    PENDING = "pending"  # the debugger has no code for it yet
    REJECTED = "rejected"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A logical breakpoint with its binding."""

    id: int
    location: str
    state: BreakpointState
    #: the actual location; None until it is bound
    path: str | None = None
    line: int | None = None
    #: the requested line, if the debugger moved the breakpoint
    moved_from: int | None = None
    condition: str | None = None
    hit_count: str | None = None
    log: str | None = None
    temporary: bool = False
    #: the debugger's reason why it is pending or rejected
    message: str | None = None
    #: stops of the program there; None for a logpoint, whose messages no debugger counts
    hits: int | None = 0
    #: its file was edited after the program loaded it
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Watchpoint:
    id: int
    expression: str
    access: str
    condition: str | None = None
    verified: bool = True
    message: str | None = None
    #: how often it stopped the program
    hits: int = 0


@dataclass(frozen=True, slots=True)
class ExceptionFilter:
    """A class of exceptions that a debugger can stop at."""

    name: str
    label: str
    on: bool = False
    default: bool = False
    condition: str | None = None


#: The default filters of a debugger that is not known yet.
DEFAULT_FILTERS = ExceptionFilter("default", "what the debugger stops at by itself", on=True)
