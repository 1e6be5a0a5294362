"""What a session needs from a debugger, whatever way it is spoken to.

A backend reports everything that happens through one sink, in the order in which it happened,
and never decides what a session's phase is. Ids of threads, frames and values are the
debugger's own and live until the program resumes; the session wraps them in handles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from freezeframe.model.answers import Instruction
from freezeframe.model.places import Location
from freezeframe.model.records import dataclass, field
from freezeframe.model.stops import (
    DEFAULT_FILTERS,
    ExceptionFilter,
    ExceptionInfo,
    Exit,
    StopReason,
    Thread,
    WatchHit,
)

from .builds.recipe import Recipe
from .forks import Forks
from .raw_values import RawFrame as RawFrame
from .raw_values import RawScope as RawScope
from .raw_values import RawValue as RawValue

# --- what to debug ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to start. Paths are absolute; `env` is the whole environment of the caller."""

    program: str
    args: tuple[str, ...] = ()
    cwd: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)
    #: `program` is a module of the language, not a file (`-m pytest`)
    module: bool = False
    stop_on_entry: bool = False
    #: a file to read standard input from; None: a pipe that `write_stdin` feeds
    stdin: str | None = None
    #: its standard streams are a terminal of its own
    tty: bool = False
    follow_children: bool = True
    forks: Forks = Forks.PARENT
    #: stop in the user's code only; frames of libraries are stepped over
    just_my_code: bool = False
    interpreter: str | None = None  # the runtime to run it with, where the user names one
    interpreter_args: tuple[str, ...] = ()  # that runtime's own: `-O`, `--import tsx`, `-Ilib`
    #: adapter-specific launch arguments, merged last
    options: Mapping[str, object] = field(default_factory=dict)
    #: `program` as the user wrote it, where that means the same in `cwd`; what it sees as its name
    written: str | None = None
    #: how `program` was made of its source; None: it was there
    recipe: Recipe | None = None

    @property
    def named(self) -> str:
        """What the user called it: the source, where the program was built."""
        return self.recipe.source if self.recipe is not None else self.program


@dataclass(frozen=True, slots=True)
class Attach:
    """A live program to join: a process here, or a debug server."""

    pid: int | None = None
    host: str | None = None
    port: int | None = None
    program: str | None = None
    #: it is to stay where joining stopped it
    hold: bool = False
    cwd: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)
    follow_children: bool = True
    forks: Forks = Forks.PARENT
    just_my_code: bool = False
    interpreter: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Core:
    """A dead program to look at."""

    program: str
    core: str
    cwd: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)


Target = Launch | Attach | Core


# --- what it can do -----------------------------------------------------------------------------


class Feature(StrEnum):
    """What a debugger may lack. What every debugger has is not listed."""

    FUNCTION_BREAKPOINTS = "function breakpoints"
    CONDITIONS = "conditions"
    HIT_COUNTS = "hit counts"
    LOGPOINTS = "logpoints"
    ADDRESS_BREAKPOINTS = "address breakpoints"
    WATCHPOINTS = "watchpoints"
    EXCEPTIONS = "exception filters"
    EXCEPTION_TYPES = "exception filters by type"
    SET = "assignment"
    JUMP = "jump"
    FORCE_RETURN = "forced returns"
    RESTART_FRAME = "restart of a frame"
    MEMORY_READ = "memory read"
    MEMORY_WRITE = "memory write"
    REGISTERS = "registers"
    DISASSEMBLE = "disassemble"
    INSTRUCTION_STEP = "instruction stepping"
    STEP_BACK = "reverse execution"
    SINGLE_THREAD = "resuming one thread"
    STDIN = "program input"
    RAW = "raw commands"
    PAUSE = "pause"
    DETACH = "detach"
    RESTART = "restart in place"
    SAVE_CORE = "core files of a live program"
    RUNNING_STACKS = "stacks of a running program"


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """Who does the work: `via debugpy 1.8.22`."""

    name: str
    version: str | None
    kind: str  # dap, console, inspector
    command: tuple[str, ...] = ()
    interpreter: str | None = None
    joint: str = "."  # between a value and a field of it, as its language writes that

    def __str__(self) -> str:
        return f"{self.name} {self.version}" if self.version else self.name


# --- what a session asks ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WantedBreakpoint:
    """One breakpoint to set; `id` is the session's, `location.file` is absolute."""

    id: int
    location: Location
    condition: str | None = None
    hit_count: str | None = None
    log: str | None = None


@dataclass(frozen=True, slots=True)
class BoundBreakpoint:
    """What the debugger made of it."""

    id: int
    verified: bool
    path: str | None = None
    line: int | None = None
    message: str | None = None
    #: the debugger will never bind it (bad condition, no such line)
    rejected: bool = False
    #: its file has another text than the one that the program runs; None where nothing tells
    edited: bool | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything that must be in place before the program's first line runs."""

    breakpoints: Sequence[WantedBreakpoint] = ()
    #: exception filters; None means the debugger's own defaults
    filters: Sequence[ExceptionFilter] | None = None

    def filters_among(self, offered: Sequence[ExceptionFilter]) -> list[ExceptionFilter]:
        """Return the filters to set, of those that a debugger offers."""
        names = {filter.name for filter in offered}
        chosen = [filter for filter in self.filters or () if filter.name in names]
        if self.filters is None or DEFAULT_FILTERS in self.filters:
            named = {filter.name for filter in chosen}
            chosen += [each for each in offered if each.default and each.name not in named]
        return chosen


class StepKind(StrEnum):
    OVER = "over"
    INTO = "into"
    OUT = "out"


# --- what a debugger reports --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Initialized:
    """The debugger takes breakpoints now; the program has not run yet."""


@dataclass(frozen=True, slots=True)
class Stopped:
    reason: StopReason
    thread: int | None
    description: str | None = None
    #: the debugger's further words (an exception's message)
    text: str | None = None
    #: our ids
    breakpoints: tuple[int, ...] = ()
    all_threads: bool = True
    watch: WatchHit | None = None


@dataclass(frozen=True, slots=True)
class Continued:
    thread: int | None = None
    all_threads: bool = True


@dataclass(frozen=True, slots=True)
class Printed:
    """`stream`: stdout, stderr, log (a logpoint), console (the debugger's own words)."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class ProcessStarted:
    pid: int | None
    name: str | None = None
    #: its own command line, of a process that nobody here started
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadChanged:
    thread: int
    alive: bool


@dataclass(frozen=True, slots=True)
class BreakpointMoved:
    """The debugger bound, moved or lost a breakpoint after it had answered."""

    breakpoint: BoundBreakpoint


@dataclass(frozen=True, slots=True)
class CapabilitiesChanged:
    pass


@dataclass(frozen=True, slots=True)
class ChildStarted:
    """A child process that waits to be debugged. Whoever takes it calls `backend.start`."""

    backend: Backend
    target: Target
    pid: int | None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The debuggee is gone. Nothing follows it."""

    exit: Exit


Event = (
    Initialized
    | Stopped
    | Continued
    | Printed
    | ProcessStarted
    | ThreadChanged
    | BreakpointMoved
    | CapabilitiesChanged
    | ChildStarted
    | Ended
)
Sink = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Passed:
    """What a stop at breakpoints comes down to."""

    breakpoints: tuple[int, ...]
    #: by id: why the condition could not be evaluated, in the language's words
    failures: Mapping[int, str] = field(default_factory=dict)


class Backend(Protocol):
    """One debugger at work on one process.

    Every method may raise DebuggerError (in the debugger's words), DebuggerLost or
    DebuggerTimeout. Every wait is bounded. After `Ended` every method but `dispose` raises
    DebuggerLost.
    """

    @property
    def tool(self) -> ToolInfo: ...

    @property
    def features(self) -> frozenset[Feature]: ...

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        """The exception filters that it offers."""

    @property
    def advertised(self) -> Mapping[str, object]:
        """What the debugger itself says it can do, for `tool`."""

    def unsupported_hint(self, feature: Feature) -> str | None:
        """A command that comes nearest to a feature it lacks."""

    # life
    async def start(
        self, target: Target, configuration: Configuration, sink: Sink
    ) -> Sequence[BoundBreakpoint]:
        """Start or join the program, everything in *configuration* in place before it runs."""

    async def terminate(self) -> None:
        """End the program and its debugger; bounded, and forced when it does not go."""

    async def detach(self) -> None:
        """Leave the program running without a debugger."""

    async def dispose(self) -> None:
        """Release everything. Never raises, may be called twice, kills what is left."""

    @property
    def lingering(self) -> bool:
        """A program that was detached from still writes into pipes of ours."""

    # breakpoints
    async def set_breakpoints(
        self, path: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        """Make *wanted* the breakpoints of that file, all others of it removed."""

    async def set_function_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]: ...

    async def set_address_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]: ...

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None: ...

    async def passed(self, breakpoints: Sequence[int]) -> Passed:
        """Tell which of the breakpoints that a stop names really made the program stop.

        Only asked at that stop. Costs a round trip where one of them has a condition.
        """

    def check_condition(self, expression: str, path: str | None) -> str | None:
        """Why *expression* can never be evaluated, or None when nothing speaks against it."""

    def check_log(self, message: str, path: str | None) -> str | None:
        """Why a logpoint's *message* can never be filled in, or None."""

    # execution: each returns when the debugger took the request; what follows is an event
    async def resume(self, thread: int | None, *, only: bool = False) -> None: ...
    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None: ...
    async def pause(self, thread: int | None) -> None: ...
    async def jump(self, thread: int, path: str, line: int) -> None: ...

    # seeing
    async def threads(self) -> Sequence[Thread]: ...
    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        """Return frames and how many there are in all, where the debugger says."""

    async def scopes(self, frame: int) -> Sequence[RawScope]: ...
    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]: ...
    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        """Return the value of *expression*; with *statement* anything the language runs.

        Raises EvaluationFailed in the words of the program's language.
        """

    async def in_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        """Return a value and its children with whole numbers as bits in hexadecimal.

        None where the debugger has no way to show them so.
        """

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        """Assign, and return the value read back. Raises EvaluationFailed when it did not take."""

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        """Return the names of a function's arguments, where scopes do not tell them apart."""

    def slice_expression(self, expression: str, start: int, end: int) -> str | None:
        """Return an expression for a part of a container; None where the language has none."""

    async def exception(self, thread: int) -> ExceptionInfo | None: ...
    async def source(self, reference: int, path: str | None) -> str: ...
    def drain(self) -> None:
        """Report at once, through the sink, all output that has already arrived."""

    # program input
    async def write_stdin(self, data: bytes) -> None: ...
    async def close_stdin(self) -> None: ...

    # machine level
    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]: ...
    async def write_memory(self, address: str, data: bytes) -> int: ...
    async def disassemble(
        self, address: str, count: int, offset: int = 0
    ) -> Sequence[Instruction]: ...
    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint: ...
    async def unwatch(self, id: int) -> None: ...

    async def save_core(self, path: str) -> None:
        """Write the memory of the stopped program into a file that `Core` can open."""

    async def raw(self, command: str, frame: int | None) -> str: ...


@runtime_checkable
class Reverses(Protocol):
    """What a backend with Feature.STEP_BACK can do besides."""

    async def step_back(self, thread: int, kind: StepKind | None = StepKind.OVER) -> None:
        """Undo a step, or without a kind go back to the breakpoint before. Raises DebuggerError."""


@runtime_checkable
class TellsUnfollowed(Protocol):
    """What a backend that follows children can tell besides, when the program has ended."""

    @property
    def unfollowed(self) -> tuple[str, ...]:
        """Children that ran without the debugger: their command lines, and why."""
