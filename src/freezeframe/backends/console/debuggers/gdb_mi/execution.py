"""Resume, step and pause the program, and report its stops.

Who gets a stop is decided by the tables of `backends/stop_machine.py`. gdb names the signal of an
interrupt (SIGINT, or SIGSTOP where the program blocks that one), but not who sent it: it is ours
while the tables say so, and the program never receives it then (`_interrupted_thread`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from freezeframe.backends.backend import Continued, Event, StepKind, Stopped
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields, quote
from freezeframe.backends.native import read_uncaught_exception
from freezeframe.backends.stop_router import StopRouter
from freezeframe.backends.unwinding import refused_return
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import ExceptionInfo, Exit, StopReason

from . import frame_names, siginfo, stop_records
from .breakpoints import GdbBreakpoints
from .mi_channel import Answered, AsyncRecord, MiChannel, MiError, at
from .variables import GdbVariables, Returned
from .watchpoints import GdbWatchpoints

log = logging.getLogger(__name__)

#: after this, a program that blocks SIGINT gets SIGSTOP, which cannot be blocked
_INTERRUPT_S = 1.0
_OUTERMOST = "not meaningful in the outermost frame"
#: times that a step is repeated because it ended on the line where it began
_MOST_REPEATS = 4
_EXPECT_RETURNED = "python freezeframe_expect_returned()"
_STEPS = {StepKind.OVER: "next", StepKind.INTO: "step", StepKind.OUT: "finish"}
_CONTINUE = "-exec-continue"


_Location = tuple[int | None, str, str, str]


def _location_of(fields: Fields, thread: int | None) -> _Location | None:
    frame = fields.get("frame") or {}
    if "fullname" not in frame or "line" not in frame:
        return None
    return thread, str(frame.get("func")), str(frame["fullname"]), str(frame["line"])


def _is_interrupt(event: AsyncRecord) -> bool:
    """Whether a program stopped for a signal as those that interrupt it."""
    return stop_records.signal(event.record.fields) in ("SIGINT", "SIGSTOP")


def _stack_pointer(thread: int | None) -> str:
    return f"-data-evaluate-expression{at(thread, 0)} $sp"


class GdbExecution:
    """Execution state of the program, and the commands that change it."""

    def __init__(
        self,
        channel: MiChannel,
        breakpoints: GdbBreakpoints,
        watches: GdbWatchpoints,
        values: GdbVariables,
        emit: Callable[[Event], None],
        drain: Callable[[], None],
        finish: Callable[[Exit], None],
        work: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._channel = channel
        channel.on_interrupt = self._on_gdb_interrupted
        self._breakpoints = breakpoints
        self._watches = watches
        self._values = values
        self._emit = emit
        self._drain = drain
        self._finish = finish
        self._work = work
        self._stops: StopRouter[AsyncRecord] = StopRouter()
        #: the process was forked by a program that was started here
        self.is_child = False
        #: the process that signals are sent to; None for a remote one
        self.pid: int | None = None
        #: describe what a filter caught in a thread; None if the filter does not name its type
        self.examine: Callable[[str, int | None], Awaitable[ExceptionInfo | None]] = _nothing_known
        #: return the end of the program's standard error
        self.last_output: Callable[[], str] = str
        #: gdb's number of the temporary breakpoint at a jump's target
        self._jump_target: str | None = None
        self._stopped = asyncio.Event()
        #: the thread that our own signal stopped: the program must never receive that signal
        self._interrupted_thread: int | None = None
        self._locked = False
        self._function = ""
        #: the program went back in the recording and may reach either end of it
        self._went_back = False
        #: conditions that could not be evaluated at the current stop, by breakpoint id
        self.failures: dict[int, str] = {}
        #: the exception filter that caused the current stop, and the exception
        self.filter: str | None = None
        self.exception: ExceptionInfo | None = None
        #: thread, function, file and line of the last stop
        self._last_location: _Location | None = None
        #: the program runs freely: no step is in progress that a halt would end
        self.free = True
        #: command of the step in progress, where it began, and the stack pointer there
        self._step: tuple[str, _Location | None, asyncio.Future[Answered]] | None = None
        self._repeats = 0

    @property
    def running(self) -> bool:
        return self._stops.running

    # --- resuming

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self.free = not only
        if only:
            self._locked = True
            await self._channel.request("-gdb-set scheduler-locking on")
        where = at(thread, None) if only else ""
        await self._execute(f"{_CONTINUE}{where}")

    async def step(self, kind: StepKind, thread: int, *, instruction: bool) -> None:
        name = _STEPS[kind]
        if instruction and kind is not StepKind.OUT:
            name += "-instruction"
        frame = " --frame 0" if kind is StepKind.OUT else ""
        command = f"-exec-{name} --thread {thread}{frame}"
        self._step, self.free = None, False
        if kind is not StepKind.OUT and not instruction:
            self._repeats = 0
            last = self._last_location
            here = last if last is not None and last[0] == thread else None
            self._step = command, here, self._channel.post(_stack_pointer(thread))
        if kind is StepKind.OUT and self._values.python:
            await self._channel.cli(_EXPECT_RETURNED, where=at(thread, 0))
        try:
            await self._execute(command)
        except MiError as error:
            if _OUTERMOST not in error.message:
                raise
            # Stepping out of `main` runs to the end of the program.
            await self._execute(_CONTINUE)

    async def back(self, kind: StepKind | None, thread: int) -> None:
        """Step or continue backward through gdb's recording."""
        name = "continue" if kind is None else _STEPS[kind]
        where = "" if kind is None else f" --thread {thread}"
        frame = " --frame 0" if kind is StepKind.OUT else ""
        self._step, self.free = None, False
        self._went_back = True
        await self._execute(f"-exec-{name}{where}{frame} --reverse")

    async def check_recording(self) -> None:
        """Raise DebuggerError if gdb records nothing."""
        if "Active record target" not in await self._channel.cli("info record"):
            raise DebuggerError(
                "gdb can go back only through a recording, and nothing is recorded yet.",
                next="dbg raw 'record full'",
            )

    async def _is_same_line(self, fields: Fields, thread: int | None) -> bool:
        """Whether a step ended on the line where it began, whose code is not contiguous.

        In the same function call: the stack pointer is unchanged.
        """
        if self._step is None or stop_records.reason(fields) != "end-stepping-range":
            return False
        _, location, before = self._step
        if (
            location is None
            or _location_of(fields, thread) != location
            or self._repeats >= _MOST_REPEATS
        ):
            return False
        self._repeats += 1
        async with asyncio.timeout(_INTERRUPT_S):
            then = (await before).result.fields
        return await self._channel.request(_stack_pointer(thread)) == then

    async def jump(self, thread: int, path: str, line: int) -> None:
        linespec = f"--source {quote(path)} --line {line}"
        body = await self._channel.request(f"-break-insert -t {linespec}")
        target = body["bkpt"]
        self._jump_target = str(target["number"])
        function = frame_names.function_name(str(target.get("func", "")))
        here = frame_names.function_name(self._function)
        if function and here and function != here:
            await self._channel.request(f"-break-delete {self._jump_target}")
            self._jump_target = None
            raise DebuggerError(f"line {line} lies in {function}, not in {here}.", code="bad-jump")
        # By address: a line that begins a loop has code at several addresses.
        await self._execute(f"-exec-jump --thread {thread} *{target['addr']}")

    async def force_return(self, thread: int, value: str | None) -> None:
        given = "" if value is None else f" {quote(value)}"
        try:
            await self._channel.request(f"-exec-return --thread {thread} --frame 0{given}")
        except MiError as error:
            raise refused_return(error.message) from None
        if released := self._values.forget():
            await self._channel.request_all(released)
        # gdb sends no event, because nothing ran.
        self._emit(Continued(thread))
        self._emit(Stopped(StopReason.STEP, thread, "returned at once"))

    async def _execute(self, command: str) -> bool:
        """Send a command that resumes the program; return when gdb has accepted it.

        False if the user requested a pause meanwhile: the stop is to be reported.
        """
        if self._interrupted_thread is not None:
            await self._channel.cli("queue-signal 0", where=at(self._interrupted_thread, None))
            self._interrupted_thread = None
        released = self._values.forget()
        self._breakpoints.resumed()
        self.failures = {}
        self.filter = self.exception = None
        if released:
            await self._channel.request_all(released)
        if self._stops.must_report:
            return False
        # Noted before the request: a stop may come with the answer.
        self._stops.resumed()
        try:
            await self._channel.request(command)
        except MiError:
            self._stops.refused()
            await self._unlock()
            raise
        return True

    async def _unlock(self) -> None:
        if self._locked:
            self._locked = False
            await self._channel.request("-gdb-set scheduler-locking replay")

    # --- pausing

    async def pause(self) -> None:
        if self._stops.request_pause():
            await self._interrupt()

    async def _interrupt(self) -> None:
        self._stopped.clear()
        self._stops.interrupt_sent()
        await self._channel.request("-exec-interrupt")
        self._work(self._force_stop())

    async def _force_stop(self) -> None:
        try:
            async with asyncio.timeout(_INTERRUPT_S):
                await self._stopped.wait()
        except TimeoutError:
            if self.running and self.pid is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(self.pid, signal.SIGSTOP)

    @contextlib.asynccontextmanager
    async def paused(self, timeout_s: float) -> AsyncIterator[None]:
        """Stop the program briefly, unseen by the user; no effect if it is already stopped.

        Another stop that occurs meanwhile is reported afterwards.
        """
        if not self.running:
            yield
            return
        event = await self._halt(timeout_s)
        try:
            yield
        finally:
            # Otherwise another stop was reported meanwhile, or the program has ended.
            if self._stops.halted:
                await self._end_halt(event)

    async def _halt(self, timeout_s: float) -> AsyncRecord:
        expected = self._stops.expect_stop()
        await self._interrupt()
        event = await self._stops.wait_for(expected, timeout_s)
        if _is_interrupt(event):
            self._stops.take_interrupt()
            self._interrupted_thread = stop_records.thread(event.record.fields)
        return event

    async def _end_halt(self, event: AsyncRecord) -> None:
        interrupted = _is_interrupt(event)
        if not interrupted or self._stops.pausing or not await self._execute(_CONTINUE):
            self._stops.end_halt()
            await self._report(event, StopReason.PAUSE if interrupted else None)

    async def hold(self, timeout_s: float) -> None:
        """Stop the program, unseen by the user, and remove our signal from it."""
        if self.running:
            await self._halt(timeout_s)
        if self._interrupted_thread is not None:
            await self._channel.cli("queue-signal 0", where=at(self._interrupted_thread, None))
            self._interrupted_thread = None

    def expect_fork_stop(self) -> None:
        """Expect the SIGSTOP that a forked process was stopped with as the first stop."""
        self.is_child = True
        self._stops.expect_interrupt()

    def set_running(self) -> None:
        """Note that a command is about to run the program."""
        self._stops.resumed()

    def on_run_refused(self) -> None:
        """Note that gdb did not run the program."""
        self._stops.refused()

    def next_stop(self) -> asyncio.Future[AsyncRecord]:
        """Return a future that gets the next stop instead of the user."""
        return self._stops.expect_stop()

    async def wait_for_stop(
        self, expected: asyncio.Future[AsyncRecord], timeout_s: float
    ) -> AsyncRecord:
        """Return the stop of `next_stop`. Raises DebuggerTimeout and DebuggerLost."""
        return await self._stops.wait_for(expected, timeout_s)

    async def continue_program(self) -> None:
        """Continue from a stop that `next_stop` received."""
        await self._execute(_CONTINUE)

    async def report(self, event: AsyncRecord, reason: StopReason | None = None) -> None:
        """Report a stop that `next_stop` received, optionally with another reason."""
        self._stops.end_halt()
        await self._report(event, reason)

    def _on_gdb_interrupted(self) -> None:
        """gdb was interrupted: hide the SIGINT that the program may receive on resume."""
        self._stops.expect_interrupt()

    # --- what gdb reports

    def on_running(self) -> None:
        if not self.running:
            self._values.forget()
            self._emit(Continued())
        self._stops.resumed()

    def on_refused(self, event: AsyncRecord) -> None:
        """gdb reported the program as running, and then failed to resume it."""
        self._stops.refused()
        self._stopped.set()
        log_text = " ".join(event.log_text.split()) or str(event.record.fields.get("msg", ""))
        message = log_text.removeprefix("Warning: ").rstrip(". ")
        self._emit(Stopped(StopReason.OTHER, None, f"the program cannot continue: {message}"))

    def on_stopped(self, event: AsyncRecord) -> None:
        fields = event.record.fields
        self._stopped.set()
        late = not self.running and self._stops.is_interrupt_late
        if late and stop_records.signal(fields) == "SIGINT":
            # A function that gdb called was interrupted; the program is where it was.
            self._stops.take_interrupt()
            self._interrupted_thread = stop_records.thread(fields)
            return
        exit = stop_records.ended(fields)
        if exit is not None:
            self._stops.exited()
            self._finish(exit)
            return
        # Output printed before the stop belongs to the stop.
        self._drain()
        self._stops.stopped()
        if not self._stops.deliver(event):
            self._work(self._report(event))

    async def _report(self, event: AsyncRecord, reason: StopReason | None = None) -> None:
        """Report a stop, or resume if it is not to be reported."""
        fields = event.record.fields
        thread = stop_records.thread(fields)
        ids: tuple[int, ...] = ()
        interrupted = _is_interrupt(event) and self._stops.is_interrupt_pending
        command = await self._after_signal(fields, interrupted=interrupted)
        if command is None:
            await self._unlock()
            ids, self.filter = await self._breakpoints.stopped(stop_records.number(fields))
            command = await self._after_stop(fields, ids)
        if command is not None and not self._stops.must_report:
            self._stops.ignored(interrupted=interrupted)
            if await self._execute(command):
                return
        self._note_failures(event, ids)
        self._take_returned(fields)
        self._function = str((fields.get("frame") or {}).get("func", ""))
        self._last_location = _location_of(fields, thread)
        if reason is None:
            paused = command is not None or interrupted
            reason = StopReason.PAUSE if paused else self._kind(fields)
        description = None if reason is StopReason.PAUSE else await self.describe(fields)
        watch = await self._watches.hit(fields, thread, self._values.rust)
        if watch is not None and reason is StopReason.BREAKPOINT:
            reason = StopReason.WATCHPOINT
        self._drain()
        self._stops.reported(interrupted=interrupted or reason is StopReason.PAUSE)
        self._emit(Stopped(reason, thread, description, None, ids, watch=watch))

    async def _after_signal(self, fields: Fields, *, interrupted: bool) -> str | None:
        """Return the command that resumes from a signal that the program did not cause.

        None if the stop is to be decided; *interrupted*: for the signal of an interrupt.
        """
        if interrupted:
            self._interrupted_thread = stop_records.thread(fields)
            return _CONTINUE if self._stops.take_interrupt() else None
        # The kernel sends it for our terminal when the parent has ended.
        hung_up = stop_records.signal(fields) == "SIGHUP" and self.is_child
        if hung_up and await siginfo.is_from_kernel(self._channel):
            self._interrupted_thread = stop_records.thread(fields)
            return _CONTINUE
        return None

    async def _after_stop(self, fields: Fields, ids: tuple[int, ...]) -> str | None:
        """Return the command that resumes from a stop that is not reported; None if it is."""
        thread = stop_records.thread(fields)
        if await self._breakpoints.is_in_other_modules(ids):
            return _CONTINUE
        if self.filter is not None and not ids:
            self.exception = await self.examine(self.filter, thread)
            if self.exception is None:
                return _CONTINUE
        if self._step is not None and await self._is_same_line(fields, thread):
            return self._step[0]
        return None

    def _kind(self, fields: Fields) -> StopReason:
        number = stop_records.number(fields)
        if number is not None and number == self._jump_target:
            self._jump_target = None
            return StopReason.JUMP
        if self.exception is None:
            # The runtime raises this signal to end a program after an uncaught exception.
            self.exception = read_uncaught_exception(
                stop_records.signal(fields) or "", self.last_output()
            )
        return stop_records.kind(fields) if self.exception is None else StopReason.EXCEPTION

    async def describe(self, fields: Fields) -> str | None:
        """Return a description beyond the stop reason; for a signal its name and cause."""
        description, name = stop_records.describe(fields), stop_records.signal(fields)
        if self._went_back and not stop_records.reason(fields):
            # gdb 13 gives no reason here.
            return "the recording ends here"
        meaning = await siginfo.fault(self._channel, name or "")
        if meaning:
            return f"{name}: {meaning}"
        return description

    def _note_failures(self, event: AsyncRecord, ids: tuple[int, ...]) -> None:
        for number, why in stop_records.failed_conditions(event.log_text).items():
            id = self._breakpoints.id_of(number)
            # gdb 13 does not name the breakpoint.
            named = ids if not number else () if id is None else (id,)
            self.failures |= dict.fromkeys(self._breakpoints.conditional(named), why)

    def _take_returned(self, fields: Fields) -> None:
        # A breakpoint at the return address is another reason, with the value.
        if "return-value" in fields or fields.get("reason") == "function-finished":
            value = fields.get("return-value")
            self._values.returned = Returned(
                frame_names.function_name(self._function),
                None if value is None else str(value),
                fields.get("gdb-result-var"),
            )


async def _nothing_known(filter: str, thread: int | None) -> ExceptionInfo | None:
    return ExceptionInfo(filter, "")
