"""What the file of a debugger with a prompt says: how operations are written and read back.

A `Spelling` is text and rules: it starts nothing and waits for nothing. Every operation is one
method that returns an `Ask`: the command, and the function that reads its answer. A method that
a debugger does not override is something that it cannot do, and is refused as unsupported with
the nearest raw command (`nearest`).
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from freezeframe.backends.backend import (
    Feature,
    Launch,
    RawFrame,
    RawValue,
    StepKind,
    Target,
)
from freezeframe.backends.console.queue import Dialect
from freezeframe.config import AdapterConfig
from freezeframe.model.answers import Instruction
from freezeframe.model.places import Location
from freezeframe.model.stops import (
    ExceptionFilter,
    ExceptionInfo,
    Exit,
    StopReason,
    Thread,
    WatchHit,
)
from freezeframe.model.values import ScopeKind

from .begin import Begin as Begin
from .begin import Home as Home
from .begin import Line as Line
from .dialect import PromptDialect, Said
from .travel import Travels

T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True)
class Ask(Generic[T]):
    """A command, and what its answer says.

    *read* raises a DebuggerError (`EvaluationFailed`, where an expression is to blame) when the
    debugger refused. Commands in *before* are sent first; nobody looks at their answers.
    """

    command: str
    read: Callable[[str], T]
    before: tuple[str, ...] = ()
    #: what the answer leads to, if to anything: asked next, and read in place of this one
    then: Callable[[str], Ask[T] | None] | None = None


@dataclass(frozen=True, slots=True)
class At:
    """A frame: its thread and its number, 0 the innermost."""

    thread: int
    level: int


@dataclass(frozen=True, slots=True)
class Halt:
    """What a debugger prints when the program has come to a stop, or to its end.

    Only what it says: where it does not, None. The rest is found out (which breakpoint stands at
    that place, what was asked for).
    """

    reason: StopReason | None = None
    path: str | None = None
    line: int | None = None
    function: str | None = None
    thread: int | None = None
    #: the debugger's own numbers of the breakpoints that were hit
    numbers: tuple[str, ...] | None = None
    description: str | None = None
    #: what the function that was left returned with
    returned: RawValue | None = None
    watch: WatchHit | None = None
    #: breakpoints that have found their code since the last stop
    made: tuple[Made, ...] = ()
    #: the program is gone
    exit: Exit | None = None
    #: when that was, of a debugger that counts
    time: int | None = None
    #: some of the breakpoints that were hit; the others are known by their place
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """A breakpoint as the debugger has it: its number there, and where it lies."""

    number: str
    path: str | None = None
    line: int | None = None
    #: there is code for it now
    verified: bool = True
    message: str | None = None
    #: its file has another text than the one that the program runs; None where nothing tells
    edited: bool | None = None


class Spelling(Travels):
    """How one debugger with a prompt is spoken to. Override what it can do.

    `read_…` and what an `Ask` reads are given the debugger's words, without prompt and sentinel,
    without colours and carriage returns.
    """

    #: its name in `--adapter` and in answers
    name: ClassVar[str] = ""
    #: what its prompt looks like, a regular expression
    prompt: ClassVar[str] = ""
    #: what stands between prompt and token when it prints one (`= "` …), a regular expression
    marked: ClassVar[str] = ""
    #: nobody else reads its input, so that the sentinel may wait in it while the program runs
    eager: ClassVar[bool] = True
    #: the program prints among its words: `output_of` tells them apart
    shares_output: ClassVar[bool] = False
    #: it takes commands while the program runs, and tells of a stop when it comes; else a command
    #: that lets the program run is answered by the next stop
    asynchronous: ClassVar[bool] = False
    #: what `force_return` asked for happens when the thread runs; else at once, and nothing runs
    returns_when_run: ClassVar[bool] = False
    #: it has room for one breakpoint at a place
    one_a_place: ClassVar[bool] = False
    #: it evaluates conditions itself: `break_at` gets them
    own_conditions: ClassVar[bool] = False
    #: the program stands at its first line as soon as the debugger is there
    stands_at_first: bool = False
    #: `run` comes back with the next stop, not with a program that stands before its first line
    run_goes_on: ClassVar[bool] = False
    #: its steps may end in a function that was called: they are taken on until they are back
    over_is_into: ClassVar[bool] = False
    #: a step that another stop interrupts comes to its end when the program runs on
    keeps_steps: ClassVar[bool] = False
    #: the signal that brings it to its prompt while the program runs
    interrupt: ClassVar[int] = signal.SIGINT
    #: nothing tells a stop for that signal from one of the program's own making
    interrupt_unnamed: ClassVar[bool] = False
    #: that signal is heard when the program runs its language again, not while it waits for input
    interrupt_late: ClassVar[bool] = False
    #: that signal is not heard when it comes right before a call that waits: it is sent again
    interrupt_missed: ClassVar[bool] = False
    #: the signal that holds it for a moment, where that one cuts short what the program waits for
    gentle: ClassVar[int | None] = None
    #: that signal goes to the program's process, not to the debugger's
    interrupts_program: ClassVar[bool] = False
    #: a running program can be held and goes on afterwards; else that signal ends what it does
    pauses: ClassVar[bool] = True
    #: all threads stand while one does
    all_threads: ClassVar[bool] = True
    filters: tuple[ExceptionFilter, ...] = ()
    #: a filter can be narrowed to types (`condition`, joined by commas)
    typed_filters: ClassVar[bool] = False
    #: it stops for exceptions that nobody asked for: `heeds` tells them apart
    heedless: ClassVar[bool] = False
    #: by feature: the command that comes nearest to what it lacks
    nearest: ClassVar[Mapping[Feature, str]] = {}
    #: what stands between a value and a field of it
    joint: ClassVar[str] = "."
    #: what `scope` can be asked for in every frame
    scopes: tuple[tuple[ScopeKind, str], ...] = ((ScopeKind.LOCALS, "Locals"),)

    # --- the line

    def mark(self, token: str) -> str:
        """Return the command that prints *token*, which has letters and digits only."""
        raise NotImplementedError

    def dialect(self, nonce: str) -> Dialect[str, Said]:
        """Return how commands are put on the line and answers taken from it."""
        return PromptDialect(
            self.mark,
            prompt=self.prompt,
            marked=self.marked,
            nonce=nonce,
            eager=self.eager,
            live=self.shares_output and not self.asynchronous,
        )

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        """Return how it is started. Raises Unsupported for a target that it has no way to."""
        raise NotImplementedError

    def read_greeting(self, text: str) -> str | None:
        """Return its version from what it prints when it starts, where it says."""
        return None

    def unreadable(self, greeting: str) -> str | None:
        """Return why a program could not be loaded, from what comes before the first prompt."""
        return None

    def read_failure(self, words: str) -> str | None:
        """Return why it could not start, from its last words.

        None where they do not say that it is to blame: with the program in the debugger's own
        process (`Home.INSIDE`), it is the program that could not be run.
        """
        return None

    def read_end(self, words: str) -> Exit | None:
        """Return how the program ended, from the last words of a debugger that went with it."""
        return None

    # --- running; what the debugger says at the next stop goes to `read_stop`

    def run(self, target: Launch) -> str | None:
        """Return the command that starts the program, where it does not stand already."""
        return None

    def join(self, target: Target) -> str | None:
        """Return the command that joins a process or opens a core file, where there is one."""
        return None

    def explain(self, target: Target, words: str) -> tuple[str, str | None] | None:
        """Return why a program could not be started or joined, and a next step, from the answer."""
        return None

    def entry(self, target: Launch) -> Location | None:
        """Return where a program begins that does not stand at its first line by itself."""
        return None

    def resume(self, thread: int | None) -> str:
        """Return the command that lets the program run on."""
        raise NotImplementedError

    def resume_only(self, thread: int) -> str | None:
        return None

    def step(self, kind: StepKind, thread: int) -> str:
        raise NotImplementedError

    def step_instruction(self, kind: StepKind, thread: int) -> str | None:
        return None

    def pause(self) -> str | None:
        """Return the command that holds a running program; None: it is sent `interrupt`."""
        return None

    def read_stop(self, text: str) -> Halt | None:
        """Return the stop, or the end, that words of the debugger tell of; None if of none.

        Never from what a program can print, where that can be told apart.
        """
        raise NotImplementedError

    def read_bound(self, text: str) -> Made | None:
        """Return a breakpoint that words beside the answers tell of: there is code for it now."""
        return None

    def refusal(self, text: str) -> str | None:
        """Return why the program was not let run, from an answer that tells of no stop."""
        words = text.strip().splitlines()
        return words[-1] if words else None

    def moves(self, command: str) -> bool:
        """Whether a raw command lets the program run."""
        return False

    def moving(self, command: str) -> str:
        """Return how a raw command that lets the program run is sent."""
        return command

    def jump(self, at: At, path: str, line: int) -> Ask[None] | None:
        return None

    def force_return(self, at: At, value: str | None) -> Ask[None] | None:
        """Make the innermost function return; see `returns_when_run`."""
        return None

    def restart_frame(self, at: At) -> Ask[None] | None:
        """Go back to the call of a frame's function; a step into it follows."""
        return None

    def pid(self) -> Ask[int | None] | None:
        """Ask for the program's process, where it is neither the debugger's nor started by us."""
        return None

    def kill(self) -> str | None:
        """Return the command that ends the program."""
        return None

    def detach(self) -> str | None:
        """Return the command that leaves the program running."""
        return None

    # --- breakpoints

    def break_at(self, location: Location, condition: str | None) -> Ask[Made] | None:
        """Set a breakpoint. Its reader raises DebuggerError where there can be none."""
        return None

    def takes(self, location: Location) -> Feature | None:
        """Return the feature that a breakpoint there needs and this debugger lacks."""
        return None

    def unbreak(self, number: str) -> str:
        raise NotImplementedError

    def truth(self, condition: str, at: At) -> Ask[bool]:
        """Ask whether a condition holds. Its reader raises EvaluationFailed."""
        asked = self.evaluate(condition, at)
        return Ask(asked.command, lambda text: self.is_true(asked.read(text).text), asked.before)

    def is_true(self, text: str) -> bool:
        """Whether a value's text is one that a condition holds for."""
        return text.strip() not in ("", "0", "false", "False", "None", "nil", "null", '""', "''")

    def log_text(self, expression: str, at: At) -> Ask[str]:
        """Ask for the text of an expression in a logpoint's message."""
        asked = self.evaluate(expression, at)
        return Ask(asked.command, lambda text: asked.read(text).text, asked.before)

    def check_condition(self, expression: str) -> str | None:
        """Return why an expression can never be evaluated."""
        return None

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        """Return the commands after which the program stops at those exceptions, and no others."""
        return ()

    def heeds(self, halt: Halt, frames: Sequence[RawFrame]) -> Ask[bool] | bool:
        """Return, or ask, whether an exception it stopped for is one that the filters name."""
        raise NotImplementedError

    # --- seeing; frames are chosen by `select` before an operation, or named in its command

    def select(self, at: At, from_: At) -> Sequence[str]:
        """Return the commands that make a frame the one that is spoken of."""
        return ()

    def threads(self) -> Ask[Sequence[Thread]] | None:
        return None

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        """Ask for frames; their ids are put in by the caller. Fewer than asked for: that is all."""
        raise NotImplementedError

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]] | None:
        """Ask for the variables of a scope.

        A value with `ref` 1 can be opened through `children` by its `expression`.
        """
        return None

    def arguments(self, at: At) -> Ask[Sequence[str] | None] | None:
        """Ask for the names of a function's arguments, where scopes do not tell them apart."""
        return None

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]] | None:
        return None

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        raise NotImplementedError

    def execute(self, statement: str, at: At) -> Ask[RawValue]:
        """Run anything that the language runs."""
        return self.evaluate(statement, at)

    def assign(self, target: str, value: str, at: At) -> Ask[None] | None:
        return None

    def has_variable(self, name: str, at: At) -> Ask[bool] | None:
        """Ask whether a frame sees a variable, where an assignment to any name would make one."""
        return None

    def exception(self, thread: int) -> Ask[ExceptionInfo | None] | None:
        return None

    def last_words(self, info: ExceptionInfo, words: str) -> ExceptionInfo:
        """Return an exception with what the program itself wrote about it before it stopped."""
        return info

    def raw(self, command: str) -> Ask[str]:
        """Ask the user's own command; its reader raises where the answer is a refusal."""
        return Ask(command, lambda text: text)

    def output_of(self, text: str) -> str:
        """Return what the program printed, of whole lines that came while it ran."""
        return ""

    def complaint_of(self, text: str) -> str:
        """Return what the debugger says in the program's place, which had it for its stderr."""
        return ""

    # --- machine level

    def read_memory(self, address: str, count: int) -> Ask[tuple[str, bytes, int]] | None:
        return None

    def write_memory(self, address: str, data: bytes) -> Ask[int] | None:
        return None

    def disassemble(
        self, address: str, count: int, offset: int
    ) -> Ask[Sequence[Instruction]] | None:
        """Ask for instructions, from *offset* instructions behind an address on."""
        return None

    def watch(
        self, expression: str, access: str, condition: str | None, at: At
    ) -> Ask[Made] | None:
        """Watch what an expression names. `Halt.watch` of a hit has the debugger's number."""
        return None

    def unwatch(self, number: str) -> str:
        raise NotImplementedError

    def save_core(self, path: str) -> Ask[None] | None:
        return None


#: a feature and the method without which there is none
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


def features_of(spelling: Spelling) -> frozenset[Feature]:
    """Return what a debugger can do: what it spells, and what is made of that for all."""
    spelled = {
        feature
        for feature, method in _METHODS.items()
        if getattr(type(spelling), method) is not getattr(Spelling, method)
    }
    always = {
        Feature.CONDITIONS,
        Feature.HIT_COUNTS,
        Feature.LOGPOINTS,
        Feature.RAW,
        Feature.PAUSE,
    }
    places = {
        Feature.FUNCTION_BREAKPOINTS: Location(function="main"),
        Feature.ADDRESS_BREAKPOINTS: Location(address=1),
    }
    breaks = {feature for feature, place in places.items() if spelling.takes(place) is None}
    if any(kind is ScopeKind.REGISTERS for kind, _ in spelling.scopes):
        breaks.add(Feature.REGISTERS)
    if spelling.typed_filters:
        breaks.add(Feature.EXCEPTION_TYPES)
    if not spelling.pauses:
        always.remove(Feature.PAUSE)
    return frozenset(spelled | always | breaks)


def nothing(text: str) -> None:
    """Read an answer that says nothing."""
