"""Stops, frames, threads, breakpoints: what a debugger reports."""

from __future__ import annotations

from enum import StrEnum

from .records import dataclass


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
    #: not the user's own code: folded in a backtrace
    library: bool = False
    #: `f7.0`: stop 7, frame 0
    handle: str | None = None
    #: for a debugger that holds the source itself
    source_reference: int = 0
    #: `n=3, name="x"`, where the debugger tells it with the frame
    arguments: str | None = None
    #: what a thread in this function waits for, where the function tells
    waits: str | None = None
    #: the compiler has optimised it: lines and variables need not be what the source says
    optimized: bool = False
    #: the task that runs in it, of the innermost frame; or, where it is suspended, that awaits here
    task: str | None = None
    #: not on the stack: a coroutine that goes on when the task of the stack is done
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    id: int
    name: str
    state: str = "stopped"
    #: innermost frame, where it was asked for
    frame: Frame | None = None
    current: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A task of an event loop that is not done."""

    name: str
    #: `running`, `waiting`, `ready`, `not started`
    state: str
    #: where it stands in the user's own code
    frame: Frame | None = None
    #: what it waits for: `asyncio.sleep`, `task fetch-2`, `gather of 3`
    awaits: str | None = None
    #: the task that goes on when this one is done
    awaited_by: str | None = None


@dataclass(frozen=True, slots=True)
class TracebackLine:
    path: str
    line: int
    function: str
    text: str = ""
    #: not the user's own code
    library: bool = False


@dataclass(frozen=True, slots=True)
class LinkedException:
    """An exception that came before another one."""

    #: `cause`: the other was raised from it; `context`: it was being handled then
    relation: str
    words: str


@dataclass(frozen=True, slots=True)
class ExceptionInfo:
    type: str
    message: str
    #: innermost last, as the language prints it
    traceback: tuple[TracebackLine, ...] = ()
    #: the traceback in the debugger's words where its lines could not be read
    raw_traceback: str = ""
    #: "KeyError: 'x'" of the exception that this one was raised from, and of those before that
    causes: tuple[str, ...] = ()
    #: the whole chain, nearest first; empty where the debugger tells causes alone
    links: tuple[LinkedException, ...] = ()
    #: lines of its own beside the message: notes, the exceptions of a group, a worker's traceback
    details: tuple[str, ...] = ()
    #: `raised`, `uncaught`, `userUnhandled`, …: why the debugger stopped for it
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class WatchHit:
    """What a watchpoint saw."""

    id: int
    expression: str
    #: its text before and after; None where the debugger does not say
    old: str | None = None
    new: str | None = None
    #: the line that did it, when the program stands elsewhere by now
    path: str | None = None
    line: int | None = None
    #: what it watched has gone out of scope, and the watchpoint with it
    ended: bool = False
    #: watchpoints that saw the same access, or have ended at the same moment
    also: tuple[WatchHit, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """Why and where the program stands still."""

    number: int
    reason: StopReason
    thread: Thread
    frame: Frame | None
    #: the debugger's own words, when they say more than the reason
    description: str | None = None
    #: our ids of the breakpoints that were hit
    breakpoints: tuple[int, ...] = ()
    exception: ExceptionInfo | None = None
    all_threads: bool = True
    watch: WatchHit | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """How the program ended. Both None: the debugger did not say."""

    code: int | None = None
    signal: str | None = None
    #: `ended`, `killed`, `detached`, `lost`
    how: str = "ended"
    #: last words of a debugger that was lost
    reason: str | None = None


class BreakpointState(StrEnum):
    WANTED = "wanted"  # no session has it yet
    BOUND = "bound"
    PENDING = "pending"  # the debugger has it, and no code for it yet
    REJECTED = "rejected"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A breakpoint as the user wants it and as the debugger has it."""

    id: int
    location: str
    state: BreakpointState
    #: where it really is; None until it is bound
    path: str | None = None
    line: int | None = None
    #: the line asked for, when the debugger moved it
    moved_from: int | None = None
    condition: str | None = None
    hit_count: str | None = None
    log: str | None = None
    temporary: bool = False
    #: the debugger's reason why it is pending or rejected
    message: str | None = None
    hits: int = 0
    #: its file has another text than the one that the program runs
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Watchpoint:
    id: int
    expression: str
    access: str
    condition: str | None = None
    verified: bool = True
    message: str | None = None


@dataclass(frozen=True, slots=True)
class ExceptionFilter:
    """A class of exceptions that a debugger can stop at."""

    name: str
    label: str
    on: bool = False
    default: bool = False
    condition: str | None = None


#: Stands for whatever a debugger that is not known yet stops at by itself.
DEFAULT_FILTERS = ExceptionFilter("default", "what the debugger stops at by itself", on=True)
