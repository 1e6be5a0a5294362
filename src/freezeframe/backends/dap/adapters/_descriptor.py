"""What an adapter file holds: data, and pure hooks where data is not enough.

`Adapter` has what every one must say; the rest stands in groups, one for each thing that
debuggers do in their own way, with defaults that are right for one that keeps to the protocol.

Order of preference for a debugger's peculiarity: behaviour that is right for every adapter →
a quirk field here → a pure hook here → never a test for its name elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
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
from freezeframe.backends.forks import FOLLOWS, Ways
from freezeframe.backends.optimization import FrameCode
from freezeframe.backends.snapshots import Snapshot
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError
from freezeframe.model.records import dataclass, field
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason

from ._inquiry import Ask, AskFunctions, FunctionFilter, Inquiry, Thrown
from ._output import Output
from ._plan import Dial, Endpoint, Plan, Reverse, Socket, Spawn, Stdio, Surroundings

#: of `_inquiry`, `_output` and `_plan`, for those who write an adapter
__all__ = (
    "Ask",
    "AskFunctions",
    "Dial",
    "Endpoint",
    "FunctionFilter",
    "Inquiry",
    "Output",
    "Plan",
    "Reverse",
    "Socket",
    "Spawn",
    "Stdio",
    "Surroundings",
    "Thrown",
)

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
    #: it was forked, stands until it is joined, and writes where its parent does
    forked: bool = False


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
class ModuleBreakpoint:
    """Raw commands that make and remove a breakpoint; *read* returns the debugger's number for it
    and whether it is in place."""

    make: Callable[[WantedBreakpoint], str]
    read: Callable[[str], tuple[int, bool] | None]
    remove: Callable[[int], str]


# --- the groups -----------------------------------------------------------------------------------
# Hooks are pure: they make values, they do no I/O but looking for files.


@dataclass(frozen=True, slots=True)
class Start:
    """From a plan to the program's first line."""

    #: it takes FIFOs of ours for the program's standard streams (the plan gets `stdio`)
    stdio_fifos: bool = False
    #: it must be told a port to listen at (the plan gets one)
    needs_port: Callable[[Target], bool] = lambda target: False
    #: we listen for reverse connections (the plan gets an Endpoint)
    reverse: Callable[[Target], bool] = lambda target: False
    #: requests before `initialize`
    greet: Callable[[Endpoint | None], Sequence[Greeting]] = lambda endpoint: ()
    #: expressions evaluated without a frame before the program's first line runs
    prime: Callable[[Target, Surroundings], Sequence[str]] = lambda target, around: ()
    #: the same, where only a program that stands still evaluates anything: joining stopped it, and
    #: they run in a frame of it, before breakpoints are set; each must yield `true`
    prime_stopped: Callable[[Target], Sequence[str]] = lambda target: ()
    #: the command line of the process, from the answer to the first of them
    read_command: Callable[[str], tuple[str, ...]] = lambda text: ()
    #: it answers before the process is there, and tells of that later
    awaits_process: bool = False
    #: the id of the process, from what the debugger says on the console instead of an event
    read_pid: Callable[[str], int | None] = lambda text: None
    #: the function that `--stop-on-entry` stops at, where its own entry stop is of no use
    entry_function: Callable[[Target], str | None] = lambda target: None
    #: at the stop of `entry_function`: an expression for the address where the program begins,
    #: when that function is only on the way there
    entry_address: Callable[[Target], str | None] = lambda target: None
    #: the better words for a start that failed, and the next step
    explain_failure: Callable[[Target, str], tuple[str, str | None] | None] = (
        lambda target, message: None
    )
    #: the reason in the last words of an injector that ended without success
    read_failure: Callable[[str], DebuggerError | None] = lambda words: None


@dataclass(frozen=True, slots=True)
class End:
    """How a program ended, and how one is left to itself."""

    #: the signal behind an exit code, given the last signal that the program stopped for
    signal: Callable[[int, str | None], str | None] = lambda code, signal: None
    #: a raw command that tells more about an end than its exit code, and how it is read
    question: Callable[[int], str | None] = lambda code: None
    read: Callable[[str], Exit | None] = lambda text: None
    #: how it ended, from an output event, for debuggers that send no `exited`; and whether that
    #: comes only once they are taken leave of
    read_output: Callable[[str], Exit | None] = lambda text: None
    told_at_leave: bool = False
    #: it can leave the program running without a debugger
    leaves: Callable[[Target], bool] = lambda target: True
    #: a program that it leaves stays as it is, halted and with breakpoints, for whoever comes next
    stays_halted: Callable[[Target], bool] = lambda target: False
    #: evaluated without a frame before the program is left to itself
    farewell: Callable[[Target], str | None] = lambda target: None


@dataclass(frozen=True, slots=True)
class Stops:
    """Why a program stopped."""

    #: reason and words of a stop, where its own say something else
    read: Callable[[Mapping[str, Any]], tuple[StopReason, str | None] | None] = lambda body: None
    #: a raw command that tells more of a signal, given the words of its stop
    ask_signal: Callable[[str], str | None] = lambda words: None
    #: the words of that stop, with the answer
    read_signal: Callable[[str, str], str] = lambda words, answer: words
    #: threads that stop at one time are told one after the other, and go on together
    together: bool = False
    #: it reports one thread of those that stopped at one time: whether another, by its name for it,
    #: was running then, so that it may have hit a breakpoint too
    was_running: Callable[[str], bool] | None = None
    #: what it says when a stop of another thread has interrupted a step, which is not over then
    leaves_step: Callable[[str], bool] = lambda text: False
    #: it reads stacks of a halted program only, and halts and resumes one without changing more
    halts_unseen: bool = False
    #: it never answers a pause until breakpoints were set while the program ran
    deaf_to_pause: Callable[[Target], bool] = lambda target: False
    #: the program stands behind the instruction that a watchpoint stopped, not at it
    watches_after: bool = False


@dataclass(frozen=True, slots=True)
class Returns:
    """Reading what a function returns, for an adapter that does not tell it."""

    #: whether an instruction, as it is disassembled, returns from a function
    is_return: Callable[[str], bool]
    #: whether an instruction only fills the gap between two functions
    is_padding: Callable[[str], bool]
    #: which of a frame's variables are its function's results: names, file, line and function
    results: Callable[[Sequence[str], str, int, str], Sequence[str]]
    #: an expression that tells a frame from others of the same function
    frame: str
    #: a condition that holds in that frame of a thread only, given the expression's value
    condition: Callable[[int, str], str]


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """Breakpoints, conditions, hit counts and watchpoints: ours, and what it makes of them."""

    #: the breakpoints of a file, or on functions, as they are put on the wire; each entry with
    #: the ids it serves (debuggers that keep one breakpoint a line share one entry)
    wire: Callable[[Sequence[WantedBreakpoint], str | None], list[Wired]] = as_dap
    #: it writes the messages of logpoints itself; else we do, at its stops
    logs: Callable[[Target], bool] = lambda target: True
    #: it takes logpoints on functions, as it does on lines
    logs_functions: bool = True
    #: it keeps one breakpoint a place: several there are joined, and told apart at the stop
    one_a_place: bool = False
    #: its hit counts mean what ours do; else we count, and resume it
    counts_hits: bool = True
    #: why a condition can never be evaluated
    check_condition: Callable[[str], str | None] = lambda expression: None
    #: why a logpoint's message can never be filled in
    check_log: Callable[[str], str | None] = unmatched_braces
    #: what it says of a breakpoint, where that is not so
    check_bound: Callable[[WantedBreakpoint, BoundBreakpoint], BoundBreakpoint] = (
        lambda wanted, bound: bound
    )
    #: an expression without a frame that tells which of these breakpoints, whose conditions are
    #: the adapter's own business, made the program stop; and how its answer is read
    ask_passed: Callable[[Sequence[int]], str] | None = None
    read_passed: Callable[[str, Sequence[int]], Passed] = lambda text, ids: Passed(tuple(ids))
    #: an expression without a frame that is true where a file has another text than the one that
    #: the program has loaded, false where it has not, and neither where nothing tells
    ask_edited: Callable[[str], str] | None = None
    #: the debugger's name of a function that the user means
    function_alias: Callable[[Target, str], str] = lambda target, name: name
    #: raw commands for a function in one module, where the protocol has no name for it
    in_module: ModuleBreakpoint | None = None
    #: a function that its name alone did not find is looked for by `in_module` too
    searches: Callable[[Target], bool] = lambda target: False
    #: a raw command that makes breakpoints, by its numbers, stop once each time their line is run,
    #: where it puts them into several places of it
    once_a_pass: Callable[[Target, Mapping[int, Sequence[WantedBreakpoint]]], str | None] = (
        lambda target, wanted: None
    )
    #: a watchpoint on reads stops for writes too
    reads_see_writes: bool = False
    #: watchpoints are set on an address and a size
    watch_by_address: bool = False
    #: an expression for the address of what an expression names
    address_of: Callable[[str], str | None] = lambda expression: None
    #: an expression for what is at an address, given its type, in whatever frame it is asked
    value_at: Callable[[str, str], str | None] = lambda type, address: None
    #: a condition: the stack has shrunk to an address
    stack_from: Callable[[int], str] = lambda address: f"$sp >= {address:#x}"


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Which exceptions stop the program, and what is told of one."""

    #: the exception filters it offers, in our words
    offered: Callable[[Sequence[ExceptionFilter], Target], Sequence[ExceptionFilter]] = (
        lambda offered, target: offered
    )
    #: the filter that its description of a stop means, for debuggers that stop for all of them
    filter_of: Callable[[str], str | None] = lambda description: None
    #: its own names of filters that we call otherwise
    names: Mapping[str, str] = field(default_factory=dict)
    #: raw commands that make it stop for these filters and no others
    commands: Callable[[Set[str]], Sequence[str]] = lambda names: ()
    #: filters that are breakpoints on functions
    functions: Mapping[str, FunctionFilter] = field(default_factory=dict)
    #: an expression without a frame that narrows filters to types; filter → names
    narrow: Callable[[Mapping[str, Sequence[str]]], str] | None = None
    #: exceptions are told apart by type when they are thrown (`examine`)
    examines: bool = False
    #: what is asked at a stop for an exception, given the adapter's description of it
    examine: Callable[[str], Inquiry | None] = lambda description: None
    #: the exception in the answer to `exceptionInfo`, where it holds more than the protocol says
    read: Callable[[Mapping[str, Any]], ExceptionInfo] | None = None
    #: the exception behind a fatal signal, from what the program wrote to its standard error
    read_last_words: Callable[[str, str], ExceptionInfo | None] = lambda signal, words: None


@dataclass(frozen=True, slots=True)
class Frames:
    """The stack: what a frame is called, and whose it is."""

    #: a frame with what the adapter tells of it beyond the protocol
    read: Callable[[RawFrame, Mapping[str, Any]], RawFrame] = lambda frame, body: frame
    #: a function's name without what the debugger adds to it
    function_name: Callable[[str], str] = lambda name: name
    #: a file that is not the user's
    is_library: Callable[[str, Target], bool] = lambda path, target: False
    #: a thread's name without what the debugger adds to it
    thread_name: Callable[[str], str] = lambda name: name
    #: the id that requests name a thread by, where the adapter's list has another
    thread_id: Callable[[Mapping[str, Any]], int] = lambda thread: int(thread["id"])
    #: a frame without source is not the user's
    sourceless_is_library: bool = False
    #: a frame without source that is the user's all the same
    is_own: Callable[[RawFrame, Target], bool] = lambda frame, target: False
    #: a frame that is none: what the debugger adds below the stack, or is above it itself
    is_none: Callable[[Mapping[str, Any]], bool] = lambda frame: False
    #: its number of frames is a guess unless it sends fewer than were asked for
    guesses_depth: bool = False
    #: an expression without a frame that tells threads and tasks of a running program (of a stopped
    #: one too; True: with the stacks of threads), and how its answer is read
    ask_snapshot: Callable[[bool], str] | None = None
    read_snapshot: Callable[[str], Snapshot] = lambda text: Snapshot()
    silent: str = ""  # what it may mean that nothing is told in time
    #: names of a function's arguments, from its source; (path, line, function)
    argument_names: Callable[[str, int, str], Sequence[str] | None] = lambda path, line, name: None
    #: a raw command that tells how code of frames was made (first, count, thread); its answer read
    ask_code: Callable[[Target, int, int, int], str | None] = lambda target, *frames: None
    read_code: Callable[[Target, str], Sequence[FrameCode]] = lambda target, text: ()


@dataclass(frozen=True, slots=True)
class Values:
    """Variables and the results of expressions, as they are shown."""

    #: variables that are not the user's: groups, dunders
    hides: Callable[[Mapping[str, Any]], bool] = lambda variable: False
    #: what stands where there are no variables, and says that there could be none
    absent: Callable[[Mapping[str, Any], Target], bool] = lambda variable, target: False
    #: of a big container it sends the beginning, and any part when that is asked for
    pages: bool = False
    #: the results of expressions come without a size, and are told in parts all the same
    pages_unsized: bool = False
    #: a member without a name, whose own members are its owner's, as the language has it
    nameless: Callable[[Mapping[str, Any]], bool] = lambda variable: False
    #: a value with what the adapter tells of it beyond the protocol
    enrich: Callable[[RawValue, Mapping[str, Any]], RawValue] = lambda value, variable: value
    #: variables of a scope without those that one of the same name in an inner block hides
    visible: Callable[[Sequence[RawValue]], Sequence[RawValue]] = lambda values: values
    #: the text says no more than the type and an address
    is_opaque: Callable[[str, str | None], bool] = lambda text, type: False
    #: what the names of values begin with that a function returned
    returned_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expressions:
    """How code of the program's language is evaluated."""

    #: contexts of `evaluate` for what has a value, and for what is run
    context: str = "watch"
    statement_context: str = "repl"
    #: the code is an expression, so that it has a value to show
    is_expression: Callable[[str], bool] = lambda code: False
    #: the one line of an error text that says what is wrong
    brief_error: Callable[[str], str] = lambda text: text
    #: an expression of the program's language as the debugger's evaluator wants it
    written: Callable[[Target, str], str] = lambda target, expression: expression
    #: the expression as it is to be asked once more, given the complaint about it
    again: Callable[[str, str], str | None] = lambda expression, complaint: None
    #: the name of the part of such an answer that holds what the code failed with
    failure: str | None = None
    #: a statement that assigns, where the protocol's own requests hide failures
    assignment: Callable[[str, str], str] | None = None
    #: an expression that yields a slice of a container, cheaper than paging through all of it
    slice: Callable[[str, int, int], str] | None = None
    #: evaluated without a frame when a value request hangs, to interrupt it
    unstick: Callable[[], str] | None = None
    #: evaluated without a frame when that did not help: which thread is stuck where, in a text
    ask_blocked: Callable[[], str] | None = None
    #: an expression without a frame for another one in a frame of such a thread
    beside: Callable[[int, str], str] | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Commands in the debugger's own language: how they are sent, and those that stand in for
    what the protocol has no request for."""

    #: the context of `evaluate` that takes them, and what they are written with
    context: str = "repl"
    prefix: str = ""
    #: why a command did not work, in an answer that says so in its text only
    failure: Callable[[str], str | None] = lambda text: None
    #: writes the memory of the process into a file
    save_core: Callable[[str], str] | None = None
    #: moves the current thread to (path, line)
    jump: Callable[[str, int], str] | None = None
    #: leaves the innermost function of the current thread, with the value of an expression
    force_return: Callable[[str | None], str] | None = None
    #: lists the threads; and from its answer the command that resumes only that thread
    resume_only: tuple[str, Callable[[str, int], str | None]] | None = None
    #: ends steps that another stop has interrupted, where it would end them by itself later on
    forget_steps: str | None = None
    #: makes it look at the stack anew, where modules that went have left it an old one
    fresh_frames: str | None = None
    #: lists the arguments of a frame; and the names in its answer
    arguments: str | None = None
    read_arguments: Callable[[str], Sequence[str]] = lambda text: ()
    #: the condition of a watchpoint (its id, the condition), where the protocol's is not heeded
    watch_condition: Callable[[int, str], str] | None = None
    #: tells the source line of the instruction at an address; and the place in its answer
    line_at: Callable[[int], str] | None = None
    read_line: Callable[[str], tuple[str, int] | None] = lambda text: None
    #: instructions (address, count) that the protocol's request does not reach; and their form
    disassemble: Callable[[str, int], str] | None = None
    read_disassembly: Callable[[str], Sequence[Mapping[str, Any]]] = lambda text: ()


@dataclass(frozen=True, slots=True)
class Children:
    """Processes that the program starts: how they are announced, and how they are joined."""

    #: what can be done about them
    ways: Ways = FOLLOWS
    #: arguments of the attach request for a child that connected by itself
    arguments: Callable[[Target, Surroundings], dict[str, Any]] | None = None
    #: the event that announces a child, and how to join it
    event: str | None = None
    read_offer: Callable[[Mapping[str, Any]], ChildOffer | None] = lambda body: None
    #: pid and parent's pid of a process that connected by itself, from its greeting
    read_identity: Callable[[Mapping[str, Any]], tuple[int | None, int | None]] = lambda body: (
        None,
        None,
    )
    #: the body of an `exited` event that says that the process goes on as another program
    is_replaced: Callable[[Mapping[str, Any]], bool] = lambda body: False
    #: those that ran without the debugger, and why, from what they left in the private directory
    unfollowed: Callable[[str], tuple[str, ...]] = lambda directory: ()


@dataclass(frozen=True, slots=True)
class Adapter:
    """One debug adapter."""

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
    #: it starts `-m MODULE` targets
    modules: bool = False
    #: names of debug servers that it joins by host and port
    servers: tuple[str, ...] = ()
    #: of several that claim a program the lowest is taken
    rank: int = 50
    #: what its user should know of a program before he trusts what is shown
    remark: Callable[[str], str | None] = lambda program: None
    #: suffix and text of a program that `doctor` starts
    probe_program: tuple[str, str] | None = None
    #: how it is found among Xcode's tools, for programs in simulators; None: it debugs none there
    find_in_xcode: Callable[[Mapping[str, str], AdapterConfig], Found | Missing] | None = None
    #: a program that it joins stays where that stopped it, when asked to (`Attach.hold`)
    holds: bool = False
    #: sure of itself: it was run against the real thing in our tests
    tested: bool = True

    #: features that it has although it does not advertise them, or the other way round
    extra_features: frozenset[Feature] = frozenset()
    lacks: frozenset[Feature] = frozenset()
    #: the nearest thing that works, where it lacks one
    hints: Mapping[Feature, str] = field(default_factory=dict)

    start: Start = Start()
    end: End = End()
    stops: Stops = Stops()
    #: how returned values are read; None: it tells them, or they cannot be had
    returns: Returns | None = None
    breakpoints: Breakpoints = Breakpoints()
    exceptions: Exceptions = Exceptions()
    frames: Frames = Frames()
    values: Values = Values()
    expressions: Expressions = Expressions()
    raw: Raw = Raw()
    output: Output = Output()
    children: Children = Children()
