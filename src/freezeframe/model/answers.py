"""What each operation returns. One dataclass per kind of answer; one renderer each.

An answer holds facts, never prose for the reader: words are the renderers' business. Fields
named `next` hold commands that are likely to help from here (`dbg` left off).
"""

from __future__ import annotations

from .places import CodeLine, Source
from .records import dataclass, field
from .runs import Run
from .stops import Breakpoint, ExceptionFilter, Exit, Frame, Stop, Task, Thread, Watchpoint
from .values import Scope, Value


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of what the program printed. `stream` is stdout, stderr, log or console."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """What the program printed between two cursors, oldest first."""

    chunks: tuple[Chunk, ...] = ()
    #: characters that were dropped from the buffer before anyone asked for them
    dropped: int = 0
    #: where this answer begins and ends: pass `end` to --since to go on from here
    start: int = 0
    end: int = 0
    #: characters left out of this answer by --tail or a size limit
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class StepTrail:
    """One step of `next --count N` that is not the last: the line, and what it changed."""

    place: str
    function: str
    line: int | None
    text: str = ""
    changed: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Display:
    """An expression that every stop shows, with its value there or why it has none."""

    id: int
    expression: str
    value: Value | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StopReport:
    """The whole picture after a resume, in one answer.

    `state` is the phase: `stopped`, `running` (the time was up, or nobody waits), `terminated`.
    """

    session: str
    state: str
    stop: Stop | None = None
    exit: Exit | None = None
    source: Source | None = None
    scopes: tuple[Scope, ...] = ()
    #: the value that `finish` returned with, where it can be had
    returned: Value | None = None
    output: Output = Output()
    trail: tuple[StepTrail, ...] = ()
    #: frames of the user's own below the innermost one, when that one is a library's
    callers: tuple[Frame, ...] = ()
    #: breakpoints that are not where they were asked for, or not bound
    breakpoints: tuple[Breakpoint, ...] = ()
    #: facts the reader must know: a replaced session, a stop in another session of the tree
    notes: tuple[str, ...] = ()
    #: seconds waited when the state is `running`
    waited_s: float | None = None
    pid: int | None = None
    via: str | None = None
    next: tuple[str, ...] = ()
    #: more than one session here: the reader is told which one speaks
    several: bool = False
    #: how many threads the program has, where it is known: one thread is not worth a word
    threads: int | None = None
    #: the frame that `source` and `scopes` speak of, when it is not the innermost one
    selected: Frame | None = None
    #: where there is no source: the instructions around the place, the registers among `scopes`
    instructions: tuple[Instruction, ...] = ()
    #: of a program that runs on: where each thread is, and what it holds, as far as it can be seen
    stacks: tuple[Stack, ...] = ()
    tasks: tuple[Task, ...] = ()
    #: the expressions of `display`
    displays: tuple[Display, ...] = ()


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
    #: breakpoints that were removed by this call
    removed: tuple[Breakpoint, ...] = ()
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
    #: frames beyond the last one shown; None when the debugger cannot tell
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
    #: functions, classes and modules are among them
    all: bool = False
    via: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """`print`, `eval`, `set`: a value, whole."""

    expression: str
    value: Value
    show_type: bool = False
    #: one line is enough where it shows all
    brief: bool = False
    #: levels of children that were asked for; None: as many as there are
    depth: int | None = None
    #: children left out on either side of a --range
    range: tuple[int, int] | None = None
    #: what the evaluation printed
    output: Output = Output()
    frame: Frame | None = None
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
    #: what the program was started for: its command line
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionList:
    sessions: tuple[SessionInfo, ...]
    #: sessions in other workspaces, not listed
    elsewhere: int = 0
    #: recorded runs, latest first; asked for with `all`
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
    #: daemon notices not told yet: what an earlier daemon lost
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """`stop`, `detach`: what became of a session and its children."""

    session: str
    #: `stopped`, `detached`, `ended already`; `closed`: a core file, nothing ran
    how: str
    exit: Exit | None = None
    pid: int | None = None
    output: Output = Output()
    children: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    #: of `stop --all`: what became of each other session
    others: tuple[Ended, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """`tool`: which debugger, why it was taken, what it can do."""

    name: str
    version: str | None
    kind: str
    reason: str
    command: tuple[str, ...] = ()
    can: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()
    interpreter: str | None = None
    #: the debugger's own name for what we call capabilities, as advertised
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
    #: show the lines of source between the instructions
    source: bool = False
    #: those lines
    lines: tuple[CodeLine, ...] = ()
    via: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Plain words: `raw`, `logs`, `help`, `version`, `completion`, generated pages."""

    text: str
    via: str | None = None
    next: tuple[str, ...] = ()
    #: meant for a program (a completion script): shown as it is, whatever the budget
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that `doctor` looked at. `status`: `ok`, `warn`, `fail`, `skip`."""

    name: str
    status: str
    detail: str
    #: a command that mends it
    fix: str | None = None
    #: what `--fix` did about it
    mended: str | None = None
    #: a debugger was looked for
    debugger: bool = False


@dataclass(frozen=True, slots=True)
class Checkup:
    checks: tuple[Check, ...]
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdapterInfo:
    name: str
    kind: str
    languages: tuple[str, ...]
    found: bool
    version: str | None = None
    path: str | None = None
    tested: bool = False
    note: str | None = None
    install: tuple[str, ...] = ()
    #: config.toml describes it
    yours: bool = False
    #: what it takes for its own: names of files, first lines of scripts, kinds of binaries
    claims: tuple[str, ...] = ()
    #: what it could do, and what not, when it was tried last; both empty: it never was
    can: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdapterList:
    adapters: tuple[AdapterInfo, ...]
    #: of one that was asked for by name: how it did when it was tried just now
    tried: Check | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A command that installs something: `ready`, `blocked`, `by hand`, `ran` or `failed`."""

    command: str
    state: str
    #: why it was not run, or how it failed
    why: str | None = None
    #: the end of what it said
    output: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """One thing that can be set up: what is here, and the ways to get it."""

    name: str
    #: what it is for: languages of a debugger
    purpose: str
    here: bool
    #: version and place, or why it is not here
    detail: str
    steps: tuple[SetupStep, ...] = ()
    #: how it did when it was tried after the installation
    tried: Check | None = None


@dataclass(frozen=True, slots=True)
class Setups:
    setups: tuple[Setup, ...]
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file of somebody else's: `written`, `unchanged` or `would change`."""

    path: str
    #: what it is: the servers or the skill of a host
    what: str
    state: str
    #: the lines that went and came, without those around them
    diff: str = ""


@dataclass(frozen=True, slots=True)
class FileChanges:
    changes: tuple[FileChange, ...]
    note: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    value: object
    default: object
    explanation: str
    #: `default`, `config.toml`, or the environment variable that set it
    source: str = "default"


@dataclass(frozen=True, slots=True)
class Settings:
    path: str
    exists: bool
    settings: tuple[Setting, ...]
    #: why the file cannot be used
    error: str | None = None


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
    #: commands that were not run because an earlier one failed
    skipped: tuple[str, ...] = ()
