"""PHP through Xdebug, an extension of PHP that connects to its debugger and uses DBGp.

Xdebug runs in the program's process with a connection of its own, so only the program uses the
standard streams. Xdebug cannot pause a running program; a signal handled by `xdebug_break` can, if
PHP has pcntl. Xdebug evaluates in the innermost frame only; for other frames the variables of an
expression are copied there. Measured with Xdebug 3.2 on PHP 8.2.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from urllib.parse import quote

from freezeframe.backends.backend import Feature, Launch, RawFrame, StepKind, Target
from freezeframe.backends.console.command_channel import Codec
from freezeframe.backends.console.prompt.backend import PromptBackend
from freezeframe.backends.console.prompt.codec import UnsolicitedText
from freezeframe.backends.console.prompt.command_set import (
    CommandSet,
    ConsoleQuery,
    ControlTransport,
    DebuggeeHost,
    DebuggerBreakpoint,
    FrameRef,
    LaunchSpec,
    StopInfo,
)
from freezeframe.backends.debugger import Debugger, Found
from freezeframe.backends.php import catchers, causes, phpunit, preamble
from freezeframe.backends.transport.process import signal_number
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, StopReason
from freezeframe.model.values import ScopeKind

from . import dbgp, php_snippets
from .discovery import environment, find, php_command
from .function_breakpoints import FunctionBreakpoints
from .inspection import XdebugInspection, is_true, location_of
from .line_passes import LinePasses, LineStatement, depth_in
from .php_errors import FATAL, MILD, PhpException, read_thrown
from .precision import returned_commands, returned_property
from .server import RequestStream
from .value_parser import value_of

_STEPS = {StepKind.OVER: "step_over", StepKind.INTO: "step_into", StepKind.OUT: "step_out"}
_RESUMING = frozenset({"run", *_STEPS.values()})
#: the DBGp commands that the user may send
_COMMANDS = (
    *sorted(_RESUMING),
    *("breakpoint_get", "breakpoint_list", "breakpoint_remove", "breakpoint_set"),
    *("breakpoint_update", "context_get", "context_names", "detach", "eval", "feature_get"),
    *("feature_set", "property_get", "property_set", "property_value", "source", "stack_depth"),
    *("stack_get", "status", "stop", "typemap_get", "xcmd_get_executable_lines"),
)
_INSTALL = ("apt install php-cli php-xdebug", "pecl install xdebug")
_FEATURES = {
    "show_hidden": 1,
    "notify_ok": 1,
    "resolved_breakpoints": 1,
    "breakpoint_details": 1,
    "breakpoint_include_return_value": 1,
    "extended_properties": 1,
}


class Xdebug(XdebugInspection, CommandSet):
    """The commands of DBGp."""

    name = "xdebug"
    joint = "->"
    own_conditions = True
    # Of several breakpoints on a line Xdebug reports the last one only.
    one_per_location = True
    keeps_steps = True
    keeps_returned = True
    interrupt = signal_number("SIGURG")
    interrupt_unnamed = True
    interrupt_late = True
    typed_filters = True
    filters_exceptions_itself = True
    halts_unseen = True
    filters = (
        ExceptionFilter("uncaught", "exceptions that nobody catches, fatal errors", default=True),
        ExceptionFilter("raised", "every exception where it is thrown"),
        ExceptionFilter("warning", "warnings, notices and deprecations"),
    )
    alternatives = {
        # If PHP lacks pcntl.
        Feature.PAUSE: "dbg break FILE:LINE",
    }
    scopes = ((ScopeKind.LOCALS, "Locals"), (ScopeKind.GLOBALS, "Globals"))

    def __init__(self, command: tuple[str, ...]) -> None:
        super().__init__(secrets.token_hex(8) + ":")
        self._command = command
        self._thrown: PhpException | None = None
        self._mode = "uncaught"
        #: where the last exception was thrown
        self._thrown_at: tuple[str | None, int | None] = (None, None)
        #: the last reported exception: Xdebug reports it again as a fatal error
        self._reported: PhpException | None = None
        self._filters: dict[str, list[str]] = {}
        #: the last reported exception fails a test
        self._test_failed = False
        self._functions = FunctionBreakpoints()
        self._passes = LinePasses()
        #: the connections of a server's requests; None: the program is a script
        self.requests: RequestStream | None = None

    # --- connection and start

    def codec(self, nonce: str) -> Codec[str, UnsolicitedText]:
        return dbgp.DbgpCodec()

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
        if not isinstance(target, Launch):
            raise Unsupported(
                "xdebug cannot attach: PHP connects to its debugger when it starts.",
                next="dbg start SCRIPT.php",
            )
        served = any(each.startswith("-S") for each in target.interpreter_args)
        if served and target.stop_on_entry:
            raise Unsupported(
                "a server has no entry: each request begins a script.", next="dbg break FILE:LINE"
            )
        self.stops_at_first_line = target.stop_on_entry
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
            # Children that cannot connect would log errors to the program's streams.
            "log_level": "0",
        }
        settings_args = [
            word for key, value in options.items() for word in ("-d", f"xdebug.{key}={value}")
        ]
        runtime = php_command(target, config, self._command)
        enable_pause = dbgp.command("eval", data=php_snippets.ENABLE_PAUSE)
        self.requests = RequestStream((enable_pause,)) if served else None
        return LaunchSpec(
            (
                *runtime,
                *settings_args,
                *config.args,
                *target.interpreter_args,
                # The arguments of a server name its script, if it has one.
                *(() if served else (target.program, *target.args)),
            ),
            target.cwd,
            environment(target.env),
            ControlTransport.CALL,
            DebuggeeHost.INSIDE,
            settings=(settings,),
            connections=self.requests,
            own=len(runtime) + len(settings_args),
        )

    def read_greeting(self, text: str) -> str | None:
        engine = dbgp.child(dbgp.documents(text)[0], "engine")
        return engine.get("version") if engine is not None else None

    # --- execution

    def run(self, target: Launch) -> str | None:
        return "step_into" if target.stop_on_entry else None

    def resume(self, thread: int | None) -> str:
        return self._passes.resume()

    def step(self, kind: StepKind, thread: int) -> str:
        self._passes.step()
        return _STEPS[kind]

    def read_stop(self, text: str) -> StopInfo | None:
        documents = dbgp.documents(text)
        if documents and dbgp.tag(documents[-1]) == "init":
            return StopInfo(thread=1)
        response, *more = dbgp.responses(text) or [dbgp.response(text)]
        message = dbgp.child(response, "message")
        if response.get("status") != "break" or message is None:
            return None
        path, line = location_of(message)
        self.stopped(path, line)
        self._thrown = read_thrown(message)
        statement, hit = (
            LineStatement(path, line, depth_in(more)),
            dbgp.child(response, "breakpoint"),
        )
        is_interrupted = hit is not None or self._thrown is not None
        passed = self._passes.ends_pass(statement, is_interrupted)
        if self._thrown is not None:
            self._passes.forget(all=True)
            description = str(self._thrown)
            return StopInfo(StopReason.EXCEPTION, path, line, numbers=(), description=description)
        property_ = returned_property(response, *more)
        # For a function that an exception leaves Xdebug reports `uninitialized`.
        if property_ is not None and property_.get("type") != "uninitialized":
            self.returned()
            self._passes.forget()
            value = value_of(property_, None, "return value")
            return StopInfo(None, path, line, numbers=(), returned=value)
        if self._passes.continues(statement, is_hit=hit is not None):
            return StopInfo(None, path, line, numbers=(), resumed=passed or hit is not None)
        if hit is not None and not self._functions.is_entry(hit.get("id") or "", more):
            return StopInfo(None, path, line, numbers=(), resumed=True, yielded=True)
        if hit is not None:
            return StopInfo(StopReason.BREAKPOINT, path, line, among=(hit.get("id") or "",))
        if response.get("command") == "run" and not passed:
            return StopInfo(StopReason.OTHER, path, line, numbers=(), description="xdebug_break()")
        return StopInfo(None, path, line, resumed=passed)

    def study(self, text: str) -> Sequence[str]:
        commands = returned_commands(text) or self._functions.commands(text)
        return commands or self._passes.commands(text)

    def refusal(self, text: str) -> str | None:
        refused = dbgp.error(dbgp.response(text))
        return refused[1] if refused else None

    def resumes(self, command: str) -> bool:
        return command.split()[:1] != [] and command.split()[0] in _RESUMING

    def detach(self) -> str:
        return "detach"

    # --- breakpoints

    def missing_feature(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        if location.function is not None:
            return self._break_in(location.function.replace("->", "::").lstrip("\\"))
        location_args = ("-f", "file://" + quote(location.file or ""), "-n", location.line or 0)
        if condition is None:
            return ConsoleQuery(
                dbgp.command("breakpoint_set", "-t", "line", *location_args), _read_breakpoint
            )
        code = php_snippets.condition(condition, preamble(location.file, location.line))
        return ConsoleQuery(
            dbgp.command("breakpoint_set", "-t", "conditional", *location_args, data=code),
            _read_breakpoint,
        )

    def _break_in(self, function: str) -> ConsoleQuery[DebuggerBreakpoint]:
        def read(text: str) -> DebuggerBreakpoint:
            breakpoint = _read_breakpoint(text)
            self._functions.add(breakpoint.number, function)
            there = dbgp.child(dbgp.responses(text)[0], "property")
            if there is not None and (there.text or "") == "1":
                return breakpoint
            why = f"no function {function} is loaded yet; a name begins with its namespace"
            return DebuggerBreakpoint(breakpoint.number, verified=False, message=why)

        options = ("-t", "call", "-m", function)
        commands = (
            dbgp.command("eval", data=php_snippets.exists(function)),
            dbgp.command("breakpoint_set", *options),
        )
        return ConsoleQuery(dbgp.joined(commands), read)

    def delete_breakpoint(self, number: str) -> str:
        return dbgp.command("breakpoint_remove", "-d", number)

    def read_bound(self, text: str) -> DebuggerBreakpoint | None:
        document = dbgp.documents(text)[-1]
        bound = dbgp.child(document, "breakpoint")
        if dbgp.tag(document) != "notify" or bound is None:
            return None
        path, line = location_of(bound)
        return DebuggerBreakpoint(bound.get("id") or "", path, line)

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        self._filters = {
            each.name: [name for name in (each.condition or "").split(", ") if name]
            for each in filters
        }
        self._passes.sees_exceptions = bool(filters)
        return ()

    def matches_filters(
        self, halt: StopInfo, frames: Sequence[RawFrame]
    ) -> ConsoleQuery[bool] | bool:
        thrown, reported = self._thrown, self._reported
        assert thrown is not None
        self._thrown_at = (frames[0].path, frames[0].line) if frames else (None, None)
        if thrown.type in MILD:
            self._mode = "warning"
            return "warning" in self._filters
        if thrown.type in FATAL:
            self._mode = "uncaught"
            return "uncaught" in self._filters and not (reported and thrown.repeats(reported))
        test = phpunit.frames_in_test(frames) if "uncaught" in self._filters else None
        if test is not None:
            return self._fails_test(thrown, test)
        return self._matches_filters(thrown, frames)

    def _fails_test(
        self, thrown: PhpException, frames: Sequence[RawFrame]
    ) -> ConsoleQuery[bool] | bool:
        """Query whether an exception fails a test of PHPUnit; *frames* are those of the test."""
        # PHPUnit compares the expected exception after the test has thrown another one.
        own = all(map(phpunit.is_of_runner, frames))
        repeated, self._test_failed = self._test_failed and own, False
        if repeated and "raised" not in self._filters:
            return False
        checks = [
            php_snippets.is_one_of(thrown.type, self._filters.get("raised") or ["Throwable"]),
            php_snippets.is_one_of(thrown.type, self._filters.get("uncaught") or ["Throwable"]),
            php_snippets.is_one_of(thrown.type, [*catchers(frames), *phpunit.UNFAILING]),
            "false" if own else phpunit.is_expected(thrown.type),
        ]

        def read(text: str) -> bool:
            raised, uncaught, caught, expected = map(is_true, dbgp.responses(text))
            fails = uncaught and not caught and not expected and not repeated
            self._test_failed = fails
            self._mode = "test-failing" if fails else "raised"
            return fails or (raised and "raised" in self._filters)

        return ConsoleQuery(dbgp.joined([dbgp.command("eval", data=each) for each in checks]), read)

    def _matches_filters(
        self, thrown: PhpException, frames: Sequence[RawFrame]
    ) -> ConsoleQuery[bool] | bool:
        candidates = [name for name in ("raised", "uncaught") if name in self._filters]
        caught_types = catchers(frames)
        # The code that resumes a fiber is not on its stack; if uncaught, a fatal error follows.
        in_fiber = any(frame.function.startswith("{fiber") for frame in frames)
        if in_fiber or any(name.lower() == "throwable" for name in caught_types):
            candidates = [name for name in candidates if name == "raised"]
        if not candidates:
            return False
        checks = [
            php_snippets.is_one_of(thrown.type, self._filters.get("raised") or ["Throwable"]),
            php_snippets.is_one_of(thrown.type, self._filters.get("uncaught") or ["Throwable"]),
            php_snippets.is_one_of(thrown.type, caught_types),
        ]

        def read(text: str) -> bool:
            results = [is_true(each) for each in dbgp.responses(text)]
            raised = "raised" in candidates and results[0]
            uncaught = "uncaught" in candidates and results[1] and not results[2]
            self._mode = "uncaught" if not results[2] else "raised"
            self._reported = thrown if raised or uncaught else None
            return raised or uncaught

        return ConsoleQuery(dbgp.joined([dbgp.command("eval", data=each) for each in checks]), read)

    def exception(self, thread: int) -> ConsoleQuery[ExceptionInfo | None]:
        thrown, mode = self._thrown, self._mode

        def read(text: str) -> ExceptionInfo | None:
            if thrown is None:
                return None
            info = thrown.uncaught() or thrown
            previous = dbgp.child(dbgp.response(text), "property")
            lines = dbgp.text_of(previous) if previous is not None else b""
            found = tuple(line.rstrip() for line in lines.decode("utf-8", "replace").splitlines())
            return ExceptionInfo(info.type, info.message, causes=info.causes or found, mode=mode)

        passed = causes.passed_variable(*self._thrown_at) if thrown is not None else None
        if thrown is None or passed is None:
            return ConsoleQuery("status", read)
        variable, position = passed
        chain = causes.chain(variable, thrown.type, position)
        return ConsoleQuery(dbgp.command("eval", data=chain), read)

    def raw(self, command: str, at: FrameRef) -> ConsoleQuery[str]:
        verb = command.split(maxsplit=1)[0] if command.split() else ""
        if verb not in _COMMANDS:
            # Xdebug 3.2 resumes the program on an unknown command.
            raise EvaluationFailed(f"Xdebug has no command {verb!r}; it has {', '.join(_COMMANDS)}")

        def read(text: str) -> str:
            refused = dbgp.error(dbgp.response(text))
            if refused:
                raise EvaluationFailed(refused[1])
            return text.replace(dbgp.SEPARATOR, "\n")

        return ConsoleQuery(command, read)


class XdebugBackend(PromptBackend):
    """A backend that sets the exception breakpoint only while filters are enabled."""

    def __init__(self, found: Found, config: Config) -> None:
        self._xdebug = Xdebug(found.command)
        super().__init__(self._xdebug, found, config)
        self._exceptions: str | None = None
        #: a running program can be paused; None: not tried yet
        self._can_pause: bool | None = None

    @property
    def features(self) -> frozenset[Feature]:
        return super().features - ({Feature.PAUSE} if self._can_pause is False else set())

    @property
    def _between_requests(self) -> bool:
        requests = self._xdebug.requests
        return requests is not None and requests.is_idle and self._execution.running

    async def pause(self, thread: int | None) -> None:
        if self._between_requests:
            raise DebuggerError("the server waits for a request.", next="dbg await")
        await super().pause(thread)

    @property
    def blind_because(self) -> str | None:
        return "it waits for a request" if self._between_requests else super().blind_because

    def _interrupt(self, gently: bool = False) -> None:
        if self._between_requests and self._xdebug.requests is not None:
            self._xdebug.requests.interrupt()
        else:
            super()._interrupt(gently)

    async def _set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        if self._can_pause is None and self._xdebug.requests is None:
            command = dbgp.command("eval", data=php_snippets.ENABLE_PAUSE)
            self._can_pause = await self._queries.run(
                ConsoleQuery(command, lambda text: is_true(dbgp.response(text)))
            )
        await super()._set_filters(filters)
        if filters and self._exceptions is None:
            command = dbgp.command("breakpoint_set", "-t", "exception", "-x", "*")
            self._exceptions = (
                await self._queries.run(ConsoleQuery(command, _read_breakpoint))
            ).number
        elif not filters and self._exceptions is not None:
            await self._queries.send(self._command_set.delete_breakpoint(self._exceptions))
            self._exceptions = None


def _read_breakpoint(text: str) -> DebuggerBreakpoint:
    response = dbgp.response(text)
    refused = dbgp.error(response)
    if refused:
        raise DebuggerError(f"xdebug: {refused[1]}.")
    number = response.get("id") or ""
    if response.get("resolved") == "unresolved":
        return DebuggerBreakpoint(number, verified=False)
    for document in dbgp.documents(text):
        bound = dbgp.child(document, "breakpoint")
        if dbgp.tag(document) == "notify" and bound is not None and bound.get("id") == number:
            return DebuggerBreakpoint(number, *location_of(bound))
    return DebuggerBreakpoint(number)


DEBUGGER = Debugger(
    name="xdebug",
    kind="console",
    languages=("PHP",),
    patterns=("*.php", "*.phtml", "*.phpt"),
    shebangs=("php",),
    binaries=(),
    install=_INSTALL,
    find=find,
    make=XdebugBackend,
    rank=40,
    probe_program=(".php", '<?php\necho "ready\\n";\n'),
)
