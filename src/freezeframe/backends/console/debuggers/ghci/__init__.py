"""Haskell through GHCi's debugger, with nothing but what comes with GHC.

The program runs in a process of its own (`-fexternal-interpreter`), whose streams are opened anew
before it begins: what it prints is never among GHCi's words. Nothing is evaluated because it is
looked at: what the program has not needed yet is shown as `_`. Measured with GHC 9.0.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

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
from freezeframe.backends.debugger import Debugger, Found, Missing
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

T = TypeVar("T")

_PROBE = str(Path(__file__).with_name("main_probe.ghci"))
#: `File.hs:20:10-33`, `File.hs:20:10`, `File.hs:(22,8)-(30,55)`
_SPAN = (
    r"(?P<path>[^\n]+?):"
    r"(?P<span>\((?P<from>\d+),\d+\)-\(\d+,\d+\)|(?P<line>\d+):[\d-]+)"
)
_STOPPED = re.compile(rf"^ *Stopped in (?P<function>[^\n]+?), (?:{_SPAN}|<unknown>)$", re.MULTILINE)
_LAST = re.compile(rf"^-1 +: (?P<function>[^\n]+?) \({_SPAN}\)$", re.MULTILINE)
_CALLED = re.compile(r"^ +\S+, called at (?P<path>[^\n]+?):(?P<line>\d+):\d+ in ", re.MULTILINE)
_THROWN = re.compile(r"^ffthrown = \((\".*?(?<!\\)\"),(\".*(?<!\\)\"),(-?\d+)\)$", re.M | re.S)
_DIED = re.compile(r"^\*\*\* Exception: (.*)", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"Exit(?:Failure (\d+)|Success)\Z")
_BINDING = re.compile(
    r"^(?P<name>[\w']+) :: (?P<type>[^\n]*?) = (?P<value>.*?)(?=^[\w']+ :: |^Stopped at |\Z)",
    re.MULTILINE | re.DOTALL,
)
_VALUE = re.compile(r"^ffvalue = (.*?)\n?^ffvalue :: (.*)$", re.MULTILINE | re.DOTALL)
_SET = re.compile(rf"Breakpoint (?P<number>\d+) (?:activated|was already set) at {_SPAN}$", re.M)
_COMPLAINT = re.compile(
    r"^\S+:\d+:\d+: error:(.*?)(?=\n\s*•[^•]*?(?:In |Where|Perhaps|Relevant)|\n\n|\Z)", re.S | re.M
)
_LYING = re.compile(rf"^\[(?P<number>\d+)\] \S+ {_SPAN}(?: enabled)?$", re.MULTILINE)
_MODULE = re.compile(r"^\s*module\s+([\w.]+)", re.MULTILINE)
_MOVING = re.compile(r":(?:c(?:ontinue)?|st(?:ep(?:local|module)?)?|tr(?:ace)?|main|run)\b")
_UNKNOWN = "<exception thrown>"
_NOWHERE = "it does not say where; `dbg catch traced` and `dbg restart` show the last place before"
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
                _goes(f"{_module_of(target.program)}.main"),
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
        return f":ffborn {_module_of(target.program)}.main"

    def explain(self, target: Target, words: str) -> tuple[str, str | None] | None:
        wrong = _COMPLAINT.search(words)
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
            return Halt() if _COMPLAINT.search(text) is None else None
        # The first: behind it are values, and what they hold is the program's.
        told = _STOPPED.search(text)
        if told is None:
            return Halt(exit=_exit(text))
        if told["function"] != _UNKNOWN:
            lying = [each["number"] for each in _LYING.finditer(text) if _same(each, told)]
            return Halt(
                path=told["path"],
                line=_line(told),
                function=_split(told["function"])[1],
                numbers=tuple(lying),
            )
        thrown = _THROWN.search(text)
        if thrown is not None and int(thrown[3]) >= 0:
            # Nobody will catch it: nothing of the program's runs after this.
            return Halt(exit=Exit(code=int(thrown[3])))
        place = _place(text)
        return Halt(StopReason.EXCEPTION, *place) if place else Halt(StopReason.EXCEPTION)

    def complaint_of(self, text: str) -> str:
        died = _DIED.search(text) if _STOPPED.search(text) is None else None
        if died is None or _EXIT.match(died[1].splitlines()[0].strip()):
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
            place = f"{_module_of(location.file or '')} {location.line}"

        def read(text: str) -> Made:
            made = _SET.search(text)
            if made is not None:
                return Made(made["number"], made["path"], _line(made))
            if location.function is not None:
                raise DebuggerError(f"there is no function {place} in what is loaded.")
            raise DebuggerError(f"no expression begins in line {location.line}.")

        return Ask(f":break {place}", read)

    def unbreak(self, number: str) -> str:
        return f":delete {number}"

    def truth(self, condition: str, at: At) -> Ask[bool]:
        def read(text: str) -> bool:
            told = _evaluated(condition, text).text
            if told not in ("True", "False"):
                raise EvaluationFailed(f"{told} is neither True nor False")
            return told == "True"

        return _seen(f":ffeval {_one_line(condition)}", read)

    def log_text(self, expression: str, at: At) -> Ask[str]:
        command = f":ffeval {_one_line(expression)}"
        return _seen(command, lambda text: _evaluated(expression, text).text)

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
            place = _place(text)
            if place is None or start > 0:
                return []
            path, line, function = place
            return [RawFrame(0, function, path, line, module=_module_of(path))]

        return Ask(":ffwhere", read)

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        return _seen(":show bindings", _bindings)

    def arguments(self, at: At) -> Ask[Sequence[str] | None]:
        def read(text: str) -> Sequence[str] | None:
            place = _place(text)
            return None if place is None else _parameters(*place)

        return Ask(":ffwhere", read)

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        return _seen(f":ffeval {_one_line(expression)}", lambda text: _evaluated(expression, text))

    def execute(self, statement: str, at: At) -> Ask[RawValue]:
        """Run a statement: what is no expression, and an expression that does something."""

        def read(text: str) -> RawValue:
            _check(text)
            return RawValue(statement, text.strip() or "()")

        def run(text: str) -> Ask[RawValue] | None:
            acts = re.search(r"^ffvalue :: (?:GHC\.Types\.)?IO\b", text, re.MULTILINE)
            if acts or "parse error" in text:
                return Ask(_one_line(statement), read)
            return None

        asked = self.evaluate(statement, at)
        return Ask(f":ffeval {_one_line(statement)}", asked.read, then=run)

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        def read(text: str) -> ExceptionInfo | None:
            thrown = _THROWN.search(text)
            if thrown is None:
                return None
            mode = "uncaught" if thrown[3] == "-1" else "raised"
            words, _, calls = _text(thrown[2]).partition("\nCallStack (from HasCallStack):")
            lines = [
                TracebackLine(found["path"], int(found["line"]), _function_at(*_at(found)))
                for found in _CALLED.finditer(calls)
            ]
            nowhere = "" if _place(text) else _NOWHERE
            kind = _text(thrown[1])
            return ExceptionInfo(kind, words, tuple(reversed(lines)), nowhere, mode=mode)

        return Ask(":ffwhere", read)


# --- what it says -------------------------------------------------------------------------------


def _seen(command: str, read: Callable[[str], T]) -> Ask[T]:
    """Ask something about where the program stands; of an exception, about where it was last."""

    def look(text: str) -> Ask[T]:
        return Ask(f":ffback {command}" if _UNKNOWN in text else command, read)

    return Ask(":show context", read, then=look)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(reversed(list(pattern.finditer(text)))), None)


def _place(text: str) -> tuple[str, int, str] | None:
    """Return path, line and function where the program stands; of an exception, as far as known.

    That is where the exception says that it was made, or else where the program was last.
    """
    told = _last(_STOPPED, text)
    if told is not None and told["function"] == _UNKNOWN:
        thrown = _THROWN.search(text)
        called = _CALLED.search(_text(thrown[2])) if thrown else None
        if called is not None:
            path, line = _at(called)
            return path, line, _function_at(path, line)
        told = _LAST.search(text)
    return None if told is None else (told["path"], _line(told), _split(told["function"])[1])


def _at(found: re.Match[str]) -> tuple[str, int]:
    return found["path"], int(found["line"])


def _function_at(path: str, line: int) -> str:
    """Return the function whose text a line is in."""
    for text in reversed(_lines_of(path)[:line]):
        if found := re.match(r"([a-z_][\w']*)(?!.*::)", text):
            return found[1]
    return "<unknown>"


def _lines_of(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _parameters(path: str, line: int, function: str) -> list[str]:
    """Return the names in the head of the equation that a place lies in, by its text."""
    name = re.split(r"[.:]", function)[-1]
    head = re.compile(rf"\s*{re.escape(name)}\s(.*?)(?<![=<>/])(?:=(?!=)|\|)")
    for text in reversed(_lines_of(path)[:line]):
        if (found := head.match(text)) and "::" not in found[1]:
            return re.findall(r"(?<![\w'.])[a-z_][\w']*", found[1])
    return []


def _same(one: re.Match[str], other: re.Match[str]) -> bool:
    return (one["path"], one["span"]) == (other["path"], other["span"])


def _line(found: re.Match[str]) -> int:
    return int(found["line"] or found["from"])


def _split(name: str) -> tuple[str | None, str]:
    """Return module and function: `Shop.Cart.total.go` is `total.go` in `Shop.Cart`."""
    found = re.fullmatch(r"((?:[A-Z]\w*\.)+)(.+)", name)
    return (found[1].rstrip("."), found[2]) if found else (None, name)


def _exit(text: str) -> Exit:
    died = _DIED.search(text)
    if died is None:
        return Exit(code=0)
    wanted = _EXIT.match(died[1].splitlines()[0].strip())
    return Exit(code=1 if wanted is None else int(wanted[1] or 0))


def _bindings(text: str) -> list[RawValue]:
    return [
        RawValue(found["name"], found["value"].strip(), found["type"])
        for found in _BINDING.finditer(text)
        if not re.fullmatch(r"ff(?:told|thrown|value|pid)|it|_exception|_t\d+", found["name"])
    ]


def _evaluated(expression: str, text: str) -> RawValue:
    _check(text)
    value = _VALUE.search(text)
    if value is None:
        raise DebuggerError(f"ghci answered {text.strip()[:200]!r}.", next="dbg logs")
    return RawValue(expression, value[1], value[2])


def _check(text: str) -> None:
    """Raise EvaluationFailed with GHC's own complaint, where there is one."""
    wrong = _COMPLAINT.search(text)
    if wrong is not None:
        words = re.sub(r"\s+", " ", wrong[1].replace("•", " ")).strip()
        raise EvaluationFailed(words.rstrip("."))
    died = _DIED.search(text)
    if died is not None:
        raise EvaluationFailed(died[1].strip().splitlines()[0])


def _one_line(text: str) -> str:
    return " ".join(text.split("\n"))


def _text(literal: str) -> str:
    """Return a string as GHC writes it: raw, but for its quotes and what is escaped."""
    try:
        return str(ast.literal_eval(literal.replace("\n", "\\n")))
    except (ValueError, SyntaxError):
        return literal[1:-1]


def _module_of(path: str) -> str:
    found = _MODULE.search("\n".join(_lines_of(path)))
    return found[1] if found else "Main"


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    """The version is told when a program is started."""
    wanted = os.path.expanduser(config.path) if config.path else "ghci"
    path = shutil.which(wanted, path=env.get("PATH", os.defpath))
    return Found(path, None) if path else Missing(f"no `{wanted}` on PATH")


DEBUGGER = Debugger(
    name="ghci",
    kind="console",
    languages=("Haskell",),
    patterns=("*.hs", "*.lhs"),
    shebangs=("runghc", "runhaskell"),
    binaries=(),
    install=("apt install ghc", "brew install ghc"),
    find=_find,
    make=prompted(Ghci),
)
