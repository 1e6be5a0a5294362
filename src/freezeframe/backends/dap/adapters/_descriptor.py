"""What an adapter file holds: data, and pure hooks where data is not enough.

Order of preference for a debugger's peculiarity: behaviour that is right for every adapter →
a quirk field here → a pure hook here → never a test for its name elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal

from freezeframe.backends.backend import (
    BoundBreakpoint,
    Feature,
    Passed,
    RawFrame,
    RawValue,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason

# --- how its DAP stream is reached --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stdio:
    """The spawned process speaks DAP on its standard input and output."""


@dataclass(frozen=True, slots=True)
class Reverse:
    """We listen; the spawned process connects. Later connections are child processes."""


@dataclass(frozen=True, slots=True)
class Dial:
    """It listens already."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where we listen for a reverse connection, and the secret that proves a caller is ours."""

    host: str
    port: int
    token: str


@dataclass(frozen=True, slots=True)
class Spawn:
    """A process to start. Role `program`: it *is* the debuggee, so its standard streams are the
    program's and its exit status is the program's. Role `adapter`: its stderr is diagnostics.
    Role `injector`: it brings the debugger into a running process and ends.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    role: Literal["program", "adapter", "injector"] = "adapter"
    #: what an injector reads from its standard input: a secret that must not stand in its argv
    input: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything needed to start or join one program."""

    stream: Stdio | Reverse | Dial
    request: Literal["launch", "attach"]
    arguments: dict[str, Any]
    spawn: Spawn | None = None
    interpreter: str | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a plan is made from."""

    found: Found
    config: AdapterConfig
    endpoint: Endpoint | None
    #: a private directory of this session, for FIFOs and the like
    directory: str
    #: paths that the program's standard input, output and error are to be connected to
    stdio: tuple[str, str, str] | None = None


# --- a child that the debugger offers -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChildOffer:
    """A child process announced by an event or reverse request: how to join it."""

    arguments: dict[str, Any]
    request: Literal["launch", "attach"] = "attach"
    host: str | None = None
    port: int | None = None
    pid: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Greeting:
    """A request sent before `initialize`; *check* returns why the answer is not acceptable."""

    command: str
    arguments: dict[str, Any]
    check: Callable[[Mapping[str, Any]], str | None] = lambda body: None


@dataclass(frozen=True, slots=True)
class Wired:
    """A breakpoint as the adapter gets it; line or function name are filled in by the backend."""

    ids: tuple[int, ...]
    wanted: WantedBreakpoint
    fields: dict[str, Any]


def as_dap(wanted: Sequence[WantedBreakpoint], log_channel: str | None) -> list[Wired]:
    """Every breakpoint by itself, its condition, hit count and message as DAP has them."""
    entries = []
    for want in wanted:
        fields: dict[str, Any] = {}
        if want.condition is not None:
            fields["condition"] = want.condition
        if want.hit_count is not None:
            fields["hitCondition"] = want.hit_count
        if want.log is not None:
            fields["logMessage"] = want.log
        entries.append(Wired((want.id,), want, fields))
    return entries


def unmatched_braces(message: str) -> str | None:
    return None if message.count("{") == message.count("}") else "its braces do not match"


@dataclass(frozen=True, slots=True)
class FunctionFilter:
    """A kind of exception that the adapter has no filter for, but a function that it passes
    through; *read* makes the exception from what the program wrote to its standard error."""

    function: str
    read: Callable[[str], ExceptionInfo]


@dataclass(frozen=True, slots=True)
class ModuleBreakpoint:
    """Raw commands that make and remove a breakpoint; *read* returns the debugger's number for it
    and whether it is in place."""

    make: Callable[[WantedBreakpoint], str]
    read: Callable[[str], tuple[int, bool] | None]
    remove: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question in the innermost frame of a stop: an expression, or a raw command."""

    text: str
    raw: bool = False


@dataclass(frozen=True, slots=True)
class Thrown:
    """An exception, with the names of its type and of all that it inherits from."""

    info: ExceptionInfo
    types: tuple[str, ...] = ()


#: Yields questions, is sent each answer's text (None for a failure), returns what it found out.
Inquiry = Generator[Ask, str | None, Thrown | None]


def _no_offer(body: Mapping[str, Any]) -> ChildOffer | None:
    return None


@dataclass(frozen=True, slots=True)
class Adapter:
    """One debug adapter. Hooks are pure: they make values, they do no I/O but looking for files."""

    name: str
    #: `adapterID` of its initialize request
    adapter_id: str
    languages: tuple[str, ...]
    #: file name patterns of programs it debugs, most telling first
    patterns: tuple[str, ...]
    #: words in a `#!` line that name its language
    shebangs: tuple[str, ...]
    #: commands that install it, to be shown
    install: tuple[str, ...]
    find: Callable[[Mapping[str, str], AdapterConfig], Found | Missing]
    plan: Callable[[Target, Surroundings], Plan]

    #: kinds of binaries it debugs: `elf`, `mach-o`, `pe`
    binaries: tuple[str, ...] = ()
    #: of several that claim a program the lowest is taken
    rank: int = 50
    #: names of debug servers that it joins by host and port
    servers: tuple[str, ...] = ()
    #: the better words for a start that failed, and the next step
    explain_failure: Callable[[Target, str], tuple[str, str | None] | None] = (
        lambda target, message: None
    )
    #: a raw command that writes the memory of the process into a file
    save_core: Callable[[str], str] | None = None
    #: it takes FIFOs of ours for the program's standard streams (the plan gets `stdio`)
    stdio_fifos: bool = False
    #: the function that `--stop-on-entry` stops at, where its own entry stop is of no use
    entry_function: Callable[[Target], str | None] = lambda target: None
    #: reason and words of a stop, where its own say something else
    read_stop: Callable[[Mapping[str, Any]], tuple[StopReason, str | None] | None] = lambda body: (
        None
    )
    #: threads that stop at one time are told one after the other, and go on together
    stops_together: bool = False
    #: its hit counts mean what ours do; else we count, and resume it
    counts_hits: bool = True
    #: it keeps one breakpoint a place: several there are joined, and told apart at the stop
    one_a_place: bool = False
    #: raw commands for a function in one module, where the protocol has no name for it
    module_breakpoint: ModuleBreakpoint | None = None
    #: the debugger's name of a function that the user means
    function_alias: Callable[[Target, str], str] = lambda target, name: name
    #: a function that its name alone did not find is looked for by `module_breakpoint` too
    searches: Callable[[Target], bool] = lambda target: False
    #: raw commands that make it stop for these filters and no others
    filter_commands: Callable[[Set[str]], Sequence[str]] = lambda names: ()
    #: at the stop of `entry_function`: an expression for the address where the program begins,
    #: when that function is only on the way there
    entry_address: Callable[[Target], str | None] = lambda target: None
    #: console output of its own that nobody asked for
    chatter: Callable[[str], bool] = lambda text: False
    #: logpoints speak through the console: what their messages are put between, to be told from
    #: the adapter's own words
    log_marks: tuple[str, str] | None = None
    #: a logpoint's message as it is shown: what could not be evaluated, in few words
    log_text: Callable[[str], str] = lambda text: text
    #: an expression for what is at an address, given its type, in whatever frame it is asked
    value_at: Callable[[str, str], str | None] = lambda type, address: None
    #: the program stands behind the instruction that a watchpoint stopped, not at it
    watches_after: bool = False
    #: its number of frames is a guess unless it sends fewer than were asked for
    guesses_depth: bool = False
    #: a frame with what the adapter tells of it beyond the protocol
    read_frame: Callable[[RawFrame, Mapping[str, Any]], RawFrame] = lambda frame, body: frame
    #: a raw command that moves the current thread to (path, line), where the protocol cannot
    jump_command: Callable[[str, int], str] | None = None
    #: a raw command that lists the threads, and from its answer the one that resumes only that
    resume_only: tuple[str, Callable[[str, int], str | None]] | None = None
    #: a raw command that lists the arguments of a frame, and the names in its answer
    arguments_command: str | None = None
    read_arguments: Callable[[str], Sequence[str]] = lambda text: ()
    #: a raw command for instructions that the protocol's request does not reach, and their form
    disassemble_command: Callable[[str, int], str] | None = None
    read_disassembly: Callable[[str], Sequence[Mapping[str, Any]]] = lambda text: ()
    #: why a raw command did not work, in an answer that says so in its text only
    raw_failure: Callable[[str], str | None] = lambda text: None
    #: watchpoints are set on an address and a size
    watch_by_address: bool = False
    #: a frame without source is not the user's
    sourceless_is_library: bool = False
    #: the exception filters it offers, in our words
    offered_filters: Callable[[Sequence[ExceptionFilter], Target], Sequence[ExceptionFilter]] = (
        lambda offered, target: offered
    )
    #: its own names of filters that we call otherwise
    filter_names: Mapping[str, str] = field(default_factory=dict)
    #: exceptions are told apart by type when they are thrown (`examine`)
    examines: bool = False
    #: what is asked at a stop for an exception, given the adapter's description of it
    examine: Callable[[str], Inquiry | None] = lambda description: None
    #: the exception behind a fatal signal, from what the program wrote to its standard error
    read_last_words: Callable[[str, str], ExceptionInfo | None] = lambda signal, words: None
    #: filters that are breakpoints on functions
    function_filters: Mapping[str, FunctionFilter] = field(default_factory=dict)
    #: the signal behind an exit code, given the last signal that the program stopped for
    exit_signal: Callable[[int, str | None], str | None] = lambda code, signal: None
    #: a raw command that tells more about an end than its exit code, and how it is read
    exit_question: Callable[[int], str | None] = lambda code: None
    read_exit: Callable[[str], Exit | None] = lambda text: None
    #: it starts `-m MODULE` targets
    modules: bool = False
    #: listens for reverse connections (the plan gets an Endpoint)
    reverse: Callable[[Target], bool] = lambda target: False
    #: requests before `initialize`
    greet: Callable[[Endpoint | None], Sequence[Greeting]] = lambda endpoint: ()
    #: expressions evaluated without a frame before the program's first line runs
    prime: Callable[[Target, Surroundings], Sequence[str]] = lambda target, around: ()
    #: the command line of the process, from the answer to the first of them
    read_command: Callable[[str], tuple[str, ...]] = lambda text: ()
    #: arguments of the attach request for a child that connected by itself
    child_arguments: Callable[[Target, Surroundings], dict[str, Any]] | None = None
    #: events that announce a child process
    child_event: str | None = None
    read_child_offer: Callable[[Mapping[str, Any]], ChildOffer | None] = _no_offer
    ignored_output: frozenset[str] = frozenset({"telemetry"})
    #: contexts of `evaluate`
    expression_context: str = "watch"
    statement_context: str = "repl"
    raw_context: str = "repl"
    #: the code is an expression, so that it has a value to show
    is_expression: Callable[[str], bool] = lambda code: False
    #: what a raw command is written with
    raw_prefix: str = ""
    #: features that it has although it does not advertise them, or the other way round
    extra_features: frozenset[Feature] = frozenset()
    lacks: frozenset[Feature] = frozenset()
    hints: Mapping[Feature, str] = field(default_factory=dict)
    #: the breakpoints of a file, or on functions, as they are put on the wire; each entry with
    #: the ids it serves (debuggers that keep one breakpoint a line share one entry)
    wire_breakpoints: Callable[[Sequence[WantedBreakpoint], str | None], list[Wired]] = as_dap
    #: an expression without a frame that tells which of these breakpoints, whose conditions are
    #: the adapter's own business, made the program stop; and how its answer is read
    ask_passed: Callable[[Sequence[int]], str] | None = None
    read_passed: Callable[[str, Sequence[int]], Passed] = lambda text, ids: Passed(tuple(ids))
    #: logpoints are written by the program into a FIFO of ours (see wire_breakpoint)
    log_channel: bool = False
    #: why a condition can never be evaluated
    check_condition: Callable[[str], str | None] = lambda expression: None
    #: why a logpoint's message can never be filled in
    check_log: Callable[[str], str | None] = unmatched_braces
    check_bound: Callable[[WantedBreakpoint, BoundBreakpoint], BoundBreakpoint] = (
        lambda wanted, bound: bound
    )
    #: variables that are not the user's: groups, dunders
    hides: Callable[[Mapping[str, Any]], bool] = lambda variable: False
    #: a value with what the adapter tells of it beyond the protocol
    enrich: Callable[[RawValue, Mapping[str, Any]], RawValue] = lambda value, variable: value
    #: a function's name without what the debugger adds to it
    function_name: Callable[[str], str] = lambda name: name
    #: the text says no more than the type and an address
    is_opaque: Callable[[str, str | None], bool] = lambda text, type: False
    #: an error although the request succeeded (returns its words)
    looks_failed: Callable[[RawValue], str | None] = lambda value: None
    returned_prefixes: tuple[str, ...] = ()
    #: evaluated without a frame when a value request hangs, to interrupt it
    unstick: Callable[[], str] | None = None
    #: an expression that yields a slice of a container, cheaper than paging through all of it
    slice_expression: Callable[[str, int, int], str] | None = None
    is_library: Callable[[str, Target], bool] = lambda path, target: False
    read_exception: Callable[[Mapping[str, Any]], ExceptionInfo] | None = None
    #: an expression without a frame that narrows exception filters to types; filter → names
    narrow: Callable[[Mapping[str, Sequence[str]]], str] | None = None
    #: a frame that is none: what the debugger adds below the stack
    is_no_frame: Callable[[Mapping[str, Any]], bool] = lambda frame: False
    #: the one line of an error text that says what is wrong
    brief_error: Callable[[str], str] = lambda text: text
    #: a statement that assigns, where the protocol's own requests hide failures
    assignment: Callable[[str, str], str] | None = None
    #: names of a function's arguments, from its source; (path, line, function)
    argument_names: Callable[[str, int, str], Sequence[str] | None] = lambda path, line, name: None
    #: evaluated without a frame before the program is left to itself
    farewell: Callable[[Target], str | None] = lambda target: None
    #: the reason in the last words of an injector that ended without success
    read_failure: Callable[[str], DebuggerError | None] = lambda words: None
    #: the body of an `exited` event that says that the process goes on as another program
    is_replaced: Callable[[Mapping[str, Any]], bool] = lambda body: False
    #: pid and parent's pid of a process that connected by itself, from its greeting
    read_identity: Callable[[Mapping[str, Any]], tuple[int | None, int | None]] = lambda body: (
        None,
        None,
    )
    #: suffix and text of a program that `doctor` starts
    probe_program: tuple[str, str] | None = None
    #: sure of itself: it was run against the real thing in our tests
    tested: bool = True
