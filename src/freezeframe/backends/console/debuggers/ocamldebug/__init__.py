"""OCaml bytecode through ocamldebug, whose programs run backwards too.

It knows where it stands by addresses (`-emacs`); lines, functions and names come from what the
compiler wrote into the program (`bytecode`), so nothing is guessed from the source.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace

from freezeframe.backends.backend import (
    Feature,
    Launch,
    RawValue,
    StepKind,
    Target,
)
from freezeframe.backends.console.prompt.backend import prompted
from freezeframe.backends.console.prompt.dialect import PromptDialect, Said
from freezeframe.backends.console.prompt.spelling import (
    Ask,
    Begin,
    Halt,
    Home,
    Line,
    Made,
)
from freezeframe.backends.console.queue import Dialect
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.transport.ask import version
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, LaunchFailed, Unsupported
from freezeframe.model.places import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason

from . import expressions, places, stops, values
from .bytecode import Event, Kind, Program
from .looking import Looking, function_of
from .marshalled import Unreadable

_INSTALL = ("apt install ocaml-nox", "opam install ocaml", "brew install ocaml")
#: events between two looks at the world: for an interrupt, and for keeping a point to go back to.
#: With its own 10,000 it is busy keeping points most of the time, and an interrupt there kills it.
_BIG_STEP = 1_000_000
#: the same on a way back; with its own 1,000 it gets lost on a long one
_SMALL_STEP = 100_000
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
_LOOKS = re.compile(r"\s*(?:p|pr\w*|d|di\w*)\s+([^*].*)")
_BACKWARD = re.compile(r"\s*(?:goto|g|rev\w*|backstep|bs|prev\w*|start|last)\b")
#: what the shell between it and the program says
_SIGNALS = {
    "Killed": "SIGKILL",
    "Terminated": "SIGTERM",
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Hangup": "SIGHUP",
    "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
}
_SET = re.compile(r"^Breakpoint (\d+) at ", re.MULTILINE)
#: the number of our own breakpoint at `exit`; those at the program's first event follow
_EXIT = 1


class Ocaml(Looking):
    """The words of ocamldebug."""

    name = "ocamldebug"
    prompt = r"\(ocd\) "
    marked = r"(?:Unknown command\.\n\(ocd\) )?Cannot find file "
    stands_at_first = True
    small_steps = True
    ends_noisily = True
    multiplies = True
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
        Feature.WATCHPOINTS: "dbg break FILE:LINE --condition 'NAME <> OLD'",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.DETACH: "dbg stop",
    }

    def __init__(self) -> None:
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
                # Its own choice is a name that another may have left behind.
                "set socket {socket}",
                f"set bigstep {_BIG_STEP}",
                f"set smallstep {_SMALL_STEP}",
                f"set arguments {words}",
                "goto 0",
                *(f"break 0:{each.address}" for each in ours),
            ),
        )

    def dialect(self, nonce: str) -> Dialect[str, Said]:
        # Live: a program that is killed is told of in the midst of an answer that goes on.
        return PromptDialect(
            self.mark, prompt=self.prompt, marked=self.marked, nonce=nonce, live=True
        )

    def tells_loss(self, text: str) -> bool:
        # It would take the last point that it has kept, and go on from there.
        return re.search(r"^Lost connection with process \d+ \(active", text, re.M) is not None

    def read_loss(self, words: str) -> Exit:
        lines = words.strip().splitlines()
        return Exit(signal=_SIGNALS.get(lines[-1].partition(" (")[0] if lines else ""))

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
        event = self.event_at(now.address)
        if event is not None and self._is_over(event) and not now.breakpoints:
            return ("run",)
        if event is not None and event.yields and not stops.has_result(now.rest):
            return ("print *",)
        return ()

    def _is_over(self, event: Event) -> bool:
        """Whether the user's code is through, and a library's own code runs at the end."""
        library = self._program is not None and self._program.is_library(event.module)
        return library and event.function == event.module

    def read_stop(self, text: str) -> Halt | None:
        told = stops.places(text)
        code = re.search(r"^(?:\(ocd\) )?retcode: int = (-?\d+)", text, re.MULTILINE)
        if code is not None:
            self._code = int(code[1]) & 0xFF
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
        event = self.event_at(now.address)
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
            function_of(event),
            numbers=self._numbers(now),
            returned=returned,
            time=now.time,
        )

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

    def check_condition(self, expression: str) -> str | None:
        return _problem(expression)

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        self._heeds_uncaught = bool(filters)
        return ()

    def raw(self, command: str) -> Ask[str]:
        looked_at = _LOOKS.match(command)
        if looked_at is not None:
            expressions.parse(looked_at[1])  # of some words it dies
        return super().raw(command)

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        return Ask("", lambda text: self._exception)


def _result(text: str) -> RawValue | None:
    try:
        value = values.read(text)
    except EvaluationFailed:
        return None
    return RawValue("result", value.text, value.type)


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
    return Found(path, version((path, "-version"), r"version (\d\S*)"))


DEBUGGER = Debugger(
    name="ocamldebug",
    kind="console",
    languages=("OCaml",),
    patterns=("*.bc", "*.byte"),
    shebangs=("ocamlrun", "ocaml"),
    binaries=("ocaml",),
    install=_INSTALL,
    find=_find,
    make=prompted(Ocaml),
    rank=40,
    check_condition=_problem,
)
