"""PHP through phpdbg's prompt, for machines where PHP has no Xdebug.

phpdbg and the program share the standard streams: text that looks like phpdbg's is removed from the
program's output. phpdbg runs `agent.php`, which redirects the program's errors to a file and then
runs the program. Input for the program is refused, because phpdbg reads its commands from standard
input. Measured with PHP 8.2.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from freezeframe import files
from freezeframe.backends.backend import Feature, Launch, RawFrame, RawValue, StepKind, Target
from freezeframe.backends.console.prompt import agent_messages
from freezeframe.backends.console.prompt.backend import PromptBackend
from freezeframe.backends.console.prompt.command_set import (
    CommandSet,
    ConsoleQuery,
    ControlTransport,
    DebuggeeHost,
    DebuggerBreakpoint,
    FrameRef,
    LaunchSpec,
    StopInfo,
    nothing,
)
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.php import has_closure, is_library, preamble
from freezeframe.backends.transport.version_query import version
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, StopReason
from freezeframe.model.values import ScopeKind

from . import evaluations, oplines

_AGENT = str(Path(__file__).with_name("agent.php"))
#: the environment variable that passes the program and its arguments to the agent
_PROGRAM = "FREEZEFRAME_PHP_PROGRAM"
_RESUMING = frozenset(
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
#: what phpdbg prints into the program's output; PHP's error messages are in brackets as well
_NOTICE = re.compile(
    r"\n?\[Program received signal \w+\]\n|\[(?:Breakpoint #\d+ [^\n]*, hits: \d+"
    r"|Breaking for leave at [^\n]*|(?:Switched to|Already in) frame #[^\n]*|No frame #\d+"
    r"|Script ended normally|Uncaught [\w\\]+ in [^\n]* on line \d+[^\n]*)\]\n"
)
_LISTING = re.compile(r">\d{5}: [^\n]*\n|^ \d{5}: [^\n]*\n", re.MULTILINE)
_ERROR = re.compile(r"^\[(PHP (?!Stack|  )[^\n]*)\]$", re.MULTILINE)
_TRACE = re.compile(r"^\[PHP (?:Stack|  )[^\n]*\n", re.MULTILINE)
#: the agent's part of a stack trace
_AGENT_FRAME = re.compile(rf"^#(\d+) {re.escape(_AGENT)}[^\n]*\n#\d+ (?={{main}})", re.MULTILINE)
_CLOSURE_UNSEEN = (
    "phpdbg does not stop again in a closure of this line that a built-in function calls here"
)
_FILES = frozenset({"{main}", "include", "include_once", "require", "require_once"})
_ENDED = "[Script ended normally]"
_HERE = re.compile(r">(\d{5}): [^\n]*\n(?: \d{5}: [^\n]*\n)*(?=\s*\Z|frame #\d|prompt> )")
_ARROW = re.compile(r"^>\d{5}: ", re.MULTILINE)
_ADDED = re.compile(
    r"\[(?P<pending>Pending b|B)reakpoint #(?P<number>\d+) added at (?P<location>[^\n]*)\]"
)
_FRAME = re.compile(
    r"^(?:prompt> )*frame #(?P<number>\d+): (?P<function>[^(\n]*)(?:\(.*?\))?"
    r" at (?P<path>/[^\n]*?):(?P<line>\d+)$",
    re.MULTILINE | re.DOTALL,
)


class Phpdbg(CommandSet):
    """phpdbg's commands, and the functions of the agent."""

    name = "phpdbg"
    joint = "->"
    prompt = r"prompt> "
    marked = r'\[The command "'
    eager = False
    shares_output = True
    one_per_location = True
    filters_exceptions_itself = True
    over_is_into = True
    halts_unseen = True
    filters = (ExceptionFilter("uncaught", "exceptions that nobody catches", default=True),)
    alternatives = {
        Feature.DISASSEMBLE: "dbg raw 'print exec'",
        # phpdbg has watchpoints, but prints their hits into the program's output.
        Feature.STDIN: "apt install php-xdebug",
        Feature.EXCEPTION_TYPES: "dbg catch uncaught",
    }
    scopes = ((ScopeKind.LOCALS, "Locals"), (ScopeKind.GLOBALS, "Globals"))

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._thrown: tuple[str, str] | None = None
        self._caught = True
        self._shown: list[RawFrame] = []
        #: the selected frame
        self._level = 0
        self._depth = 0
        #: by number: the files of breakpoints; None: on a function
        self._breakpoint_files: dict[str, str | None] = {}
        #: the current stop
        self._halt = StopInfo()
        #: the opcodes of the function were requested at this stop
        self._listed = False

    # --- connection and start

    def echo(self, token: str) -> str:
        # An unknown command: the error message contains it.
        return token

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
        if not isinstance(target, Launch):
            raise Unsupported("phpdbg only starts programs.", next="dbg start SCRIPT.php")
        if any(each.startswith("-S") for each in target.interpreter_args):
            raise Unsupported("phpdbg debugs no server of PHP.", next="apt install php-xdebug")
        if target.stdin is not None:
            raise Unsupported(
                "phpdbg reads its commands from the program's standard input.",
                next=self.alternatives[Feature.STDIN],
            )
        self.stops_at_first_line = target.stop_on_entry
        program = json.dumps((target.program, *target.args))
        return LaunchSpec(
            (*self._command, "-qbI", *config.args, *target.interpreter_args, _AGENT),
            target.cwd,
            {**target.env, _PROGRAM: program},
            ControlTransport.STDIO,
            DebuggeeHost.FILES,
            settings=("set pagination off", f"break {_AGENT}:{_entry()}"),
        )

    # --- execution

    def run(self, target: Launch) -> str:
        first = "run {stderr}\nbreak del 0"
        return f"{first}\nstep" if target.stop_on_entry else first

    def resume(self, thread: int | None) -> str:
        return self._from_innermost("continue")

    def step(self, kind: StepKind, thread: int) -> str:
        if kind is StepKind.OUT and len(self._shown) == 1:
            return self._from_innermost("continue")  # `leave` would end behind the script
        # `leave` ignores breakpoints of the function that it leaves, and on functions.
        near = self._halt.path in self._breakpoint_files.values() or self._breaks_in_functions
        return self._from_innermost("leave" if kind is StepKind.OUT and not near else "step")

    @property
    def _breaks_in_functions(self) -> bool:
        return None in self._breakpoint_files.values()

    def _from_innermost(self, command: str) -> str:
        return f"frame 0\n{command}" if self._level else command

    def study(self, text: str) -> Sequence[str]:
        if text.rstrip().endswith(_ENDED):
            # phpdbg stays at its prompt; when it quits, its exit code is the program's.
            return ("quit",)
        leaving = _LEAVING.search(text)
        if leaving and len(_ARROW.findall(text, leaving.start())) == 1:
            # The stop is before the instruction that returns.
            return ("step",)
        frames = list(_FRAME.finditer(text))
        first = [each for each in frames if each["number"] == "0"][-1:]
        if first and first[0]["path"] == _AGENT and len(frames) > 1 and not _UNCAUGHT.search(text):
            # The stop is in the agent's output functions.
            return ("leave", "step", "back")
        here_lines = list(_HERE.finditer(text))
        if here_lines and not frames:
            # A stop reports the line, not the file.
            hit = any(each.end() == here_lines[-1].start() + 1 for each in _BREAK.finditer(text))
            return ("back", oplines.CURRENT) if hit else ("back",)
        if here_lines and not self._listed and oplines.is_ambiguous(text[here_lines[-1].end() :]):
            self._listed = True
            return (oplines.FUNCTION,)
        return ()

    def answers_on_stderr(self, command: str) -> bool:
        return command in (oplines.CURRENT, oplines.FUNCTION)

    def output_of(self, text: str) -> str:
        for notice in (_NOTICE, _LISTING, _TRACE):
            text = notice.sub("", text)
        return _ERROR.sub(r"\1", _AGENT_FRAME.sub(r"#\1 ", text))

    def read_stop(self, text: str) -> StopInfo | None:
        self._thrown, self._level, self._shown, self._listed = None, 0, [], False
        lines = list(_HERE.finditer(text))
        if not lines:
            return None
        here = lines[-1]

        def notice_at(notice: re.Pattern[str]) -> re.Match[str] | None:
            # Only directly before the line: anything earlier may be output of the program.
            return next((m for m in notice.finditer(text) if m.end() == here.start() + 1), None)

        stack = list(_FRAME.finditer(text))
        innermost = [at for at, each in enumerate(stack) if each["number"] == "0"][-1:]
        frame = stack[innermost[0]] if innermost else None
        before, self._depth = self._depth, len(stack) - (innermost[0] if innermost else 0)
        halt = self._halt = StopInfo(path=frame["path"] if frame else None, line=int(here[1]))
        if self._depth < before:
            # Back in the middle of a line, whose breakpoints were hit when it began.
            halt = replace(halt, numbers=())
        if found := notice_at(_BREAK):
            if oplines.is_resumed(text[here.end() :]):
                return replace(halt, numbers=(), resumed=True)
            return replace(halt, reason=StopReason.BREAKPOINT, numbers=None, among=(found[1],))
        if found := notice_at(_UNCAUGHT):
            self._thrown = found[1], found[4]
            description = f"{found[1]}: {found[4]}"
            halt = self._halt = replace(halt, path=found[2], line=int(found[3]))
            return replace(halt, reason=StopReason.EXCEPTION, numbers=(), description=description)
        if notice_at(_SIGNAL):
            return replace(halt, reason=StopReason.PAUSE, numbers=())
        return halt

    def refusal(self, text: str) -> str | None:
        found = re.findall(r"\[([^\n]*)\]", text)
        return found[-1] if found else None

    def resumes(self, command: str) -> bool:
        return command.split()[:1] != [] and command.split()[0] in _RESUMING

    # --- breakpoints

    def missing_feature(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        if location.function is not None:
            location_text = location.function.replace("->", "::").lstrip("\\")
        else:
            location_text = f"{location.file}:{location.line}"

        def read(text: str) -> DebuggerBreakpoint:
            found = _ADDED.search(text)
            if found is None:
                raise DebuggerError(f"phpdbg: {self.refusal(text) or text.strip()}.")
            self._breakpoint_files[found["number"]] = location.file
            if found["pending"] != "B":
                return DebuggerBreakpoint(found["number"], verified=False)
            if location.line is None:
                return DebuggerBreakpoint(found["number"])
            # phpdbg looks at line numbers only: the line has not changed there.
            message = _CLOSURE_UNSEEN if has_closure(location.file, location.line) else None
            return DebuggerBreakpoint(
                found["number"], location.file, location.line, message=message
            )

        return ConsoleQuery(f"break {location_text}", read)

    def delete_breakpoint(self, number: str) -> str:
        self._breakpoint_files.pop(number, None)
        return f"break del {number}"

    def evaluate_condition(self, condition: str, at: FrameRef) -> ConsoleQuery[bool]:
        return ConsoleQuery(
            self._evaluation(condition, "truth", at), lambda text: bool(evaluations.answer(text))
        )

    def log_text(self, expression: str, at: FrameRef) -> ConsoleQuery[str]:
        return ConsoleQuery(
            self._evaluation(expression, "text", at), lambda text: str(evaluations.answer(text))
        )

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        self._caught = bool(filters)
        return ()

    def matches_filters(self, halt: StopInfo, frames: Sequence[RawFrame]) -> bool:
        return self._caught

    def exception(self, thread: int) -> ConsoleQuery[ExceptionInfo | None]:
        thrown = self._thrown

        def read(text: str) -> ExceptionInfo | None:
            return ExceptionInfo(*thrown, mode="uncaught") if thrown else None

        return ConsoleQuery("back", read)

    # --- inspection

    def select(self, at: FrameRef, from_: FrameRef) -> Sequence[str]:
        # phpdbg 8.2 crashes when the frame of a file, not of a function, is selected.
        chosen = self._level
        self._level = 0 if self._is_outside(at) else at.level
        return (f"frame {self._level}",) if chosen != self._level else ()

    def _is_outside(self, at: FrameRef) -> bool:
        """Whether a frame is that of a file, whose variables are global. Raises DebuggerError."""
        names = [each.function for each in self._shown[at.level :]]
        if at.level == 0 or not names or names[0] not in _FILES:
            return False
        if set(names) <= _FILES:
            return True
        raise DebuggerError(
            "phpdbg does not look into the frame of a file that a function includes.",
            next="dbg up",
        )

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            found = [_frame(each) for each in _FRAME.finditer(text)]
            program_frames = [each for each in found if each.path != _AGENT]
            if not program_frames and self._thrown is not None:
                # A file that could not be loaded has no frame.
                program_frames = [RawFrame(0, "{main}", self._halt.path, self._halt.line)]
            if program_frames and program_frames[-1].function in ("require", "{main}"):
                program_frames[-1] = replace(program_frames[-1], function="{main}")
            self._shown = program_frames
            return program_frames[start : start + count]

        if self._level == 0:
            return ConsoleQuery("back", read)
        # phpdbg counts from the selected frame.
        return ConsoleQuery(f"frame 0\nback\nframe {self._level}", read)

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]]:
        call = (
            "globals()"
            if kind is ScopeKind.GLOBALS or self._is_outside(at)
            else "scope(get_defined_vars() + (isset($this) ? ['this' => $this] : []))"
        )
        return ConsoleQuery(
            evaluations.quietly(f"ev \\Freezeframe\\{call}"),
            lambda text: [agent_messages.value(each) for each in evaluations.answer(text)],
        )

    def arguments(self, at: FrameRef) -> ConsoleQuery[Sequence[str] | None] | None:
        if at.level >= len(self._shown) or "{" in self._shown[at.level].function:
            return None
        if self._shown[at.level].function in _FILES:
            return None
        name = self._shown[at.level].function.replace("\\", "\\\\")
        return ConsoleQuery(
            evaluations.quietly(f"ev \\Freezeframe\\parameters('{name}')"),
            evaluations.answer_or_none,
        )

    def children(
        self, expression: str, at: FrameRef, start: int, count: int | None
    ) -> ConsoleQuery[Sequence[RawValue]]:
        part = (str(start), str(-1 if count is None else count))
        return ConsoleQuery(
            self._evaluation(expression, "children", at, *part),
            lambda text: [agent_messages.value(each) for each in evaluations.answer(text)],
        )

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        return ConsoleQuery(
            self._evaluation(expression, "show", at),
            lambda text: agent_messages.value(evaluations.answer(text)),
        )

    def execute(self, statement: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        def read(text: str) -> RawValue:
            answer = evaluations.answer(text)
            return RawValue(statement, "") if answer is None else agent_messages.value(answer)

        return ConsoleQuery(self._evaluation(statement, "run", at), read)

    def assign(self, target: str, value: str, at: FrameRef) -> ConsoleQuery[None]:
        query = self.execute(f"{target} = {value}", at)
        return ConsoleQuery(query.command, lambda text: nothing(query.read(text).text))

    def has_variable(self, name: str, at: FrameRef) -> ConsoleQuery[bool] | None:
        if not re.fullmatch(r"\$\w+", name) or name.startswith(("$_", "$GLOBALS")):
            return None
        query = self.scope(ScopeKind.LOCALS, at)

        def read(text: str) -> bool:
            # A variable without a value is in the source only.
            return name in [each.name for each in query.read(text)] or self._source_has(name, at)

        return ConsoleQuery(query.command, read)

    def _source_has(self, name: str, at: FrameRef) -> bool:
        """Whether the source of a frame contains a variable of that name."""
        path = self._shown[at.level].path if at.level < len(self._shown) else self._halt.path
        try:
            text = files.read_text(path) if path else ""
        except OSError:
            return True
        return re.search(re.escape(name) + r"\b", text) is not None

    def _evaluation(self, expression: str, how: str, at: FrameRef, *more: str) -> str:
        path, line = self._halt.path, self._halt.line
        if at.level < len(self._shown):
            path, line = self._shown[at.level].path, self._shown[at.level].line
        before = preamble(path, line)
        # Drop a long list of imports; the namespace matters most.
        brief = before if len(before) < evaluations.LONGEST // 4 else before.partition(";")[0] + ";"
        arguments = (evaluations.encoded(expression), how, evaluations.encoded(brief), *more)
        quoted = ", ".join(f"'{word}'" for word in arguments)
        how = "\\Freezeframe\\outside" if self._is_outside(at) else "eval"
        return evaluations.quietly(f"ev {how}(\\Freezeframe\\code({quoted}))")

    def raw(self, command: str, at: FrameRef) -> ConsoleQuery[str]:
        def read(text: str) -> str:
            if re.match(r"\[The command .* could not be found\]", text.strip()):
                raise EvaluationFailed(self.refusal(text) or text.strip())
            return text

        return ConsoleQuery(command, read)


class PhpdbgBackend(PromptBackend):
    """A backend without STDIN: phpdbg reads its commands from standard input."""

    def __init__(self, found: Found, config: Config) -> None:
        super().__init__(Phpdbg((found.path,)), found, config)

    @property
    def features(self) -> frozenset[Feature]:
        return super().features - {Feature.STDIN}


def _frame(found: re.Match[str]) -> RawFrame:
    path, function = found["path"], found["function"].replace("->", "::")
    return RawFrame(0, function, path, int(found["line"]), library=is_library(path))


@functools.cache
def _entry() -> int:
    """Return the line of the agent that starts the program."""
    with open(_AGENT, encoding="utf-8") as file:
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
