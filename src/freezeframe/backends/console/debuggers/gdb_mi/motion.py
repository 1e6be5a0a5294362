"""The program in motion: resuming, stepping, pausing, and what each stop comes down to."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from freezeframe.backends.backend import Continued, Event, StepKind, Stopped
from freezeframe.backends.console.reader import Fields, quote
from freezeframe.backends.native import fault_words, read_last_words
from freezeframe.backends.unwinding import refused_return
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout
from freezeframe.model.stops import ExceptionInfo, Exit, StopReason

from . import names, stops
from .line import Answered, GdbRefused, Happened, Line, at
from .marks import Marks
from .values import Returned, Values
from .watches import Watches

log = logging.getLogger(__name__)

#: after this a program that does not heed SIGINT (it blocks it) gets the signal that none can block
_HEEDS_S = 1.0
#: the code of a signal that no process sent
_BY_KERNEL = "128"
_OUTERMOST = "not meaningful in the outermost frame"
#: times that a step goes on because it came back to the line where it began
_MOST_REPEATS = 4
_STEPS = {StepKind.OVER: "next", StepKind.INTO: "step", StepKind.OUT: "finish"}


_Spot = tuple[int | None, str, str, str]


def _spot(fields: Fields, thread: int | None) -> _Spot | None:
    frame = fields.get("frame") or {}
    if "fullname" not in frame or "line" not in frame:
        return None
    return thread, str(frame.get("func")), str(frame["fullname"]), str(frame["line"])


def _stack_pointer(thread: int | None) -> str:
    return f"-data-evaluate-expression{at(thread, 0)} $sp"


class Motion:
    """Whether the program runs, and everything that changes it."""

    def __init__(
        self,
        line: Line,
        marks: Marks,
        watches: Watches,
        values: Values,
        emit: Callable[[Event], None],
        drain: Callable[[], None],
        finish: Callable[[Exit], None],
        work: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._line = line
        line.on_nudge = self._nudged
        self._marks = marks
        self._watches = watches
        self._values = values
        self._emit = emit
        self._drain = drain
        self._finish = finish
        self._work = work
        self.running = False
        #: it was forked by a program that was started here
        self.is_child = False
        #: the process that signals go to; None for a remote one
        self.pid: int | None = None
        #: what a filter caught in a thread; None where it is not of a type that is wanted
        self.examine: Callable[[str, int | None], Awaitable[ExceptionInfo | None]] = _nothing_known
        #: the end of what the program wrote to its standard error
        self.last_words: Callable[[], str] = str
        #: gdb's number of the breakpoint that a jump runs to
        self._landing: str | None = None
        #: who waits for the next stop instead of the user
        self._waiter: asyncio.Future[Happened] | None = None
        self._stood = asyncio.Event()
        self._pausing = False
        #: interrupts that were sent and whose stop has not come: another one came before
        self._late = 0
        #: a thread whose signal was ours: the program must never see it
        self._ours: int | None = None
        self._locked = False
        self._function = ""
        #: it has gone back over what it has recorded, and may come to either end of that
        self._went_back = False
        #: by our ids: conditions that could not be evaluated at the current stop
        self.failures: dict[int, str] = {}
        #: the exception filter that the current stop is due to, and the exception
        self.filter: str | None = None
        self.exception: ExceptionInfo | None = None
        #: thread, function, file and line of the last stop
        self._here: _Spot | None = None
        #: a step that is under way, where it began, and the stack pointer there
        #: the program runs until something happens: no step is under way that a halt would end
        self.free = True
        self._step: tuple[str, _Spot | None, asyncio.Future[Answered]] | None = None
        self._repeats = 0

    # --- resuming

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self.free = not only
        if only:
            self._locked = True
            await self._line.ask("-gdb-set scheduler-locking on")
        where = at(thread, None) if only else ""
        await self._go(f"-exec-continue{where}")

    async def step(self, kind: StepKind, thread: int, *, instruction: bool) -> None:
        word = _STEPS[kind]
        if instruction and kind is not StepKind.OUT:
            word += "-instruction"
        frame = " --frame 0" if kind is StepKind.OUT else ""
        command = f"-exec-{word} --thread {thread}{frame}"
        self._step, self.free = None, False
        if kind is not StepKind.OUT and not instruction:
            self._repeats = 0
            here = self._here if self._here is not None and self._here[0] == thread else None
            self._step = command, here, self._line.post(_stack_pointer(thread))
        try:
            await self._go(command)
        except GdbRefused as error:
            if _OUTERMOST not in error.message:
                raise
            # Out of `main` means: to the end of the program.
            await self._go("-exec-continue")

    async def back(self, kind: StepKind | None, thread: int) -> None:
        """Go back as far as gdb has recorded."""
        word = "continue" if kind is None else _STEPS[kind]
        where = "" if kind is None else f" --thread {thread}"
        frame = " --frame 0" if kind is StepKind.OUT else ""
        self._step, self.free = None, False
        self._went_back = True
        await self._go(f"-exec-{word}{where}{frame} --reverse")

    async def check_recording(self) -> None:
        """Raise DebuggerError where gdb has recorded nothing to go back over."""
        if "Active record target" not in await self._line.cli("info record"):
            raise DebuggerError(
                "gdb goes back over what it has recorded, and it records nothing yet.",
                next="dbg raw 'record full'",
            )

    async def _stays(self, fields: Fields, thread: int | None) -> bool:
        """Whether a step has ended where it began: the line has code in several places.

        In the same call of the function: the stack pointer is where it was.
        """
        if self._step is None or stops.reason(fields) != "end-stepping-range":
            return False
        _, spot, before = self._step
        if spot is None or _spot(fields, thread) != spot or self._repeats >= _MOST_REPEATS:
            return False
        self._repeats += 1
        async with asyncio.timeout(_HEEDS_S):
            then = (await before).result.fields
        return await self._line.ask(_stack_pointer(thread)) == then

    async def jump(self, thread: int, path: str, line: int) -> None:
        place = f"--source {quote(path)} --line {line}"
        body = await self._line.ask(f"-break-insert -t {place}")
        landing = body["bkpt"]
        self._landing = str(landing["number"])
        function = names.function_name(str(landing.get("func", "")))
        here = names.function_name(self._function)
        if function and here and function != here:
            await self._line.ask(f"-break-delete {self._landing}")
            self._landing = None
            raise DebuggerError(f"line {line} lies in {function}, not in {here}.", code="bad-jump")
        # By address: a line that begins a loop has code in more than one place.
        await self._go(f"-exec-jump --thread {thread} *{landing['addr']}")

    async def force_return(self, thread: int, value: str | None) -> None:
        given = "" if value is None else f" {quote(value)}"
        try:
            await self._line.ask(f"-exec-return --thread {thread} --frame 0{given}")
        except GdbRefused as error:
            raise refused_return(error.message) from None
        if released := self._values.forget():
            await self._line.together(released)
        # No event tells of it, for nothing ran.
        self._emit(Continued(thread))
        self._emit(Stopped(StopReason.STEP, thread, "returned at once"))

    async def _go(self, command: str) -> None:
        """Send a command that lets the program run; returns when gdb has taken it."""
        if self._ours is not None:
            await self._line.cli("queue-signal 0", where=at(self._ours, None))
            self._ours = None
        released = self._values.forget()
        self._marks.resumed()
        self.failures = {}
        self.filter = self.exception = None
        if released:
            await self._line.together(released)
        # From now on: a stop may come with the answer.
        self.running = True
        try:
            await self._line.ask(command)
        except GdbRefused:
            self.running = False
            await self._unlock()
            raise

    async def _unlock(self) -> None:
        if self._locked:
            self._locked = False
            await self._line.ask("-gdb-set scheduler-locking replay")

    # --- pausing

    async def pause(self) -> None:
        if not self.running:
            return
        self._pausing = True
        await self._interrupt()

    async def _interrupt(self) -> None:
        self._stood.clear()
        await self._line.ask("-exec-interrupt")
        self._work(self._insist())

    async def _insist(self) -> None:
        try:
            async with asyncio.timeout(_HEEDS_S):
                await self._stood.wait()
        except TimeoutError:
            if self.running and self.pid is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(self.pid, signal.SIGSTOP)

    @contextlib.asynccontextmanager
    async def standing(self, timeout_s: float) -> AsyncIterator[None]:
        """Hold the program still for a moment, unseen; one that stands already is left alone.

        A stop of its own that comes meanwhile is reported afterwards.
        """
        if not self.running:
            yield
            return
        waiter = self.next_stop()
        await self._interrupt()
        try:
            async with asyncio.timeout(timeout_s):
                happened = await waiter
        except TimeoutError:
            self._waiter = None
            raise DebuggerTimeout("the program could not be held.", next="dbg stop") from None
        try:
            yield
        finally:
            fields = happened.record.fields
            if stops.signal(fields) in ("SIGINT", "SIGSTOP") and not self._pausing:
                self._ours = stops.thread(fields)
                await self._go("-exec-continue")
            else:
                self._pausing = self._pausing or stops.signal(fields) not in ("SIGINT", "SIGSTOP")
                await self._report(happened)

    async def hold(self, timeout_s: float) -> None:
        """Make the program stand still, unseen, and leave it so; no signal of ours stays in it."""
        if self.running:
            waiter = self.next_stop()
            await self._interrupt()
            try:
                async with asyncio.timeout(timeout_s):
                    happened = await waiter
            except TimeoutError:
                raise DebuggerTimeout("the program could not be held.", next="dbg stop") from None
            if stops.signal(happened.record.fields) in ("SIGINT", "SIGSTOP"):
                self._ours = stops.thread(happened.record.fields)
        if self._ours is not None:
            await self._line.cli("queue-signal 0", where=at(self._ours, None))
            self._ours = None

    def adopt(self) -> None:
        """The process was forked, and stopped for us: that is the first thing it will tell."""
        self.is_child = True
        self._late += 1

    async def _hung_up(self) -> bool:
        """Whether the kernel hung up the terminal, which is ours, because the parent has ended."""
        try:
            body = await self._line.ask("-data-evaluate-expression $_siginfo.si_code")
        except DebuggerError:
            return False
        return str(body.get("value")) == _BY_KERNEL

    def expect(self) -> None:
        """The program is about to run because of us."""
        self.running = True

    def next_stop(self) -> asyncio.Future[Happened]:
        """Take the next stop instead of the user."""
        self._waiter = asyncio.get_running_loop().create_future()
        return self._waiter

    async def go_on(self) -> None:
        """Continue from a stop that was taken by `next_stop`."""
        await self._go("-exec-continue")

    async def report(self, happened: Happened, reason: StopReason | None = None) -> None:
        """Report a stop that was taken by `next_stop`, possibly under a reason of our own."""
        await self._report(happened, reason)

    def _nudged(self) -> None:
        """gdb was interrupted: the program may be told of it when it goes on, the user not."""
        self._late = 1

    # --- what gdb reports

    def hear_running(self) -> None:
        if not self.running:
            self._values.forget()
            self._emit(Continued())
        self.running = True

    def hear_refused(self, happened: Happened) -> None:
        """gdb had said that the program runs, and then could not let it."""
        self.running = False
        self._stood.set()
        said = " ".join(happened.complaint.split()) or str(happened.record.fields.get("msg", ""))
        words = said.removeprefix("Warning: ").rstrip(". ")
        self._emit(Stopped(StopReason.OTHER, None, f"it cannot go on: {words}"))

    def hear_stopped(self, happened: Happened) -> None:
        stood, self.running = not self.running, False
        self._stood.set()
        if stood and self._late and stops.signal(happened.record.fields) == "SIGINT":
            # A function that gdb called was interrupted; the program stands where it stood.
            self._late = 0
            self._ours = stops.thread(happened.record.fields)
            return
        exit = stops.ended(happened.record.fields)
        if exit is not None:
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_exception(DebuggerLost("the program ended."))
                self._waiter.exception()
            self._finish(exit)
            return
        # What was printed before the stop belongs to it.
        self._drain()
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(happened)
        else:
            self._work(self._report(happened))

    async def _report(self, happened: Happened, reason: StopReason | None = None) -> None:
        fields = happened.record.fields
        name, thread = stops.signal(fields), stops.thread(fields)
        if name == "SIGHUP" and self.is_child and await self._hung_up():
            self._ours = thread
            await self._go("-exec-continue")
            return
        mine = name in ("SIGINT", "SIGSTOP") and (self._pausing or self._late > 0)
        if mine:
            self._ours = thread
            if not self._pausing:
                self._late -= 1
                await self._go("-exec-continue")
                return
        else:
            # It can only be the very next one that is late.
            self._late = 1 if self._pausing else 0
        pausing, self._pausing = self._pausing, False
        await self._unlock()
        ids, self.filter = await self._marks.stopped(stops.number(fields))
        if await self._marks.strange(ids):
            await self._go("-exec-continue")
            return
        if self.filter is not None and not ids:
            self.exception = await self.examine(self.filter, thread)
            if self.exception is None:
                await self._go("-exec-continue")
                return
        if await self._stays(fields, thread):
            assert self._step is not None
            await self._go(self._step[0])
            return
        self._note_failures(happened, ids)
        self._take_returned(fields)
        self._function = str((fields.get("frame") or {}).get("func", ""))
        self._here = _spot(fields, thread)
        if reason is None:
            reason = StopReason.PAUSE if pausing and mine else self._kind(fields, ids)
        description = None if reason is StopReason.PAUSE else await self.describe(fields)
        watch = await self._watches.seen(fields, thread, self._values.rust)
        if watch is not None and reason is StopReason.BREAKPOINT:
            reason = StopReason.WATCHPOINT
        self._drain()
        self._emit(Stopped(reason, thread, description, None, ids, watch=watch))

    def _kind(self, fields: Fields, ids: tuple[int, ...]) -> StopReason:
        number = stops.number(fields)
        if number is not None and number == self._landing:
            self._landing = None
            return StopReason.JUMP
        if self.exception is None:
            # A signal that is only how the runtime ends a program for an exception.
            self.exception = read_last_words(stops.signal(fields) or "", self.last_words())
        return stops.kind(fields) if self.exception is None else StopReason.EXCEPTION

    async def describe(self, fields: Fields) -> str | None:
        """Return what a stop's reason does not say; of a signal its name and what is behind it."""
        words, name = stops.describe(fields), stops.signal(fields)
        if self._went_back and not stops.reason(fields):
            # gdb 13 does not say so.
            return "the recording ends here"
        if name in ("SIGSEGV", "SIGBUS", "SIGFPE"):
            with contextlib.suppress(DebuggerError, ValueError):
                code, address = [
                    int((await self._line.ask(f"-data-evaluate-expression {each}"))["value"], 0)
                    for each in (
                        "$_siginfo.si_code",
                        "(long)$_siginfo._sifields._sigfault.si_addr",
                    )
                ]
                meaning = fault_words(name, code, address)
                return f"{name}: {meaning}" if meaning else words
        return words

    def _note_failures(self, happened: Happened, ids: tuple[int, ...]) -> None:
        for number, why in stops.failed_conditions(happened.complaint).items():
            id = self._marks.ours(number)
            # gdb 13 does not say whose condition it was.
            named = ids if not number else () if id is None else (id,)
            self.failures |= dict.fromkeys(self._marks.conditional(named), why)

    def _take_returned(self, fields: Fields) -> None:
        if "return-value" in fields:
            self._values.returned = Returned(
                names.function_name(self._function),
                str(fields["return-value"]),
                fields.get("gdb-result-var"),
            )


async def _nothing_known(filter: str, thread: int | None) -> ExceptionInfo | None:
    return ExceptionInfo(filter, "")
