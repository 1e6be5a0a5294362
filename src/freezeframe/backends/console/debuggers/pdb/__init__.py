"""Python through pdb, for machines without a debug adapter.

`agent.py` runs in the program's interpreter: it gives pdb descriptors of its own, so that only the
program uses the standard streams. Measured with Python 3.11, 3.12 and 3.13.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from freezeframe.backends import python
from freezeframe.backends.backend import Feature, Launch, RawFrame, RawValue, StepKind, Target
from freezeframe.backends.console.prompt import agent_messages
from freezeframe.backends.console.prompt.backend import prompted
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
from freezeframe.backends.transport.process import signal_number
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.locations import Location
from freezeframe.model.stops import (
    ExceptionFilter,
    ExceptionInfo,
    LinkedException,
    StopReason,
    Task,
    Thread,
    TracebackLine,
)
from freezeframe.model.values import ScopeKind

_AGENT = str(Path(__file__).with_name("agent.py"))
_answer = partial(agent_messages.answer, "pdb")
_STEPS = {StepKind.OVER: "next", StepKind.INTO: "step", StepKind.OUT: "return"}
#: pdb's commands that resume the program
_RESUMING = frozenset(
    {"c", "cont", "continue", "n", "next", "s", "step", "r", "return", "unt", "until"}
)
_KINDS = {ScopeKind.LOCALS: "locals", ScopeKind.GLOBALS: "globals"}


class Pdb(CommandSet):
    """pdb's commands, and those that the agent adds."""

    name = "pdb"
    prompt = r"\(Pdb\) "
    own_conditions = True
    stops_at_first_line = True
    all_threads = False
    typed_filters = True
    # SIGINT belongs to the program, which may handle it.
    interrupt = signal_number("SIGURG")
    # Python handles a signal when it runs the next bytecode, or when the signal cuts a call short.
    interrupt_missed = True
    filters = (
        ExceptionFilter("uncaught", "exceptions that nobody catches", default=True),
        ExceptionFilter("raised", "every exception where it is raised"),
    )
    alternatives = {
        Feature.MEMORY_READ: "dbg print 'hex(id(EXPR))'",
        Feature.DISASSEMBLE: "dbg eval '__import__(\"dis\").dis(FUNCTION)'",
    }
    scopes = ((ScopeKind.LOCALS, "Locals"), (ScopeKind.GLOBALS, "Globals"))

    # --- connection and start

    def echo(self, token: str) -> str:
        return f"ff_mark {token}"

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
        if not isinstance(target, Launch):
            raise Unsupported("pdb only starts programs.", next="dbg start PROGRAM")
        kind = "module" if target.module else "script"
        named = target.program if target.module else target.written or target.program
        agent = (_AGENT, "{read}", "{write}", str(python.TEXT_AGENT), kind, named)
        runtime = (python.interpreter(target, config.interpreter), *target.interpreter_args)
        return LaunchSpec(
            (*runtime, *config.args, *agent, *target.args),
            target.cwd,
            target.env,
            ControlTransport.PIPES,
            DebuggeeHost.INSIDE,
        )

    def read_greeting(self, text: str) -> str | None:
        greetings = [line for line in text.splitlines() if line.startswith("@hello ")]
        return greetings[0].partition(" ")[2] if greetings else None

    def read_failure(self, output: str) -> str | None:
        return output.strip() if "freezeframe" in output else None

    # --- execution

    def resume(self, thread: int | None) -> str:
        return "continue"

    def step(self, kind: StepKind, thread: int) -> str:
        return _STEPS[kind]

    def read_stop(self, text: str) -> StopInfo | None:
        stop = agent_messages.stop(text)
        if stop is None:
            return None
        returned = stop.get("returned")
        return StopInfo(
            StopReason(stop["reason"]) if stop["reason"] else None,
            stop["path"],
            stop["line"],
            stop["function"],
            stop["thread"],
            tuple(stop["numbers"]),
            returned=agent_messages.value(returned) if returned else None,
        )

    def resumes(self, command: str) -> bool:
        return command.split(maxsplit=1)[:1] != [] and command.split()[0] in _RESUMING

    def jump(self, at: FrameRef, path: str, line: int) -> ConsoleQuery[None]:
        def read(text: str) -> None:
            if text.startswith("***"):
                raise DebuggerError(
                    f"no jump to line {line} from here: {agent_messages.error_text(text)}.",
                    code="bad-jump",
                    next="dbg next",
                )

        return ConsoleQuery(f"ff_jump {json.dumps([path, line])}", read)

    # --- breakpoints

    def missing_feature(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        if location.function is not None:
            module = f"{location.module}." if location.module else ""
            location_fields: dict[str, object] = {"function": module + location.function}
        else:
            location_fields = {"path": location.file, "line": location.line}

        def read(text: str) -> DebuggerBreakpoint:
            answer = _answer(text)
            bound_at = answer.get("path"), answer.get("line")
            return DebuggerBreakpoint(answer["number"], *bound_at, edited=answer.get("edited"))

        return ConsoleQuery(
            f"ff_break {json.dumps({**location_fields, 'condition': condition})}", read
        )

    def delete_breakpoint(self, number: str) -> str:
        return f"ff_unbreak {number}"

    def evaluate_condition(self, condition: str, at: FrameRef) -> ConsoleQuery[bool]:
        return ConsoleQuery(_evaluation(condition, at, "truth"), lambda text: bool(_answer(text)))

    def log_text(self, expression: str, at: FrameRef) -> ConsoleQuery[str]:
        return ConsoleQuery(_evaluation(expression, at, "text"), lambda text: str(_answer(text)))

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        chosen = {each.name: (each.condition or "").split(", ") for each in filters}
        types = {name: [each for each in names if each] for name, names in chosen.items()}
        return (f"ff_filters {json.dumps(types)}",)

    # --- inspection

    def threads(self) -> ConsoleQuery[Sequence[Thread]]:
        def read(text: str) -> Sequence[Thread]:
            return [
                Thread(each["id"], each["name"], each["state"] or "running")
                for each in _answer(text)
            ]

        return ConsoleQuery("ff_threads", read)

    def tasks(self) -> ConsoleQuery[Sequence[Task]]:
        return ConsoleQuery(
            "ff_tasks", lambda text: [python.read_task(each) for each in _answer(text)]
        )

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            return [RawFrame(0, **each) for each in _answer(text)]

        return ConsoleQuery(f"ff_frames {json.dumps([thread, start, count])}", read)

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]]:
        arguments_json = json.dumps([at.thread, at.level, _KINDS[kind]])
        return ConsoleQuery(f"ff_scope {arguments_json}", _values)

    def arguments(self, at: FrameRef) -> ConsoleQuery[Sequence[str] | None]:
        arguments_json = json.dumps([at.thread, at.level, "locals"])
        return ConsoleQuery(f"ff_scope {arguments_json}", lambda text: _answer(text)["arguments"])

    def children(
        self, expression: str, at: FrameRef, start: int, count: int | None
    ) -> ConsoleQuery[Sequence[RawValue]]:
        arguments_json = json.dumps([at.thread, at.level, expression, start, count])
        return ConsoleQuery(f"ff_children {arguments_json}", _values)

    def slice(self, expression: str, start: int, end: int) -> str | None:
        return python.page(expression, start, end)

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        return ConsoleQuery(
            _evaluation(expression, at, "show"), lambda text: agent_messages.value(_answer(text))
        )

    def execute(self, statement: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        return ConsoleQuery(
            _evaluation(statement, at, "run"), lambda text: agent_messages.value(_answer(text))
        )

    def assign(self, target: str, value: str, at: FrameRef) -> ConsoleQuery[None]:
        query = self.execute(python.assignment(target, value), at)
        return ConsoleQuery(query.command, lambda text: nothing(query.read(text).text))

    def exception(self, thread: int) -> ConsoleQuery[ExceptionInfo | None]:
        def read(text: str) -> ExceptionInfo | None:
            answer = _answer(text)
            if answer is None:
                return None
            lines = tuple(TracebackLine(**each) for each in answer["traceback"])
            return ExceptionInfo(
                answer["type"],
                answer["message"],
                lines,
                causes=tuple(answer["causes"]),
                mode=answer["mode"],
                links=tuple(LinkedException(relation, text) for relation, text in answer["links"]),
                details=tuple(answer["details"]),
                test=python.failing_test(answer["test"]),
            )

        return ConsoleQuery("ff_exception", read)

    def raw(self, command: str, at: FrameRef) -> ConsoleQuery[str]:
        def read(text: str) -> str:
            if text.startswith("***"):
                raise EvaluationFailed(agent_messages.error_text(text))
            return text

        return ConsoleQuery(command, read)


def _evaluation(expression: str, at: FrameRef, how: str) -> str:
    return f"ff_eval {json.dumps([at.thread, at.level, expression, how])}"


def _values(text: str) -> list[RawValue]:
    return [agent_messages.value(each) for each in _answer(text)["values"]]


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    """Return pdb, which comes with every Python; the interpreter is chosen at launch."""
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
