"""PHP through Xdebug, an extension of PHP that calls its debugger and speaks DBGp.

It lives in the program's process, over a connection of its own: the standard streams are the
program's alone. It has no way to hold a running program; a signal whose handler is its own
`xdebug_break` does, where PHP has pcntl. It evaluates in the innermost frame only; for the others
the variables of an expression are carried over. Measured with Xdebug 3.2 on PHP 8.2.
"""

from __future__ import annotations

import functools
import os
import re
import secrets
import shutil
import signal
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from freezeframe.backends.backend import (
    Feature,
    Launch,
    RawFrame,
    StepKind,
    Target,
)
from freezeframe.backends.console.prompt.backend import PromptBackend
from freezeframe.backends.console.prompt.dialect import Said
from freezeframe.backends.console.prompt.spelling import (
    Ask,
    Begin,
    Halt,
    Home,
    Line,
    Made,
    Spelling,
)
from freezeframe.backends.console.queue import Dialect
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.php import catchers, preamble
from freezeframe.backends.transport.ask import answer
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import DebuggerError, DebuggerMissing, EvaluationFailed, Unsupported
from freezeframe.model.places import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, StopReason
from freezeframe.model.values import ScopeKind

from . import dbgp, php
from .errors import FATAL, MILD, Thrown, read_thrown
from .looking import Looking, is_true, place_of
from .values import value_of

_STEPS = {StepKind.OVER: "step_over", StepKind.INTO: "step_into", StepKind.OUT: "step_out"}
_MOVING = frozenset({"run", *_STEPS.values()})
#: DBGp's commands that a user may send himself
_COMMANDS = (
    *sorted(_MOVING),
    *("breakpoint_get", "breakpoint_list", "breakpoint_remove", "breakpoint_set"),
    *("breakpoint_update", "context_get", "context_names", "detach", "eval", "feature_get"),
    *("feature_set", "property_get", "property_set", "property_value", "source", "stack_depth"),
    *("stack_get", "status", "stop", "typemap_get", "xcmd_get_executable_lines"),
)
_OLDEST = 3
_INSTALL = ("apt install php-cli php-xdebug", "pecl install xdebug")
_FEATURES = {
    "show_hidden": 1,
    "notify_ok": 1,
    "resolved_breakpoints": 1,
    "breakpoint_details": 1,
    "breakpoint_include_return_value": 1,
    "extended_properties": 1,
}


class Xdebug(Looking, Spelling):
    """DBGp's commands."""

    name = "xdebug"
    joint = "->"
    own_conditions = True
    # Of several at a line it stops for the last one only.
    one_a_place = True
    keeps_steps = True
    interrupt = signal.SIGURG
    interrupt_unnamed = True
    interrupt_late = True
    typed_filters = True
    heedless = True
    filters = (
        ExceptionFilter("uncaught", "exceptions that nobody catches, fatal errors", default=True),
        ExceptionFilter("raised", "every exception where it is thrown"),
        ExceptionFilter("warning", "warnings, notices and deprecations"),
    )
    nearest = {
        Feature.MEMORY_READ: "dbg print EXPR",
        Feature.MEMORY_WRITE: "dbg set NAME VALUE",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "dbg source",
        Feature.WATCHPOINTS: "dbg break FILE:LINE --condition '$NAME !== OLD'",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.JUMP: "dbg restart",
        # Without pcntl.
        Feature.PAUSE: "dbg break FILE:LINE",
    }
    scopes = ((ScopeKind.LOCALS, "Locals"), (ScopeKind.GLOBALS, "Globals"))

    def __init__(self, command: tuple[str, ...]) -> None:
        super().__init__(secrets.token_hex(8) + ":")
        self._command = command
        self._thrown: Thrown | None = None
        self._mode = "uncaught"
        #: what the user was last stopped for: it comes again as a fatal error
        self._told: Thrown | None = None
        self._wanted: dict[str, list[str]] = {}

    # --- the line

    def dialect(self, nonce: str) -> Dialect[str, Said]:
        return dbgp.DbgpDialect()

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        if not isinstance(target, Launch):
            raise Unsupported(
                "xdebug joins no program that runs: PHP calls its debugger when it starts.",
                next="dbg start SCRIPT.php",
            )
        self.stands_at_first = target.stop_on_entry
        features = (
            dbgp.command("feature_set", "-n", name, "-v", value)
            for name, value in _FEATURES.items()
        )
        settings = dbgp.joined([*features, self.depths()])
        options = {
            "mode": "debug",
            "start_with_request": "yes",
            "client_host": "{host}",
            "client_port": "{port}",
            "discover_client_host": "0",
            # Children that find nobody to call would complain on the program's own streams.
            "log_level": "0",
        }
        words = [word for key, value in options.items() for word in ("-d", f"xdebug.{key}={value}")]
        runtime = _php(target, config, self._command)
        return Begin(
            (
                *runtime,
                *words,
                *config.args,
                *target.interpreter_args,
                target.program,
                *target.args,
            ),
            target.cwd,
            _environment(target.env),
            Line.CALL,
            Home.INSIDE,
            settings=(settings,),
            own=len(runtime) + len(words),
        )

    def read_greeting(self, text: str) -> str | None:
        engine = dbgp.child(dbgp.documents(text)[0], "engine")
        return engine.get("version") if engine is not None else None

    # --- running

    def run(self, target: Launch) -> str | None:
        return "step_into" if target.stop_on_entry else None

    def resume(self, thread: int | None) -> str:
        return "run"

    def step(self, kind: StepKind, thread: int) -> str:
        return _STEPS[kind]

    def read_stop(self, text: str) -> Halt | None:
        told = dbgp.documents(text)
        if told and dbgp.tag(told[-1]) == "init":
            return Halt(thread=1)
        answered = dbgp.response(text)
        message = dbgp.child(answered, "message")
        if answered.get("status") != "break" or message is None:
            return None
        path, line = place_of(message)
        self.stopped(path, line)
        self._thrown = read_thrown(message)
        if self._thrown is not None:
            words = str(self._thrown)
            return Halt(StopReason.EXCEPTION, path, line, numbers=(), description=words)
        returned = dbgp.child(answered, "return_value")
        held = dbgp.child(returned, "property") if returned is not None else None
        # Of a function that an exception leaves it says `uninitialized`.
        if held is not None and held.get("type") != "uninitialized":
            self.returned()
            value = value_of(held, None, "return value")
            return Halt(None, path, line, numbers=(), returned=value)
        hit = dbgp.child(answered, "breakpoint")
        if hit is not None:
            return Halt(StopReason.BREAKPOINT, path, line, among=(hit.get("id") or "",))
        if answered.get("command") == "run":
            return Halt(StopReason.OTHER, path, line, numbers=(), description="xdebug_break()")
        return Halt(None, path, line)

    def refusal(self, text: str) -> str | None:
        refused = dbgp.error(dbgp.response(text))
        return refused[1] if refused else None

    def moves(self, command: str) -> bool:
        return command.split()[:1] != [] and command.split()[0] in _MOVING

    def detach(self) -> str:
        return "detach"

    # --- breakpoints

    def takes(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(self, location: Location, condition: str | None) -> Ask[Made]:
        if location.function is not None:
            return self._break_in(location.function.replace("->", "::").lstrip("\\"))
        where = ("-f", "file://" + quote(location.file or ""), "-n", location.line or 0)
        if condition is None:
            return Ask(dbgp.command("breakpoint_set", "-t", "line", *where), _read_made)
        code = php.condition(condition, preamble(location.file, location.line))
        return Ask(
            dbgp.command("breakpoint_set", "-t", "conditional", *where, data=code), _read_made
        )

    def _break_in(self, function: str) -> Ask[Made]:
        def read(text: str) -> Made:
            made = _read_made(text)
            there = dbgp.child(dbgp.responses(text)[0], "property")
            if there is not None and (there.text or "") == "1":
                return made
            why = f"no function {function} is loaded yet; a name begins with its namespace"
            return Made(made.number, verified=False, message=why)

        options = ("-t", "call", "-m", function)
        commands = (
            dbgp.command("eval", data=php.exists(function)),
            dbgp.command("breakpoint_set", *options),
        )
        return Ask(dbgp.joined(commands), read)

    def unbreak(self, number: str) -> str:
        return dbgp.command("breakpoint_remove", "-d", number)

    def read_bound(self, text: str) -> Made | None:
        told = dbgp.documents(text)[-1]
        bound = dbgp.child(told, "breakpoint")
        if dbgp.tag(told) != "notify" or bound is None:
            return None
        path, line = place_of(bound)
        return Made(bound.get("id") or "", path, line)

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        self._wanted = {
            each.name: [name for name in (each.condition or "").split(", ") if name]
            for each in filters
        }
        return ()

    def heeds(self, halt: Halt, frames: Sequence[RawFrame]) -> Ask[bool] | bool:
        thrown, told = self._thrown, self._told
        assert thrown is not None
        if thrown.type in MILD:
            self._mode = "warning"
            return "warning" in self._wanted
        if thrown.type in FATAL:
            self._mode = "uncaught"
            return "uncaught" in self._wanted and not (told and thrown.repeats(told))
        candidates = [name for name in ("raised", "uncaught") if name in self._wanted]
        waiting = catchers(frames)
        # Who resumes a fiber is not on its stack; if nobody catches there, a fatal error follows.
        in_fiber = any(frame.function.startswith("{fiber") for frame in frames)
        if in_fiber or any(name.lower() == "throwable" for name in waiting):
            candidates = [name for name in candidates if name == "raised"]
        if not candidates:
            return False
        questions = [
            php.is_one_of(thrown.type, self._wanted.get("raised") or ["Throwable"]),
            php.is_one_of(thrown.type, self._wanted.get("uncaught") or ["Throwable"]),
            php.is_one_of(thrown.type, waiting),
        ]

        def read(text: str) -> bool:
            yes = [is_true(each) for each in dbgp.responses(text)]
            raised = "raised" in candidates and yes[0]
            uncaught = "uncaught" in candidates and yes[1] and not yes[2]
            self._mode = "uncaught" if not yes[2] else "raised"
            self._told = thrown if raised or uncaught else None
            return raised or uncaught

        return Ask(dbgp.joined([dbgp.command("eval", data=each) for each in questions]), read)

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        thrown, mode = self._thrown, self._mode

        def read(text: str) -> ExceptionInfo | None:
            if thrown is None:
                return None
            info = thrown.uncaught() or thrown
            return ExceptionInfo(info.type, info.message, causes=info.causes, mode=mode)

        return Ask("status", read)

    def raw(self, command: str) -> Ask[str]:
        verb = command.split(maxsplit=1)[0] if command.split() else ""
        if verb not in _COMMANDS:
            # Asked for what it does not know, Xdebug 3.2 lets the program run.
            raise EvaluationFailed(f"Xdebug has no command {verb!r}; it has {', '.join(_COMMANDS)}")

        def read(text: str) -> str:
            refused = dbgp.error(dbgp.response(text))
            if refused:
                raise EvaluationFailed(refused[1])
            return text.replace(dbgp.SEPARATOR, "\n")

        return Ask(command, read)


class XdebugBackend(PromptBackend):
    """The breakpoint for exceptions is there only while somebody wants to hear of them."""

    def __init__(self, found: Found, config: Config) -> None:
        super().__init__(Xdebug(found.command), found, config)
        self._exceptions: str | None = None
        #: a running program can be held; None: not tried yet
        self._holds: bool | None = None

    @property
    def features(self) -> frozenset[Feature]:
        return super().features - ({Feature.PAUSE} if self._holds is False else set())

    async def _set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        if self._holds is None:
            asked = dbgp.command("eval", data=php.HOLDING)
            self._holds = await self._talk.ask(
                Ask(asked, lambda text: is_true(dbgp.response(text)))
            )
        await super()._set_filters(filters)
        if filters and self._exceptions is None:
            asked = dbgp.command("breakpoint_set", "-t", "exception", "-x", "*")
            self._exceptions = (await self._talk.ask(Ask(asked, _read_made))).number
        elif not filters and self._exceptions is not None:
            await self._talk.tell(self._spelling.unbreak(self._exceptions))
            self._exceptions = None


def _read_made(text: str) -> Made:
    answered = dbgp.response(text)
    refused = dbgp.error(answered)
    if refused:
        raise DebuggerError(f"xdebug: {refused[1]}.")
    number = answered.get("id") or ""
    if answered.get("resolved") == "unresolved":
        return Made(number, verified=False)
    for told in dbgp.documents(text):
        bound = dbgp.child(told, "breakpoint")
        if dbgp.tag(told) == "notify" and bound is not None and bound.get("id") == number:
            return Made(number, *place_of(bound))
    return Made(number)


def _php(target: Launch, config: AdapterConfig, command: tuple[str, ...]) -> tuple[str, ...]:
    named = target.interpreter or config.interpreter
    if named is None:
        return command
    found = shutil.which(os.path.expanduser(named), path=target.env.get("PATH", os.defpath))
    if found is None:
        raise DebuggerMissing(
            f"there is no interpreter {named}.", next="dbg start PROGRAM --interpreter PATH"
        )
    return (found, *command[1:])


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment without what would overrule our settings."""
    ours = {key: value for key, value in env.items() if key != "XDEBUG_CONFIG"}
    if "XDEBUG_MODE" in ours:
        ours["XDEBUG_MODE"] = "debug"
    return ours


# --- finding it ----------------------------------------------------------------------------------


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    named = config.interpreter or config.path or "php"
    path = shutil.which(os.path.expanduser(named), path=env.get("PATH", os.defpath))
    if path is None:
        return Missing(f"there is no {named}")
    try:
        version, options = _version(path, os.stat(path).st_mtime_ns)
    except LookupError:
        return Missing(f"{path} has no Xdebug")
    if int(version.partition(".")[0]) < _OLDEST:
        return Missing(f"{path} has Xdebug {version}, and {_OLDEST} is needed")
    return Found(path, version, (path, *options))


@functools.cache
def _version(path: str, stamp: int) -> tuple[str, tuple[str, ...]]:
    """Return the version of a PHP's Xdebug, and the options that load it. Raises LookupError.

    Only what was found is remembered.
    """
    for options in ((), ("-d", "zend_extension=xdebug")):
        words = answer([path, *options, "-d", "log_errors=0", "-r", "echo phpversion('xdebug');"])
        found = re.search(r"(\d+\.\d+[\w.]*)\s*\Z", words or "")
        if found:
            return found[1], options
    raise LookupError(path)


DEBUGGER = Debugger(
    name="xdebug",
    kind="console",
    languages=("PHP",),
    patterns=("*.php", "*.phtml", "*.phpt"),
    shebangs=("php",),
    binaries=(),
    install=_INSTALL,
    find=_find,
    make=XdebugBackend,
    rank=40,
    probe_program=(".php", '<?php\necho "ready\\n";\n'),
)
