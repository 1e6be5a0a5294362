"""How a program comes under gdb: started, joined, opened as a core file; and what gdb reports."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends import backend as events
from freezeframe.backends import gdb, native_tests
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    Configuration,
    Core,
    Launch,
    Sink,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.console.reader import Fields, quote
from freezeframe.backends.console.streams import Streams
from freezeframe.backends.debugger import Found
from freezeframe.backends.forks import Forks
from freezeframe.backends.native import (
    binary_kind,
    check_program,
    explain_failure,
    folds_sourceless,
    is_of_type,
    is_rust,
    is_sanitized,
    panic_function,
    panic_info,
    sanitizer_info,
    trait_methods,
)
from freezeframe.config import Config
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout, LaunchFailed
from freezeframe.model.stops import ExceptionInfo, Exit, StopReason

from . import exceptions, libc, names, start, warnings
from .kin import GdbFamily
from .line import Answered, GdbRefused, Happened, Line, Wrote, at, rows, tap_of
from .marks import Marks
from .motion import Motion
from .objects import Place
from .values import Values
from .watches import Watches

_NAME = "gdb-mi"
_LEAVE_S = 5.0
_VERSION = re.compile(r"^GNU gdb.* (\d+(?:\.\d+)+)", re.MULTILINE)


class GdbLife(GdbFamily):
    """The start and the ends of one program under gdb."""

    def __init__(self, found: Found, config: Config) -> None:
        timeouts = config.timeouts
        line = Line(_NAME, timeouts, self._hear, self.lost)
        super().__init__(_NAME, found, config, line)
        self._marks = Marks(self._line)
        self._watches = Watches(self._line)
        self._values = Values(self._line, timeouts.value_s)
        self._motion = Motion(
            self._line,
            self._marks,
            self._watches,
            self._values,
            self.emit,
            self.drain,
            self._over,
            self.work,
        )
        self._advertised: list[str] = []
        self._rust = False
        #: the program itself has debug information
        self._debug = False
        #: exception filters that are set because of what the program is
        self._default_filters: frozenset[str] = frozenset()
        #: its standard output goes out line by line from the beginning
        self._by_line = False
        self._meanings: dict[str, list[str]] = {}
        self._group_gone = False
        self._frames: dict[int, Place] = {}
        self._last_frame = 0

    # --- life

    async def start(
        self, target: Target, configuration: Configuration, sink: Sink
    ) -> Sequence[BoundBreakpoint]:
        self.target = target
        self._sink = sink
        options = self._config.adapter(_NAME)
        self._command = (self._found.path, "-q", "-nx", "-i=mi3", *options.args)
        forks = Forks.PARENT if isinstance(target, Core) else target.forks
        self._kin.followed = forks is Forks.BOTH
        argv = (*self._command[:3], *start.settings(forks), *self._command[3:])
        self._know(target.program)
        if isinstance(target, Launch):
            check_program(target)
            self.streams = Streams(self.emit_text, target.stdin, self.fell_silent, tty=target.tty)
        if self._disposed:
            raise DebuggerLost("the program was ended before it was started.")
        printers, _ = await asyncio.gather(
            start.rust_printers(target.env, target.cwd) if self._rust else _nothing(),
            self._line.open(argv, target.cwd, start.environment(target.env), tap_of(target.env)),
        )
        if isinstance(target, Launch):
            await self._prepare(printers, self._how_to_run(target))
            return await self._launch(target, configuration)
        await self._prepare(printers)
        if isinstance(target, Core):
            return await self._open_core(target)
        return await self._attach(target, configuration)

    def _know(self, program: str | None) -> None:
        self._rust = self._values.rust = program is not None and is_rust(program)
        self._debug = program is not None and folds_sourceless(program)
        self._marks.panics = panic_function(program)
        self._marks.failing = native_tests.function_of(program)
        sanitized = program is not None and is_sanitized(program)
        self._default_filters = frozenset(
            name for name, set in (("panic", self._rust), ("sanitizer", sanitized)) if set
        )

    async def _prepare(self, printers: Sequence[str], further: Sequence[str] = ()) -> None:
        """Tell gdb everything at once. Raises LaunchFailed where it refuses one of *further*."""
        more = (gdb.FORKS_PROBE,) if self._kin.followed else ()
        probes = start.load_probes(*more, gdb.OPTIMIZED_PROBE, gdb.RUST_PROBE, gdb.CPP_PROBE)
        lines = self._lines()
        probes += [lines] if lines is not None else []
        keeping = start.keep_indexes() if isinstance(self.target, Launch) else []
        version, listed, *answers = await self._line.together(
            [
                "-gdb-version",
                "-list-features",
                *probes,
                "-enable-pretty-printing",
                *printers,
                *further,
                *keeping,
            ]
        )
        del answers[len(answers) - len(keeping) :]  # one that is refused costs time, no more
        if isinstance(version, Answered) and (match := _VERSION.search(version.said)):
            self._found = replace(self._found, version=match[1])
        if isinstance(listed, Answered):
            self._advertised = [str(f) for f in rows(listed.result.fields.get("features"))]
        python = all(isinstance(each, Answered) for each in answers[: len(probes)])
        self._by_line = python and lines is not None
        if self._kin.followed and not python:
            raise LaunchFailed(
                "this gdb was built without Python, which following children needs.",
                next="dbg start PROGRAM --child only",
            )
        self._marks.python = self._values.python = self._watches.python = python
        for refused in answers[len(answers) - len(further) :]:
            if isinstance(refused, GdbRefused):
                raise LaunchFailed(refused.message, next=f"file {self.target.program}")
        self._marks.meaning = self._meaning
        self._motion.examine = self._examine
        self._motion.last_words = self._last_words

    def _lines(self) -> str | None:
        """Return the command that lets C's standard output go out line by line; see the probe."""
        if self._rust or not isinstance(self.target, Launch):
            return None
        found = libc.of_program(self.target.program, "_IO_2_1_stdout_")
        if found is None:
            return None
        return f"-interpreter-exec console {quote(f'python freezeframe_lines{found!r}')}"

    def _how_to_run(self, target: Launch) -> list[str]:
        assert self.streams is not None
        self._marks.program = target.program
        return [
            f"-file-exec-and-symbols {quote(target.program)}",
            *(f"-gdb-set {key} {value}" for key, value in target.options.items()),
            *start.launch(target, self.streams.redirections, self.streams.terminal.name),
        ]

    async def _launch(
        self, target: Launch, configuration: Configuration
    ) -> Sequence[BoundBreakpoint]:
        assert self.streams is not None
        self.emit(events.Initialized())
        early = [w for w in configuration.breakpoints if w.location.address is None]
        late = [w for w in configuration.breakpoints if w.location.address is not None]
        bound = await self._set_all(early)
        await self._set_default_filters(configuration)
        # Addresses mean something once the program lies in memory.
        held = bool(late) or target.stop_on_entry
        entry = await self._entry() if held or not (self._rust or self._by_line) else None
        if not held and entry is None:
            await self._run("-exec-run")
            return bound
        waiter = self._motion.next_stop()
        if entry is None:
            await self._run("-interpreter-exec console starti")
        else:
            await self._run("-exec-run")
        try:
            async with asyncio.timeout(self._config.timeouts.request_s):
                first = await waiter
        except TimeoutError:
            # It runs before its entry for long; whatever it does there is told when it stops.
            return bound
        except DebuggerLost:
            return bound  # it has ended already, and that was told
        arrived = entry is None or await self._is_gone(entry)
        if arrived and entry is not None and not (self._rust or self._by_line):
            await self._line_buffered()
        bound = [*bound, *await self._set_all(late)]
        await self._leave_entry(first, target, arrived)
        return bound

    async def _entry(self) -> str | None:
        """Set the breakpoint that holds the program at its beginning; returns gdb's number."""
        [place, *_] = await self._meaning("main")
        try:
            body = await self._line.ask(f"-break-insert -t --function {quote(place)}")
        except GdbRefused:
            return None
        return str(rows(body["bkpt"])[0]["number"])

    async def _is_gone(self, number: str) -> bool:
        """Whether a temporary breakpoint was reached, be it as one of several at its place."""
        try:
            body = await self._line.ask(f"-break-info {number}")
        except GdbRefused:
            return True
        return not rows(body["BreakpointTable"]["body"])

    async def _leave_entry(self, first: Happened, target: Launch, arrived: bool) -> None:
        if not arrived:
            await self._motion.report(first)
        elif target.stop_on_entry:
            await self._motion.report(first, StopReason.ENTRY)
        elif self._marks.hit:
            await self._motion.report(first)
        else:
            await self._motion.go_on()

    async def _line_buffered(self) -> None:
        """Let C's standard output go out line by line, as it does at a terminal.

        Through a pipe libc would keep it until the program ends, and a stop would show none of it.
        """
        function, stream = "setvbuf", "*(void**)&stdout"
        known = libc.addresses(self.pid or 0, (function, "_IO_2_1_stdout_"))
        if known is not None:
            function, stream = (f"{address:#x}" for address in known)
        call = f"((int(*)(void*,char*,int,unsigned long)){function})((void*)({stream}),0,1,0)"
        # In a program that brings glibc with it there may be no setvbuf, but always the flags.
        for way in (call,) if known is not None else (libc.BY_LINE, call):
            try:
                await self._line.ask(
                    f"-data-evaluate-expression {quote(way)}",
                    timeout_s=self._config.timeouts.value_s,
                )
            except DebuggerError:
                continue  # no C library, or none that can be called: its output comes when it comes
            return

    async def _run(self, command: str) -> None:
        """Start the program. Raises LaunchFailed with what the shell or the loader said."""
        assert self.streams is not None
        self._motion.expect()
        try:
            await self._line.ask(command)
        except GdbRefused as error:
            self._motion.running = False
            self.drain()
            words = str(self.streams.words).strip()
            raise LaunchFailed(
                f"{error.message.rstrip('.')}: {words}" if words else error.message,
                next="dbg doctor",
            ) from None
        self.streams.started()

    async def _load(self, program: str | None) -> None:
        if program is None:
            return
        self._marks.program = program
        try:
            await self._line.ask(f"-file-exec-and-symbols {quote(program)}")
        except GdbRefused as error:
            raise LaunchFailed(error.message, next=f"file {program}") from None

    async def _attach(
        self, target: Attach, configuration: Configuration
    ) -> Sequence[BoundBreakpoint]:
        if target.program is not None and binary_kind(target.program) is not None:
            await self._load(target.program)
        waiter = self._motion.next_stop()
        if target.pid is not None:
            self.pid = target.pid
            await self._join(f"-target-attach {target.pid}", target)
            self._joined = True
        else:
            host = f"[{target.host}]" if ":" in (target.host or "") else target.host
            if target.host in ("127.0.0.1", "::1", "localhost"):
                await self._line.ask("-gdb-set sysroot /")
            await self._join(f"-target-select extended-remote {host}:{target.port}", target)
        self.emit(events.Initialized())
        limit_s = self._config.timeouts.request_s
        try:
            async with asyncio.timeout(limit_s):
                await waiter
        except TimeoutError:
            raise DebuggerTimeout(
                f"the program did not stop within {limit_s:g} s of being joined.", next="dbg logs"
            ) from None
        if executable := self._executable():
            self._know(executable)
        bound = await self._set_all(configuration.breakpoints)
        await self._set_default_filters(configuration)
        self.emit(events.ProcessStarted(self.pid))
        if self._parent is not None:
            self._motion.adopt()
        # Joined programs go on running, whatever the debugger does by itself.
        await self._motion.go_on()
        return bound

    def _executable(self) -> str | None:
        pid = self.pid
        try:
            return os.readlink(f"/proc/{pid}/exe") if pid is not None else None
        except OSError:
            return None

    async def _join(self, command: str, target: Attach) -> None:
        try:
            await self._line.ask(command)
        except GdbRefused as error:
            why = explain_failure(target, error.message)
            message, next = why if why is not None else (error.message, None)
            raise LaunchFailed(message, next=next or "dbg doctor") from None

    async def _open_core(self, target: Core) -> Sequence[BoundBreakpoint]:
        await self._load(target.program)
        try:
            answered = await self._line.answer(f"-target-select core {target.core}")
        except GdbRefused as error:
            if " " not in target.core:
                raise LaunchFailed(error.message, next=f"file {target.core}") from None
            # Before gdb 16 a blank is a part of the name; since then it must be quoted.
            try:
                answered = await self._line.answer(f"-target-select core {quote(target.core)}")
            except GdbRefused:
                raise LaunchFailed(error.message, next=f"file '{target.core}'") from None
        self.emit(events.Initialized())
        said = answered.said + answered.complaint
        for line in dict.fromkeys(said.splitlines()):
            # Some were told already; that it is of another program is said by whoever opens it.
            told = warnings.matters(line) or "may not match" in line
            if line.startswith("warning:") and not told:
                self.emit(events.Printed("console", line + "\n"))
        match = re.search(r"terminated with signal (\w+)", said)
        died = {"reason": "signal-received", "signal-name": match[1] if match else ""}
        thread = int((await self._line.ask("-thread-info")).get("current-thread-id") or 1)
        self._motion.running = False
        self.emit(
            events.Stopped(
                StopReason.SIGNAL if match else StopReason.OTHER,
                thread,
                await self._motion.describe(died) if match else "a core file",
            )
        )
        return []

    async def _leave(self) -> None:
        if isinstance(self.target, Core):
            return
        await self._motion.hold(_LEAVE_S)
        try:
            await self._line.ask("-target-detach", timeout_s=_LEAVE_S)
        except GdbRefused as error:
            if "not being run" not in error.message:
                raise

    # --- what gdb reports

    def _hear(self, notice: Happened | Wrote) -> None:
        if isinstance(notice, Wrote):
            self.emit_text(notice.stream, notice.text)
            return
        fields = notice.record.fields
        if self._kin.is_strange(fields):
            if notice.record.kind == "thread-group-started":
                self._kin.began(fields)
            return
        match notice.record.kind:
            case "stopped":
                self._motion.hear_stopped(notice)
            case "running":
                self._motion.hear_running()
            case "refused":
                self._motion.hear_refused(notice)
            case "thread-group-started":
                self._began(fields)
            case "thread-group-exited":
                self._group_gone = True
            case "thread-created" | "thread-exited":
                alive = notice.record.kind == "thread-created"
                self.emit(events.ThreadChanged(int(fields.get("id", -1)), alive))
            case "breakpoint-modified":
                for body in rows(fields.get("bkpt")):
                    moved = self._marks.modified(body)
                    if moved is not None:
                        self.emit(events.BreakpointMoved(moved))

    def _look_for_end(self) -> None:
        """After a command of the user's own: it may have ended the program without a stop."""
        if self._group_gone and not self.ended:
            self.finish(Exit(how="killed"))

    def _began(self, fields: Fields) -> None:
        pid = fields.get("pid")
        if pid is None or not str(pid).isdecimal():
            return
        self.pid = int(pid)
        self._group_gone = False
        remote = isinstance(self.target, Attach) and self.target.pid is None
        self._motion.pid = None if remote else self.pid
        self.emit(events.ProcessStarted(self.pid))

    async def _set_all(self, wanted: Sequence[WantedBreakpoint]) -> list[BoundBreakpoint]:
        groups: dict[str, list[WantedBreakpoint]] = {}
        for want in wanted:
            location = want.location
            group = "address" if location.address is not None else location.file or "function"
            groups.setdefault(group, []).append(want)
        bound: list[BoundBreakpoint] = []
        for group, entries in groups.items():
            bound += await self._marks.set(group, entries)
        return bound

    async def _set_default_filters(self, configuration: Configuration) -> None:
        await self._marks.set_filters(configuration.filters_among(self.filters))

    def _last_words(self) -> str:
        self.drain()
        return "\n".join(self.streams.words.lines(400)) if self.streams is not None else ""

    async def _examine(self, filter: str, thread: int | None) -> ExceptionInfo | None:
        """Return what a filter caught; None where it is of no type that the filter names."""
        if filter == "panic":
            told = panic_info(self._last_words())
            said = await exceptions.panicked(self._line, thread)
            return replace(told, message=said or told.message, mode=filter)
        if filter == native_tests.NAME:
            return await exceptions.failed(self._line, thread, self._marks.failing or "")
        if filter == "sanitizer":
            return replace(await self._sanitized(thread), mode=filter)
        if thread is None:
            return ExceptionInfo(exceptions.UNKNOWN, "", mode=filter)
        value_s = self._config.timeouts.value_s
        found = await exceptions.thrown(
            self._line, thread, filter, value_s, python=self._values.python
        )
        wanted = self._marks.only.get(filter)
        if wanted is not None and found.types and not is_of_type(found.types, wanted):
            return None
        return found.info

    async def _sanitized(self, thread: int | None) -> ExceptionInfo:
        where = await self._line.ask(f"-stack-info-frame{at(thread, 0)}")
        if str((where.get("frame") or {}).get("func", "")).endswith("__ubsan_on_report"):
            # It writes its report only behind the place where it can be stopped.
            what = "undefined behaviour; its report is written when the program goes on"
            return ExceptionInfo("UndefinedBehaviorSanitizer", what)
        return sanitizer_info(self._last_words())

    async def _meaning(self, function: str) -> list[str]:
        """Return the functions that a name means: gdb knows Rust's by their whole path only."""
        if not self._rust:
            return [function]
        if function not in self._meanings:
            self._meanings[function] = await self._find_rust(function)
        return self._meanings[function]

    async def _find_rust(self, function: str) -> list[str]:
        last = re.escape(function.rpartition("::")[2])
        try:
            body = await self._line.ask(f"-symbol-info-functions --name {quote(f'::{last}')}")
        except GdbRefused:
            return [function]
        files = rows((body.get("symbols") or {}).get("debug"))
        found = names.rust_functions(function, files)
        return found or trait_methods(self.target.program, function) or [function]


async def _nothing() -> list[str]:
    return []
