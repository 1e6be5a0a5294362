"""Haskell through GHCi's debugger, with nothing but what comes with GHC.

The program runs in a process of its own (`-fexternal-interpreter`), whose streams are opened anew
before it begins: what it prints is never among GHCi's words. Nothing is evaluated because it is
looked at: what the program has not needed yet is shown as `_`. There is no stack, no pause, and a
step over a call runs through breakpoints in it (`:steplocal`). Measured with GHC 9.0.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from freezeframe.backends.backend import Feature, Launch, RawFrame, RawValue, StepKind, Target
from freezeframe.backends.console.prompt.backend import prompted
from freezeframe.backends.console.prompt.spelling import (
    Ask,
    At,
    Begin,
    Halt,
    Home,
    Made,
    Spelling,
)
from freezeframe.backends.debugger import Debugger, by_name
from freezeframe.backends.transport.process import exit_of
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.places import Location
from freezeframe.model.stops import (
    ExceptionFilter,
    ExceptionInfo,
    Exit,
    StopReason,
    TracebackLine,
)
from freezeframe.model.values import ScopeKind

from . import reading

_PROBE = str(Path(__file__).with_name("main_probe.ghci"))
_MOVING = re.compile(r":(?:c(?:ontinue)?|st(?:ep(?:local|module)?)?|tr(?:ace)?|main|run)\b")
_STEPS = {StepKind.OVER: ":steplocal", StepKind.INTO: ":step"}
#: where programs keep their modules, seen from where they lie
_FOLDERS = (".", "src", "lib", "app")

_POSIX = "System.Posix.Internals"


def _opens(name: str, flags: str, number: int) -> str:
    """Return the statement that makes a file one of the program's standard streams."""
    opened = f'{_POSIX}.withFilePath "{{{name}}}" (\\p -> {_POSIX}.c_open p {_POSIX}.{flags} 0)'
    return f"{opened} >>= \\fd -> {_POSIX}.c_dup2 fd {number} >> return ()"


def _goes(main: str) -> str:
    """Return the command that makes `ffgo` what starts the program, and then what resumes it."""
    then = r":def! ffgo (\\_ -> return \":ffmove :ffcontinue\")"
    return rf':def! ffgo (\_ -> return "{then}\n:ffmove :ffrun ({main} >> return ())")'


_SETTINGS = (
    "let fftold ends thrown = case Unsafe.Coerce.unsafeCoerce thrown of"
    " { Control.Exception.SomeException e -> (show (Data.Typeable.typeOf e),"
    " Control.Exception.displayException e, case (ends, Data.Typeable.cast e) of"
    " { (True, Just System.Exit.ExitSuccess) -> 0 :: Int;"
    " (True, Just (System.Exit.ExitFailure code)) -> code; (True, _) -> -1; _ -> -2 }) }",
    'let _exception = Control.Exception.toException (userError "")',
    _opens("stdin", "o_RDONLY", 0),
    _opens("stdout", "o_WRONLY", 1),
    _opens("stderr", "o_WRONLY", 2),
)


class Ghci(Spelling):
    """GHCi's words, and the macros that `main_probe.ghci` adds to them."""

    name = "ghci"
    prompt = r"(?:\[[^\n]*\] )?ffghci> "
    marked = r'"'
    one_a_place = True
    small_steps = True
    # It ends an evaluation: the program cannot go on after one.
    pauses = False
    interrupts_program = True
    filters = (
        ExceptionFilter("uncaught", "exceptions that nobody catches", default=True),
        ExceptionFilter("raised", "every exception where it is thrown"),
        ExceptionFilter("traced", "uncaught ones with the last place before them: very slow"),
    )
    nearest = {
        Feature.MEMORY_READ: "dbg print EXPR",
        Feature.MEMORY_WRITE: "dbg eval 'let NAME = VALUE'",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "dbg source",
        Feature.WATCHPOINTS: "dbg break FILE:LINE --condition EXPR",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.JUMP: "dbg restart",
        Feature.SET: "dbg eval 'let NAME = VALUE'",
        Feature.DETACH: "dbg continue --no-wait",
        Feature.PAUSE: "dbg stop",
    }

    # --- the line

    def mark(self, token: str) -> str:
        return f':type "{token}"'

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        if not isinstance(target, Launch):
            raise Unsupported("ghci only starts programs.", next="dbg start PROGRAM")
        ghci = target.interpreter or config.interpreter or config.path or self.name
        home = os.path.dirname(target.program)
        folders = [os.path.normpath(os.path.join(home, each)) for each in _FOLDERS]
        options = ("-fexternal-interpreter", "-ignore-dot-ghci", "-fforce-recomp", "-v1")
        # Its own path would be relative, and what it says of places then too.
        path = ("-i", "-i" + ":".join(folders))
        words = (*options, "-ghci-script", _PROBE, *path, *config.args)
        return Begin(
            # What it complains of is an answer too.
            ("/bin/sh", "-c", 'exec "$0" "$@" 2>&1', ghci, *words, target.program),
            target.cwd,
            target.env,
            home=Home.LAUNCHED,
            settings=(
                *_SETTINGS,
                _goes(f"{reading.module_of(target.program)}.main"),
                f":set args {json.dumps(list(target.args), ensure_ascii=False)}",
                f":set prog {json.dumps(Path(target.program).stem, ensure_ascii=False)}",
            ),
        )

    def read_greeting(self, text: str) -> str | None:
        hello = re.search(r"^GHCi, version ([\d.]+)", text, re.MULTILINE)
        return hello[1].rstrip(".") if hello else None

    def read_failure(self, words: str) -> str | None:
        return words.strip() or None

    def unreadable(self, greeting: str) -> str | None:
        if not re.search(r"^Failed, ", greeting, re.MULTILINE):
            return None
        told = re.sub(
            r"^(?:GHCi, |Loaded GHCi|\[\d+ of \d+\]|Failed, ).*\n?", "", greeting, flags=re.M
        )
        return told.strip()

    def read_end(self, words: str) -> Exit | None:
        ended = re.search(r"iserv terminated \((-?\d+)\)", words)
        return exit_of(int(ended[1])) if ended else None

    # --- running

    def run(self, target: Launch) -> str:
        return f":ffborn {reading.module_of(target.program)}.main"

    def explain(self, target: Target, words: str) -> tuple[str, str | None] | None:
        wrong = reading.COMPLAINT.search(words)
        if wrong is None or not isinstance(target, Launch):
            return None
        return f"{target.program} has no main to run.", "dbg start PROGRAM"

    def pid(self) -> Ask[int | None]:
        def read(text: str) -> int | None:
            found = re.search(r"^ffpid = .*?(\d+)\)*$", text, re.MULTILINE)
            return int(found[1]) if found else None

        return Ask(":force ffpid", read)

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

    def read_stop(self, text: str) -> Halt | None:
        if text.startswith("ffpid = "):
            return Halt() if reading.COMPLAINT.search(text) is None else None
        # The first: behind it are values, and what they hold is the program's.
        told = reading.STOPPED.search(text)
        if told is None:
            return Halt(exit=reading.end_of(text))
        if told["function"] != reading.UNKNOWN:
            lying = [
                each["number"] for each in reading.LYING.finditer(text) if reading.same(each, told)
            ]
            return Halt(
                path=told["path"],
                line=reading.line_of(told),
                function=reading.split(told["function"])[1],
                numbers=tuple(lying),
            )
        thrown = reading.THROWN.search(text)
        if thrown is not None and int(thrown[3]) >= 0:
            # Nobody will catch it: nothing of the program's runs after this.
            return Halt(exit=Exit(code=int(thrown[3])))
        place = reading.place(text)
        return Halt(StopReason.EXCEPTION, *place) if place else Halt(StopReason.EXCEPTION)

    def complaint_of(self, text: str) -> str:
        died = reading.DIED.search(text) if reading.STOPPED.search(text) is None else None
        if died is None or reading.EXIT.match(died[1].splitlines()[0].strip()):
            return ""
        return (
            re.split(r"\n(?:Not stopped|No active|Empty history|ffthrown = |\[\d+\] )", died[1])[
                0
            ].strip()
            + "\n"
        )

    def moves(self, command: str) -> bool:
        return _MOVING.match(command.strip()) is not None

    def moving(self, command: str) -> str:
        return f":ffmove {command}"

    # --- breakpoints

    def takes(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(self, location: Location, condition: str | None) -> Ask[Made]:
        if location.function is not None:
            module = f"{location.module}." if location.module else ""
            place = module + location.function
        else:
            place = f"{reading.module_of(location.file or '')} {location.line}"

        def read(text: str) -> Made:
            made = reading.SET.search(text)
            if made is not None:
                return Made(made["number"], made["path"], reading.line_of(made))
            if location.function is not None:
                raise DebuggerError(f"there is no function {place} in what is loaded.")
            raise DebuggerError(f"no expression begins in line {location.line}.")

        return Ask(f":break {place}", read)

    def unbreak(self, number: str) -> str:
        return f":delete {number}"

    def truth(self, condition: str, at: At) -> Ask[bool]:
        def read(text: str) -> bool:
            told = reading.evaluated(condition, text).text
            if told not in ("True", "False"):
                raise EvaluationFailed(f"{told} is neither True nor False")
            return told == "True"

        return reading.seen(f":ffeval {reading.one_line(condition)}", read)

    def log_text(self, expression: str, at: At) -> Ask[str]:
        command = f":ffeval {reading.one_line(expression)}"
        return reading.seen(command, lambda text: reading.evaluated(expression, text).text)

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        names = {each.name for each in filters}
        raised = "raised" in names
        thrown = f"let ffthrown = fftold {not raised} _exception\\n:force ffthrown"
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

    # --- seeing

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            place = reading.place(text)
            if place is None or start > 0:
                return []
            path, line, function = place
            return [RawFrame(0, function, path, line, module=reading.module_of(path))]

        return Ask(":ffwhere", read)

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        return reading.seen(":show bindings", reading.bindings)

    def arguments(self, at: At) -> Ask[Sequence[str] | None]:
        def read(text: str) -> Sequence[str] | None:
            place = reading.place(text)
            return None if place is None else reading.parameters(*place)

        return Ask(":ffwhere", read)

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        return reading.seen(
            f":ffeval {reading.one_line(expression)}",
            lambda text: reading.evaluated(expression, text),
        )

    def execute(self, statement: str, at: At) -> Ask[RawValue]:
        """Run a statement: what is no expression, and an expression that does something."""

        def read(text: str) -> RawValue:
            reading.check(text)
            return RawValue(statement, text.strip() or "()")

        def run(text: str) -> Ask[RawValue] | None:
            acts = re.search(r"^ffvalue :: (?:GHC\.Types\.)?IO\b", text, re.MULTILINE)
            if acts or "parse error" in text:
                return Ask(reading.one_line(statement), read)
            return None

        asked = self.evaluate(statement, at)
        return Ask(f":ffeval {reading.one_line(statement)}", asked.read, then=run)

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        def read(text: str) -> ExceptionInfo | None:
            thrown = reading.THROWN.search(text)
            if thrown is None:
                return None
            mode = "uncaught" if thrown[3] == "-1" else "raised"
            words, _, calls = reading.unquoted(thrown[2]).partition(
                "\nCallStack (from HasCallStack):"
            )
            lines = [
                TracebackLine(
                    found["path"], int(found["line"]), reading.function_at(*reading.at(found))
                )
                for found in reading.CALLED.finditer(calls)
            ]
            nowhere = "" if reading.place(text) else reading.NOWHERE
            kind = reading.unquoted(thrown[1])
            return ExceptionInfo(kind, words, tuple(reversed(lines)), nowhere, mode=mode)

        return Ask(":ffwhere", read)


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
