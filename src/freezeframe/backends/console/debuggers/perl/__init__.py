"""Perl under `perl -d`, without anything that does not come with Perl.

The interpreter loads `agent.pl` in place of its own debugger: it uses descriptors of its own, so
that only the program uses the standard streams. Measured with Perl 5.36; variables of callers need
5.22. A pause in the middle of a system call ends that call, as any handled signal does in Perl; a
breakpoint that is set meanwhile waits for the end of the call instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from freezeframe import files
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
from freezeframe.backends.debugger import Debugger, by_name
from freezeframe.backends.transport.process import signal_number
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.locations import Location
from freezeframe.model.stops import (
    ExceptionFilter,
    ExceptionInfo,
    StopReason,
    TracebackLine,
    WatchHit,
)
from freezeframe.model.testing import FailingTest
from freezeframe.model.values import ScopeKind

from . import perl5db_commands

_AGENT = str(Path(__file__).with_name("agent.pl"))
_answer = partial(agent_messages.answer, "perl")
_STEPS = {StepKind.OVER: "go over", StepKind.INTO: "go into", StepKind.OUT: "go out"}
_KINDS = {ScopeKind.LOCALS: "locals", ScopeKind.GLOBALS: "globals"}
#: a script whose first line enables taint checks needs the option on its command line too
_TAINT = re.compile(rb"#!.*\bperl\b.*?\s-\w*([tT])")


#: a check of Test::More, and its name
_FAILED_TEST = re.compile(r"Failed test '(.*?)'(?::|$)", re.DOTALL)
#: symbol tables: of the frame's package, and of main
_TABLES = ("__PACKAGE__ . '::'", "'main::'")


class Perl(CommandSet):
    """The commands of the agent."""

    name = "perl"
    prompt = r"perl> "
    own_conditions = True
    stops_at_first_line = True
    typed_filters = True
    # SIGINT belongs to the program, which may handle it. These two are ignored by default.
    interrupt = signal_number("SIGWINCH")
    soft_interrupt = signal_number("SIGURG")
    halts_unseen = True
    filters = (
        ExceptionFilter("uncaught", "a die that no eval catches", default=True),
        ExceptionFilter("raised", "every die where it happens"),
    )
    scopes = ((ScopeKind.LOCALS, "Locals"), (ScopeKind.GLOBALS, "Globals"))

    # --- connection and start

    def echo(self, token: str) -> str:
        return f"mark {token}"

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
        if not isinstance(target, Launch):
            raise Unsupported("perl only starts programs.", next="dbg start PROGRAM")
        perl = target.interpreter or config.interpreter or config.path or self.name
        env = dict(target.env)
        if "PERL5DB" in env:
            env["FREEZEFRAME_PERL5DB"] = env["PERL5DB"]
        quoted = _AGENT.replace("\\", "\\\\").replace("'", "\\'")
        env["PERL5DB"] = f"BEGIN {{ require '{quoted}' }}"
        env["FREEZEFRAME_CUT"] = "{cut}"
        env["FREEZEFRAME_PIPES"] = f"{{read}} {{write}} {int(self.soft_interrupt)}"
        options = (*_taint(target.program), *config.args, *target.interpreter_args)
        argv = (perl, "-d", *options, target.program, *target.args)
        return LaunchSpec(argv, target.cwd, env, ControlTransport.PIPES, DebuggeeHost.INSIDE)

    def read_greeting(self, text: str) -> str | None:
        greeting = re.search(r"^@hello (\d+)\.(\d{3})(\d{3})$", text, re.MULTILINE)
        return ".".join(str(int(part)) for part in greeting.groups()) if greeting else None

    def read_failure(self, output: str) -> str | None:
        found = re.search(r"^freezeframe: (.*)$", output, re.MULTILINE)
        return found[1] if found else None

    # --- execution

    def resume(self, thread: int | None) -> str:
        return "go run"

    def step(self, kind: StepKind, thread: int) -> str:
        return _STEPS[kind]

    def read_stop(self, text: str) -> StopInfo | None:
        stop = agent_messages.stop(text)
        if stop is None:
            return None
        returned, watch = stop.get("returned"), stop.get("watch")
        return StopInfo(
            StopReason(stop["reason"]) if stop["reason"] else None,
            stop["path"],
            int(stop["line"]),
            stop["function"],
            # At the entry stop, no breakpoint was set yet.
            numbers=None if stop["reason"] == "entry" else tuple(stop["numbers"]),
            returned=_value(returned) if returned else None,
            watch=_watch_hit(watch) if watch else None,
            made=tuple(map(_breakpoint, stop["bound"])),
        )

    # --- breakpoints

    def missing_feature(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        condition_arg = "" if condition is None else f" {_hex(condition)}"
        if location.function is not None:
            module = f"{location.module}::" if location.module else ""
            return ConsoleQuery(
                f"function {_hex(module + location.function)}{condition_arg}", _read_breakpoint
            )
        path = os.path.realpath(location.file or "")
        return ConsoleQuery(f"break {_hex(path)} {location.line}{condition_arg}", _read_breakpoint)

    def delete_breakpoint(self, number: str) -> str:
        return f"unbreak {number}"

    def evaluate_condition(self, condition: str, at: FrameRef) -> ConsoleQuery[bool]:
        return ConsoleQuery(_evaluation(condition, at, "truth"), lambda text: _answer(text) == 1)

    def log_text(self, expression: str, at: FrameRef) -> ConsoleQuery[str]:
        return ConsoleQuery(
            _evaluation(expression, at, "text"), lambda text: str(_answer(text)["text"])
        )

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        filter_args = [
            ",".join([each.name, *filter(None, (each.condition or "").split(", "))])
            for each in filters
        ]
        return (" ".join(["filters", *map(_hex, filter_args)]),)

    # --- inspection

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            return [
                RawFrame(
                    0,
                    each["function"],
                    each["path"],
                    int(each["line"]),
                    module=each["module"],
                    library=each["library"] == "1",
                )
                for each in _answer(text)
            ]

        return ConsoleQuery(f"frames {start} {count}", read)

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]]:
        return ConsoleQuery(
            f"{_KINDS[kind]} {at.level}", lambda text: _values(_answer(text)["values"])
        )

    def arguments(self, at: FrameRef) -> ConsoleQuery[Sequence[str] | None]:
        return ConsoleQuery(f"locals {at.level}", lambda text: _answer(text)["arguments"])

    def children(
        self, expression: str, at: FrameRef, start: int, count: int | None
    ) -> ConsoleQuery[Sequence[RawValue]]:
        until = "-" if count is None else str(count)
        command = f"children {at.level} {_hex(expression)} {start} {until}"
        return ConsoleQuery(command, lambda text: _values(_answer(text)))

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        return ConsoleQuery(_evaluation(expression, at, "show"), lambda text: _value(_answer(text)))

    def assign(self, target: str, value: str, at: FrameRef) -> ConsoleQuery[None]:
        query = self.evaluate(f"{target} = {value}", at)
        return ConsoleQuery(query.command, lambda text: nothing(query.read(text).text))

    def has_variable(self, name: str, at: FrameRef) -> ConsoleQuery[bool] | None:
        if not re.fullmatch(r"[$@%](?![ab]\b|_\b)[A-Za-z_]\w*", name):
            return None
        query = self.scope(ScopeKind.LOCALS, at)
        # Look the name up in the symbol tables as text: an expression with it would create it.
        tables = " || ".join(f"exists ${{{table}}}{{'{name[1:]}'}}" for table in _TABLES)
        exists = _evaluation(f"do {{ no strict 'refs'; ({tables}) ? 1 : 0 }}", at, "truth")

        def unless_local(text: str) -> ConsoleQuery[bool] | None:
            names = [each.name for each in query.read(text)]
            return (
                None if name in names else ConsoleQuery(exists, lambda answer: _answer(answer) == 1)
            )

        return ConsoleQuery(query.command, lambda text: True, then=unless_local)

    def watch(
        self, expression: str, access: str, condition: str | None, at: FrameRef
    ) -> ConsoleQuery[DebuggerBreakpoint] | None:
        if access != "write":
            raise Unsupported(
                "perl sees what is written to a variable, not who reads it.",
                next=f"dbg watch {expression}",
            )
        condition_arg = "" if condition is None else f" {_hex(condition)}"

        def read(text: str) -> DebuggerBreakpoint:
            try:
                number = _answer(text)["number"]
            except EvaluationFailed as error:
                raise DebuggerError(
                    f"{expression} cannot be watched: {error.message.rstrip('.')}.",
                    code="no-watch",
                    next="dbg watch list",
                ) from None
            return DebuggerBreakpoint(
                number, message="the program runs step by step, which is slow"
            )

        return ConsoleQuery(f"watch {at.level} {_hex(expression)}{condition_arg}", read)

    def unwatch(self, number: str) -> str:
        return f"unwatch {number}"

    def exception(self, thread: int) -> ConsoleQuery[ExceptionInfo | None]:
        def read(text: str) -> ExceptionInfo | None:
            fields = _answer(text)
            if fields is None:
                return None
            lines = tuple(
                TracebackLine(each["path"], int(each["line"]), each["function"])
                for each in fields["traceback"]
            )
            name = _FAILED_TEST.match(fields["message"])
            return ExceptionInfo(
                fields["type"],
                fields["message"],
                lines,
                mode=fields["mode"],
                test=FailingTest(name[1]) if name else None,
            )

        return ConsoleQuery("exception", read)

    def raw(self, command: str, at: FrameRef) -> ConsoleQuery[str]:
        """Run a command of perl5db; anything else is Perl, as it is there."""
        return perl5db_commands.query(self, command, at)


def _hex(text: str) -> str:
    return "x" + text.encode("utf-8", "surrogateescape").hex()


def _evaluation(expression: str, at: FrameRef, how: str) -> str:
    return f"eval {at.level} {_hex(expression)} {how}"


def _read_breakpoint(text: str) -> DebuggerBreakpoint:
    if text.startswith("***"):
        raise DebuggerError(text.removeprefix("***").strip() + ".")
    return _breakpoint(_answer(text))


def _breakpoint(fields: Mapping[str, Any]) -> DebuggerBreakpoint:
    if "line" not in fields:
        return DebuggerBreakpoint(fields["number"], verified=False)
    return DebuggerBreakpoint(
        fields["number"], fields["path"], int(fields["line"]), message=fields["note"]
    )


def _watch_hit(fields: Mapping[str, Any]) -> WatchHit:
    return WatchHit(
        int(fields["number"]), "", fields["old"], fields.get("new"), ended=bool(fields.get("ended"))
    )


def _taint(program: str) -> tuple[str, ...]:
    try:
        option = _TAINT.match(files.read_head(program, 1000).partition(b"\n")[0])
    except OSError:
        return ()
    return (f"-{option[1].decode()}",) if option else ()


def _value(fields: Mapping[str, Any]) -> RawValue:
    count = int(fields["count"])
    return RawValue(
        fields["name"],
        fields["text"],
        fields["type"],
        1 if count else 0,
        count or None,
        fields["expression"],
    )


def _values(fields: Sequence[Mapping[str, Any]]) -> list[RawValue]:
    return [_value(each) for each in fields]


DEBUGGER = Debugger(
    name="perl",
    kind="console",
    languages=("Perl",),
    patterns=("*.pl", "*.t", "*.plx"),
    shebangs=("perl",),
    binaries=(),
    install=("apt install perl", "brew install perl"),
    find=by_name("perl"),
    make=prompted(Perl),
)
