"""OCaml bytecode through ocamldebug, which can also run programs backwards.

ocamldebug reports locations as addresses (`-emacs`); lines, functions and names come from the
program's debug information (`bytecode`), so nothing is guessed from the source.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace

from freezeframe.backends.backend import Feature, Launch, RawValue, StepKind, Target
from freezeframe.backends.console.command_channel import Codec
from freezeframe.backends.console.prompt.backend import prompted
from freezeframe.backends.console.prompt.codec import PromptCodec, UnsolicitedText
from freezeframe.backends.console.prompt.command_set import (
    ConsoleQuery,
    ControlTransport,
    DebuggeeHost,
    DebuggerBreakpoint,
    FrameRef,
    LaunchSpec,
    StopInfo,
)
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.transport.version_query import version
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, LaunchFailed, Unsupported
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason

from . import breakpoint_locations, expressions, stop_parser, value_parser
from .bytecode import BytecodeProgram, DebugEvent, Kind
from .inspection import OcamlInspection, function_of
from .marshal_format import UnreadableValue

_INSTALL = ("apt install ocaml-nox", "opam install ocaml", "brew install ocaml")
#: events between two polls for an interrupt, and between two checkpoints. With its default of
#: 10,000 ocamldebug is busy with checkpoints most of the time, and an interrupt there kills it.
_BIG_STEP = 1_000_000
#: the same when going back; with its default of 1,000 ocamldebug fails to go back far
_SMALL_STEP = 100_000
#: the exit code of a program that dies of an exception
_UNCAUGHT_CODE = 2
_STEPS = {StepKind.OVER: "next", StepKind.INTO: "step", StepKind.OUT: "finish"}
_BACK = {
    StepKind.OVER: "previous",
    StepKind.INTO: "backstep",
    StepKind.OUT: "start",
    None: "reverse",
}
_RESUMING = re.compile(
    r"\s*(?:run|r|step|s|next|n|finish|f|goto|g|bs|backs\w*|prev\w*|rev\w*|start|last)\b"
)
#: how ocamldebug refuses a command
_REFUSED = re.compile(
    r"(?:Error: )?((?:Unknown command|Syntax error|Ambiguous command|Unbound)[^\n]*)"
)
_PRINT = re.compile(r"\s*(?:p|pr\w*|d|di\w*)\s+([^*].*)")
_BACKWARD = re.compile(r"\s*(?:goto|g|rev\w*|backstep|bs|prev\w*|start|last)\b")
#: messages of the shell between ocamldebug and the program
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
#: the number of our internal breakpoint at `exit`; those at the program's first event follow
_EXIT = 1


class Ocaml(OcamlInspection):
    """The commands of ocamldebug."""

    name = "ocamldebug"
    prompt = r"\(ocd\) "
    marked = r"(?:Unknown command\.\n\(ocd\) )?Cannot find file "
    stops_at_first_line = True
    small_steps = True
    discard_output_on_kill = True
    forks_checkpoints = True
    interrupt_late = True
    filters = (ExceptionFilter("uncaught", "exceptions that nobody catches", default=True),)
    alternatives = {
        Feature.SET: "dbg restart",
        Feature.JUMP: "dbg reverse-continue",
        Feature.MEMORY_WRITE: "dbg restart",
        Feature.DISASSEMBLE: "dbg raw 'info events MODULE'",
        Feature.INSTRUCTION_STEP: "dbg raw step",
        Feature.DETACH: "dbg stop",
    }

    def __init__(self) -> None:
        self._entries: list[DebugEvent] = []
        self._exit: DebugEvent | None = None
        #: the breakpoints that are set; one with several locations is several numbers
        self._breakpoint_numbers: set[str] = set()
        self._stops_at_uncaught = True
        self._exception: ExceptionInfo | None = None
        #: the uncaught exception was reported; the exit follows
        self._exception_reported = False
        self._code = 0

    # --- connection and start

    def echo(self, token: str) -> str:
        # The first line answers a question that ocamldebug may ask instead of prompting.
        return f"no_thanks\nload_printer {token}"

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
        if not isinstance(target, Launch):
            raise Unsupported("ocamldebug only starts programs.", next="dbg start PROGRAM")
        if any("\n" in word for word in target.args):
            raise LaunchFailed("ocamldebug takes no arguments with line breaks in them.")
        try:
            program = self._program = BytecodeProgram(target.program, target.cwd)
            self._entries = breakpoint_locations.entries(program)
            self._exit = breakpoint_locations.function_start(program, "Stdlib.exit")
        except (UnreadableValue, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            shown = os.path.basename(target.named)
            raise LaunchFailed(
                f"{shown} cannot be debugged: {why}.", next="ocamlc -g -o PROGRAM FILE.ml"
            ) from None
        arguments = f"{shlex.join(target.args)} < '{{stdin}}' > '{{stdout}}' 2> '{{stderr}}'"
        internal = [*([self._exit] if self._exit else []), *self._entries]
        return LaunchSpec(
            (
                # Error messages are part of the answers.
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
            ControlTransport.STDIO,
            DebuggeeHost.LAUNCHED,
            settings=(
                # The default name may exist already, left by another session.
                "set socket {socket}",
                f"set bigstep {_BIG_STEP}",
                f"set smallstep {_SMALL_STEP}",
                f"set arguments {arguments}",
                "goto 0",
                *(f"break 0:{each.address}" for each in internal),
            ),
        )

    def codec(self, nonce: str) -> Codec[str, UnsolicitedText]:
        # Live: the loss of a killed program is reported in the middle of an answer.
        return PromptCodec(
            self.echo, prompt=self.prompt, marked=self.marked, nonce=nonce, live=True
        )

    def reports_loss(self, text: str) -> bool:
        # ocamldebug would continue from its last checkpoint.
        return re.search(r"^Lost connection with process \d+ \(active", text, re.M) is not None

    def read_loss(self, output: str) -> Exit:
        lines = output.strip().splitlines()
        return Exit(signal=_SIGNALS.get(lines[-1].partition(" (")[0] if lines else ""))

    def read_greeting(self, text: str) -> str | None:
        found = re.search(r"version (\S+)", text)
        return found[1].rstrip(".") if found else None

    # --- execution

    def run(self, target: Launch) -> str:
        if not self._entries:
            return "goto 0"
        first = _EXIT + 1 if self._exit is not None else _EXIT
        internal = range(first, first + len(self._entries))
        return "\n".join(("run", *(f"delete {number}" for number in internal)))

    def explain(self, target: Target, answer: str) -> tuple[str, str | None] | None:
        lines = [line for line in answer.splitlines() if line and not line.startswith("(ocd)")]
        return (f"ocamldebug: {' '.join(lines)}", "dbg logs") if lines else None

    def pid(self) -> ConsoleQuery[int | None]:
        def read(text: str) -> int | None:
            found = re.match(r"\s*(\d+)\s*$", text)
            return int(found[1]) if found else None

        return ConsoleQuery("pid", read)

    def resume(self, thread: int | None) -> str:
        return "run"

    def step(self, kind: StepKind, thread: int) -> str:
        return _STEPS[kind]

    def step_back(self, kind: StepKind | None, thread: int) -> str:
        self._exception_reported = False
        return _BACK[kind]

    def go_to(self, time: int) -> str:
        return f"goto {time}"

    def goes_back(self, command: str) -> bool:
        return _BACKWARD.match(command) is not None

    def resumes(self, command: str) -> bool:
        return _RESUMING.match(command) is not None

    def kill(self) -> str:
        return "kill\ny"

    def study(self, text: str) -> Sequence[str]:
        stops = stop_parser.parse_stops(text)
        if not stops:
            return ("run",) if "not meaningful in outermost frame" in text else ()
        now = stops[-1]
        if now.uncaught is not None and self._stops_at_uncaught and not self._exception_reported:
            return ("backstep",)
        exits = self._exit is not None and _EXIT in now.breakpoints and not self._numbers(now)
        if exits and "retcode" not in now.rest:
            return ("print retcode", "run")
        event = self.event_at(now.address)
        if event is not None and self._is_after_program(event) and not now.breakpoints:
            return ("run",)
        if event is not None and event.yields and not stop_parser.has_result(now.rest):
            return ("print *",)
        return ()

    def _is_after_program(self, event: DebugEvent) -> bool:
        """Whether the user's code has ended, and a library's top-level code runs at exit."""
        library = self._program is not None and self._program.is_library(event.module)
        return library and event.function == event.module

    def read_stop(self, text: str) -> StopInfo | None:
        stops = stop_parser.parse_stops(text)
        code = re.search(r"^(?:\(ocd\) )?retcode: int = (-?\d+)", text, re.MULTILINE)
        if code is not None:
            self._code = int(code[1]) & 0xFF
        if not stops:
            return None
        now = stops[-1]
        if now.exited:
            return StopInfo(exit=Exit(code=self._code))
        if now.uncaught is not None:
            # Report the exception here: the program does not get to print it.
            description = (
                None
                if self._exception_reported
                else f"Uncaught exception: {' '.join(now.uncaught.split())}"
            )
            return StopInfo(exit=Exit(code=_UNCAUGHT_CODE), description=description)
        halt = self._halt(now)
        if self.beginning is None:
            self.beginning = now.time
        failed = next((each for each in stops if each.uncaught is not None), None)
        if failed is not None and failed.uncaught is not None:
            self._exception_reported = True
            self._exception = stop_parser.exception(failed.uncaught)
            return replace(halt, reason=StopReason.EXCEPTION, returned=None)
        return halt

    def _halt(self, now: stop_parser.OcamlStop) -> StopInfo:
        event = self.event_at(now.address)
        reason = StopReason.PAUSE if now.interrupted else None
        if event is None or self._program is None:
            return StopInfo(reason, numbers=(), time=now.time)
        returned = None
        if event.yields and "$" in now.rest:
            line = next(line for line in now.rest.splitlines() if "$" in line)
            shown = now.rest[now.rest.index(line) :].partition("\n(ocd)")[0]
            returned = _result(shown.removeprefix("(ocd) "))
        return StopInfo(
            reason,
            self._program.file_of(event),
            event.line,
            function_of(event),
            numbers=self._numbers(now),
            returned=returned,
            time=now.time,
        )

    def _numbers(self, now: stop_parser.OcamlStop) -> tuple[str, ...]:
        return tuple(
            each
            for each in self._breakpoint_numbers
            if not now.breakpoints.isdisjoint(map(int, each.split(",")))
        )

    # --- breakpoints

    def missing_feature(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        assert self._program is not None
        found = breakpoint_locations.of(self._program, location)
        if not found:
            why = breakpoint_locations.why_none(self._program, location)

            def refuse(text: str) -> DebuggerBreakpoint:
                raise DebuggerError(why)

            return ConsoleQuery("", refuse)
        first = min(found, key=lambda event: (event.line, event.column))
        path = self._program.file_of(first)

        def read(text: str) -> DebuggerBreakpoint:
            numbers = _SET.findall(text.replace("(ocd) ", ""))
            if len(numbers) != len(found):
                raise DebuggerError(value_parser.error_message(text))
            number = ",".join(numbers)
            self._breakpoint_numbers.add(number)
            return DebuggerBreakpoint(number, path, first.line, message=_note(found))

        return ConsoleQuery("\n".join(f"break 0:{event.address}" for event in found), read)

    def delete_breakpoint(self, number: str) -> str:
        self._breakpoint_numbers.discard(number)
        return "\n".join(f"delete {each}" for each in number.split(","))

    def check_condition(self, expression: str) -> str | None:
        return _problem(expression)

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        self._stops_at_uncaught = bool(filters)
        return ()

    def raw(self, command: str, at: FrameRef) -> ConsoleQuery[str]:
        printed = _PRINT.match(command)
        if printed is not None:
            expressions.parse(printed[1])  # ocamldebug crashes on some input

        def read(text: str) -> str:
            if refused := _REFUSED.match(text):
                raise EvaluationFailed(refused[1])
            return text

        return ConsoleQuery(command, read)

    def exception(self, thread: int) -> ConsoleQuery[ExceptionInfo | None]:
        return ConsoleQuery("", lambda text: self._exception)


def _result(text: str) -> RawValue | None:
    try:
        value = value_parser.read(text)
    except EvaluationFailed:
        return None
    return RawValue("result", value.text, value.type)


def _note(found: Sequence[DebugEvent]) -> str | None:
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
