"""Execution control: resume, step, pause, and deciding what each stop means.

Theory of operation. A command that resumes the program is answered at its next stop, or at once by
debuggers that report stops by themselves (`CommandSet.asynchronous`). Every stop passes these
stages; who gets it is decided by the tables of `backends/stop_machine.py`:

    _on_stop     the end of the program, the stop of an interrupt that nobody waits for
    hold         a brief halt gets it, and resumes the program afterwards or has it decided
    _report      which breakpoints hold, then what `_after_stop` makes of it
    _after_stop  the command that resumes from a stop that is not reported: a logpoint, a step
                 that has not left its line yet, an exception that no filter names
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from freezeframe.backends.backend import (
    BreakpointChanged,
    Continued,
    Event,
    OutputEvent,
    StepKind,
    Stopped,
)
from freezeframe.backends.breakpoint_hits import HitDecision
from freezeframe.backends.stop_router import StopRouter
from freezeframe.errors import DebuggerError, Unsupported
from freezeframe.model.stops import Exit, StopReason

from .breakpoints import ConsoleBreakpoints
from .codec import UnsolicitedText
from .command_set import CommandSet, ConsoleQuery, FrameRef, StopInfo
from .frame_queries import FrameQueries
from .reverse import Backward
from .variables import ConsoleVariables

#: deeper stacks are not counted: a step that is interrupted that deep ends there
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


class ConsoleExecution(Backward):
    """Whether the program runs, and every operation that changes it."""

    def __init__(
        self,
        queries: FrameQueries,
        breakpoints: ConsoleBreakpoints,
        variables: ConsoleVariables,
        command_set: CommandSet,
        *,
        emit: Callable[[Event], None],
        drain: Callable[[], None],
        finish: Callable[[Exit], None],
        work: Callable[[Coroutine[Any, Any, None]], None],
        interrupt: Callable[[bool], None],
        on_loss: Callable[[], None] = lambda: None,
    ) -> None:
        self._queries = queries
        self._breakpoints = breakpoints
        self._variables = variables
        self._command_set = command_set
        self._emit = emit
        self._drain = drain
        self._finish = finish
        self._work = work
        self._interrupt = interrupt
        self._on_loss = on_loss
        #: the program was given input
        self.input_given = False
        self._stops: StopRouter[StopInfo] = StopRouter()
        #: the program runs backwards: what it prints now was printed before
        self.rewinding = False
        self.thread = 1
        #: what the debugger printed at the current stop
        self.halt = StopInfo()
        #: by our ids: conditions that could not be evaluated at the current stop
        self.failures: dict[int, str] = {}
        self._kind: StepKind | None = None
        self._start: _Start | None = None
        self._detoured = False
        #: how a step leaves the function of a breakpoint that is not reported
        self._leaving = StepKind.OUT
        #: a step was interrupted, and the debugger still holds it
        self._step_left_over = False
        self._received = ""
        #: characters of the pending answer that were reported early
        self._reported_early = 0
        #: the decision for a stop whose breakpoints were evaluated already
        self._known_decision: HitDecision | None = None
        #: the debugger's output belongs to a stop that is being completed
        self._completing = False
        #: actions to run at the next stop, before it is reported
        self._postponed: list[Callable[[], Awaitable[None]]] = []

    @property
    def running(self) -> bool:
        return self._stops.running

    # --- resuming

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self._kind, self._start = None, None
        command = self._command_set.resume(thread)
        if only and thread is not None:
            command = self._command_set.resume_only(thread) or command
        self.resume_with(command)

    async def step(self, kind: StepKind, thread: int, *, instruction: bool) -> None:
        command = self._command_set.step(kind, thread)
        if instruction:
            command = self._command_set.step_instruction(kind, thread) or command
        start = None
        needs_start = (
            self._breakpoints.has_unreported_hits
            or self._command_set.filters_exceptions_itself
            or self._command_set.small_steps
        )
        if needs_start and not instruction:
            depth = await self._depth(thread)
            halt = self.halt
            start = _Start(kind, depth, halt.path, halt.line, halt.function)
        self._kind, self._start, self._detoured = kind, start, False
        self._step_left_over = False
        # An inspected frame is still selected, and some debuggers would step from there.
        await self._queries.select(FrameRef(thread, 0))
        self.resume_with(command)

    def _forget_step(self, kind: StepKind | None) -> None:
        self._kind, self._start, self._detoured = kind, None, False

    def resume_with(self, command: str) -> None:
        """Send a command that resumes the program."""
        self._variables.forget()
        self.failures = {}
        self._received, self._reported_early = "", 0
        # Noted before the answer, which may already report a stop.
        self._stops.resumed()
        self._work(self._await_answer(self._queries.console.send(command)))

    async def _await_answer(self, answer: asyncio.Future[str]) -> None:
        text = await answer
        if self._command_set.asynchronous:
            self.on_text(UnsolicitedText(text))
            return
        self._emit_output(text[self._reported_early :])
        self._completing = True
        try:
            halt = self._command_set.read_stop(await self._complete_stop_text(text))
        finally:
            self._completing = False
        self._stops.stopped()
        await self._on_stop(halt or self._unmoved_stop(self._command_set.refusal(text)))

    def on_text(self, received: UnsolicitedText) -> None:
        """Handle text received while the program runs: a stop, or output of the program."""
        if not self.running or self._completing:
            return
        if self._command_set.reports_loss(received.text):
            self._on_loss()
        if received.early or not self._command_set.asynchronous:
            self._reported_early += len(received.text) if received.early else 0
            self._emit_output(received.text)
            return
        self._received += received.text
        self._emit_output(received.text)
        halt = self._command_set.read_stop(self._received)
        if halt is not None:
            self._received = ""
            self._stops.stopped()
            self._work(self._on_stop(halt))

    def _emit_output(self, text: str) -> None:
        """Report what the program has printed into the debugger's output."""
        printed = self._command_set.output_of(text)
        if printed:
            self._emit(OutputEvent("stdout", printed))
        errors = self._command_set.error_output_of(text)
        if errors:
            self._emit(OutputEvent("stderr", errors))

    async def jump(self, at: FrameRef, path: str, line: int) -> bool:
        query = self._command_set.jump(at, path, line)
        if query is None:
            return False
        await self._queries.run(query, at)
        self._variables.forget()
        self.halt = StopInfo(path=path, line=line, thread=at.thread)
        # The debugger reports no event, because nothing ran.
        self._emit(Continued(at.thread))
        self._emit(Stopped(StopReason.JUMP, at.thread))
        return True

    async def force_return(self, at: FrameRef, query: ConsoleQuery[None]) -> None:
        await self._queries.run(query, at)
        if self._command_set.returns_when_run:
            await self.step(StepKind.OUT, at.thread, instruction=False)
            return
        self._variables.forget()
        self.halt = StopInfo(thread=at.thread)
        self._emit(Continued(at.thread))
        self._emit(Stopped(StopReason.STEP, at.thread, "returned at once"))

    async def restart_frame(self, at: FrameRef, query: ConsoleQuery[None]) -> None:
        await self._queries.run(query, at)
        await self.step(StepKind.INTO, at.thread, instruction=False)

    # --- pausing

    async def pause(self) -> None:
        if self.rewinding:
            return  # it stops by itself, and must not be interrupted
        needs_interrupt = self._stops.request_pause()
        # The signal of a brief halt may not be enough for a program that is blocked.
        if needs_interrupt or (self.running and self._command_set.soft_interrupt is not None):
            await self._request_stop()

    async def _request_stop(self) -> None:
        if self.rewinding:
            return
        self._stops.interrupt_sent()
        command = self._command_set.pause()
        if command is None:
            self._retry_interrupt()
            return
        text = await self._queries.send(command)
        if self.running:
            halt = self._command_set.read_stop(text)
            if halt is None:
                why = self._command_set.refusal(text) or "the program was not paused"
                raise DebuggerError(f"{why.rstrip('.')}.", next="dbg await")
            self._stops.stopped()
            await self._on_stop(replace(halt, reason=StopReason.PAUSE))

    def _retry_interrupt(self, sent: int = 0) -> None:
        """Interrupt the program; repeatedly until it stops, if an interrupt may be lost."""
        if self._stops.is_interrupt_due and self.running and sent < _INSIST_TIMES:
            self._interrupt(not self._stops.pausing)
            if self._command_set.interrupt_missed:
                loop = asyncio.get_running_loop()
                loop.call_later(_INSIST_S, self._retry_interrupt, sent + 1)

    @contextlib.asynccontextmanager
    async def paused(self, timeout_s: float) -> AsyncIterator[None]:
        """Pause the program briefly without reporting a stop; do nothing if it is stopped already.

        Another stop that comes meanwhile is reported afterwards.
        """
        if not self.running:
            yield
            return
        halt = await self.hold(timeout_s)
        try:
            yield
        finally:
            # Otherwise another stop was reported meanwhile, or the program has ended.
            if self._stops.halted and not self._stops.pausing and halt.reason is StopReason.PAUSE:
                self._resume_unreported()
            elif self._stops.halted:
                self._stops.end_halt()
                await self._report(halt)

    @property
    def stepping(self) -> bool:
        """Whether a step is under way."""
        return self._kind is not None

    def postpone(self, action: Callable[[], Awaitable[None]]) -> None:
        """Run *action* at the next stop, which was requested and has not come in time."""
        self._postponed.append(action)

    async def hold(self, timeout_s: float) -> StopInfo:
        """Pause the program without reporting a stop. Raises DebuggerTimeout and DebuggerLost."""
        if not self._command_set.pauses:
            raise Unsupported(
                f"{self._command_set.name} cannot pause a running program.", next="dbg await"
            )
        expected = self.next_stop()
        await self._request_stop()
        return await self.wait_for_stop(expected, timeout_s)

    def next_stop(self) -> asyncio.Future[StopInfo]:
        """Return a future that gets the next stop, which is not reported."""
        return self._stops.expect_stop()

    async def wait_for_stop(self, expected: asyncio.Future[StopInfo], timeout_s: float) -> StopInfo:
        """Return the stop of `next_stop`. Raises DebuggerTimeout and DebuggerLost."""
        return await self._stops.wait_for(expected, timeout_s)

    def _resume_unreported(self) -> None:
        """Resume after a stop that was not reported."""
        if self._start is not None or self._kind is None:
            self.resume_with(self._command_set.resume(self.thread))
        else:
            self.resume_with(self._command_set.step(self._kind, self.thread))

    # --- stops

    async def _on_stop(self, halt: StopInfo) -> None:
        # Report what was printed before the stop first.
        self._drain()
        if halt.exit is not None:
            if halt.description:
                self._emit(OutputEvent("console", f"{halt.description}\n"))
            self._stops.exited()
            self._finish(halt.exit)
            return
        unexplained = halt.reason in (None, StopReason.OTHER) and not halt.among
        unnamed = self._command_set.interrupt_unnamed and self._stops.is_interrupt_pending
        if unnamed and unexplained:
            halt = replace(halt, reason=StopReason.PAUSE, description=None)
        interrupted = halt.reason is StopReason.PAUSE
        unclaimed = interrupted and self._stops.take_interrupt()
        self.set_stopped(halt)
        postponed, self._postponed = self._postponed, []
        for each in postponed:
            await each()
        unclaimed = unclaimed or (interrupted and bool(postponed) and not self._stops.halted)
        if unclaimed and not self._stops.pausing:
            self._resume_unreported()
        elif not self._stops.deliver(halt):
            await self._report(halt)

    def set_stopped(self, halt: StopInfo) -> None:
        """Record a stop without reporting it."""
        self.halt = halt
        for bound in self._breakpoints.rebind_all(halt.made):
            self._emit(BreakpointChanged(bound))
        self.thread = halt.thread if halt.thread is not None else self.thread
        self._queries.on_stopped(self.thread)

    async def at_breakpoint(self, halt: StopInfo) -> bool:
        """Whether the program is stopped at a breakpoint already."""
        decision = await self._breakpoints.evaluate_hit(halt, FrameRef(self.thread, 0))
        self._known_decision = decision if decision.breakpoints else None
        return bool(decision.breakpoints)

    async def raw(self, command: str) -> None:
        """Send a raw command of the user's that resumes the program."""
        self._kind, self._start = StepKind.INTO, None
        self.resume_with(self._command_set.moving(command))

    async def report(self, halt: StopInfo, reason: StopReason | None = None) -> None:
        """Report a stop that `next_stop` returned, with *reason* in place of its own if given."""
        self._stops.end_halt()
        await self._report(halt, reason)

    async def _report(self, halt: StopInfo, reason: StopReason | None = None) -> None:
        interrupted = halt.reason is StopReason.PAUSE
        decision, self._known_decision = self._known_decision, None
        if decision is None:
            decision = await self._breakpoints.evaluate_hit(halt, FrameRef(self.thread, 0))
        self.failures = decision.failures
        command = None
        if not decision.breakpoints:
            command = await self._after_stop(halt, reason, met=decision.met)
        # A debugger that was at its prompt may have dropped the interrupt of a pause.
        if command is not None and not self._stops.pausing:
            self._stops.ignored(interrupted=interrupted)
            self.resume_with(command)
            return
        self._variables.returned = halt.returned
        if reason is None and command is not None:
            reason = StopReason.PAUSE
        elif reason is None:
            reason = self._reason(halt, bool(decision.breakpoints), self._stops.pausing)
        stepping = self._kind is not None and reason is not StopReason.STEP
        self._step_left_over = self._step_left_over or (stepping and self._command_set.keeps_steps)
        self._drain()
        self._stops.reported(interrupted=interrupted)
        self._emit(
            Stopped(
                reason,
                self.thread,
                None if reason is StopReason.PAUSE else halt.description,
                None,
                decision.breakpoints,
                all_threads=self._command_set.all_threads,
                watch=None
                if halt.watch is None
                else self._breakpoints.translate_watch_hit(halt.watch),
            )
        )

    async def _after_stop(
        self, halt: StopInfo, reason: StopReason | None, *, met: bool
    ) -> str | None:
        """Return the command that resumes from a stop that is not reported; None if it is.

        No breakpoint stops here; *met*: one is here whose condition or hit count does not hold.
        """
        if reason is None and await self._is_unfinished(halt):
            assert self._kind is not None
            return self._command_set.step(self._kind, self.thread)
        if not await self._matches_filters(halt):
            command = await self._resumed_step(halt)
            if command is None and self._kind is not None:
                command = self._command_set.step(self._kind, self.thread)
            return command or self._command_set.resume(self.thread)
        has_reason = halt.reason not in (None, StopReason.BREAKPOINT)
        unreported = (met or halt.resumed) and not has_reason and reason is None
        into = self._command_set.over_is_into and halt.reason is None
        if unreported or self._detoured or into:
            command = await self._resumed_step(halt)
            if command is not None or (unreported and self._kind is None):
                return command or self._command_set.resume(self.thread)
        if self._step_left_over and reason is None and _has_no_reason(halt):
            # The caller no longer waits for the end of that step.
            self._step_left_over = False
            return self._command_set.resume(self.thread)
        return None

    async def _matches_filters(self, halt: StopInfo) -> bool:
        """Whether the exception filters name the exception of a stop."""
        if (
            not self._command_set.filters_exceptions_itself
            or halt.reason is not StopReason.EXCEPTION
        ):
            return True
        frames, _ = await self._variables.frames(self.thread, 0, _DEEPEST)
        matches = self._command_set.matches_filters(halt, frames)
        return matches if isinstance(matches, bool) else await self._queries.run(matches)

    def _reason(self, halt: StopInfo, hit: bool, pause_requested: bool) -> StopReason:
        if halt.reason is StopReason.PAUSE:
            return StopReason.PAUSE if pause_requested else StopReason.SIGNAL
        if hit and halt.reason in (None, StopReason.STEP, StopReason.BREAKPOINT):
            return StopReason.BREAKPOINT
        if halt.reason is not None:
            return halt.reason
        return StopReason.OTHER if self._kind is None else StopReason.STEP

    async def _is_unfinished(self, halt: StopInfo) -> bool:
        """Whether a step has not left its line and frame, or its function, yet."""
        start = self._start
        if start is None or halt.reason is not None:
            return False
        if start.kind is StepKind.OUT and self._command_set.keeps_returned:
            return halt.returned is None and await self._depth(self.thread) >= start.depth
        if start.kind is StepKind.OUT or halt.numbers or not self._command_set.small_steps:
            return False
        if (halt.path, halt.line, halt.function) != (start.path, start.line, start.function):
            return False
        return await self._depth(self.thread) == start.depth

    async def _resumed_step(self, halt: StopInfo) -> str | None:
        """Return the command that continues a step after a breakpoint that is not reported."""
        start = self._start
        if start is None or start.kind is StepKind.INTO:
            return None
        depth = await self._depth(self.thread)
        out = start.kind is StepKind.OUT
        if depth > start.depth or (out and depth == start.depth):
            if halt.yielded or not self._detoured:
                # A step out of a generator would end when the generator does, not at its `yield`.
                self._leaving = StepKind.OVER if halt.yielded and not out else StepKind.OUT
            self._detoured = True
            return self._command_set.step(self._leaving, self.thread)
        at_start = depth == start.depth and (halt.path, halt.line) == (start.path, start.line)
        if self._detoured and not out and at_start and self._leaving is StepKind.OUT:
            return self._command_set.step(StepKind.OVER, self.thread)
        return None

    async def _depth(self, thread: int) -> int:
        query = self._command_set.depth(thread)
        try:
            if query is not None:
                return await self._queries.run(query)
            frames, total = await self._variables.frames(thread, 0, _DEEPEST)
        except DebuggerError:
            return 0
        return total if total is not None else len(frames)


def _has_no_reason(halt: StopInfo) -> bool:
    """Whether the debugger gave no reason for a stop."""
    return halt.reason in (None, StopReason.OTHER)
