"""The results of operations: one dataclass per kind of answer, one renderer each.

An answer holds facts; renderers produce the text. Fields named `next` hold commands that are likely
to help next (without `dbg`).
"""

from __future__ import annotations

from .fast_dataclass import dataclass, field
from .locations import CodeLine, Source
from .runs import Run
from .stops import Breakpoint, ExceptionFilter, Exit, Frame, Stop, Task, Thread, Watchpoint
from .testing import Failure, ResultCounts
from .values import Scope, Value


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of output. `stream` is stdout, stderr, log or console."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """What the program printed between two cursors, oldest first."""

    chunks: tuple[Chunk, ...] = ()
    #: characters dropped from the buffer before they were requested
    dropped: int = 0
    #: cursors of this answer: pass `end` to --since to continue from here
    start: int = 0
    end: int = 0
    #: characters left out of this answer by --tail or a size limit
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class StepTrail:
    """One step of `next --count N` before the last one: the line, and what it changed."""

    place: str
    function: str
    line: int | None
    text: str = ""
    changed: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Display:
    """A displayed expression with its value, or why it has none."""

    id: int
    expression: str
    value: Value | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StopReport:
    """Everything about the state after a resume, in one answer.

    `state` is the phase: `stopped`, `running` (the time was up, or no wait), `terminated`.
    """

    session: str
    state: str
    stop: Stop | None = None
    exit: Exit | None = None
    source: Source | None = None
    scopes: tuple[Scope, ...] = ()
    #: the return value after `finish`, if available
    returned: Value | None = None
    output: Output = Output()
    trail: tuple[StepTrail, ...] = ()
    #: frames of the user's code above the innermost one, if that one is in a library
    callers: tuple[Frame, ...] = ()
    #: breakpoints that were moved or are not bound
    breakpoints: tuple[Breakpoint, ...] = ()
    #: further facts: a replaced session, a stop in another session of the tree
    notes: tuple[str, ...] = ()
    #: seconds waited when the state is `running`
    waited_s: float | None = None
    pid: int | None = None
    via: str | None = None
    next: tuple[str, ...] = ()
    #: there are several sessions, so the report names its session
    several: bool = False
    show_type: bool = False
    #: the number of threads, if known
    threads: int | None = None
    #: the frame of `source` and `scopes`, if it is not the innermost one
    selected: Frame | None = None
    #: without source: the instructions around the location; `scopes` include the registers
    instructions: tuple[Instruction, ...] = ()
    #: of a running program: the stack of each thread, as far as it can be read
    stacks: tuple[Stack, ...] = ()
    tasks: tuple[Task, ...] = ()
    #: the expressions of `display`
    displays: tuple[Display, ...] = ()
    #: of a program that `test` started: the failing test, or how the run ended
    test: RunnerReport | None = None


@dataclass(frozen=True, slots=True)
class RunnerReport:
    """`test`: the failing test at the moment of its failure, or how the run of tests ended.

    `state` is the phase, as in a stop report.
    """

    session: str
    #: the test runner, and what of the project shows that it is the right one
    runner: str
    state: str
    reason: str = ""
    #: the failure that the program is stopped at; with `--all` each one of the run
    failures: tuple[Failure, ...] = ()
    #: the results of a run that has ended
    counts: ResultCounts = ResultCounts()
    total: int | None = None
    duration_s: float | None = None
    #: the tests that failed, as the runner names them at the end
    failed: tuple[str, ...] = ()
    exit: Exit | None = None
    #: what the program printed, lines of the runner left out while it is stopped
    output: Output = Output()
    notes: tuple[str, ...] = ()
    waited_s: float | None = None
    pid: int | None = None
    several: bool = False
    via: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchConfiguration:
    """A launch configuration of the project's editor."""

    name: str
    #: its type in the file, or `compound`
    type: str
    #: the file
    path: str
    #: the command without `dbg` that does the same; of a compound, its members
    command: str = ""
    #: what it needs that was not given, or why it cannot be started
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchConfigurations:
    """`start --config` without a name."""

    configurations: tuple[LaunchConfiguration, ...]
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DisplayList:
    displays: tuple[Display, ...]
    done: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BreakpointAnswer:
    breakpoint: Breakpoint
    #: what was done: `added`, `enabled`, `disabled`, `exists`, `changed`
    done: str
    source: str | None = None
    via: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BreakpointList:
    breakpoints: tuple[Breakpoint, ...]
    #: breakpoints removed by this call
    removed: tuple[Breakpoint, ...] = ()
    #: those of the current session
    watchpoints: tuple[Watchpoint, ...] = ()
    via: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WatchpointList:
    watchpoints: tuple[Watchpoint, ...]
    done: str | None = None
    via: str | None = None


@dataclass(frozen=True, slots=True)
class CatchList:
    filters: tuple[ExceptionFilter, ...]
    via: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stack:
    """The frames of one thread, innermost first."""

    thread: Thread
    frames: tuple[Frame, ...]
    #: frames beyond the last one shown; None if unknown
    more: int | None = 0
    #: the selected frame
    selected: int = 0
    #: locals by frame index, with --locals
    values: dict[int, tuple[Value, ...]] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Backtrace:
    stacks: tuple[Stack, ...]
    exception: str | None = None
    #: show frames of libraries too
    unfold: bool = False
    #: the program runs: `stacks` are where its threads were when they were read
    running: bool = False
    tasks: tuple[Task, ...] = ()
    notes: tuple[str, ...] = ()
    via: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FrameAnswer:
    """The selected frame, with source and variables (`frame`, `up`, `down`)."""

    frame: Frame
    depth: int | None
    source: Source | None
    scopes: tuple[Scope, ...]
    note: str | None = None
    via: str | None = None


@dataclass(frozen=True, slots=True)
class Variables:
    """`locals`, `args`, `globals`."""

    frame: Frame
    scopes: tuple[Scope, ...]
    #: functions, classes and modules are included
    all: bool = False
    show_type: bool = False
    via: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """`print`, `eval`, `set`: a complete value."""

    expression: str
    value: Value
    show_type: bool = False
    #: show one line if it is complete
    brief: bool = False
    #: requested levels of children; None: all
    depth: int | None = None
    #: children left out before and after a --range
    range: tuple[int, int] | None = None
    #: output of the evaluation
    output: Output = Output()
    frame: Frame | None = None
    notes: tuple[str, ...] = ()
    via: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Threads:
    threads: tuple[Thread, ...]
    tasks: tuple[Task, ...] = ()
    via: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    source: Source
    function: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputAnswer:
    output: Output
    session: str
    state: str
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session, as `status` and `sessions` show it. `name` of a child is `parent/1`."""

    name: str
    state: str
    program: str
    current: bool
    workspace: str
    pid: int | None = None
    debugger: str | None = None
    place: str | None = None
    function: str | None = None
    reason: str | None = None
    exit: Exit | None = None
    parent: str | None = None
    age_s: float = 0.0
    #: the command line of the program
    command: tuple[str, ...] = ()
    #: the simulator of an app, with its UDID
    simulator: str | None = None


@dataclass(frozen=True, slots=True)
class SessionList:
    sessions: tuple[SessionInfo, ...]
    #: sessions in other workspaces, not listed
    elsewhere: int = 0
    #: recorded runs, latest first; with `all`
    recorded: tuple[Run, ...] = ()
    all: bool = False
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """The daemon and its sessions; those of this workspace first."""

    daemon_pid: int
    version: str
    uptime_s: float
    log: str
    workspace: str
    sessions: tuple[SessionInfo, ...]
    #: daemon notices not reported yet: sessions that an earlier daemon lost
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """`stop`, `detach`: how a session and its children ended."""

    session: str
    #: `stopped`, `detached`, `ended already`; `closed`: a core file, nothing ran
    how: str
    exit: Exit | None = None
    pid: int | None = None
    output: Output = Output()
    children: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    #: of `stop --all`: the other sessions
    others: tuple[Ended, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlState:
    """`control`: who has taken a session over, if anybody has."""

    session: str
    #: `person` or `editor`
    kind: str | None = None
    owner: str | None = None
    #: the caller has
    own: bool = False
    #: until the session is handed back, unless the control is renewed
    left_s: float = 0.0
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LivePage:
    """`web`: where the sessions of a workspace can be watched."""

    #: with a token: it is for the person who asked for it
    link: str
    workspace: str
    opened: bool = False
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """`tool`: which debugger, why it was selected, what it supports."""

    name: str
    version: str | None
    kind: str
    reason: str
    command: tuple[str, ...] = ()
    can: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()
    interpreter: str | None = None
    #: capabilities under the debugger's own names, as advertised
    advertised: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Memory:
    address: str
    data: bytes
    unreadable: int = 0
    format: str = "hex"
    via: str | None = None


@dataclass(frozen=True, slots=True)
class Instruction:
    address: str
    text: str
    bytes: str | None = None
    symbol: str | None = None
    path: str | None = None
    line: int | None = None
    current: bool = False


@dataclass(frozen=True, slots=True)
class Disassembly:
    instructions: tuple[Instruction, ...]
    #: show source lines between the instructions
    source: bool = False
    #: those lines
    lines: tuple[CodeLine, ...] = ()
    via: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text: `raw`, `logs`, `help`, `version`, `completion`, generated pages."""

    text: str
    via: str | None = None
    next: tuple[str, ...] = ()
    #: input of a program (a completion script): never shortened
    whole: bool = False


@dataclass(frozen=True, slots=True)
class BatchItem:
    command: str
    ok: bool
    #: the answer, rendered; JSON front ends get `data` instead
    answer: object | None = None
    error_code: str | None = None
    error: str | None = None
    next: str | None = None
    exit_status: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    items: tuple[BatchItem, ...]
    #: commands not run because an earlier one failed
    skipped: tuple[str, ...] = ()
