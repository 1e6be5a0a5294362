"""PHP through phpdbg's prompt, for machines where PHP has no Xdebug.

phpdbg speaks through its standard streams, and so does the program. `main_probe.php` is what it is
started on: that sends the program's output to descriptors of its own, and then runs it. The
program's standard input stays phpdbg's, and is refused. Measured with PHP 8.2.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from freezeframe.backends.backend import Feature, Launch, RawFrame, RawValue, StepKind, Target
from freezeframe.backends.console.prompt.backend import PromptBackend
from freezeframe.backends.console.prompt.spelling import (
    Ask,
    At,
    Begin,
    Halt,
    Home,
    Line,
    Made,
    Spelling,
    nothing,
)
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.transport.ask import answer
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.places import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, StopReason, WatchHit
from freezeframe.model.values import ScopeKind

_PROBE = str(Path(__file__).with_name("main_probe.php"))
#: phpdbg has the pipes to us for its own streams; the program's are 4 and 5
_SHELL = (
    'exec 6</dev/fd/"$1" 7>/dev/fd/"$2" && exec 3<&0 4>&1 5>&2 && '
    'exec <&6 >&7 2>&7 && shift 2 && exec "$@"'
)
#: characters of a command that phpdbg reads
_LONGEST = 480
_STEPS = {StepKind.OVER: "step", StepKind.INTO: "step", StepKind.OUT: "leave"}
_MOVING = frozenset(
    [
        "step",
        "s",
        "continue",
        "c",
        "next",
        "n",
        "until",
        "u",
        "finish",
        "F",
        "leave",
        "L",
        "run",
        "r",
    ]
)
_BREAK = re.compile(r"\[Breakpoint #(\d+) (?:in [^\n]*? )?at ([^\n]*):(\d+), hits: \d+\]\n>")
_UNCAUGHT = re.compile(r"\[Uncaught (\S+) in ([^\n]*) on line (\d+): (.*?)\]\n>", re.DOTALL)
_WATCH = re.compile(
    r"\[Breaking on watchpoint (.*?)\]\nOld value: ?(.*?)\nNew value: ?(.*?)\n>", re.S
)
_SIGNAL = re.compile(r"\[Program received signal (SIG\w+)\]\n>")
_LEAVING = re.compile(r"\[Breaking for leave at [^\n]*\]\n>")
_ENDED = "[Script ended normally]"
_HERE = re.compile(r"^>(\d{5}): ", re.MULTILINE)
_ADDED = re.compile(
    r"\[(?P<pending>Pending b|B)reakpoint #(?P<number>\d+) added at (?P<place>[^\n]*)\]"
)
_FRAME = re.compile(
    r"^frame #\d+: (?P<function>[^(\n]*)(?:\(.*?\))? at (?P<path>/[^\n]*?):(?P<line>\d+)$",
    re.MULTILINE | re.DOTALL,
)


class Phpdbg(Spelling):
    """phpdbg's words, and those of the probe."""

    name = "phpdbg"
    prompt = r"prompt> "
    marked = r'\[The command "'
    eager = False
    one_a_place = True
    heedless = True
    over_is_into = True
    filters = (ExceptionFilter("uncaught", "exceptions that nobody catches", default=True),)
    nearest = {
        Feature.MEMORY_READ: "dbg print EXPR",
        Feature.MEMORY_WRITE: "dbg set NAME VALUE",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "dbg raw 'print exec'",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.JUMP: "dbg restart",
        Feature.DETACH: "dbg continue --no-wait",
        Feature.STDIN: "apt install php-xdebug",
        Feature.EXCEPTION_TYPES: "dbg catch uncaught",
    }
    scopes = ((ScopeKind.LOCALS, "Locals"), (ScopeKind.GLOBALS, "Globals"))

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._thrown: tuple[str, str] | None = None
        self._caught = True
        self._functions: list[str] = []
        #: what is watched → its number
        self._watched: dict[str, str] = {}

    # --- the line

    def mark(self, token: str) -> str:
        # A command that it does not have: the complaint names it.
        return token

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        if not isinstance(target, Launch):
            raise Unsupported("phpdbg only starts programs.", next="dbg start SCRIPT.php")
        if target.stdin is not None:
            raise Unsupported(
                "phpdbg reads its commands from the program's standard input.",
                next=self.nearest[Feature.STDIN],
            )
        self.stands_at_first = target.stop_on_entry
        words = (*self._command, "-qbI", *config.args, _PROBE, target.program, *target.args)
        return Begin(
            ("/bin/sh", "-c", _SHELL, "sh", "{read}", "{write}", *words),
            target.cwd,
            target.env,
            Line.PIPES,
            Home.INSIDE,
            settings=("set pagination off", f"break {_PROBE}:{_entry()}"),
        )

    # --- running

    def run(self, target: Launch) -> str:
        first = "run\nbreak del 0"
        return f"{first}\nstep" if target.stop_on_entry else first

    def resume(self, thread: int | None) -> str:
        return "continue"

    def step(self, kind: StepKind, thread: int) -> str:
        return _STEPS[kind]

    def study(self, text: str) -> Sequence[str]:
        if _ENDED in text:
            # It stays at its prompt; its own end has the program's code.
            return ("quit",)
        if _LEAVING.search(text) and len(_HERE.findall(text)) == 1:
            # It stands before the instruction that returns.
            return ("step",)
        return ()

    def read_stop(self, text: str) -> Halt | None:
        self._thrown = None
        here = _HERE.findall(text)
        if not here:
            return None
        line = int(here[-1])
        if found := _BREAK.search(text):
            return Halt(StopReason.BREAKPOINT, None, line, numbers=(found[1],))
        if found := _UNCAUGHT.search(text):
            self._thrown = found[1], found[4]
            words = f"{found[1]}: {found[4]}"
            return Halt(StopReason.EXCEPTION, None, line, numbers=(), description=words)
        if found := _WATCH.search(text):
            return self._watch_hit(found, line)
        if _SIGNAL.search(text):
            return Halt(StopReason.PAUSE, None, line, numbers=())
        return Halt(None, None, line, numbers=())

    def _watch_hit(self, found: re.Match[str], line: int) -> Halt:
        old, new = found[2].strip() or None, found[3].strip() or None
        number = self._watched.get(found[1], "-1")
        hit = WatchHit(int(number), found[1], old, new)
        return Halt(StopReason.WATCHPOINT, None, line, numbers=(), watch=hit)

    def refusal(self, text: str) -> str | None:
        found = re.findall(r"\[([^\n]*)\]", text)
        return found[-1] if found else None

    def moves(self, command: str) -> bool:
        return command.split()[:1] != [] and command.split()[0] in _MOVING

    # --- breakpoints

    def takes(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(self, location: Location, condition: str | None) -> Ask[Made]:
        if location.function is not None:
            place = location.function.replace("->", "::").lstrip("\\")
        else:
            place = f"{location.file}:{location.line}"

        def read(text: str) -> Made:
            found = _ADDED.search(text)
            if found is None:
                raise DebuggerError(f"phpdbg: {self.refusal(text) or text.strip()}.")
            if found["pending"] != "B":
                return Made(found["number"], verified=False)
            if location.line is None:
                return Made(found["number"])
            return Made(found["number"], location.file, location.line)

        return Ask(f"break {place}", read)

    def unbreak(self, number: str) -> str:
        return f"break del {number}"

    def truth(self, condition: str, at: At) -> Ask[bool]:
        return Ask(_evaluation(condition, "truth"), lambda text: bool(_answer(text)))

    def log_text(self, expression: str, at: At) -> Ask[str]:
        return Ask(_evaluation(expression, "text"), lambda text: str(_answer(text)))

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        self._caught = bool(filters)
        return ()

    def heeds(self, halt: Halt, frames: Sequence[RawFrame]) -> bool:
        return self._caught

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        thrown = self._thrown

        def read(text: str) -> ExceptionInfo | None:
            return ExceptionInfo(*thrown, mode="uncaught") if thrown else None

        return Ask("info break", read)

    def watch(
        self, expression: str, access: str, condition: str | None, at: At
    ) -> Ask[Made] | None:
        if access != "write" or condition is not None:
            raise Unsupported(
                "phpdbg watches for changes, without a condition.", next=f"dbg watch {expression}"
            )

        def read(text: str) -> Made:
            found = re.search(r"\[Added (?:\w+ )?watchpoint #(\d+) for", text)
            if found is None:
                raise EvaluationFailed(self.refusal(text) or "it cannot be watched")
            self._watched[expression] = found[1]
            return Made(found[1])

        return Ask(f"watch {expression}", read)

    def unwatch(self, number: str) -> str:
        return f"watch delete {number}"

    # --- seeing

    def select(self, at: At, from_: At) -> Sequence[str]:
        return (f"frame {at.level}",)

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            found = [_frame(each) for each in _FRAME.finditer(text)]
            own = [each for each in found if each.path != _PROBE]
            if own and own[-1].function in ("require", "{main}"):
                own[-1] = replace(own[-1], function="{main}")
            self._functions = [each.function for each in own]
            return own[start : start + count]

        return Ask("back", read)

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        asked = (
            "globals()"
            if kind is ScopeKind.GLOBALS
            else "scope(get_defined_vars() + (isset($this) ? ['this' => $this] : []))"
        )
        return Ask(
            _quietly(f"ev \\Freezeframe\\{asked}"),
            lambda text: [_value(each) for each in _answer(text)],
        )

    def arguments(self, at: At) -> Ask[Sequence[str] | None] | None:
        if at.level >= len(self._functions) or "{" in self._functions[at.level]:
            return None
        name = self._functions[at.level].replace("\\", "\\\\")
        return Ask(_quietly(f"ev \\Freezeframe\\parameters('{name}')"), _answer_or_none)

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        part = (str(start), str(-1 if count is None else count))
        return Ask(
            _evaluation(expression, "children", *part),
            lambda text: [_value(each) for each in _answer(text)],
        )

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        return Ask(_evaluation(expression, "show"), lambda text: _value(_answer(text)))

    def execute(self, statement: str, at: At) -> Ask[RawValue]:
        def read(text: str) -> RawValue:
            told = _answer(text)
            return RawValue(statement, "") if told is None else _value(told)

        return Ask(_evaluation(statement, "run"), read)

    def assign(self, target: str, value: str, at: At) -> Ask[None]:
        asked = self.execute(f"{target} = {value}", at)
        return Ask(asked.command, lambda text: nothing(asked.read(text).text))

    def raw(self, command: str) -> Ask[str]:
        def read(text: str) -> str:
            if re.match(r"\[The command .* could not be found\]", text.strip()):
                raise EvaluationFailed(self.refusal(text) or text.strip())
            return text

        return Ask(command, read)


class PhpdbgBackend(PromptBackend):
    """Its program's standard input is phpdbg's own."""

    def __init__(self, found: Found, config: Config) -> None:
        super().__init__(Phpdbg((found.path,)), found, config)

    @property
    def features(self) -> frozenset[Feature]:
        return super().features - {Feature.STDIN}


def _frame(found: re.Match[str]) -> RawFrame:
    path, function = found["path"], found["function"].replace("->", "::")
    return RawFrame(0, function, path, int(found["line"]), library="/vendor/" in path)


def _quietly(command: str) -> str:
    """Return a command during which no breakpoint of the program's is met. Raises."""
    if len(command) > _LONGEST:
        raise EvaluationFailed(f"phpdbg reads lines of {_LONGEST} characters, and this is longer")
    return f"set breaks off\n{command}\nset breaks on"


def _evaluation(expression: str, how: str, *more: str) -> str:
    encoded = base64.b64encode(expression.encode("utf-8", "surrogateescape")).decode("ascii")
    words = ", ".join(f"'{word}'" for word in (encoded, how, *more))
    return _quietly(f"ev eval(\\Freezeframe\\code({words}))")


def _answer(text: str) -> Any:
    """Return what the probe says. Raises EvaluationFailed in PHP's words."""
    found = re.findall(r"^@freezeframe (.*)$", text, re.MULTILINE)
    if not found:
        words = re.search(r"\[?PHP [\w ]+:  ?(.*)", text)
        raise EvaluationFailed((words[1] if words else text.strip()[:200]).rstrip("]."))
    told = json.loads(found[-1])
    if isinstance(told, dict) and "failed" in told:
        raise EvaluationFailed(str(told["failed"]).rstrip("."))
    return told


def _answer_or_none(text: str) -> Sequence[str] | None:
    try:
        return list(_answer(text))
    except EvaluationFailed:
        return None


def _value(told: Mapping[str, Any]) -> RawValue:
    return RawValue(
        told["name"],
        told["text"],
        told["type"],
        told["ref"],
        told["count"],
        told["expression"],
    )


@functools.cache
def _entry() -> int:
    """Return the line of the probe that begins the program."""
    with open(_PROBE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("@entry"))


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    named = config.path or "phpdbg"
    path = shutil.which(os.path.expanduser(named), path=env.get("PATH", os.defpath))
    if path is None:
        return Missing(f"there is no {named}")
    return Found(path, _version(path, os.stat(path).st_mtime_ns))


@functools.cache
def _version(path: str, stamp: int) -> str | None:
    found = re.search(r"PHP (\d+\.\d+[\w.]*)", answer([path, "-V"]) or "")
    return found[1] if found else None


DEBUGGER = Debugger(
    name="phpdbg",
    kind="console",
    languages=("PHP",),
    patterns=("*.php", "*.phtml", "*.phpt"),
    shebangs=("php",),
    binaries=(),
    install=("apt install php-phpdbg", "apt install php8.2-phpdbg"),
    find=_find,
    make=PhpdbgBackend,
    rank=60,
)
