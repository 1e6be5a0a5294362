"""What the file of a debugger with a prompt defines: a command per operation, and how to parse it.

A `CommandSet` does no I/O. Every operation is one method that returns a `ConsoleQuery`: the
command, and the function that parses its answer. An operation whose method is not overridden is
refused as unsupported, with the nearest raw command (`alternatives`).
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from freezeframe.backends import breakpoint_hits
from freezeframe.backends.backend import Feature, Launch, RawFrame, RawValue, StepKind, Target
from freezeframe.backends.console.command_channel import Codec
from freezeframe.config import AdapterConfig
from freezeframe.model.answers import Instruction
from freezeframe.model.locations import Location
from freezeframe.model.stops import (
    ExceptionFilter,
    ExceptionInfo,
    Exit,
    StopReason,
    Task,
    Thread,
    WatchHit,
)
from freezeframe.model.values import ScopeKind

from .codec import PromptCodec, UnsolicitedText
from .launch_spec import ControlTransport as ControlTransport
from .launch_spec import DebuggeeHost as DebuggeeHost
from .launch_spec import LaunchSpec as LaunchSpec
from .reverse_commands import ReverseCommands

T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True)
class ConsoleQuery(Generic[T]):
    """A command, and the parser of its answer.

    *read* raises a DebuggerError (`EvaluationFailed` if an expression is to blame) when the
    debugger refused. Commands in *before* are sent first; their answers are ignored.
    """

    command: str
    read: Callable[[str], T]
    before: tuple[str, ...] = ()
    #: returns the follow-up query that an answer requires, whose result replaces this one
    then: Callable[[str], ConsoleQuery[T] | None] | None = None


@dataclass(frozen=True, slots=True)
class FrameRef:
    """A frame: its thread and its number, 0 the innermost."""

    thread: int
    level: int


@dataclass(frozen=True, slots=True)
class StopInfo:
    """What a debugger prints when the program has stopped or exited.

    What it does not print is None; the rest follows from the location and from what was requested.
    """

    reason: StopReason | None = None
    path: str | None = None
    line: int | None = None
    function: str | None = None
    thread: int | None = None
    #: the debugger's numbers of the breakpoints that were hit
    numbers: tuple[str, ...] | None = None
    description: str | None = None
    #: the return value of the function that a step left
    returned: RawValue | None = None
    watch: WatchHit | None = None
    #: breakpoints that were bound since the last stop
    made: tuple[DebuggerBreakpoint, ...] = ()
    #: how the program ended, if it did
    exit: Exit | None = None
    #: the execution time of the stop, from a debugger that counts events
    time: int | None = None
    #: some of the breakpoints that were hit; the others are found by location
    among: tuple[str, ...] = ()
    #: the stop is in the middle of a line whose breakpoints were hit when it began
    resumed: bool = False
    #: the function continues after a `yield`
    yielded: bool = False


@dataclass(frozen=True, slots=True)
class DebuggerBreakpoint:
    """A breakpoint in the debugger: its number there, and its location."""

    number: str
    path: str | None = None
    line: int | None = None
    #: bound: there is code for it
    verified: bool = True
    message: str | None = None
    #: its file differs from the source that the program runs; None if unknown
    edited: bool | None = None


class CommandSet(ReverseCommands):
    """The commands of one debugger with a prompt. Override what the debugger can do.

    `read_…` and the parser of a `ConsoleQuery` get the debugger's output without prompt, sentinel,
    colours and carriage returns.
    """

    #: the debugger's name in `--adapter` and in answers
    name: ClassVar[str] = ""
    #: a regular expression for its prompt
    prompt: ClassVar[str] = ""
    #: a regular expression for what it prints between prompt and token (`= "` …)
    marked: ClassVar[str] = ""
    #: nothing else reads its input, so the sentinel may be buffered there while the program runs
    eager: ClassVar[bool] = True
    #: the program prints into the debugger's output: `output_of` extracts the program's
    shares_output: ClassVar[bool] = False
    #: it takes commands while the program runs, and reports stops by itself; otherwise a command
    #: that resumes the program is answered by the next stop
    asynchronous: ClassVar[bool] = False
    #: `force_return` takes effect when the thread resumes; otherwise at once, without resuming
    returns_when_run: ClassVar[bool] = False
    #: it holds one breakpoint per location
    one_per_location: ClassVar[bool] = False
    #: it evaluates conditions itself: `break_at` gets them
    own_conditions: ClassVar[bool] = False
    #: the program is stopped at its first line when the debugger starts
    stops_at_first_line: bool = False
    #: `run` returns at the next stop, not with a program stopped before its first line
    run_goes_on: ClassVar[bool] = False
    #: its step over may end in a called function: steps are repeated until that returns
    over_is_into: ClassVar[bool] = False
    #: a function that a step out has left is left once more by the next one
    keeps_returned: ClassVar[bool] = False
    #: a step that another stop interrupts completes when the program resumes
    keeps_steps: ClassVar[bool] = False
    #: the signal that interrupts a running program and shows the prompt
    interrupt: ClassVar[int] = signal.SIGINT
    #: the output of a stop does not say whether that signal or the program caused it
    interrupt_unnamed: ClassVar[bool] = False
    #: that signal is handled when the interpreter runs again, not while it waits for input
    interrupt_late: ClassVar[bool] = False
    #: that signal is lost when it arrives right before a blocking call: it is sent again
    interrupt_missed: ClassVar[bool] = False
    #: the signal for a brief pause, if `interrupt` would cut a blocking call of the program short
    soft_interrupt: ClassVar[int | None] = None
    #: a busy program can be interrupted and resumed without a side effect
    halts_unseen: ClassVar[bool] = False
    #: `interrupt` goes to the program's process, not to the debugger's
    interrupts_program: ClassVar[bool] = False
    #: a running program can be paused and resumed; otherwise `interrupt` aborts what it does
    pauses: ClassVar[bool] = True
    #: a stop stops all threads
    all_threads: ClassVar[bool] = True
    filters: tuple[ExceptionFilter, ...] = ()
    #: a filter can be narrowed to types (`condition`, separated by commas)
    typed_filters: ClassVar[bool] = False
    #: it stops at exceptions that no filter names: `matches_filters` decides
    filters_exceptions_itself: ClassVar[bool] = False
    #: by feature it lacks: the nearest raw command
    alternatives: ClassVar[Mapping[Feature, str]] = {}
    #: of the language: the separator between a value and its field; variables can change
    joint: ClassVar[str] = "."
    mutable: ClassVar[bool] = True
    #: the scopes of every frame, as `scope` takes them
    scopes: tuple[tuple[ScopeKind, str], ...] = ((ScopeKind.LOCALS, "Locals"),)

    # --- connection and start

    def echo(self, token: str) -> str:
        """Return the command that prints *token*, which has letters and digits only."""
        raise NotImplementedError

    def codec(self, nonce: str) -> Codec[str, UnsolicitedText]:
        """Return the codec for commands and answers."""
        return PromptCodec(
            self.echo,
            prompt=self.prompt,
            marked=self.marked,
            nonce=nonce,
            eager=self.eager,
            live=self.shares_output and not self.asynchronous,
        )

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
        """Return how to start the debugger. Raises Unsupported for a target it cannot debug."""
        raise NotImplementedError

    def read_greeting(self, text: str) -> str | None:
        """Return the debugger's version from what it prints at startup, if it is there."""
        return None

    def unreadable(self, greeting: str) -> str | None:
        """Return why a program could not be loaded, from the output before the first prompt."""
        return None

    def read_failure(self, output: str) -> str | None:
        """Return why the debugger could not start, from the end of its output.

        None if the debugger is not to blame: with the program in the debugger's own process
        (`DebuggeeHost.INSIDE`), the program could not be run.
        """
        return None

    def read_end(self, output: str) -> Exit | None:
        """Return how the program ended, from the end of the output of a debugger that exited
        too.
        """
        return None

    # --- execution; what the debugger prints at the next stop goes to `read_stop`

    def run(self, target: Launch) -> str | None:
        """Return the command that starts the program, unless it is started already."""
        return None

    def run_limit_s(self, target: Launch) -> float | None:
        """Return how long `run` may take if it does more than start the program."""
        return None

    def join(self, target: Target) -> str | None:
        """Return the command that attaches to a process or opens a core file, if there is one."""
        return None

    def explain(self, target: Target, answer: str) -> tuple[str, str | None] | None:
        """Return why launch or attach failed, and a next step, from the answer."""
        return None

    def entry(self, target: Launch) -> Location | None:
        """Return the entry point of a program that does not stop at its first line by itself."""
        return None

    def resume(self, thread: int | None) -> str:
        """Return the command that resumes the program."""
        raise NotImplementedError

    def resume_only(self, thread: int) -> str | None:
        return None

    def step(self, kind: StepKind, thread: int) -> str:
        raise NotImplementedError

    def step_instruction(self, kind: StepKind, thread: int) -> str | None:
        return None

    def pause(self) -> str | None:
        """Return the command that pauses a running program; None: send the signal `interrupt`."""
        return None

    def read_stop(self, text: str) -> StopInfo | None:
        """Return the stop or exit that the debugger's output reports, or None.

        Must not match what the program prints, where the two can be distinguished.
        """
        raise NotImplementedError

    def read_bound(self, text: str) -> DebuggerBreakpoint | None:
        """Return the breakpoint that unsolicited output reports as bound, or None."""
        return None

    def refusal(self, text: str) -> str | None:
        """Return why the program was not resumed, from an answer that reports no stop."""
        lines = text.strip().splitlines()
        return lines[-1] if lines else None

    def resumes(self, command: str) -> bool:
        """Whether a raw command resumes the program."""
        return False

    def moving(self, command: str) -> str:
        """Return how to send a raw command that resumes the program."""
        return command

    def jump(self, at: FrameRef, path: str, line: int) -> ConsoleQuery[None] | None:
        return None

    def force_return(self, at: FrameRef, value: str | None) -> ConsoleQuery[None] | None:
        """Make the innermost function return; see `returns_when_run`."""
        return None

    def restart_frame(self, at: FrameRef) -> ConsoleQuery[None] | None:
        """Go back to the call of a frame's function; a step into the function follows."""
        return None

    def pid(self) -> ConsoleQuery[int | None] | None:
        """Query the program's pid, if its process is neither the debugger's nor spawned by us."""
        return None

    def kill(self) -> str | None:
        """Return the command that kills the program."""
        return None

    def detach(self) -> str | None:
        """Return the command that leaves the program running."""
        return None

    # --- breakpoints

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint] | None:
        """Set a breakpoint. The parser raises DebuggerError if it cannot be set."""
        return None

    def missing_feature(self, location: Location) -> Feature | None:
        """Return the feature that a breakpoint at *location* needs and this debugger lacks."""
        return None

    def delete_breakpoint(self, number: str) -> str:
        raise NotImplementedError

    def evaluate_condition(self, condition: str, at: FrameRef) -> ConsoleQuery[bool]:
        """Query whether a condition is true. The parser raises EvaluationFailed."""
        query = self.evaluate(condition, at)
        return ConsoleQuery(
            query.command, lambda text: self.is_true(query.read(text).text), query.before
        )

    def is_true(self, text: str) -> bool:
        """Whether a condition with this value as its text is true."""
        return breakpoint_hits.holds(text.strip())

    def log_text(self, expression: str, at: FrameRef) -> ConsoleQuery[str]:
        """Query the text of an expression in a logpoint's message."""
        query = self.evaluate(expression, at)
        return ConsoleQuery(query.command, lambda text: query.read(text).text, query.before)

    def check_condition(self, expression: str) -> str | None:
        """Return why an expression can never be evaluated."""
        return None

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        """Return the commands that make the program stop at those exceptions and no others."""
        return ()

    def matches_filters(
        self, halt: StopInfo, frames: Sequence[RawFrame]
    ) -> ConsoleQuery[bool] | bool:
        """Return, or query, whether the filters name the exception that the program stopped for."""
        raise NotImplementedError

    # --- inspection; a frame is selected by `select` before a query, or named in its command

    def select(self, at: FrameRef, from_: FrameRef) -> Sequence[str]:
        """Return the commands that select a frame."""
        return ()

    def threads(self) -> ConsoleQuery[Sequence[Thread]] | None:
        return None

    def tasks(self) -> ConsoleQuery[Sequence[Task]] | None:
        """Query the live tasks of event loops."""
        return None

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        """Query frames; the caller assigns ids. Fewer than *count* means there are no more."""
        raise NotImplementedError

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]] | None:
        """Query the variables of a scope.

        A value with `ref` 1 can be opened through `children` by its `expression`.
        """
        return None

    def arguments(self, at: FrameRef) -> ConsoleQuery[Sequence[str] | None] | None:
        """Query the names of a function's arguments, if scopes do not separate them."""
        return None

    def children(
        self, expression: str, at: FrameRef, start: int, count: int | None
    ) -> ConsoleQuery[Sequence[RawValue]] | None:
        return None

    def slice(self, expression: str, start: int, end: int) -> str | None:
        """Return an expression for some children of a value; None if the language has none."""
        return None

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        raise NotImplementedError

    def execute(self, statement: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        """Run a statement or an expression."""
        return self.evaluate(statement, at)

    def assign(self, target: str, value: str, at: FrameRef) -> ConsoleQuery[None] | None:
        return None

    def has_variable(self, name: str, at: FrameRef) -> ConsoleQuery[bool] | None:
        """Query whether a variable exists, if assigning to an unknown name would create it."""
        return None

    def exception(self, thread: int) -> ConsoleQuery[ExceptionInfo | None] | None:
        return None

    def complete_exception(self, info: ExceptionInfo, output: str) -> ExceptionInfo:
        """Return an exception completed by what the program printed about it before the stop."""
        return info

    def raw(self, command: str, at: FrameRef) -> ConsoleQuery[str]:
        """Send a raw command of the user's; the parser raises if the debugger refused it."""
        return ConsoleQuery(command, lambda text: text)

    def output_of(self, text: str) -> str:
        """Return what the program printed, from whole lines received while it ran."""
        return ""

    def error_output_of(self, text: str) -> str:
        """Return what the debugger prints in the program's place, to be shown as its stderr."""
        return ""

    # --- machine level

    def read_memory(self, address: str, count: int) -> ConsoleQuery[tuple[str, bytes, int]] | None:
        return None

    def write_memory(self, address: str, data: bytes) -> ConsoleQuery[int] | None:
        return None

    def disassemble(
        self, address: str, count: int, offset: int
    ) -> ConsoleQuery[Sequence[Instruction]] | None:
        """Query instructions, starting *offset* instructions after an address."""
        return None

    def watch(
        self, expression: str, access: str, condition: str | None, at: FrameRef
    ) -> ConsoleQuery[DebuggerBreakpoint] | None:
        """Set a watchpoint. `StopInfo.watch` of a hit has the debugger's number."""
        return None

    def unwatch(self, number: str) -> str:
        raise NotImplementedError

    def save_core(self, path: str) -> ConsoleQuery[None] | None:
        return None


#: the method that each feature needs
_METHODS: Mapping[Feature, str] = {
    Feature.JUMP: "jump",
    Feature.FORCE_RETURN: "force_return",
    Feature.RESTART_FRAME: "restart_frame",
    Feature.SET: "assign",
    Feature.MEMORY_READ: "read_memory",
    Feature.MEMORY_WRITE: "write_memory",
    Feature.DISASSEMBLE: "disassemble",
    Feature.INSTRUCTION_STEP: "step_instruction",
    Feature.WATCHPOINTS: "watch",
    Feature.SINGLE_THREAD: "resume_only",
    Feature.DETACH: "detach",
    Feature.SAVE_CORE: "save_core",
    Feature.EXCEPTIONS: "set_filters",
    Feature.STEP_BACK: "step_back",
}


def features_of(command_set: CommandSet) -> frozenset[Feature]:
    """Return the features of a debugger: from the methods it overrides, and those all have."""
    implemented = {
        feature
        for feature, method in _METHODS.items()
        if getattr(type(command_set), method) is not getattr(CommandSet, method)
    }
    always = {
        Feature.CONDITIONS,
        Feature.HIT_COUNTS,
        Feature.LOGPOINTS,
        Feature.RAW,
        Feature.PAUSE,
    }
    locations = {
        Feature.FUNCTION_BREAKPOINTS: Location(function="main"),
        Feature.ADDRESS_BREAKPOINTS: Location(address=1),
    }
    breaks = {
        feature
        for feature, location in locations.items()
        if command_set.missing_feature(location) is None
    }
    if any(kind is ScopeKind.REGISTERS for kind, _ in command_set.scopes):
        breaks.add(Feature.REGISTERS)
    if command_set.typed_filters:
        breaks.add(Feature.EXCEPTION_TYPES)
    if not command_set.pauses:
        always.remove(Feature.PAUSE)
    return frozenset(implemented | always | breaks)


def nothing(text: str) -> None:
    """Parse an answer that carries no information."""
