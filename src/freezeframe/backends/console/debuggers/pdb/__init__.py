"""Python through pdb, for machines where no debug adapter is to be had.

`main_probe.py` runs in the program's interpreter: it gives pdb descriptors of its own, so that the
standard streams are the program's alone. Measured with Python 3.11, 3.12 and 3.13.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from freezeframe.backends import python
from freezeframe.backends.backend import Feature, Launch, RawFrame, RawValue, StepKind, Target
from freezeframe.backends.console.prompt import probes
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
    nothing,
)
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.places import Location
from freezeframe.model.stops import (
    ExceptionFilter,
    ExceptionInfo,
    LinkedException,
    StopReason,
    Thread,
    TracebackLine,
)
from freezeframe.model.values import ScopeKind

_PROBE = str(Path(__file__).with_name("main_probe.py"))
_answer = partial(probes.answer, "pdb")
_STEPS = {StepKind.OVER: "next", StepKind.INTO: "step", StepKind.OUT: "return"}
#: words of pdb's own that let the program run
_MOVING = frozenset(
    {"c", "cont", "continue", "n", "next", "s", "step", "r", "return", "unt", "until"}
)
_KINDS = {ScopeKind.LOCALS: "locals", ScopeKind.GLOBALS: "globals"}


class Pdb(Spelling):
    """pdb's words, and those that the probe adds to them."""

    name = "pdb"
    prompt = r"\(Pdb\) "
    own_conditions = True
    stands_at_first = True
    all_threads = False
    typed_filters = True
    # SIGINT is the program's own: it may have a handler for it.
    interrupt = signal.SIGURG
    # Python sees that a signal came when it runs the next time, or when a call is cut short by it.
    interrupt_missed = True
    filters = (
        ExceptionFilter("uncaught", "exceptions that nobody catches", default=True),
        ExceptionFilter("raised", "every exception where it is raised"),
    )
    nearest = {
        Feature.MEMORY_READ: "dbg print 'hex(id(EXPR))'",
        Feature.MEMORY_WRITE: "dbg set NAME VALUE",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "dbg eval '__import__(\"dis\").dis(FUNCTION)'",
        Feature.WATCHPOINTS: "dbg break FILE:LINE --condition 'EXPR != OLD'",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.DETACH: "dbg continue --no-wait",
    }
    scopes = ((ScopeKind.LOCALS, "Locals"), (ScopeKind.GLOBALS, "Globals"))

    # --- the line

    def mark(self, token: str) -> str:
        return f"ff_mark {token}"

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        if not isinstance(target, Launch):
            raise Unsupported("pdb only starts programs.", next="dbg start PROGRAM")
        kind = "module" if target.module else "script"
        named = target.program if target.module else target.written or target.program
        words = (_PROBE, "{read}", "{write}", str(python.TEXT_PROBE), kind, named)
        runtime = (python.interpreter(target, config.interpreter), *target.interpreter_args)
        return Begin(
            (*runtime, *config.args, *words, *target.args),
            target.cwd,
            target.env,
            Line.PIPES,
            Home.INSIDE,
        )

    def read_greeting(self, text: str) -> str | None:
        hello = [line for line in text.splitlines() if line.startswith("@hello ")]
        return hello[0].partition(" ")[2] if hello else None

    def read_failure(self, words: str) -> str | None:
        return words.strip() if "freezeframe" in words else None

    # --- running

    def resume(self, thread: int | None) -> str:
        return "continue"

    def step(self, kind: StepKind, thread: int) -> str:
        return _STEPS[kind]

    def read_stop(self, text: str) -> Halt | None:
        stop = probes.stop(text)
        if stop is None:
            return None
        returned = stop.get("returned")
        return Halt(
            StopReason(stop["reason"]) if stop["reason"] else None,
            stop["path"],
            stop["line"],
            stop["function"],
            stop["thread"],
            tuple(stop["numbers"]),
            returned=probes.value(returned) if returned else None,
        )

    def moves(self, command: str) -> bool:
        return command.split(maxsplit=1)[:1] != [] and command.split()[0] in _MOVING

    def jump(self, at: At, path: str, line: int) -> Ask[None]:
        def read(text: str) -> None:
            if text.startswith("***"):
                raise DebuggerError(
                    f"no jump to line {line} from here: {probes.complaint(text)}.",
                    code="bad-jump",
                    next="dbg next",
                )

        return Ask(f"ff_jump {json.dumps([path, line])}", read)

    # --- breakpoints

    def takes(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(self, location: Location, condition: str | None) -> Ask[Made]:
        if location.function is not None:
            module = f"{location.module}." if location.module else ""
            place: dict[str, object] = {"function": module + location.function}
        else:
            place = {"path": location.file, "line": location.line}

        def read(text: str) -> Made:
            told = _answer(text)
            place = told.get("path"), told.get("line")
            return Made(told["number"], *place, edited=told.get("edited"))

        return Ask(f"ff_break {json.dumps({**place, 'condition': condition})}", read)

    def unbreak(self, number: str) -> str:
        return f"ff_unbreak {number}"

    def truth(self, condition: str, at: At) -> Ask[bool]:
        return Ask(_evaluation(condition, at, "truth"), lambda text: bool(_answer(text)))

    def log_text(self, expression: str, at: At) -> Ask[str]:
        return Ask(_evaluation(expression, at, "text"), lambda text: str(_answer(text)))

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        chosen = {each.name: (each.condition or "").split(", ") for each in filters}
        types = {name: [each for each in names if each] for name, names in chosen.items()}
        return (f"ff_filters {json.dumps(types)}",)

    # --- seeing

    def threads(self) -> Ask[Sequence[Thread]]:
        def read(text: str) -> Sequence[Thread]:
            return [
                Thread(each["id"], each["name"], each["state"] or "running")
                for each in _answer(text)
            ]

        return Ask("ff_threads", read)

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            return [RawFrame(0, **each) for each in _answer(text)]

        return Ask(f"ff_frames {json.dumps([thread, start, count])}", read)

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        words = json.dumps([at.thread, at.level, _KINDS[kind]])
        return Ask(f"ff_scope {words}", _values)

    def arguments(self, at: At) -> Ask[Sequence[str] | None]:
        words = json.dumps([at.thread, at.level, "locals"])
        return Ask(f"ff_scope {words}", lambda text: _answer(text)["arguments"])

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        words = json.dumps([at.thread, at.level, expression, start, count])
        return Ask(f"ff_children {words}", _values)

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        return Ask(_evaluation(expression, at, "show"), lambda text: probes.value(_answer(text)))

    def execute(self, statement: str, at: At) -> Ask[RawValue]:
        return Ask(_evaluation(statement, at, "run"), lambda text: probes.value(_answer(text)))

    def assign(self, target: str, value: str, at: At) -> Ask[None]:
        asked = self.execute(python.assignment(target, value), at)
        return Ask(asked.command, lambda text: nothing(asked.read(text).text))

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        def read(text: str) -> ExceptionInfo | None:
            told = _answer(text)
            if told is None:
                return None
            lines = tuple(TracebackLine(**each) for each in told["traceback"])
            return ExceptionInfo(
                told["type"],
                told["message"],
                lines,
                causes=tuple(told["causes"]),
                mode=told["mode"],
                links=tuple(LinkedException(how, words) for how, words in told["links"]),
                details=tuple(told["details"]),
            )

        return Ask("ff_exception", read)

    def raw(self, command: str) -> Ask[str]:
        def read(text: str) -> str:
            if text.startswith("***"):
                raise EvaluationFailed(probes.complaint(text))
            return text

        return Ask(command, read)


def _evaluation(expression: str, at: At, how: str) -> str:
    return f"ff_eval {json.dumps([at.thread, at.level, expression, how])}"


def _values(text: str) -> list[RawValue]:
    return [probes.value(each) for each in _answer(text)["values"]]


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    """pdb comes with every Python; which one is known when a program is started."""
    if config.path is not None and not os.path.exists(os.path.expanduser(config.path)):
        return Missing(f"{config.path} is not there")
    return Found("pdb", None)


DEBUGGER = Debugger(
    name="pdb",
    kind="console",
    languages=("Python",),
    patterns=("*.py", "*.pyw"),
    shebangs=("python",),
    binaries=(),
    install=("apt install python3", "brew install python"),
    find=_find,
    make=prompted(Pdb),
    modules=True,
    rank=90,
)
