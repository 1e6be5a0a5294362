"""OCaml bytecode through ocamldebug, whose programs run backwards too.

It knows where it stands by addresses (`-emacs`); lines, functions and names come from what the
compiler wrote into the program (`bytecode`), so nothing is guessed from the source.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from freezeframe.backends.backend import (
    Feature,
    Launch,
    RawFrame,
    RawValue,
    StepKind,
    Target,
)
from freezeframe.backends.console.prompt.backend import prompted
from freezeframe.backends.console.prompt.spelling import (
    Ask,
    At,
    Begin,
    Halt,
    Home,
    Line,
    Made,
    Spelling,
)
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.transport.ask import answer
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, LaunchFailed, Unsupported
from freezeframe.model.places import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason
from freezeframe.model.values import ScopeKind

from . import expressions, places, stops, values
from .bytecode import Event, Kind, Program
from .marshalled import Unreadable

T = TypeVar("T")
U = TypeVar("U")

_INSTALL = ("apt install ocaml-nox", "opam install ocaml", "brew install ocaml")
#: events between two looks at the world: for an interrupt, and for keeping a point to go back to.
#: With its own 10,000 it is busy keeping points most of the time, and an interrupt there kills it.
_BIG_STEP = 1_000_000
#: of a program that dies of an exception
_UNCAUGHT_CODE = 2
_STEPS = {StepKind.OVER: "next", StepKind.INTO: "step", StepKind.OUT: "finish"}
_BACK = {
    StepKind.OVER: "previous",
    StepKind.INTO: "backstep",
    StepKind.OUT: "start",
    None: "reverse",
}
_MOVES = re.compile(
    r"\s*(?:run|r|step|s|next|n|finish|f|goto|g)\b|\s*(?:reverse|backstep|bs?|prev)"
)
_BACKWARD = re.compile(r"\s*(?:goto|g|rev\w*|backstep|bs|prev\w*|start|last)\b")
_SET = re.compile(r"^Breakpoint (\d+) at ", re.MULTILINE)
#: the number of our own breakpoint at `exit`; those at the program's first event follow
_EXIT = 1


class Ocaml(Spelling):
    """The words of ocamldebug."""

    name = "ocamldebug"
    prompt = r"\(ocd\) "
    marked = r"(?:Unknown command\.\n\(ocd\) )?Cannot find file "
    stands_at_first = True
    small_steps = True
    interrupt_late = True
    filters = (ExceptionFilter("uncaught", "exceptions that nobody catches", default=True),)
    nearest = {
        Feature.SET: "dbg restart",
        Feature.JUMP: "dbg reverse-continue",
        Feature.MEMORY_READ: "dbg print EXPR",
        Feature.MEMORY_WRITE: "dbg restart",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "dbg raw 'info events MODULE'",
        Feature.INSTRUCTION_STEP: "dbg raw step",
        Feature.WATCHPOINTS: "dbg break FILE:LINE --if 'NAME <> OLD'",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.DETACH: "dbg stop",
    }

    def __init__(self) -> None:
        self._program: Program | None = None
        self._entries: list[Event] = []
        self._exit: Event | None = None
        #: the debugger's numbers, of breakpoints with several, by ours
        self._made: set[str] = set()
        self._heeds_uncaught = True
        self._exception: ExceptionInfo | None = None
        #: the exception that the program dies of was shown; what follows is the end
        self._shown = False
        self._code = 0

    # --- the line

    def mark(self, token: str) -> str:
        # The first word is an answer to a question that it may have asked instead of a prompt.
        return f"no_thanks\nload_printer {token}"

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        if not isinstance(target, Launch):
            raise Unsupported("ocamldebug only starts programs.", next="dbg start PROGRAM")
        if any("\n" in word for word in target.args):
            raise LaunchFailed("ocamldebug takes no arguments with line breaks in them.")
        try:
            program = self._program = Program(target.program, target.cwd)
            self._entries = places.entries(program)
            self._exit = places.function_start(program, "Stdlib.exit")
        except (Unreadable, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            shown = os.path.basename(target.named)
            raise LaunchFailed(
                f"{shown} cannot be debugged: {why}.", next="ocamlc -g -o PROGRAM FILE.ml"
            ) from None
        words = f"{shlex.join(target.args)} < '{{stdin}}' > '{{stdout}}' 2> '{{stderr}}'"
        ours = [*([self._exit] if self._exit else []), *self._entries]
        return Begin(
            (
                # Its complaints belong to its answers.
                *("/bin/sh", "-c", 'exec "$0" "$@" 2>&1'),
                config.path or "ocamldebug",
                "-emacs",
                *config.args,
                "-I",
                os.path.dirname(target.program),
                target.program,
            ),
            target.cwd,
            target.env,
            Line.STDIO,
            Home.LAUNCHED,
            settings=(
                f"set bigstep {_BIG_STEP}",
                f"set arguments {words}",
                "goto 0",
                *(f"break 0:{each.address}" for each in ours),
            ),
        )

    def read_greeting(self, text: str) -> str | None:
        found = re.search(r"version (\S+)", text)
        return found[1].rstrip(".") if found else None

    # --- running

    def run(self, target: Launch) -> str:
        if not self._entries:
            return "goto 0"
        first = _EXIT + 1 if self._exit is not None else _EXIT
        ours = range(first, first + len(self._entries))
        return "\n".join(("run", *(f"delete {number}" for number in ours)))

    def explain(self, target: Target, words: str) -> tuple[str, str | None] | None:
        lines = [line for line in words.splitlines() if line and not line.startswith("(ocd)")]
        return (f"ocamldebug: {' '.join(lines)}", "dbg logs") if lines else None

    def pid(self) -> Ask[int | None]:
        def read(text: str) -> int | None:
            found = re.match(r"\s*(\d+)\s*$", text)
            return int(found[1]) if found else None

        return Ask("pid", read)

    def resume(self, thread: int | None) -> str:
        return "run"

    def step(self, kind: StepKind, thread: int) -> str:
        return _STEPS[kind]

    def step_back(self, kind: StepKind | None, thread: int) -> str:
        self._shown = False
        return _BACK[kind]

    def go_to(self, time: int) -> str:
        return f"goto {time}"

    def goes_back(self, command: str) -> bool:
        return _BACKWARD.match(command) is not None

    def moves(self, command: str) -> bool:
        return _MOVES.match(command) is not None

    def kill(self) -> str:
        return "kill\ny"

    def study(self, text: str) -> Sequence[str]:
        told = stops.places(text)
        if not told:
            return ("run",) if "not meaningful in outermost frame" in text else ()
        now = told[-1]
        if now.uncaught is not None and self._heeds_uncaught and not self._shown:
            return ("backstep",)
        leaves = self._exit is not None and _EXIT in now.breakpoints and not self._numbers(now)
        if leaves and "retcode" not in now.rest:
            return ("print retcode", "run")
        event = self._at(now.address)
        if event is not None and event.yields and not stops.has_result(now.rest):
            return ("print *",)
        return ()

    def read_stop(self, text: str) -> Halt | None:
        told = stops.places(text)
        code = re.search(r"^(?:\(ocd\) )?retcode: int = (-?\d+)", text, re.MULTILINE)
        if code is not None:
            self._code = int(code[1]) & 0xFF
        if "Lost connection with process" in text:
            return Halt(exit=Exit(how="ended"))
        if not told:
            return None
        now = told[-1]
        if now.exited:
            return Halt(exit=Exit(code=self._code))
        if now.uncaught is not None:
            # Told by nobody else: the program does not come to write it.
            words = None if self._shown else f"Uncaught exception: {' '.join(now.uncaught.split())}"
            return Halt(exit=Exit(code=_UNCAUGHT_CODE), description=words)
        halt = self._halt(now)
        if self.beginning is None:
            self.beginning = now.time
        dead = next((each for each in told if each.uncaught is not None), None)
        if dead is not None and dead.uncaught is not None:
            self._shown = True
            self._exception = stops.exception(dead.uncaught)
            return replace(halt, reason=StopReason.EXCEPTION, returned=None)
        return halt

    def _halt(self, now: stops.Place) -> Halt:
        event = self._at(now.address)
        reason = StopReason.PAUSE if now.interrupted else None
        if event is None or self._program is None:
            return Halt(reason, numbers=(), time=now.time)
        returned = None
        if event.yields and "$" in now.rest:
            line = next(line for line in now.rest.splitlines() if "$" in line)
            shown = now.rest[now.rest.index(line) :].partition("\n(ocd)")[0]
            returned = _result(shown.removeprefix("(ocd) "))
        return Halt(
            reason,
            self._program.file_of(event),
            event.line,
            _function(event),
            numbers=self._numbers(now),
            returned=returned,
            time=now.time,
        )

    def _at(self, address: int | None) -> Event | None:
        if address is None or self._program is None:
            return None
        return self._program.at(address)

    def _numbers(self, now: stops.Place) -> tuple[str, ...]:
        return tuple(
            each for each in self._made if not now.breakpoints.isdisjoint(map(int, each.split(",")))
        )

    # --- breakpoints

    def takes(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(self, location: Location, condition: str | None) -> Ask[Made]:
        assert self._program is not None
        found = places.of(self._program, location)
        if not found:
            why = places.why_none(self._program, location)

            def refuse(text: str) -> Made:
                raise DebuggerError(why)

            return Ask("", refuse)
        first = min(found, key=lambda event: (event.line, event.column))
        path = self._program.file_of(first)

        def read(text: str) -> Made:
            numbers = _SET.findall(text.replace("(ocd) ", ""))
            if len(numbers) != len(found):
                raise DebuggerError(values.complaint(text))
            number = ",".join(numbers)
            self._made.add(number)
            return Made(number, path, first.line, message=_remark(found))

        return Ask("\n".join(f"break 0:{event.address}" for event in found), read)

    def unbreak(self, number: str) -> str:
        self._made.discard(number)
        return "\n".join(f"delete {each}" for each in number.split(","))

    def truth(self, condition: str, at: At) -> Ask[bool]:
        def read(value: RawValue) -> bool:
            if value.type != "bool":
                raise EvaluationFailed(f"a condition is a bool, and {condition} is {value.type}")
            return value.text == "true"

        return _map(self.evaluate(condition, at), read)

    def log_text(self, expression: str, at: At) -> Ask[str]:
        def read(value: RawValue) -> str:
            if value.type == "string":
                return str(expressions.known("string", value.text).value)
            return value.text

        return _map(self.evaluate(expression, at), read)

    def check_condition(self, expression: str) -> str | None:
        return _problem(expression)

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        self._heeds_uncaught = bool(filters)
        return ()

    # --- seeing

    def select(self, at: At, from_: At) -> Sequence[str]:
        return (f"frame {at.level}",)

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            return [self._frame(*each) for each in stops.frames(text)[start:]]

        return Ask(f"backtrace {start + count}", read)

    def _frame(self, level: int, address: int) -> RawFrame:
        event, program = self._at(address), self._program
        if event is None or program is None:
            return RawFrame(0, "?", library=True)
        return RawFrame(
            0,
            _function(event),
            program.file_of(event),
            event.called if level else event.line,
            None if level else event.column,
            places.shown_module(event.module),
            library=program.is_library(event.module),
        )

    def depth(self, thread: int) -> Ask[int]:
        return Ask("backtrace -1", lambda text: sum(1 + level for level, _ in stops.frames(text)))

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        def then(text: str) -> Ask[Sequence[RawValue]]:
            event = self._here(text)
            known = event.names() if event is not None else []
            names = [each.name for each in reversed(known) if each.local]
            top = event is not None and event.function == event.module
            return _printed(names, definitions=top)

        return Ask("frame", lambda text: [], then=then)

    def arguments(self, at: At) -> Ask[Sequence[str] | None]:
        def read(text: str) -> Sequence[str] | None:
            event, program = self._here(text), self._program
            owner = program.owner(event) if event is not None and program is not None else None
            if owner is None:
                return []
            return [each.name for each in reversed(owner.names()) if each.stacked]

        return Ask("frame", read)

    def _here(self, text: str) -> Event | None:
        """Return the event of the frame that `frame` shows."""
        found = stops.frames(text)
        return self._at(found[0][1]) if found else None

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        def read(value: RawValue) -> Sequence[RawValue]:
            parts = values.split(value.text)
            shown = parts[start : None if count is None else start + count]
            return [
                RawValue(
                    part.name,
                    part.text,
                    ref=1 if part.access and values.split(part.text) else 0,
                    expression=f"{expression}{part.access}" if part.access else None,
                )
                for part in shown
            ]

        return _map(self.evaluate(expression, at), read)

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        tree = expressions.parse(expression)
        wanted = list(dict.fromkeys(look.text for look in expressions.looks(tree)))
        prints = "\n".join(f"print {text}" for text in wanted)

        def read(text: str) -> RawValue:
            told = values.answers(text, len(wanted))
            if isinstance(tree, expressions.Look):
                return values.read(told[0], expression.strip())
            seen = {
                name: expressions.known(value.type or "", value.text)
                for name, value in zip(wanted, map(values.read, told), strict=True)
            }
            result = expressions.work(tree, seen)
            return RawValue(expression.strip(), result.text, result.type or None)

        def then(text: str) -> Ask[RawValue] | None:
            told = values.answers(text, len(wanted))
            if any(values.unbound(each) for each in told):
                # The values of a module are on the stack of its own code until that is through.
                return Ask("backtrace -1", read, then=lambda bottom: outside(bottom, text))
            return None

        def outside(bottom: str, text: str) -> Ask[RawValue]:
            found = stops.frames(bottom)
            event = self._at(found[0][1]) if found else None
            level = found[0][0] if found else 0
            if event is None or event.function != event.module or level == at.level:
                return Ask("", lambda _: read(text))

            def among(answer: str) -> RawValue:
                here = values.answers(text, len(wanted))
                there = values.answers(answer, len(wanted) + 2)[1:]
                both = [
                    second if values.unbound(first) and not values.unbound(second) else first
                    for first, second in zip(here, there, strict=False)
                ]
                return read("\n(ocd) ".join(both))

            return Ask(f"frame {level}\n{prints}\nframe {at.level}", among)

        return Ask(prints, read, then=then if wanted else None)

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        return Ask("", lambda text: self._exception)


def _map(asked: Ask[T], read: Callable[[T], U]) -> Ask[U]:
    """Return an `Ask` whose answer is made into something else."""
    then = asked.then
    return Ask(
        asked.command,
        lambda text: read(asked.read(text)),
        asked.before,
        None if then is None else functools.partial(_mapped, then, read),
    )


def _mapped(
    then: Callable[[str], Ask[T] | None], read: Callable[[T], U], text: str
) -> Ask[U] | None:
    following = then(text)
    return None if following is None else _map(following, read)


def _printed(names: Sequence[str], *, definitions: bool) -> Ask[Sequence[RawValue]]:
    """Ask for several variables at once; one that cannot be shown says why."""

    def one(name: str, text: str) -> RawValue:
        try:
            value = values.read(text, name)
        except EvaluationFailed as error:
            return RawValue(name, error.message, failed=True)
        return replace(value, definition=definitions and value.text == "<fun>")

    def read(text: str) -> Sequence[RawValue]:
        told = values.answers(text, len(names))
        both = zip(names, told, strict=True)
        return [one(name, answer) for name, answer in both if not values.unbound(answer)]

    return Ask("\n".join(f"print {name}" for name in names), read)


def _result(text: str) -> RawValue | None:
    try:
        value = values.read(text)
    except EvaluationFailed:
        return None
    return replace(value, name="result", expression=None, ref=0)


def _function(event: Event) -> str:
    """Return a function's name without that of its module, and a module's own code by its name."""
    if event.function == event.module:
        return places.shown_module(event.module)
    return event.function.removeprefix(f"{event.module}.")


def _remark(found: Sequence[Event]) -> str | None:
    if all(event.kind is Kind.AFTER for event in found):
        return "OCaml has no place before that call: the program stops behind it"
    return None


def _problem(expression: str) -> str | None:
    try:
        expressions.parse(expression)
    except EvaluationFailed as error:
        return error.message
    return None


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    path = config.path or shutil.which("ocamldebug", path=env.get("PATH"))
    if not path:
        return Missing("no `ocamldebug` on PATH")
    return Found(path, _version(path))


@functools.cache
def _version(path: str) -> str | None:
    found = re.search(r"version (\d\S*)", answer((path, "-version")) or "")
    return found[1] if found else None


DEBUGGER = Debugger(
    name="ocamldebug",
    kind="console",
    languages=("OCaml",),
    patterns=("*.bc", "*.byte"),
    shebangs=("ocamlrun",),
    binaries=("ocaml",),
    install=_INSTALL,
    find=_find,
    make=prompted(Ocaml),
    rank=40,
    check_condition=_problem,
)
