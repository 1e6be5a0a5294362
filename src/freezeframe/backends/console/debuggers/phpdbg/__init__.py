"""PHP through phpdbg's prompt, for machines where PHP has no Xdebug.

phpdbg speaks through its standard streams, and so does the program: what looks like its words is
taken out of the program's. `main_probe.php` is what it is started on: that sends the program's
errors to a file of their own, and then runs it. The program's standard input stays phpdbg's, and is
refused. Measured with PHP 8.2.
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

from freezeframe import files
from freezeframe.backends.backend import Feature, Launch, RawFrame, RawValue, StepKind, Target
from freezeframe.backends.console.prompt import probes
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
from freezeframe.backends.php import preamble
from freezeframe.backends.transport.ask import version
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.places import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, StopReason
from freezeframe.model.values import ScopeKind

_PROBE = str(Path(__file__).with_name("main_probe.php"))
#: names the program and its arguments to the probe
_PROGRAM = "FREEZEFRAME_PHP_PROGRAM"
#: characters of a command that phpdbg reads
_LONGEST = 480
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
_SIGNAL = re.compile(r"\[Program received signal (SIG\w+)\]\n>")
_LEAVING = re.compile(r"\[Breaking for leave at [^\n]*\]\n>")
#: what it says among what the program prints; what PHP says of errors, in brackets as well
_NOTICE = re.compile(
    r"\n?\[Program received signal \w+\]\n|\[(?:Breakpoint #\d+ [^\n]*, hits: \d+"
    r"|Breaking for leave at [^\n]*|(?:Switched to|Already in) frame #[^\n]*|No frame #\d+"
    r"|Script ended normally|Uncaught [\w\\]+ in [^\n]* on line \d+[^\n]*)\]\n"
)
_LISTING = re.compile(r">\d{5}: [^\n]*\n|^ \d{5}: [^\n]*\n", re.MULTILINE)
_COMPLAINT = re.compile(r"^\[(PHP (?!Stack|  )[^\n]*)\]$", re.MULTILINE)
_TRACE = re.compile(r"^\[PHP (?:Stack|  )[^\n]*\n", re.MULTILINE)
#: the part of a trace that is the probe's
_OURS = re.compile(rf"^#(\d+) {re.escape(_PROBE)}[^\n]*\n#\d+ (?={{main}})", re.MULTILINE)
_FILES = frozenset({"{main}", "include", "include_once", "require", "require_once"})
_ENDED = "[Script ended normally]"
_HERE = re.compile(r">(\d{5}): [^\n]*\n(?: \d{5}: [^\n]*\n)*(?=\s*\Z|frame #\d|prompt> )")
_ARROW = re.compile(r"^>\d{5}: ", re.MULTILINE)
_ADDED = re.compile(
    r"\[(?P<pending>Pending b|B)reakpoint #(?P<number>\d+) added at (?P<place>[^\n]*)\]"
)
_FRAME = re.compile(
    r"^(?:prompt> )*frame #(?P<number>\d+): (?P<function>[^(\n]*)(?:\(.*?\))?"
    r" at (?P<path>/[^\n]*?):(?P<line>\d+)$",
    re.MULTILINE | re.DOTALL,
)


class Phpdbg(Spelling):
    """phpdbg's words, and those of the probe."""

    name = "phpdbg"
    joint = "->"
    prompt = r"prompt> "
    marked = r'\[The command "'
    eager = False
    shares_output = True
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
        # It has them; but it writes what they see among what the program prints.
        Feature.WATCHPOINTS: "dbg break FILE:LINE --condition '$NAME !== OLD'",
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
        self._shown: list[RawFrame] = []
        #: the frame that is spoken of
        self._level = 0
        self._depth = 0
        #: by number: the files of breakpoints at lines
        self._places: dict[str, str] = {}
        #: where the program stands
        self._halt = Halt()

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
        program = json.dumps((target.program, *target.args))
        return Begin(
            (*self._command, "-qbI", *config.args, *target.interpreter_args, _PROBE),
            target.cwd,
            {**target.env, _PROGRAM: program},
            Line.STDIO,
            Home.FILES,
            settings=("set pagination off", f"break {_PROBE}:{_entry()}"),
        )

    # --- running

    def run(self, target: Launch) -> str:
        first = "run {stderr}\nbreak del 0"
        return f"{first}\nstep" if target.stop_on_entry else first

    def resume(self, thread: int | None) -> str:
        return self._from_innermost("continue")

    def step(self, kind: StepKind, thread: int) -> str:
        # `leave` passes breakpoints of the function that it leaves.
        near = self._halt.path in self._places.values()
        return self._from_innermost("leave" if kind is StepKind.OUT and not near else "step")

    def _from_innermost(self, command: str) -> str:
        return f"frame 0\n{command}" if self._level else command

    def study(self, text: str) -> Sequence[str]:
        if text.rstrip().endswith(_ENDED):
            # It stays at its prompt; its own end has the program's code.
            return ("quit",)
        leaving = _LEAVING.search(text)
        if leaving and len(_ARROW.findall(text, leaving.start())) == 1:
            # It stands before the instruction that returns.
            return ("step",)
        frames = list(_FRAME.finditer(text))
        first = [each for each in frames if each["number"] == "0"][-1:]
        if first and first[0]["path"] == _PROBE and len(frames) > 1 and not _UNCAUGHT.search(text):
            # In what writes for the program.
            return ("leave", "step", "back")
        # The line is told with a stop, the file is not.
        return ("back",) if _HERE.search(text) and not frames else ()

    def output_of(self, text: str) -> str:
        for notice in (_NOTICE, _LISTING, _TRACE):
            text = notice.sub("", text)
        return _COMPLAINT.sub(r"\1", _OURS.sub(r"#\1 ", text))

    def read_stop(self, text: str) -> Halt | None:
        self._thrown, self._level, self._shown = None, 0, []
        lines = list(_HERE.finditer(text))
        if not lines:
            return None
        here = lines[-1]

        def told(notice: re.Pattern[str]) -> re.Match[str] | None:
            # Right before the line: anything earlier may be what the program prints.
            return next((m for m in notice.finditer(text) if m.end() == here.start() + 1), None)

        stack = list(_FRAME.finditer(text))
        innermost = [at for at, each in enumerate(stack) if each["number"] == "0"][-1:]
        frame = stack[innermost[0]] if innermost else None
        before, self._depth = self._depth, len(stack) - (innermost[0] if innermost else 0)
        halt = self._halt = Halt(path=frame["path"] if frame else None, line=int(here[1]))
        if self._depth < before:
            # Back in the middle of a line, whose breakpoints were met when it began.
            halt = replace(halt, numbers=())
        if found := told(_BREAK):
            return replace(halt, reason=StopReason.BREAKPOINT, numbers=None, among=(found[1],))
        if found := told(_UNCAUGHT):
            self._thrown = found[1], found[4]
            words = f"{found[1]}: {found[4]}"
            halt = self._halt = replace(halt, path=found[2], line=int(found[3]))
            return replace(halt, reason=StopReason.EXCEPTION, numbers=(), description=words)
        if told(_SIGNAL):
            return replace(halt, reason=StopReason.PAUSE, numbers=())
        return halt

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
            if location.file is not None:
                self._places[found["number"]] = location.file
            if found["pending"] != "B":
                return Made(found["number"], verified=False)
            if location.line is None:
                return Made(found["number"])
            return Made(found["number"], location.file, location.line)

        return Ask(f"break {place}", read)

    def unbreak(self, number: str) -> str:
        self._places.pop(number, None)
        return f"break del {number}"

    def truth(self, condition: str, at: At) -> Ask[bool]:
        return Ask(self._evaluation(condition, "truth", at), lambda text: bool(_answer(text)))

    def log_text(self, expression: str, at: At) -> Ask[str]:
        return Ask(self._evaluation(expression, "text", at), lambda text: str(_answer(text)))

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

    # --- seeing

    def select(self, at: At, from_: At) -> Sequence[str]:
        # Asked for the frame of a file, and not of a function, phpdbg 8.2 dies.
        chosen = self._level
        self._level = 0 if self._is_outside(at) else at.level
        return (f"frame {self._level}",) if chosen != self._level else ()

    def _is_outside(self, at: At) -> bool:
        """Whether a frame is that of a file, whose variables are the global ones. Raises."""
        names = [each.function for each in self._shown[at.level :]]
        if at.level == 0 or not names or names[0] not in _FILES:
            return False
        if set(names) <= _FILES:
            return True
        raise DebuggerError(
            "phpdbg does not look into the frame of a file that a function includes.",
            next="dbg up",
        )

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            found = [_frame(each) for each in _FRAME.finditer(text)]
            own = [each for each in found if each.path != _PROBE]
            if not own and self._thrown is not None:
                # A file that could not be read has no frame.
                own = [RawFrame(0, "{main}", self._halt.path, self._halt.line)]
            if own and own[-1].function in ("require", "{main}"):
                own[-1] = replace(own[-1], function="{main}")
            self._shown = own
            return own[start : start + count]

        if self._level == 0:
            return Ask("back", read)
        # It counts from the frame that is spoken of.
        return Ask(f"frame 0\nback\nframe {self._level}", read)

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        asked = (
            "globals()"
            if kind is ScopeKind.GLOBALS or self._is_outside(at)
            else "scope(get_defined_vars() + (isset($this) ? ['this' => $this] : []))"
        )
        return Ask(
            _quietly(f"ev \\Freezeframe\\{asked}"),
            lambda text: [probes.value(each) for each in _answer(text)],
        )

    def arguments(self, at: At) -> Ask[Sequence[str] | None] | None:
        if at.level >= len(self._shown) or "{" in self._shown[at.level].function:
            return None
        if self._shown[at.level].function in _FILES:
            return None
        name = self._shown[at.level].function.replace("\\", "\\\\")
        return Ask(_quietly(f"ev \\Freezeframe\\parameters('{name}')"), _answer_or_none)

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        part = (str(start), str(-1 if count is None else count))
        return Ask(
            self._evaluation(expression, "children", at, *part),
            lambda text: [probes.value(each) for each in _answer(text)],
        )

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        return Ask(
            self._evaluation(expression, "show", at), lambda text: probes.value(_answer(text))
        )

    def execute(self, statement: str, at: At) -> Ask[RawValue]:
        def read(text: str) -> RawValue:
            told = _answer(text)
            return RawValue(statement, "") if told is None else probes.value(told)

        return Ask(self._evaluation(statement, "run", at), read)

    def assign(self, target: str, value: str, at: At) -> Ask[None]:
        asked = self.execute(f"{target} = {value}", at)
        return Ask(asked.command, lambda text: nothing(asked.read(text).text))

    def has_variable(self, name: str, at: At) -> Ask[bool] | None:
        if not re.fullmatch(r"\$\w+", name) or name.startswith(("$_", "$GLOBALS")):
            return None
        asked = self.scope(ScopeKind.LOCALS, at)

        def read(text: str) -> bool:
            # One that has no value yet stands in the text alone.
            return name in [each.name for each in asked.read(text)] or self._names(name, at)

        return Ask(asked.command, read)

    def _names(self, name: str, at: At) -> bool:
        """Whether the source of a frame has a variable of that name."""
        path = self._shown[at.level].path if at.level < len(self._shown) else self._halt.path
        try:
            text = files.read_text(path) if path else ""
        except OSError:
            return True
        return re.search(re.escape(name) + r"\b", text) is not None

    def _evaluation(self, expression: str, how: str, at: At, *more: str) -> str:
        path, line = self._halt.path, self._halt.line
        if at.level < len(self._shown):
            path, line = self._shown[at.level].path, self._shown[at.level].line
        before = preamble(path, line)
        # Of a long list of imports the namespace is what counts.
        brief = before if len(before) < _LONGEST // 4 else before.partition(";")[0] + ";"
        words = (_encoded(expression), how, _encoded(brief), *more)
        quoted = ", ".join(f"'{word}'" for word in words)
        how = "\\Freezeframe\\outside" if self._is_outside(at) else "eval"
        return _quietly(f"ev {how}(\\Freezeframe\\code({quoted}))")

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


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")


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
    return Found(path, version((path, "-V"), r"PHP (\d+\.\d+[\w.]*)"))


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
