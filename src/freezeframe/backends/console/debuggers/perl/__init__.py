"""Perl under `perl -d`, with nothing but what comes with Perl.

`main_probe.pl` is the debugger that the interpreter loads instead of its own: it speaks through
descriptors of its own, so that the standard streams are the program's alone. Measured with Perl
5.36; variables of callers need 5.22. A pause in the middle of a system call ends that call, as a
signal with a handler does in Perl; a breakpoint that is set meanwhile waits for its end instead.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from freezeframe import files
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
from freezeframe.backends.debugger import Debugger, by_name
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.places import Location
from freezeframe.model.stops import (
    ExceptionFilter,
    ExceptionInfo,
    StopReason,
    TracebackLine,
    WatchHit,
)
from freezeframe.model.values import ScopeKind

_PROBE = str(Path(__file__).with_name("main_probe.pl"))
_answer = partial(probes.answer, "perl")
_STEPS = {StepKind.OVER: "go over", StepKind.INTO: "go into", StepKind.OUT: "go out"}
_KINDS = {ScopeKind.LOCALS: "locals", ScopeKind.GLOBALS: "globals"}
#: a program that asks for taint checks asks for them on its command line too
_TAINT = re.compile(rb"#!.*\bperl\b.*?\s-\w*([tT])")


#: of the package that a frame is in, and of the main one
_TABLES = ("__PACKAGE__ . '::'", "'main::'")


class Perl(Spelling):
    """The words of the probe."""

    name = "perl"
    prompt = r"perl> "
    own_conditions = True
    stands_at_first = True
    typed_filters = True
    # SIGINT is the program's own: it may have a handler for it. These do nothing by themselves.
    interrupt = signal.SIGWINCH
    gentle = signal.SIGURG
    filters = (
        ExceptionFilter("uncaught", "a die that no eval catches", default=True),
        ExceptionFilter("raised", "every die where it happens"),
    )
    nearest = {
        Feature.MEMORY_READ: "dbg print EXPR",
        Feature.MEMORY_WRITE: "dbg set NAME VALUE",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "dbg source",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.JUMP: "dbg restart",
        Feature.DETACH: "dbg continue --no-wait",
    }
    scopes = ((ScopeKind.LOCALS, "Locals"), (ScopeKind.GLOBALS, "Globals"))

    # --- the line

    def mark(self, token: str) -> str:
        return f"mark {token}"

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        if not isinstance(target, Launch):
            raise Unsupported("perl only starts programs.", next="dbg start PROGRAM")
        perl = target.interpreter or config.interpreter or config.path or self.name
        env = dict(target.env)
        if "PERL5DB" in env:
            env["FREEZEFRAME_PERL5DB"] = env["PERL5DB"]
        quoted = _PROBE.replace("\\", "\\\\").replace("'", "\\'")
        env["PERL5DB"] = f"BEGIN {{ require '{quoted}' }}"
        env["FREEZEFRAME_PIPES"] = f"{{read}} {{write}} {int(self.gentle)}"
        options = (*_taint(target.program), *config.args, *target.interpreter_args)
        words = (perl, "-d", *options, target.program, *target.args)
        return Begin(words, target.cwd, env, Line.PIPES, Home.INSIDE)

    def read_greeting(self, text: str) -> str | None:
        hello = re.search(r"^@hello (\d+)\.(\d{3})(\d{3})$", text, re.MULTILINE)
        return ".".join(str(int(part)) for part in hello.groups()) if hello else None

    def read_failure(self, words: str) -> str | None:
        told = re.search(r"^freezeframe: (.*)$", words, re.MULTILINE)
        return told[1] if told else None

    # --- running

    def resume(self, thread: int | None) -> str:
        return "go run"

    def step(self, kind: StepKind, thread: int) -> str:
        return _STEPS[kind]

    def read_stop(self, text: str) -> Halt | None:
        stop = probes.stop(text)
        if stop is None:
            return None
        returned, watch = stop.get("returned"), stop.get("watch")
        return Halt(
            StopReason(stop["reason"]) if stop["reason"] else None,
            stop["path"],
            int(stop["line"]),
            stop["function"],
            # Where it begins, nothing was set yet.
            numbers=None if stop["reason"] == "entry" else tuple(stop["numbers"]),
            returned=_value(returned) if returned else None,
            watch=_watch_hit(watch) if watch else None,
            made=tuple(map(_placed, stop["bound"])),
        )

    # --- breakpoints

    def takes(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(self, location: Location, condition: str | None) -> Ask[Made]:
        given = "" if condition is None else f" {_hex(condition)}"
        if location.function is not None:
            module = f"{location.module}::" if location.module else ""
            return Ask(f"function {_hex(module + location.function)}{given}", _made)
        path = os.path.realpath(location.file or "")
        return Ask(f"break {_hex(path)} {location.line}{given}", _made)

    def unbreak(self, number: str) -> str:
        return f"unbreak {number}"

    def truth(self, condition: str, at: At) -> Ask[bool]:
        return Ask(_evaluation(condition, at, "truth"), lambda text: _answer(text) == 1)

    def log_text(self, expression: str, at: At) -> Ask[str]:
        return Ask(_evaluation(expression, at, "text"), lambda text: str(_answer(text)["text"]))

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        words = [
            ",".join([each.name, *filter(None, (each.condition or "").split(", "))])
            for each in filters
        ]
        return (" ".join(["filters", *map(_hex, words)]),)

    # --- seeing

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
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

        return Ask(f"frames {start} {count}", read)

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        return Ask(f"{_KINDS[kind]} {at.level}", lambda text: _values(_answer(text)["values"]))

    def arguments(self, at: At) -> Ask[Sequence[str] | None]:
        return Ask(f"locals {at.level}", lambda text: _answer(text)["arguments"])

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        until = "-" if count is None else str(count)
        command = f"children {at.level} {_hex(expression)} {start} {until}"
        return Ask(command, lambda text: _values(_answer(text)))

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        return Ask(_evaluation(expression, at, "show"), lambda text: _value(_answer(text)))

    def assign(self, target: str, value: str, at: At) -> Ask[None]:
        asked = self.evaluate(f"{target} = {value}", at)
        return Ask(asked.command, lambda text: nothing(asked.read(text).text))

    def has_variable(self, name: str, at: At) -> Ask[bool] | None:
        if not re.fullmatch(r"[$@%](?![ab]\b|_\b)[A-Za-z_]\w*", name):
            return None
        asked = self.scope(ScopeKind.LOCALS, at)
        # Looked for in the symbol tables by its text: to name a variable would make it.
        tables = " || ".join(f"exists ${{{table}}}{{'{name[1:]}'}}" for table in _TABLES)
        known = _evaluation(f"do {{ no strict 'refs'; ({tables}) ? 1 : 0 }}", at, "truth")

        def unless_local(text: str) -> Ask[bool] | None:
            names = [each.name for each in asked.read(text)]
            return None if name in names else Ask(known, lambda answer: _answer(answer) == 1)

        return Ask(asked.command, lambda text: True, then=unless_local)

    def watch(
        self, expression: str, access: str, condition: str | None, at: At
    ) -> Ask[Made] | None:
        if access != "write":
            raise Unsupported(
                "perl sees what is written to a variable, not who reads it.",
                next=f"dbg watch {expression}",
            )
        given = "" if condition is None else f" {_hex(condition)}"

        def read(text: str) -> Made:
            try:
                number = _answer(text)["number"]
            except EvaluationFailed as error:
                raise DebuggerError(
                    f"{expression} cannot be watched: {error.message.rstrip('.')}.",
                    code="no-watch",
                    next="dbg watch list",
                ) from None
            return Made(number, message="the program runs step by step, which is slow")

        return Ask(f"watch {at.level} {_hex(expression)}{given}", read)

    def unwatch(self, number: str) -> str:
        return f"unwatch {number}"

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        def read(text: str) -> ExceptionInfo | None:
            told = _answer(text)
            if told is None:
                return None
            lines = tuple(
                TracebackLine(each["path"], int(each["line"]), each["function"])
                for each in told["traceback"]
            )
            return ExceptionInfo(told["type"], told["message"], lines, mode=told["mode"])

        return Ask("exception", read)

    def raw(self, command: str) -> Ask[str]:
        """There is no prompt for people: what is asked for is run as Perl."""
        asked = self.evaluate(command, At(1, 0))
        return Ask(asked.command, lambda text: asked.read(text).text + "\n")


def _hex(text: str) -> str:
    return "x" + text.encode("utf-8", "surrogateescape").hex()


def _evaluation(expression: str, at: At, how: str) -> str:
    return f"eval {at.level} {_hex(expression)} {how}"


def _made(text: str) -> Made:
    if text.startswith("***"):
        raise DebuggerError(text.removeprefix("***").strip() + ".")
    return _placed(_answer(text))


def _placed(told: Mapping[str, Any]) -> Made:
    if "line" not in told:
        return Made(told["number"], verified=False)
    return Made(told["number"], told["path"], int(told["line"]), message=told["note"])


def _watch_hit(told: Mapping[str, Any]) -> WatchHit:
    return WatchHit(
        int(told["number"]), "", told["old"], told.get("new"), ended=bool(told.get("ended"))
    )


def _taint(program: str) -> tuple[str, ...]:
    try:
        asked = _TAINT.match(files.read_head(program, 1000).partition(b"\n")[0])
    except OSError:
        return ()
    return (f"-{asked[1].decode()}",) if asked else ()


def _value(told: Mapping[str, Any]) -> RawValue:
    count = int(told["count"])
    return RawValue(
        told["name"],
        told["text"],
        told["type"],
        1 if count else 0,
        count or None,
        told["expression"],
    )


def _values(told: Sequence[Mapping[str, Any]]) -> list[RawValue]:
    return [_value(each) for each in told]


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
