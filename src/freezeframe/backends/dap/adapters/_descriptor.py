"""The description of a debug adapter: data, and pure hooks where data is not enough.

`Adapter` has the required fields; the others are grouped by topic, with defaults for an adapter
that follows the protocol.

Order of preference where a debugger deviates: behavior that is right for every adapter → a quirk
field here → a pure hook here → never a test for its name elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from freezeframe.backends.backend import (
    BoundBreakpoint,
    BreakpointRequest,
    Feature,
    HitBreakpoints,
    RawFrame,
    RawValue,
    Target,
)
from freezeframe.backends.breakpoint_hits import log_problem
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.fork_modes import FOLLOWS, ForkModes
from freezeframe.backends.optimization import UNKNOWN_NAMES, FrameCode, FrameNames
from freezeframe.backends.snapshots import Snapshot
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason

from ._breakpoints import AdapterBreakpoint, as_dap
from ._exception_query import (
    AdapterQuery,
    ExceptionDetails,
    ExceptionQuery,
    FunctionFilter,
    FunctionsQuery,
    ModuleBreakpoint,
)
from ._launch_plan import (
    ChildAttachInfo,
    Connect,
    ConnectUnix,
    Endpoint,
    LaunchEnvironment,
    Listen,
    Plan,
    Spawn,
    Stdio,
)
from ._output import AdapterOutput

if TYPE_CHECKING:
    from freezeframe.backends.dap.backend import DapBackend

#: re-exported from `_exception_query`, `_output` and `_launch_plan` for authors of adapters
__all__ = (
    "AdapterBreakpoint",
    "AdapterOutput",
    "AdapterQuery",
    "ChildAttachInfo",
    "Connect",
    "ConnectUnix",
    "Endpoint",
    "ExceptionDetails",
    "ExceptionQuery",
    "FunctionFilter",
    "FunctionsQuery",
    "LaunchEnvironment",
    "Listen",
    "ModuleBreakpoint",
    "Plan",
    "Spawn",
    "Stdio",
    "as_dap",
)

# --- the groups -----------------------------------------------------------------------------------
# Hooks are pure: they make values, and do no I/O but look for files.


@dataclass(frozen=True, slots=True)
class Start:
    """From the launch plan to the program's first line."""

    #: the debugger redirects the program's standard streams to FIFOs (the plan gets `stdio`)
    stdio_fifos: bool = False
    #: the debugger must be given a port to listen at (the plan gets one)
    needs_port: Callable[[Target], bool] = lambda target: False
    #: Freezeframe listens for reverse connections (the plan gets an Endpoint)
    reverse: Callable[[Target], bool] = lambda target: False
    #: the function that `--stop-on-entry` stops at, where the debugger's entry stop is of no use
    entry_function: Callable[[Target], str | None] = lambda target: None
    #: a better message for a failed start, and the next step
    explain_failure: Callable[[Target, str], tuple[str, str | None] | None] = (
        lambda target, message: None
    )
    #: the reason for a failure, from the output of an injector that exited without success
    read_failure: Callable[[str], DebuggerError | None] = lambda output: None


@dataclass(frozen=True, slots=True)
class End:
    """How a program ended, and how the debugger detaches from one."""

    #: the signal behind an exit code, given the last signal that the program stopped for
    signal: Callable[[int, str | None], str | None] = lambda code, signal: None
    #: a raw command that reports more about an exit than its code, and the parser of its answer
    question: Callable[[int], str | None] = lambda code: None
    read: Callable[[str], Exit | None] = lambda text: None
    #: how the program ended, from an output event, for debuggers that send no `exited`
    read_output: Callable[[str], Exit | None] = lambda text: None


@dataclass(frozen=True, slots=True)
class Stops:
    """Why a program stopped."""

    #: reason and description of a stop, where the debugger's are misleading
    read: Callable[[Mapping[str, Any]], tuple[StopReason, str | None] | None] = lambda body: None
    #: the debugger reads stacks of a halted program only; whether halting the process (its id) and
    #: resuming it has no side effects
    halts_unseen: Callable[[int | None], bool] = lambda pid: False
    #: a watchpoint stops the program after the instruction, not at it
    watches_after: bool = False


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """Breakpoints, conditions, hit counts and watchpoints."""

    #: the breakpoints of a file, or on functions, as sent to the adapter; each entry has the ids
    #: that it represents (debuggers with one breakpoint per line share an entry)
    encode: Callable[[Sequence[BreakpointRequest], str | None], list[AdapterBreakpoint]] = as_dap
    #: the debugger writes the messages of logpoints; otherwise Freezeframe does, at each stop
    logs: Callable[[Target], bool] = lambda target: True
    #: the debugger accepts logpoints on functions, as on lines
    logs_functions: bool = True
    #: the debugger keeps one breakpoint per location: several are merged, and separated at the stop
    one_per_location: bool = False
    #: a breakpoint whose condition changes is to be removed first: the debugger keeps the old one
    keeps_conditions: bool = False
    #: its hit counts mean what ours do; otherwise Freezeframe counts, and resumes the program
    counts_hits: bool = True
    #: why a condition can never be evaluated
    check_condition: Callable[[str], str | None] = lambda expression: None
    #: why a logpoint's message can never be filled in
    check_log: Callable[[str], str | None] = log_problem
    #: corrects what the debugger reports about a breakpoint
    check_bound: Callable[[BreakpointRequest, BoundBreakpoint], BoundBreakpoint] = (
        lambda request, bound: bound
    )
    #: an expression without a frame that returns which of these breakpoints, whose conditions the
    #: adapter evaluates, stopped the program; and the parser of its answer
    hit_query: Callable[[Sequence[int]], str] | None = None
    read_passed: Callable[[str, Sequence[int]], HitBreakpoints] = lambda text, ids: HitBreakpoints(
        tuple(ids)
    )
    #: an expression without a frame: true if a file's text differs from the one the program has
    #: loaded, false if not, anything else if unknown
    edited_query: Callable[[str], str] | None = None
    #: the debugger's name of a function that the user names
    function_alias: Callable[[Target, str], str] = lambda target, name: name
    #: raw commands for a function in one module, where the protocol has no name for it
    in_module: ModuleBreakpoint | None = None
    #: a function that its name alone did not find is searched for by `in_module` too
    searches: Callable[[Target], bool] = lambda target: False
    #: a watchpoint on reads stops for writes too
    reads_see_writes: bool = False
    #: watchpoints are set on an address and a size
    watch_by_address: bool = False
    #: an expression for the address of what an expression names
    address_of: Callable[[str], str | None] = lambda expression: None
    #: an expression, valid in any frame, for the value at an address, given its type
    value_at: Callable[[str, str], str | None] = lambda type, address: None


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Which exceptions stop the program, and what is reported about one."""

    #: the exception filters it offers, under our names
    offered: Callable[[Sequence[ExceptionFilter], Target], Sequence[ExceptionFilter]] = (
        lambda offered, target: offered
    )
    #: the filter that its description of a stop belongs to, for debuggers that stop for all of them
    filter_of: Callable[[str], str | None] = lambda description: None
    #: the debugger's names of filters that we call otherwise
    names: Mapping[str, str] = field(default_factory=dict)
    #: raw commands that make the debugger stop for these filters and no others
    commands: Callable[[Set[str]], Sequence[str]] = lambda names: ()
    #: filters that are breakpoints on functions
    functions: Mapping[str, FunctionFilter] = field(default_factory=dict)
    #: an expression without a frame that narrows filters to types; filter → names
    narrow: Callable[[Mapping[str, Sequence[str]]], str] | None = None
    #: exceptions are filtered by type when they are thrown (`examine`)
    examines: bool = False
    #: the queries at an exception stop, given the adapter's description of it
    examine: Callable[[str], ExceptionQuery | None] = lambda description: None
    #: an exception with more of what the program has printed about it
    complete: Callable[[ExceptionInfo, str], ExceptionInfo] = lambda info, stderr: info
    #: the exception in the answer to `exceptionInfo`, where it has more than the protocol says
    read: Callable[[Mapping[str, Any]], ExceptionInfo] | None = None
    #: the exception behind a fatal signal, from the program's standard error
    read_uncaught_exception: Callable[[str, str], ExceptionInfo | None] = lambda signal, stderr: (
        None
    )


@dataclass(frozen=True, slots=True)
class Frames:
    """The stack: names of frames, and which are user code."""

    #: a frame, completed by what the adapter reports beyond the protocol
    read: Callable[[RawFrame, Mapping[str, Any]], RawFrame] = lambda frame, body: frame
    #: a function's name without the debugger's additions
    function_name: Callable[[str], str] = lambda name: name
    #: a file that is not user code
    is_library: Callable[[str, Target], bool] = lambda path, target: False
    #: a thread's name without the debugger's additions
    thread_name: Callable[[str], str] = lambda name: name
    #: a frame without source is not user code
    sourceless_is_library: bool = False
    #: the debugger's frame count is a guess unless it sends fewer frames than requested
    guesses_depth: bool = False
    #: an expression without a frame that returns the threads and tasks of a running or stopped
    #: program (with the stacks of threads; with what they wait for), and the parser of its answer
    snapshot_query: Callable[[bool, bool], str] | None = None
    read_snapshot: Callable[[str], Snapshot] = lambda text: Snapshot()
    silent: str = ""  # the likely reason when no answer comes in time
    #: names of a function's arguments, from its source; (path, line, function)
    argument_names: Callable[[str, int, str], Sequence[str] | None] = lambda path, line, name: None
    #: names in a frame with a source that have no value yet; (frame, whether it is the innermost)
    names: Callable[[RawFrame, bool], FrameNames] = lambda frame, innermost: UNKNOWN_NAMES
    #: a raw command that prints, as JSON, the names in a frame that have no value yet
    unset_command: str | None = None
    #: a raw command that reports how the code of frames was compiled (first, count, thread), and
    #: the parser of its answer
    code_query: Callable[[Target, int, int, int], str | None] = lambda target, *frames: None
    read_code: Callable[[Target, str], Sequence[FrameCode]] = lambda target, text: ()


@dataclass(frozen=True, slots=True)
class Values:
    """Variables and the results of expressions, as they are shown."""

    #: variables that are not the user's: groups, dunders
    hides: Callable[[Mapping[str, Any]], bool] = lambda variable: False
    #: the debugger sends the beginning of a big container, and other parts on request
    pages: bool = False
    #: the results of expressions have no size, and can be paged nevertheless
    pages_unsized: bool = False
    #: an unnamed member whose members belong to its parent, as in the language
    is_anonymous_member: Callable[[Mapping[str, Any]], bool] = lambda variable: False
    #: a value, completed by what the adapter reports beyond the protocol
    enrich: Callable[[RawValue, Mapping[str, Any]], RawValue] = lambda value, variable: value
    #: the text says no more than the type and an address
    is_opaque: Callable[[str, str | None], bool] = lambda text, type: False
    #: name prefixes of values that a function returned
    returned_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expressions:
    """How code of the program's language is evaluated."""

    #: contexts of `evaluate` for expressions, and for statements
    context: str = "watch"
    statement_context: str = "repl"
    #: the one line of an error text that says what is wrong
    brief_error: Callable[[str], str] = lambda text: text
    #: a statement that assigns, where the protocol's requests hide failures
    assignment: Callable[[str, str], str] | None = None
    #: an expression that yields a slice of a container, cheaper than paging through all of it
    slice: Callable[[str, int, int], str] | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Commands in the debugger's own language: how they are sent, and those that replace requests
    missing in the protocol."""

    #: the context of `evaluate` that accepts them, and their prefix
    context: str = "repl"
    prefix: str = ""
    #: returns why a command failed, where its answer says so only in its text
    read_error: Callable[[str], str | None] = lambda answer: None
    #: an error message that means: there is no such command → the same with those that there are
    refusals: Mapping[str, str] = field(default_factory=dict)
    #: writes the memory of the process to a file
    save_core: Callable[[str], str] | None = None
    #: moves the current thread to (path, line)
    jump: Callable[[str, int], str] | None = None
    #: returns from the innermost function of the current thread, with the value of an expression
    force_return: Callable[[str | None], str] | None = None
    #: sets the condition of a watchpoint (its id, the condition), where the protocol's is ignored
    watch_condition: Callable[[int, str], str] | None = None
    #: returns the source line of the instruction at an address; and the location in its answer
    line_at: Callable[[int], str] | None = None
    read_line: Callable[[str], tuple[str, int] | None] = lambda text: None


@dataclass(frozen=True, slots=True)
class Children:
    """Child processes: how they are announced, and how Freezeframe attaches to them."""

    #: what the debugger can do about them
    fork_modes: ForkModes = FOLLOWS
    #: the event that announces a child, and how to attach to the child
    event: str | None = None
    read_offer: Callable[[Mapping[str, Any]], ChildAttachInfo | None] = lambda body: None


@dataclass(frozen=True, slots=True)
class Adapter:
    """One debug adapter."""

    name: str
    #: `adapterID` of its initialize request
    adapter_id: str
    languages: tuple[str, ...]
    #: file name patterns of programs it debugs, most specific first
    patterns: tuple[str, ...]
    #: names in a `#!` line that identify its language
    shebangs: tuple[str, ...]
    #: commands that install it, to be shown
    install: tuple[str, ...]
    find: Callable[[Mapping[str, str], AdapterConfig], Found | Missing]
    plan: Callable[[Target, LaunchEnvironment], Plan]

    #: kinds of binaries it debugs: `elf`, `mach-o`, `pe`
    binaries: tuple[str, ...] = ()
    #: it launches `-m MODULE` targets
    modules: bool = False
    #: names of debug servers that it attaches to by host and port
    servers: tuple[str, ...] = ()
    #: of several that claim a program the lowest is taken
    rank: int = 50
    #: what the user should know about a program before they trust what is shown
    remark: Callable[[str], str | None] = lambda program: None
    #: suffix and text of a program that `doctor` starts
    probe_program: tuple[str, str] | None = None
    #: how it is found among Xcode's tools, for programs in simulators; None: it debugs none there
    find_in_xcode: Callable[[Mapping[str, str], AdapterConfig], Found | Missing] | None = None
    #: a program stays where attaching stopped it, when requested (`Attach.hold`)
    holds: bool = False
    #: our tests run it against the real debugger
    tested: bool = True

    #: features that it has although it does not advertise them, or the other way round
    extra_features: frozenset[Feature] = frozenset()
    lacks: frozenset[Feature] = frozenset()
    #: the nearest alternative that works, for a feature that it lacks
    hints: Mapping[Feature, str] = field(default_factory=dict)

    #: the class of its sessions, where the debugger needs code of its own; None: `DapBackend`
    backend: type[DapBackend] | None = None
    start: Start = Start()
    end: End = End()
    stops: Stops = Stops()
    breakpoints: Breakpoints = Breakpoints()
    exceptions: Exceptions = Exceptions()
    frames: Frames = Frames()
    values: Values = Values()
    expressions: Expressions = Expressions()
    raw: Raw = Raw()
    output: AdapterOutput = AdapterOutput()
    children: Children = Children()
