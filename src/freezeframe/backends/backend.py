"""The interface between a session and a debugger, whatever protocol the debugger uses.

A backend reports all events through one sink, in the order in which they happened, and never
decides the phase of a session. Ids of threads, frames and values are the debugger's and are valid
until the program resumes; the session wraps them in handles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar, Protocol

from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.locations import Location
from freezeframe.model.stops import (
    DEFAULT_FILTERS,
    ExceptionFilter,
    ExceptionInfo,
    Exit,
    StopReason,
    Thread,
    WatchHit,
)

from .builds.build_plan import BuildPlan
from .fork_modes import ForkMode
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
    #: a file to read standard input from; None: a pipe that `write_stdin` writes to
    stdin: str | None = None
    #: the standard streams are a new terminal
    tty: bool = False
    follow_children: bool = True
    forks: ForkMode = ForkMode.PARENT
    #: stop only in the user's code; library frames are stepped over
    just_my_code: bool = False
    interpreter: str | None = None  # the runtime to run the program with, if given
    interpreter_args: tuple[str, ...] = ()  # options of that runtime: `-O`, `--import tsx`, `-Ilib`
    #: adapter-specific launch arguments, merged last
    options: Mapping[str, object] = field(default_factory=dict)
    #: `program` as the user wrote it, if that is the same file in `cwd`; becomes its argv[0]
    written: str | None = None
    #: how `program` was built from its source; None: it was not built here
    recipe: BuildPlan | None = None
    #: `program` is ours and only runs a command, whose processes are followed
    runs_command: bool = False
    #: the name of the test runner that the program is, if it was started to run tests
    runner: str | None = None
    #: of `args`, what the user gave for that runner, besides the selection
    runner_args: tuple[str, ...] = ()

    @property
    def enters_program(self) -> bool:
        """Whether this process stops at its first line."""
        return self.stop_on_entry and not self.runs_command

    def of_child(self, *, first: bool) -> Launch:
        """Return the target of a child process; the *first* one of a command is its program."""
        entry = first and self.runs_command and self.stop_on_entry
        return replace(self, stop_on_entry=entry, runs_command=False)

    @property
    def named(self) -> str:
        """The path the user gave: the source, if the program was built from it."""
        return self.recipe.source if self.recipe is not None else self.program


@dataclass(frozen=True, slots=True)
class Attach:
    """A running program to attach to: a local process, or a debug server."""

    pid: int | None = None
    host: str | None = None
    port: int | None = None
    program: str | None = None
    #: the simulator in which the process runs, with its UDID
    simulator: str | None = None
    #: leave the program stopped after attaching
    stay_stopped: bool = False
    cwd: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)
    follow_children: bool = True
    forks: ForkMode = ForkMode.PARENT
    just_my_code: bool = False
    interpreter: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    #: it has begun
    enters_program: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Core:
    """A core file to inspect."""

    program: str
    core: str
    cwd: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)
    #: it has ended
    enters_program: ClassVar[bool] = False


Target = Launch | Attach | Core


# --- capabilities -----------------------------------------------------------------------------


class Feature(StrEnum):
    """Features that a debugger may lack. Those of every debugger are not listed."""

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


#: The command that comes closest to a feature, where a debugger has nothing nearer.
_ALTERNATIVES: Mapping[Feature, str] = MappingProxyType(
    {
        Feature.WATCHPOINTS: "dbg break FILE:LINE -c 'EXPR'",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.REGISTERS: "dbg locals",
        Feature.MEMORY_READ: "dbg print EXPR",
        Feature.MEMORY_WRITE: "dbg set NAME VALUE",
        Feature.DISASSEMBLE: "dbg source",
        Feature.INSTRUCTION_STEP: "dbg step",
        Feature.STEP_BACK: "dbg restart",
        Feature.SINGLE_THREAD: "dbg continue",
        Feature.JUMP: "dbg restart",
        Feature.DETACH: "dbg continue --no-wait",
        Feature.RESTART: "dbg restart",
        Feature.FORCE_RETURN: "dbg finish",
        Feature.RESTART_FRAME: "dbg restart",
    }
)


def alternative(feature: Feature, own: Mapping[Feature, str]) -> str:
    """Return the command that comes closest to a feature the debugger lacks; *own*: its rows."""
    return own.get(feature) or _ALTERNATIVES.get(feature, "dbg tool")


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """The debugger in use: `via debugpy 1.8.22`."""

    name: str
    version: str | None
    kind: str  # dap, console, inspector
    command: tuple[str, ...] = ()
    interpreter: str | None = None
    joint: str = "."  # the language's separator of a value and its field
    mutable: bool = True  # variables of the language can change

    def __str__(self) -> str:
        return f"{self.name} {self.version}" if self.version else self.name


# --- requests ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BreakpointRequest:
    """One breakpoint to set; `id` is the session's, `location.file` is absolute."""

    id: int
    location: Location
    condition: str | None = None
    hit_count: str | None = None
    log: str | None = None


@dataclass(frozen=True, slots=True)
class BoundBreakpoint:
    """How the debugger bound a requested breakpoint."""

    id: int
    verified: bool
    path: str | None = None
    line: int | None = None
    message: str | None = None
    #: the debugger will never bind it (bad condition, no such line)
    rejected: bool = False
    #: the file differs from the one that the program runs; None if unknown
    edited: bool | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything that must be set before the program's first line runs."""

    breakpoints: Sequence[BreakpointRequest] = ()
    #: exception filters; None: the debugger's defaults
    filters: Sequence[ExceptionFilter] | None = None

    def filters_among(self, offered: Sequence[ExceptionFilter]) -> list[ExceptionFilter]:
        """Return the filters to set, among those that a debugger offers."""
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


# --- events --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Initialized:
    """The debugger accepts breakpoints; the program has not run yet."""


@dataclass(frozen=True, slots=True)
class Stopped:
    reason: StopReason
    thread: int | None
    description: str | None = None
    #: additional text of the debugger (an exception's message)
    text: str | None = None
    #: session ids of the breakpoints that were hit
    breakpoints: tuple[int, ...] = ()
    all_threads: bool = True
    watch: WatchHit | None = None


@dataclass(frozen=True, slots=True)
class Continued:
    thread: int | None = None
    all_threads: bool = True


@dataclass(frozen=True, slots=True)
class OutputEvent:
    """`stream`: stdout, stderr, log (a logpoint), console (the debugger's output)."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class ProcessStarted:
    pid: int | None
    name: str | None = None
    #: the command line of a process that was not started by us
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadChanged:
    thread: int
    alive: bool


@dataclass(frozen=True, slots=True)
class BreakpointChanged:
    """The debugger bound, moved or lost a breakpoint after its answer to the request."""

    breakpoint: BoundBreakpoint


@dataclass(frozen=True, slots=True)
class CapabilitiesChanged:
    pass


@dataclass(frozen=True, slots=True)
class ChildStarted:
    """A child process that waits to be debugged. The receiver calls `backend.start`."""

    backend: Backend
    target: Target
    pid: int | None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ExitedEvent:
    """The debuggee is gone. No event follows this one."""

    exit: Exit


Event = (
    Initialized
    | Stopped
    | Continued
    | OutputEvent
    | ProcessStarted
    | ThreadChanged
    | BreakpointChanged
    | CapabilitiesChanged
    | ChildStarted
    | ExitedEvent
)
EventSink = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class HitBreakpoints:
    """The breakpoints that caused a stop."""

    breakpoints: tuple[int, ...]
    #: by id: why the condition could not be evaluated, as the language's message
    failures: Mapping[int, str] = field(default_factory=dict)


class Backend(Protocol):
    """One debugger debugging one process. Its optional parts are in `capabilities`.

    Every method may raise DebuggerError (with the debugger's message), DebuggerLost or
    DebuggerTimeout. Every wait is bounded. After `ExitedEvent` every method except `dispose` raises
    DebuggerLost.
    """

    @property
    def tool(self) -> ToolInfo: ...

    @property
    def features(self) -> frozenset[Feature]: ...

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        """The exception filters that the debugger offers."""

    @property
    def advertised(self) -> Mapping[str, object]:
        """The capabilities as the debugger sent them, for `tool`."""

    def unsupported_hint(self, feature: Feature) -> str:
        """Return the command that comes closest to a feature the debugger lacks."""

    # lifecycle
    async def start(
        self, target: Target, configuration: Configuration, sink: EventSink
    ) -> Sequence[BoundBreakpoint]:
        """Launch or attach, with everything in *configuration* set before the program runs."""

    async def terminate(self) -> None:
        """Kill the program and its debugger. Bounded; forced if they do not exit."""

    async def detach(self) -> None:
        """Detach and leave the program running."""

    async def dispose(self) -> None:
        """Release all resources and kill remaining processes. Never raises, may be called twice."""

    @property
    def has_detached_output(self) -> bool:
        """Whether a detached program still writes into our pipes."""

    # breakpoints
    async def set_breakpoints(
        self, path: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        """Replace the breakpoints of a file with *requests*."""

    async def set_function_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]: ...

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None: ...

    # execution: each returns when the debugger has accepted the request; an event follows
    async def resume(self, thread: int | None, *, only: bool = False) -> None: ...
    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None: ...
    async def pause(self, thread: int | None) -> None: ...

    # inspection
    async def threads(self) -> Sequence[Thread]: ...
    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        """Return frames and their total number, if known."""

    async def scopes(self, frame: int) -> Sequence[RawScope]: ...
    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]: ...
    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        """Return the value of *expression*; with *statement*, any statement is allowed.

        Raises EvaluationFailed with the message of the program's language.
        """

    async def exception(self, thread: int) -> ExceptionInfo | None: ...
    def drain(self) -> None:
        """Report at once, through the sink, all output that has already arrived."""
