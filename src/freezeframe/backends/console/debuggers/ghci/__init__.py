"""Haskell through GHCi's debugger, without anything that does not come with GHC.

The program runs in a process of its own (`-fexternal-interpreter`), whose streams are reopened
before it starts, so its output is never mixed with GHCi's. Inspection evaluates nothing: what the
program has not needed yet is shown as `_`. There is no stack, no pause, and a step over a call runs
through breakpoints in it (`:steplocal`). Measured with GHC 9.0.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from freezeframe.backends.backend import Feature, Launch, RawFrame, RawValue, StepKind, Target
from freezeframe.backends.console.prompt.backend import prompted
from freezeframe.backends.console.prompt.command_set import (
    CommandSet,
    ConsoleQuery,
    DebuggeeHost,
    DebuggerBreakpoint,
    FrameRef,
    LaunchSpec,
    StopInfo,
)
from freezeframe.backends.debugger import Debugger, by_name
from freezeframe.backends.transport.process import exit_of
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason, TracebackLine
from freezeframe.model.values import ScopeKind

from . import output_parser

_AGENT = str(Path(__file__).with_name("agent.ghci"))
_RESUMING = re.compile(r":(?:c(?:ontinue)?|st(?:ep(?:local|module)?)?|tr(?:ace)?|main|run)\b")
_REFUSED = re.compile(r"^unknown command '[^\n]*'", re.MULTILINE)
_STEPS = {StepKind.OVER: ":steplocal", StepKind.INTO: ":step"}
#: directories of a program's modules, relative to its own
_FOLDERS = (".", "src", "lib", "app")

_POSIX = "System.Posix.Internals"


def _open_stream(name: str, flags: str, number: int) -> str:
    """Return the statement that makes a file one of the program's standard streams."""
    opened = f'{_POSIX}.withFilePath "{{{name}}}" (\\p -> {_POSIX}.c_open p {_POSIX}.{flags} 0)'
    return f"{opened} >>= \\fd -> {_POSIX}.c_dup2 fd {number} >> return ()"


def _define_resume(main: str) -> str:
    """Return the command that defines `ffgo`, which starts the program once and then resumes it."""
    then = r":def! ffgo (\\_ -> return \":ffmove :ffcontinue\")"
    return rf':def! ffgo (\_ -> return "{then}\n:ffmove :ffrun ({main} >> return ())")'


_SETTINGS = (
    "let ffreport ends thrown = case Unsafe.Coerce.unsafeCoerce thrown of"
    " { Control.Exception.SomeException e -> (show (Data.Typeable.typeOf e),"
    " Control.Exception.displayException e, case (ends, Data.Typeable.cast e) of"
    " { (True, Just System.Exit.ExitSuccess) -> 0 :: Int;"
    " (True, Just (System.Exit.ExitFailure code)) -> code; (True, _) -> -1; _ -> -2 }) }",
    'let _exception = Control.Exception.toException (userError "")',
    _open_stream("stdin", "o_RDONLY", 0),
    _open_stream("stdout", "o_WRONLY", 1),
    _open_stream("stderr", "o_WRONLY", 2),
)


class Ghci(CommandSet):
    """GHCi's commands, and the macros that `agent.ghci` adds."""

    name = "ghci"
    prompt = r"(?:\[[^\n]*\] )?ffghci> "
    marked = r'"'
    one_per_location = True
    small_steps = True
    # An interrupt aborts the evaluation: the program cannot be resumed after it.
    pauses = False
    interrupts_program = True
    filters = (
        ExceptionFilter("uncaught", "exceptions that nobody catches", default=True),
        ExceptionFilter("raised", "every exception where it is thrown"),
        ExceptionFilter("traced", "uncaught ones with the last place before them: very slow"),
    )
    mutable = False
    alternatives = {
        Feature.MEMORY_WRITE: "dbg eval 'let NAME = VALUE'",
        Feature.SET: "dbg eval 'let NAME = VALUE'",
        Feature.PAUSE: "dbg stop",
    }

    # --- connection and start

    def echo(self, token: str) -> str:
        return f':type "{token}"'

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
        if not isinstance(target, Launch):
            raise Unsupported("ghci only starts programs.", next="dbg start PROGRAM")
        ghci = target.interpreter or config.interpreter or config.path or self.name
        directory = os.path.dirname(target.program)
        folders = [os.path.normpath(os.path.join(directory, each)) for each in _FOLDERS]
        options = ("-fexternal-interpreter", "-ignore-dot-ghci", "-fforce-recomp", "-v1")
        # With its default path, which is relative, GHCi would report relative locations.
        path = ("-i", "-i" + ":".join(folders))
        args = (*options, "-ghci-script", _AGENT, *path, *config.args)
        return LaunchSpec(
            # Error messages are part of the answer.
            ("/bin/sh", "-c", 'exec "$0" "$@" 2>&1', ghci, *args, target.program),
            target.cwd,
            target.env,
            home=DebuggeeHost.LAUNCHED,
            settings=(
                *_SETTINGS,
                _define_resume(f"{output_parser.module_of(target.program)}.main"),
                f":set args {json.dumps(list(target.args), ensure_ascii=False)}",
                f":set prog {json.dumps(Path(target.program).stem, ensure_ascii=False)}",
            ),
        )

    def read_greeting(self, text: str) -> str | None:
        greeting_line = re.search(r"^GHCi, version ([\d.]+)", text, re.MULTILINE)
        return greeting_line[1].rstrip(".") if greeting_line else None

    def read_failure(self, output: str) -> str | None:
        return output.strip() or None

    def unreadable(self, greeting: str) -> str | None:
        if not re.search(r"^Failed, ", greeting, re.MULTILINE):
            return None
        errors = re.sub(
            r"^(?:GHCi, |Loaded GHCi|\[\d+ of \d+\]|Failed, ).*\n?", "", greeting, flags=re.M
        )
        return errors.strip()

    def read_end(self, output: str) -> Exit | None:
        ended = re.search(r"iserv terminated \((-?\d+)\)", output)
        return exit_of(int(ended[1])) if ended else None

    # --- execution

    def run(self, target: Launch) -> str:
        return f":ffborn {output_parser.module_of(target.program)}.main"

    def explain(self, target: Target, answer: str) -> tuple[str, str | None] | None:
        error = output_parser.ERROR.search(answer)
        if error is None or not isinstance(target, Launch):
            return None
        return f"{target.program} has no main to run.", "dbg start PROGRAM"

    def pid(self) -> ConsoleQuery[int | None]:
        def read(text: str) -> int | None:
            found = re.search(r"^ffpid = .*?(\d+)\)*$", text, re.MULTILINE)
            return int(found[1]) if found else None

        return ConsoleQuery(":force ffpid", read)

    def entry(self, target: Launch) -> Location:
        return Location(function="main")

    def resume(self, thread: int | None) -> str:
        return ":ffgo"

    def step(self, kind: StepKind, thread: int) -> str:
        if kind not in _STEPS:
            raise Unsupported(
                "ghci has no stack to step out of: Haskell evaluates where it needs a value.",
                next="dbg next",
            )
        return f":ffmove {_STEPS[kind]}"

    def read_stop(self, text: str) -> StopInfo | None:
        if text.startswith("ffpid = "):
            return StopInfo() if output_parser.ERROR.search(text) is None else None
        # Only the first match: values follow, which may contain any text.
        stop = output_parser.STOPPED.search(text)
        if stop is None:
            return StopInfo(exit=output_parser.end_of(text))
        if stop["function"] != output_parser.UNKNOWN:
            numbers = [
                each["number"]
                for each in output_parser.BREAKPOINT.finditer(text)
                if output_parser.same_span(each, stop)
            ]
            return StopInfo(
                path=stop["path"],
                line=output_parser.line_of(stop),
                function=output_parser.split(stop["function"])[1],
                numbers=tuple(numbers),
            )
        thrown = output_parser.THROWN.search(text)
        if thrown is not None and int(thrown[3]) >= 0:
            # The exception is uncaught: no code of the program runs after this.
            return StopInfo(exit=Exit(code=int(thrown[3])))
        location = output_parser.location_of_stop(text)
        return (
            StopInfo(StopReason.EXCEPTION, *location)
            if location
            else StopInfo(StopReason.EXCEPTION)
        )

    def error_output_of(self, text: str) -> str:
        failure = (
            output_parser.DIED.search(text) if output_parser.STOPPED.search(text) is None else None
        )
        if failure is None or output_parser.EXIT.match(failure[1].splitlines()[0].strip()):
            return ""
        return (
            re.split(r"\n(?:Not stopped|No active|Empty history|ffthrown = |\[\d+\] )", failure[1])[
                0
            ].strip()
            + "\n"
        )

    def resumes(self, command: str) -> bool:
        return _RESUMING.match(command.strip()) is not None

    def moving(self, command: str) -> str:
        return f":ffmove {command}"

    # --- breakpoints

    def missing_feature(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        if location.function is not None:
            module = f"{location.module}." if location.module else ""
            location_text = module + location.function
        else:
            location_text = f"{output_parser.module_of(location.file or '')} {location.line}"

        def read(text: str) -> DebuggerBreakpoint:
            breakpoint = output_parser.SET.search(text)
            if breakpoint is not None:
                return DebuggerBreakpoint(
                    breakpoint["number"], breakpoint["path"], output_parser.line_of(breakpoint)
                )
            if location.function is not None:
                raise DebuggerError(f"there is no function {location_text} in what is loaded.")
            raise DebuggerError(f"no expression begins in line {location.line}.")

        return ConsoleQuery(f":break {location_text}", read)

    def delete_breakpoint(self, number: str) -> str:
        return f":delete {number}"

    def evaluate_condition(self, condition: str, at: FrameRef) -> ConsoleQuery[bool]:
        def read(text: str) -> bool:
            value = output_parser.evaluated(condition, text).text
            if value not in ("True", "False"):
                raise EvaluationFailed(f"{value} is neither True nor False")
            return value == "True"

        return output_parser.query_at_stop(f":ffeval {output_parser.one_line(condition)}", read)

    def log_text(self, expression: str, at: FrameRef) -> ConsoleQuery[str]:
        command = f":ffeval {output_parser.one_line(expression)}"
        return output_parser.query_at_stop(
            command, lambda text: output_parser.evaluated(expression, text).text
        )

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        names = {each.name for each in filters}
        raised = "raised" in names
        thrown = f"let ffthrown = ffreport {not raised} _exception\\n:force ffthrown"
        run, on = (
            (':trace " ++ main', ":trace") if "traced" in names else ('" ++ main', ":continue")
        )
        return (
            f':def! ffrun (\\main -> return ("{run}))',
            f':def! ffcontinue (\\_ -> return "{on}")',
            f":set -f{'' if names else 'no-'}break-on-error",
            f":set -f{'' if raised else 'no-'}break-on-exception",
            f':def! ffexception (\\_ -> return "{thrown}")',
        )

    # --- inspection

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            location = output_parser.location_of_stop(text)
            if location is None or start > 0:
                return []
            path, line, function = location
            return [RawFrame(0, function, path, line, module=output_parser.module_of(path))]

        return ConsoleQuery(":ffwhere", read)

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]]:
        return output_parser.query_at_stop(":show bindings", output_parser.bindings)

    def arguments(self, at: FrameRef) -> ConsoleQuery[Sequence[str] | None]:
        def read(text: str) -> Sequence[str] | None:
            location = output_parser.location_of_stop(text)
            return None if location is None else output_parser.parameters(*location)

        return ConsoleQuery(":ffwhere", read)

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        return output_parser.query_at_stop(
            f":ffeval {output_parser.one_line(expression)}",
            lambda text: output_parser.evaluated(expression, text),
        )

    def execute(self, statement: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        """Run a statement: anything but an expression, or an expression with an effect (IO)."""

        def read(text: str) -> RawValue:
            output_parser.check(text)
            return RawValue(statement, text.strip() or "()")

        def run(text: str) -> ConsoleQuery[RawValue] | None:
            is_action = re.search(r"^ffvalue :: (?:GHC\.Types\.)?IO\b", text, re.MULTILINE)
            if is_action or "parse error" in text:
                return ConsoleQuery(output_parser.one_line(statement), read)
            return None

        query = self.evaluate(statement, at)
        return ConsoleQuery(f":ffeval {output_parser.one_line(statement)}", query.read, then=run)

    def raw(self, command: str, at: FrameRef) -> ConsoleQuery[str]:
        def read(text: str) -> str:
            if refused := _REFUSED.search(text):
                raise EvaluationFailed(refused[0])
            output_parser.check(text)
            return text

        return ConsoleQuery(command, read)

    def exception(self, thread: int) -> ConsoleQuery[ExceptionInfo | None]:
        def read(text: str) -> ExceptionInfo | None:
            thrown = output_parser.THROWN.search(text)
            if thrown is None:
                return None
            mode = "uncaught" if thrown[3] == "-1" else "raised"
            message, _, calls = output_parser.unquoted(thrown[2]).partition(
                "\nCallStack (from HasCallStack):"
            )
            lines = [
                TracebackLine(
                    found["path"],
                    int(found["line"]),
                    output_parser.function_at(*output_parser.at(found)),
                )
                for found in output_parser.CALLED.finditer(calls)
            ]
            nowhere = "" if output_parser.location_of_stop(text) else output_parser.NOWHERE
            kind = output_parser.unquoted(thrown[1])
            return ExceptionInfo(kind, message, tuple(reversed(lines)), nowhere, mode=mode)

        return ConsoleQuery(":ffwhere", read)


DEBUGGER = Debugger(
    name="ghci",
    kind="console",
    languages=("Haskell",),
    patterns=("*.hs", "*.lhs"),
    shebangs=("runghc", "runhaskell"),
    binaries=(),
    install=("apt install ghc", "brew install ghc"),
    find=by_name("ghci"),
    make=prompted(Ghci),
)
