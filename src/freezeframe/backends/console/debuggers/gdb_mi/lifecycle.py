"""Start, attach to, open and detach programs under gdb, and dispatch gdb's notifications."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends import backend as events
from freezeframe.backends import gdb, native_tests, rust_symbols, sanitizers
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    BreakpointRequest,
    Configuration,
    Core,
    EventSink,
    Launch,
    Target,
)
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields, quote
from freezeframe.backends.debugger import Found
from freezeframe.backends.fork_modes import ForkMode
from freezeframe.backends.gdb import libc
from freezeframe.backends.native import (
    binary_kind,
    check_program,
    explain_failure,
    folds_sourceless,
    is_of_type,
    is_rust,
    panic_function,
    panic_info,
)
from freezeframe.backends.program_io import NamedProgramIO
from freezeframe.config import Config
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout, LaunchFailed
from freezeframe.model.stops import ExceptionInfo, Exit, StopReason

from . import cxx_exceptions, frame_names, launch, warnings
from .breakpoints import GdbBreakpoints
from .execution import GdbExecution
from .forked_children import GdbProcessTree
from .mi_channel import Answered, AsyncRecord, MiChannel, MiError, Wrote, rows, tap_of
from .var_objects import GdbFrameRef
from .variables import GdbVariables
from .watchpoints import GdbWatchpoints

_NAME = "gdb-mi"
_DETACH_S = 5.0
_VERSION = re.compile(r"^GNU gdb.* (\d+(?:\.\d+)+)", re.MULTILINE)


class GdbLifecycle(GdbProcessTree):
    """The lifecycle of one program under gdb."""

    def __init__(self, found: Found, config: Config) -> None:
        timeouts = config.timeouts
        channel = MiChannel(_NAME, timeouts, self._on_notice, self.lost)
        super().__init__(_NAME, found, config, channel)
        self._breakpoints = GdbBreakpoints(self._channel)
        self._watches = GdbWatchpoints(self._channel)
        self._values = GdbVariables(self._channel, timeouts.value_s)
        self._execution = GdbExecution(
            self._channel,
            self._breakpoints,
            self._watches,
            self._values,
            self.emit,
            self.drain,
            self._on_exit,
            self.work,
        )
        self._advertised: list[str] = []
        self._rust = False
        #: the program has debug information
        self._debug = False
        #: exception filters set by default for this kind of program
        self._default_filters: frozenset[str] = frozenset()
        #: the program's standard output is line-buffered from the start
        self._by_line = False
        self._resolved: dict[str, list[str]] = {}
        self._group_gone = False
        self._frames: dict[int, GdbFrameRef] = {}
        self._last_frame = 0

    # --- lifecycle

    async def start(
        self, target: Target, configuration: Configuration, sink: EventSink
    ) -> Sequence[BoundBreakpoint]:
        self.target = target
        self._sink = sink
        options = self._config.adapter(_NAME)
        self._command = (self._found.path, "-q", "-nx", "-i=mi3", *options.args)
        forks = ForkMode.PARENT if isinstance(target, Core) else target.forks
        self._children.followed = forks is ForkMode.BOTH
        argv = (*self._command[:3], *launch.settings(forks), *self._command[3:])
        self._inspect_program(target.program)
        if isinstance(target, Launch):
            check_program(target)
            self.io = NamedProgramIO(
                self.emit_text, target.stdin, self.on_streams_closed, tty=target.tty
            )
        if self._lifetime.disposed:
            raise DebuggerLost("the program was ended before it was started.")
        printers, _ = await asyncio.gather(
            launch.rust_printers(target.env, target.cwd) if self._rust else _nothing(),
            self._channel.open(
                argv, target.cwd, launch.environment(target.env), tap_of(target.env)
            ),
        )
        if isinstance(target, Launch):
            await self._prepare(printers, self._run_commands(target))
            return await self._launch(target, configuration)
        await self._prepare(printers)
        if isinstance(target, Core):
            return await self._open_core(target)
        return await self._attach(target, configuration)

    def _inspect_program(self, program: str | None) -> None:
        self._rust = self._values.rust = self._breakpoints.rust = program is not None and is_rust(
            program
        )
        self._debug = program is not None and folds_sourceless(program)
        self._breakpoints.panics = panic_function(program)
        self._breakpoints.failing = native_tests.function_of(program)
        sanitized = program is not None and sanitizers.is_sanitized(program)
        self._default_filters = frozenset(
            name for name, set in (("panic", self._rust), ("sanitizer", sanitized)) if set
        )

    async def _prepare(self, printers: Sequence[str], further: Sequence[str] = ()) -> None:
        """Configure gdb in one batch. Raises LaunchFailed if gdb refuses one of *further*."""
        more = (gdb.FORKS_AGENT,) if self._children.followed else ()
        agents, buffering = launch.load_agents(*more, *gdb.AGENTS), self._line_buffering_command()
        agents += [buffering] if buffering is not None else []
        keeping = launch.keep_indexes() if isinstance(self.target, Launch) else []
        version, listed, *answers = await self._channel.request_all(
            [
                "-gdb-version",
                "-list-features",
                *agents,
                "-enable-pretty-printing",
                *printers,
                *further,
                *keeping,
            ]
        )
        del answers[len(answers) - len(keeping) :]  # optional: a start without it is slower
        if isinstance(version, Answered) and (match := _VERSION.search(version.console_text)):
            self._found = replace(self._found, version=match[1])
        if isinstance(listed, Answered):
            self._advertised = [str(f) for f in rows(listed.result.fields.get("features"))]
        python = all(isinstance(each, Answered) for each in answers[: len(agents)])
        self._by_line = python and buffering is not None
        if self._children.followed and not python:
            raise LaunchFailed(
                "this gdb was built without Python, which following children needs.",
                next="dbg start PROGRAM --child only",
            )
        self._breakpoints.python = self._values.python = self._watches.python = python
        for refused in answers[len(answers) - len(further) :]:
            if isinstance(refused, MiError):
                raise LaunchFailed(refused.message, next=f"file {self.target.program}")
        self._breakpoints.resolve_function = self._resolve_function
        self._execution.examine = self._examine
        self._execution.last_output = self._last_output

    def _line_buffering_command(self) -> str | None:
        """Return the command that makes C's standard output line-buffered; see `output_agent`."""
        if self._rust or not isinstance(self.target, Launch):
            return None
        found = libc.of_program(self.target.program, "_IO_2_1_stdout_")
        if found is None:
            return None
        return f"-interpreter-exec console {quote(f'python freezeframe_lines{found!r}')}"

    def _run_commands(self, target: Launch) -> list[str]:
        assert self.io is not None
        self._breakpoints.program = target.program
        return [
            f"-file-exec-and-symbols {quote(target.program)}",
            *(f"-gdb-set {key} {value}" for key, value in target.options.items()),
            *launch.launch(target, self.io.redirections, self.io.terminal.name),
        ]

    async def _launch(
        self, target: Launch, configuration: Configuration
    ) -> Sequence[BoundBreakpoint]:
        assert self.io is not None
        self.emit(events.Initialized())
        early = [w for w in configuration.breakpoints if w.location.address is None]
        late = [w for w in configuration.breakpoints if w.location.address is not None]
        bound = await self._set_all(early)
        await self._set_default_filters(configuration)
        # Addresses are valid once the program is in memory.
        held = bool(late) or target.stop_on_entry
        entry = await self._break_at_entry() if held or not (self._rust or self._by_line) else None
        if not held and entry is None:
            await self._run("-exec-run")
            return bound
        waiter = self._execution.next_stop()
        if entry is None:
            await self._run("-interpreter-exec console starti")
        else:
            await self._run("-exec-run")
        try:
            first = await self._execution.wait_for_stop(waiter, self._config.timeouts.request_s)
        except DebuggerTimeout:
            # The program runs long before its entry; its next stop is reported as usual.
            return bound
        except DebuggerLost:
            return bound  # the program has ended, which is already reported
        arrived = entry is None or await self._was_hit(entry)
        if arrived and entry is not None and not (self._rust or self._by_line):
            await self._line_buffered()
        bound = [*bound, *await self._set_all(late)]
        await self._finish_launch(first, target, arrived)
        return bound

    async def _break_at_entry(self) -> str | None:
        """Set a temporary breakpoint at the program's entry; return gdb's number."""
        [name, *_] = await self._resolve_function("main")
        try:
            body = await self._channel.request(f"-break-insert -t --function {quote(name)}")
        except MiError:
            return None
        return str(rows(body["bkpt"])[0]["number"])

    async def _was_hit(self, number: str) -> bool:
        """Whether a temporary breakpoint was hit, possibly together with others."""
        try:
            body = await self._channel.request(f"-break-info {number}")
        except MiError:
            return True
        return not rows(body["BreakpointTable"]["body"])

    async def _finish_launch(self, first: AsyncRecord, target: Launch, arrived: bool) -> None:
        if not arrived:
            await self._execution.report(first)
        elif target.stop_on_entry:
            await self._execution.report(first, StopReason.ENTRY)
        elif self._breakpoints.hit:
            await self._execution.report(first)
        else:
            await self._execution.continue_program()

    async def _line_buffered(self) -> None:
        """Make C's standard output line-buffered, as it is on a terminal.

        libc would buffer it in a pipe until the program ends, and a stop would show none of it.
        """
        function, stream = "setvbuf", "*(void**)&stdout"
        known = libc.addresses(self.pid or 0, (function, "_IO_2_1_stdout_"))
        if known is not None:
            function, stream = (f"{address:#x}" for address in known)
        call = f"((int(*)(void*,char*,int,unsigned long)){function})((void*)({stream}),0,1,0)"
        # A statically linked program may lack setvbuf, but always has the stream's flags.
        for way in (call,) if known is not None else (libc.BY_LINE, call):
            try:
                await self._channel.request(
                    f"-data-evaluate-expression {quote(way)}",
                    timeout_s=self._config.timeouts.value_s,
                )
            except DebuggerError:
                continue  # no C library, or not callable: the output stays buffered
            return

    async def _run(self, command: str) -> None:
        """Start the program. Raises LaunchFailed with the output of the shell or the loader."""
        assert self.io is not None
        self._execution.set_running()
        try:
            await self._channel.request(command)
        except MiError as error:
            self._execution.on_run_refused()
            self.drain()
            output = str(self.io.stderr_tail).strip()
            raise LaunchFailed(
                f"{error.message.rstrip('.')}: {output}" if output else error.message,
                next="dbg doctor",
            ) from None
        self.io.started()

    async def _load(self, program: str | None) -> None:
        if program is None:
            return
        self._breakpoints.program = program
        try:
            await self._channel.request(f"-file-exec-and-symbols {quote(program)}")
        except MiError as error:
            raise LaunchFailed(error.message, next=f"file {program}") from None

    async def _attach(
        self, target: Attach, configuration: Configuration
    ) -> Sequence[BoundBreakpoint]:
        if target.program is not None and binary_kind(target.program) is not None:
            await self._load(target.program)
        waiter = self._execution.next_stop()
        if target.pid is not None:
            self.pid = target.pid
            await self._attach_with(f"-target-attach {target.pid}", target)
            self._attached = True
        else:
            host = f"[{target.host}]" if ":" in (target.host or "") else target.host
            if target.host in ("127.0.0.1", "::1", "localhost"):
                await self._channel.request("-gdb-set sysroot /")
            await self._attach_with(f"-target-select extended-remote {host}:{target.port}", target)
        self.emit(events.Initialized())
        limit_s = self._config.timeouts.request_s
        try:
            await self._execution.wait_for_stop(waiter, limit_s)
        except DebuggerTimeout:
            raise DebuggerTimeout(
                f"the program did not stop within {limit_s:g} s after attaching.", next="dbg logs"
            ) from None
        if executable := self._executable():
            self._inspect_program(executable)
        bound = await self._set_all(configuration.breakpoints)
        await self._set_default_filters(configuration)
        self.emit(events.ProcessStarted(self.pid))
        if self._parent is not None:
            self._execution.expect_fork_stop()
        # Attached programs continue to run, whatever the debugger's default is.
        await self._execution.continue_program()
        return bound

    def _executable(self) -> str | None:
        pid = self.pid
        try:
            return os.readlink(f"/proc/{pid}/exe") if pid is not None else None
        except OSError:
            return None

    async def _attach_with(self, command: str, target: Attach) -> None:
        try:
            await self._channel.request(command)
        except MiError as error:
            why = explain_failure(target, error.message)
            message, next = why if why is not None else (error.message, None)
            raise LaunchFailed(message, next=next or "dbg doctor") from None

    async def _open_core(self, target: Core) -> Sequence[BoundBreakpoint]:
        await self._load(target.program)
        try:
            answered = await self._channel.answer(f"-target-select core {target.core}")
        except MiError as error:
            if " " not in target.core:
                raise LaunchFailed(error.message, next=f"file {target.core}") from None
            # Before gdb 16 a blank is part of the name; since then the name must be quoted.
            try:
                answered = await self._channel.answer(f"-target-select core {quote(target.core)}")
            except MiError:
                raise LaunchFailed(error.message, next=f"file '{target.core}'") from None
        self.emit(events.Initialized())
        text = answered.console_text + answered.log_text
        for line in dict.fromkeys(text.splitlines()):
            # Some are already reported; the caller reports a core file of another program.
            reported = warnings.matters(line) or "may not match" in line
            if line.startswith("warning:") and not reported:
                self.emit(events.OutputEvent("console", line + "\n"))
        match = re.search(r"terminated with signal (\w+)", text)
        died = {"reason": "signal-received", "signal-name": match[1] if match else ""}
        thread = int((await self._channel.request("-thread-info")).get("current-thread-id") or 1)
        self.emit(
            events.Stopped(
                StopReason.SIGNAL if match else StopReason.OTHER,
                thread,
                await self._execution.describe(died) if match else "a core file",
            )
        )
        return []

    async def _detach(self) -> None:
        if isinstance(self.target, Core):
            return
        await self._execution.hold(_DETACH_S)
        try:
            await self._channel.request("-target-detach", timeout_s=_DETACH_S)
        except MiError as error:
            if "not being run" not in error.message:
                raise

    # --- what gdb reports

    def _on_notice(self, notice: AsyncRecord | Wrote) -> None:
        if isinstance(notice, Wrote):
            self.emit_text(notice.stream, notice.text)
            return
        fields = notice.record.fields
        if self._children.is_other_process(fields):
            if notice.record.kind == "thread-group-started":
                self._children.on_started(fields)
            return
        match notice.record.kind:
            case "stopped":
                self._execution.on_stopped(notice)
            case "running":
                self._execution.on_running()
            case "refused":
                self._execution.on_refused(notice)
            case "thread-group-started":
                self._on_process_started(fields)
            case "thread-group-exited":
                self._group_gone = True
            case "thread-created" | "thread-exited":
                alive = notice.record.kind == "thread-created"
                self.emit(events.ThreadChanged(int(fields.get("id", -1)), alive))
            case "breakpoint-modified":
                for body in rows(fields.get("bkpt")):
                    changed = self._breakpoints.modified(body)
                    if changed is not None:
                        self.emit(events.BreakpointChanged(changed))

    def _check_exit(self) -> None:
        """Report an exit that a raw command may have caused without a stop."""
        if self._group_gone and not self.ended:
            self.finish(Exit(how="killed"))

    def _on_process_started(self, fields: Fields) -> None:
        pid = fields.get("pid")
        if pid is None or not str(pid).isdecimal():
            return
        self.pid = int(pid)
        self._group_gone = False
        remote = isinstance(self.target, Attach) and self.target.pid is None
        self._execution.pid = None if remote else self.pid
        self.emit(events.ProcessStarted(self.pid))

    async def _set_all(self, requests: Sequence[BreakpointRequest]) -> list[BoundBreakpoint]:
        groups: dict[str, list[BreakpointRequest]] = {}
        for request in requests:
            location = request.location
            group = "address" if location.address is not None else location.file or "function"
            groups.setdefault(group, []).append(request)
        bound: list[BoundBreakpoint] = []
        for group, entries in groups.items():
            bound += await self._breakpoints.set(group, entries)
        return bound

    async def _set_default_filters(self, configuration: Configuration) -> None:
        await self._breakpoints.set_filters(configuration.filters_among(self.filters))

    def _last_output(self) -> str:
        self.drain()
        return "\n".join(self.io.stderr_tail.lines(400)) if self.io is not None else ""

    async def _examine(self, filter: str, thread: int | None) -> ExceptionInfo | None:
        """Return what a filter caught; None if the filter does not name its type."""
        if filter == "panic":
            info = panic_info(self._last_output())
            message = await cxx_exceptions.panicked(self._channel, thread)
            return replace(info, message=message or info.message, mode=filter)
        if filter == native_tests.NAME:
            return await cxx_exceptions.failed(
                self._channel, thread, self._breakpoints.failing or ""
            )
        if filter == "sanitizer":
            report = await cxx_exceptions.sanitized(self._channel, thread, self._last_output())
            return replace(report, mode=filter)
        if thread is None:
            return ExceptionInfo(cxx_exceptions.UNKNOWN, "", mode=filter)
        value_s = self._config.timeouts.value_s
        found = await cxx_exceptions.thrown(self._channel, thread, filter, value_s)
        type_name = self._breakpoints.only.get(filter)
        if type_name is not None and found.types and not is_of_type(found.types, type_name):
            return None
        return found.info

    async def _resolve_function(self, function: str) -> list[str]:
        """Return the functions that a name means: gdb knows Rust's only by their full path."""
        if not self._rust:
            return [function]
        if function not in self._resolved:
            self._resolved[function] = await self._find_rust(function)
        return self._resolved[function]

    async def _find_rust(self, function: str) -> list[str]:
        last = re.escape(function.rpartition("::")[2])
        try:
            body = await self._channel.request(
                f"-symbol-info-functions --name {quote(f'::{last}')}"
            )
        except MiError:
            return [function]
        files = rows((body.get("symbols") or {}).get("debug"))
        found = frame_names.rust_functions(function, files)
        return found or rust_symbols.matching(self.target.program, function) or [function]


async def _nothing() -> list[str]:
    return []
