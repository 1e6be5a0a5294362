"""What an adapter file holds: data, and pure hooks where data is not enough.

Order of preference for a debugger's peculiarity: behaviour that is right for every adapter →
a quirk field here → a pure hook here → never a test for its name elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from freezeframe.backends.backend import (
    BoundBreakpoint,
    Feature,
    Passed,
    RawValue,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import ExceptionInfo

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
    #: events of its own that carry nothing for us
    ignored_events: frozenset[str] = frozenset()
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
