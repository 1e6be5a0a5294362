"""Reverse execution, and the queries that complete a stop before it is reported."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import StepKind
from freezeframe.backends.breakpoint_hits import HitDecision
from freezeframe.backends.stop_router import StopRouter
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout
from freezeframe.model.stops import StopReason

from .breakpoints import ConsoleBreakpoints
from .command_set import CommandSet, FrameRef, StopInfo
from .frame_queries import FrameQueries
from .reverse_commands import ReverseStep
from .variables import ConsoleVariables


class Backward:
    """The part of `ConsoleExecution` that goes back; its attributes are set there."""

    _queries: FrameQueries
    _breakpoints: ConsoleBreakpoints
    _variables: ConsoleVariables
    _command_set: CommandSet
    _drain: Callable[[], None]
    _work: Callable[[Coroutine[Any, Any, None]], None]
    _kind: StepKind | None
    _known_decision: HitDecision | None
    _stops: StopRouter[StopInfo]
    rewinding: bool
    input_given: bool
    thread: int
    halt: StopInfo
    failures: dict[int, str]

    def set_stopped(self, halt: StopInfo) -> None:
        raise NotImplementedError

    async def _on_stop(self, halt: StopInfo) -> None:
        raise NotImplementedError

    async def _depth(self, thread: int) -> int:
        raise NotImplementedError

    def _forget_step(self, kind: StepKind | None) -> None:
        raise NotImplementedError

    def _unmoved_stop(self, message: str | None) -> StopInfo:
        """Return the stop of a program that was not resumed: its location is unchanged."""
        halt = replace(self.halt, reason=StopReason.OTHER, numbers=())
        return replace(halt, description=message, returned=None)

    async def _complete_stop_text(self, text: str) -> str:
        """Return the text of a stop with the answers that are needed to parse it."""
        while commands := self._command_set.study(text):
            try:
                for command in commands:
                    text += await self._send_for_stop(command)
            except (DebuggerLost, DebuggerTimeout):
                raise
            except DebuggerError:
                break
        return text

    async def _send_for_stop(self, command: str) -> str:
        """Send a command that completes a stop; discard output of a program that goes back."""
        if self._command_set.answers_on_stderr(command):
            return await self._queries.console.stderr_of(command)
        if not self._command_set.goes_back(command):
            return await self._queries.console.send(command)
        self._check_input()
        self._drain()
        self.rewinding = True
        try:
            return await self._queries.console.send(command)
        finally:
            self._drain()
            self.rewinding = False

    # --- reverse execution

    async def back(self, kind: StepKind | None, thread: int) -> None:
        """Step back; without a kind, continue backwards. Raises DebuggerError."""
        command_set = self._command_set
        self._check_input()
        first, now = command_set.beginning, self.halt.time
        if first is not None and now is not None and now <= first:
            raise DebuggerError("this is the beginning of the program.", next="dbg next")
        if kind is StepKind.OUT and await self._depth(thread) == 1:
            raise DebuggerError(
                "this is the outermost frame: nothing called it.", next="dbg reverse-continue"
            )
        self._forget_step(kind)
        self._variables.forget()
        self.failures = {}
        self._drain()
        self._stops.resumed()
        self.rewinding = True
        self._work(self._go_back(kind, thread))

    def _check_input(self) -> None:
        """Raise DebuggerError if the program would wait for input when run again."""
        if self.input_given:
            # The program runs again from an earlier point, before it has read its input.
            raise DebuggerError(
                "the program was given input, and would have to read it again on its way back.",
                next="dbg replay",
            )

    async def _go_back(self, kind: StepKind | None, thread: int) -> None:
        reverse_step = ReverseStep(
            self._command_set,
            self._move_back,
            lambda: self._depth(thread),
            self._stops_at,
        )
        try:
            halt = await reverse_step.back(kind, thread)
        except (DebuggerLost, DebuggerTimeout):
            raise
        except DebuggerError as error:
            halt = self._unmoved_stop(error.message)
        finally:
            self._drain()
            self.rewinding = False
        self._stops.stopped()
        self._known_decision = await self._breakpoints.evaluate_hit(
            halt, FrameRef(self.thread, 0), back=True
        )
        await self._on_stop(halt)

    async def _move_back(self, command: str) -> StopInfo | None:
        text = await self._queries.console.send(command)
        halt = self._command_set.read_stop(text)
        if halt is None:
            raise DebuggerError(self._command_set.refusal(text) or "the program did not go back.")
        self.set_stopped(halt)
        return halt

    async def _stops_at(self, halt: StopInfo) -> bool:
        decision = await self._breakpoints.evaluate_hit(halt, FrameRef(self.thread, 0), back=True)
        return bool(decision.breakpoints) or not decision.met
