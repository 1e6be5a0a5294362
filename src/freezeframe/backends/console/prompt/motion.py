"""The program in motion: resuming, stepping, pausing, and what each stop comes down to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from freezeframe.backends.backend import (
    BreakpointMoved,
    Continued,
    Event,
    Printed,
    StepKind,
    Stopped,
)
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout, Unsupported
from freezeframe.model.stops import Exit, StopReason

from .backward import Backward
from .dialect import Said
from .marks import Marks, Verdict
from .spelling import Ask, At, Halt, Spelling
from .talk import Talk
from .values import Values

#: deeper stacks are not counted: a step that is interrupted that deep ends where it is
_DEEPEST = 5000
#: how often a signal that may be missed is sent again, and how many times
_INSIST_S = 0.2
_INSIST_TIMES = 50


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a step began."""

    kind: StepKind
    depth: int
    path: str | None
    line: int | None
    function: str | None = None


class Motion(Backward):
    """Whether the program runs, and everything that changes it."""

    def __init__(
        self,
        talk: Talk,
        marks: Marks,
        values: Values,
        spelling: Spelling,
        *,
        emit: Callable[[Event], None],
        drain: Callable[[], None],
        finish: Callable[[Exit], None],
        work: Callable[[Coroutine[Any, Any, None]], None],
        interrupt: Callable[[bool], None],
        on_loss: Callable[[], None] = lambda: None,
    ) -> None:
        self._talk = talk
        self._marks = marks
        self._values = values
        self._spelling = spelling
        self._emit = emit
        self._drain = drain
        self._finish = finish
        self._work = work
        self._interrupt = interrupt
        self._on_loss = on_loss
        #: the program was given something to read
        self.fed = False
        self.running = False
        #: the program goes back: what it prints now it has printed before
        self.rewinding = False
        self.thread = 1
        #: what the debugger printed at the current stop
        self.halt = Halt()
        #: by our ids: conditions that could not be evaluated at the current stop
        self.failures: dict[int, str] = {}
        self._kind: StepKind | None = None
        self._start: _Start | None = None
        self._detoured = False
        #: a step was interrupted, and its debugger has not forgotten it
        self._left_over = False
        self._pausing = False
        #: an interrupt was sent and another stop came first: its own may still come
        self._late = False
        #: an interrupt was not heard in time: its stop is yet to come
        self._unheard = False
        self._heard = ""
        #: characters of the answer to come that were told early
        self._told = 0
        #: what the breakpoints at the program's first line have said already
        self._first: Verdict | None = None
        self._waiter: asyncio.Future[Halt] | None = None
        #: a signal was sent, and its stop has not come
        self._signalled = False
        #: what is said belongs to a stop that was told of
        self._studying = False
        #: what is to be done at the next stop, before anybody is told of it
        self._postponed: list[Callable[[], Awaitable[None]]] = []

    # --- resuming

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self._kind, self._start = None, None
        command = self._spelling.resume(thread)
        if only and thread is not None:
            command = self._spelling.resume_only(thread) or command
        self.go(command)

    async def step(self, kind: StepKind, thread: int, *, instruction: bool) -> None:
        command = self._spelling.step(kind, thread)
        if instruction:
            command = self._spelling.step_instruction(kind, thread) or command
        start = None
        heeds = self._marks.silent or self._spelling.heedless or self._spelling.small_steps
        if heeds and not instruction:
            depth = await self._depth(thread)
            halt = self.halt
            start = _Start(kind, depth, halt.path, halt.line, halt.function)
        self._kind, self._start, self._detoured = kind, start, False
        self._left_over = False
        # A frame that was looked at is still chosen, and some would step from there.
        await self._talk.speak_of(At(thread, 0))
        self.go(command)

    def _forget_step(self, kind: StepKind | None) -> None:
        self._kind, self._start, self._detoured = kind, None, False

    def go(self, command: str) -> None:
        """Send a command that lets the program run."""
        self._values.forget()
        self.failures = {}
        self._heard, self._told = "", 0
        # From now on: a stop may come with the answer.
        self.running = True
        self._work(self._arrive(self._talk.console.send(command)))

    async def _arrive(self, answer: asyncio.Future[str]) -> None:
        text = await answer
        if self._spelling.asynchronous:
            self.hear(Said(text))
            return
        self._tell_output(text[self._told :])
        self._studying = True
        try:
            halt = self._spelling.read_stop(await self._studied(text))
        finally:
            self._studying = False
        self.running = False
        await self._came(halt or self._stayed(self._spelling.refusal(text)))

    def hear(self, said: Said) -> None:
        """Words that come while the program runs: of a stop, or what the program prints."""
        if not self.running or self._studying:
            return
        if self._spelling.tells_loss(said.text):
            self._on_loss()
        if said.early or not self._spelling.asynchronous:
            self._told += len(said.text) if said.early else 0
            self._tell_output(said.text)
            return
        self._heard += said.text
        self._tell_output(said.text)
        halt = self._spelling.read_stop(self._heard)
        if halt is not None:
            self._heard = ""
            self.running = False
            self._work(self._came(halt))

    def _tell_output(self, text: str) -> None:
        """Tell what the program has printed among the debugger's words."""
        printed = self._spelling.output_of(text)
        if printed:
            self._emit(Printed("stdout", printed))
        complaint = self._spelling.complaint_of(text)
        if complaint:
            self._emit(Printed("stderr", complaint))

    async def jump(self, at: At, path: str, line: int) -> bool:
        asked = self._spelling.jump(at, path, line)
        if asked is None:
            return False
        await self._talk.ask(asked, at)
        self._values.forget()
        self.halt = Halt(path=path, line=line, thread=at.thread)
        # No event tells of it, for nothing ran.
        self._emit(Continued(at.thread))
        self._emit(Stopped(StopReason.JUMP, at.thread))
        return True

    async def force_return(self, at: At, asked: Ask[None]) -> None:
        await self._talk.ask(asked, at)
        if self._spelling.returns_when_run:
            await self.step(StepKind.OUT, at.thread, instruction=False)
            return
        self._values.forget()
        self.halt = Halt(thread=at.thread)
        self._emit(Continued(at.thread))
        self._emit(Stopped(StopReason.STEP, at.thread, "returned at once"))

    async def restart_frame(self, at: At, asked: Ask[None]) -> None:
        await self._talk.ask(asked, at)
        await self.step(StepKind.INTO, at.thread, instruction=False)

    # --- holding

    async def pause(self) -> None:
        if not self.running or self.rewinding:
            return
        self._pausing = True
        await self._hold()

    async def _hold(self) -> None:
        if self.rewinding:
            return  # it comes to a stop by itself, and does not bear to be interrupted
        command = self._spelling.pause()
        if command is None:
            self._signalled = True
            self._insist()
            return
        text = await self._talk.tell(command)
        if self.running:
            self.running = False
            halt = self._spelling.read_stop(text) or Halt(thread=self.thread)
            await self._came(replace(halt, reason=StopReason.PAUSE))

    def _insist(self, sent: int = 0) -> None:
        """Interrupt the program; again and again where that may be missed, until it stands."""
        if self._signalled and self.running and sent < _INSIST_TIMES:
            self._interrupt(not self._pausing)
            if self._spelling.interrupt_missed:
                loop = asyncio.get_running_loop()
                loop.call_later(_INSIST_S, self._insist, sent + 1)

    @contextlib.asynccontextmanager
    async def standing(self, timeout_s: float) -> AsyncIterator[None]:
        """Hold the program still for a moment, unseen; one that stands already is left alone.

        A stop of its own that comes meanwhile is reported afterwards.
        """
        if not self.running:
            yield
            return
        halt = await self.held(timeout_s)
        try:
            yield
        finally:
            if halt.reason is StopReason.PAUSE and not self._pausing:
                self._take_up()
            else:
                # Another stop came first; that of our interrupt may still come.
                self._late = halt.reason is not StopReason.PAUSE
                await self._report(halt)

    def postpone(self, what: Callable[[], Awaitable[None]]) -> None:
        """Do something at the next stop: one that was asked for, and has not come in time."""
        self._postponed.append(what)

    async def held(self, timeout_s: float) -> Halt:
        """Make the program stand still, unseen. Raises DebuggerTimeout, and DebuggerLost."""
        if not self._spelling.pauses:
            raise Unsupported(f"{self._spelling.name} holds no running program.", next="dbg await")
        waiter = self.next_stop()
        await self._hold()
        try:
            async with asyncio.timeout(timeout_s):
                return await waiter
        except TimeoutError:
            self._waiter = None
            self._unheard = True
            raise DebuggerTimeout("the program could not be held.", next="dbg stop") from None

    def next_stop(self) -> asyncio.Future[Halt]:
        """Take the next stop instead of the user."""
        self._waiter = asyncio.get_running_loop().create_future()
        return self._waiter

    def _take_up(self) -> None:
        """Go on after a stop that nobody saw."""
        if self._start is not None or self._kind is None:
            self.go(self._spelling.resume(self.thread))
        else:
            self.go(self._spelling.step(self._kind, self.thread))

    # --- what each stop comes down to

    async def _came(self, halt: Halt) -> None:
        # What was printed before the stop belongs to it.
        self._drain()
        if halt.exit is not None:
            if halt.description:
                self._emit(Printed("console", f"{halt.description}\n"))
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_exception(DebuggerLost("the program ended."))
                self._waiter.exception()
            self._finish(halt.exit)
            return
        unexplained = halt.reason in (None, StopReason.OTHER) and not halt.among
        if self._spelling.interrupt_unnamed and self._signalled and unexplained:
            halt = replace(halt, reason=StopReason.PAUSE, description=None)
        self._signalled = self._signalled and halt.reason is not StopReason.PAUSE
        self.stand(halt)
        postponed, self._postponed = self._postponed, []
        for each in postponed:
            await each()
        if postponed and halt.reason is StopReason.PAUSE and not self._pausing:
            self._unheard = False
            self._take_up()
            return
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(halt)
        else:
            await self._report(halt)

    def stand(self, halt: Halt) -> None:
        """Take a stop in that came with something else than a resumed program."""
        self.halt = halt
        for bound in self._marks.moved(halt.made):
            self._emit(BreakpointMoved(bound))
        self.thread = halt.thread if halt.thread is not None else self.thread
        self._talk.stopped(self.thread)

    async def meets(self, halt: Halt) -> bool:
        """Whether a breakpoint wants the program to stand where it does already."""
        verdict = await self._marks.judge(halt, At(self.thread, 0))
        self._first = verdict if verdict.breakpoints else None
        return bool(verdict.breakpoints)

    async def raw(self, command: str) -> None:
        """Run a command of the user's own that lets the program run."""
        self._kind, self._start = StepKind.INTO, None
        self.go(self._spelling.moving(command))

    async def report(self, halt: Halt, reason: StopReason | None = None) -> None:
        """Report a stop that was taken by `next_stop`, possibly under a reason of our own."""
        await self._report(halt, reason)

    async def _report(self, halt: Halt, reason: StopReason | None = None) -> None:
        asked, self._pausing = self._pausing, False
        mine = halt.reason is StopReason.PAUSE
        if mine and not asked and self._late:
            self._late = False
            self._take_up()
            return
        self._late = asked and (not mine or self._unheard)
        self._unheard = self._unheard and not mine
        verdict, self._first = self._first, None
        if verdict is None:
            verdict = await self._marks.judge(halt, At(self.thread, 0))
        self.failures = verdict.failures
        if not verdict.breakpoints and reason is None and await self._is_unfinished(halt):
            assert self._kind is not None
            self._pausing = asked
            self.go(self._spelling.step(self._kind, self.thread))
            return
        if not verdict.breakpoints and not await self._heeded(halt):
            command = await self._resumed_step(halt)
            if command is None and self._kind is not None:
                command = self._spelling.step(self._kind, self.thread)
            self._pausing = asked
            self.go(command or self._spelling.resume(self.thread))
            return
        told = halt.reason not in (None, StopReason.BREAKPOINT)
        silent = verdict.met and not verdict.breakpoints and not told and reason is None
        into = self._spelling.over_is_into and halt.reason is None
        if silent or ((self._detoured or into) and not verdict.breakpoints):
            command = await self._resumed_step(halt)
            if command is not None or (silent and self._kind is None):
                self._pausing = asked
                self.go(command or self._spelling.resume(self.thread))
                return
        if self._left_over and not verdict.breakpoints and reason is None and _bare(halt):
            # Nobody waits for the end of that step any more.
            self._left_over, self._pausing = False, asked
            self.go(self._spelling.resume(self.thread))
            return
        self._values.returned = halt.returned
        if reason is None:
            reason = self._reason(halt, bool(verdict.breakpoints), asked)
        stepping = self._kind is not None and reason is not StopReason.STEP
        self._left_over = self._left_over or (stepping and self._spelling.keeps_steps)
        self._drain()
        self._emit(
            Stopped(
                reason,
                self.thread,
                None if reason is StopReason.PAUSE else halt.description,
                None,
                verdict.breakpoints,
                all_threads=self._spelling.all_threads,
                watch=None if halt.watch is None else self._marks.seen(halt.watch),
            )
        )

    async def _heeded(self, halt: Halt) -> bool:
        """Whether an exception is one that the user wants to hear of."""
        if not self._spelling.heedless or halt.reason is not StopReason.EXCEPTION:
            return True
        frames, _ = await self._values.frames(self.thread, 0, _DEEPEST)
        heeded = self._spelling.heeds(halt, frames)
        return heeded if isinstance(heeded, bool) else await self._talk.ask(heeded)

    def _reason(self, halt: Halt, hit: bool, asked: bool) -> StopReason:
        if halt.reason is StopReason.PAUSE:
            return StopReason.PAUSE if asked else StopReason.SIGNAL
        if hit and halt.reason in (None, StopReason.STEP, StopReason.BREAKPOINT):
            return StopReason.BREAKPOINT
        if halt.reason is not None:
            return halt.reason
        return StopReason.OTHER if self._kind is None else StopReason.STEP

    async def _is_unfinished(self, halt: Halt) -> bool:
        """Whether a small step has not left the line and frame that it began in."""
        start = self._start
        if start is None or not self._spelling.small_steps or halt.reason is not None:
            return False
        if start.kind is StepKind.OUT or halt.numbers:
            return False
        if (halt.path, halt.line, halt.function) != (start.path, start.line, start.function):
            return False
        return await self._depth(self.thread) == start.depth

    async def _resumed_step(self, halt: Halt) -> str | None:
        """Return the command that takes a step up again which a silent breakpoint interrupted."""
        start = self._start
        if start is None or start.kind is StepKind.INTO:
            return None
        depth = await self._depth(self.thread)
        out = start.kind is StepKind.OUT
        if depth > start.depth or (out and depth == start.depth):
            self._detoured = True
            return self._spelling.step(StepKind.OUT, self.thread)
        at_start = depth == start.depth and (halt.path, halt.line) == (start.path, start.line)
        if self._detoured and not out and at_start:
            return self._spelling.step(StepKind.OVER, self.thread)
        return None

    async def _depth(self, thread: int) -> int:
        asked = self._spelling.depth(thread)
        try:
            if asked is not None:
                return await self._talk.ask(asked)
            frames, total = await self._values.frames(thread, 0, _DEEPEST)
        except DebuggerError:
            return 0
        return total if total is not None else len(frames)


def _bare(halt: Halt) -> bool:
    """Whether nothing is told of why it stopped."""
    return halt.reason in (None, StopReason.OTHER)
