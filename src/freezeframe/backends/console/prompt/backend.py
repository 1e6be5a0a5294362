"""A debugger at its prompt as a `Backend`: everything that a session asks of it.

What a debugger's spelling lacks is refused here, in one way for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    BoundBreakpoint,
    Configuration,
    Core,
    Feature,
    Passed,
    RawFrame,
    RawScope,
    RawValue,
    StepKind,
    ToolInfo,
    WantedBreakpoint,
)
from freezeframe.backends.debugger import Found
from freezeframe.backends.unwinding import refused_restart, refused_return
from freezeframe.config import Config
from freezeframe.errors import (
    DebuggerError,
    DebuggerLost,
    DebuggerTimeout,
    EvaluationFailed,
    Unsupported,
)
from freezeframe.model.answers import Instruction
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, StopReason, Thread

from .life import PromptLife
from .spelling import Ask, At, Spelling, features_of

T = TypeVar("T")

#: for a running program to hear a signal, unless it waits for something
_HEARD_S = 1.0
_OF_THE_DEAD = frozenset({Feature.MEMORY_READ, Feature.REGISTERS, Feature.DISASSEMBLE, Feature.RAW})


class PromptBackend(PromptLife):
    """One debugger at its prompt, at work on one process. See `backends.backend.Backend`."""

    # --- who it is

    @property
    def tool(self) -> ToolInfo:
        return replace(super().tool, joint=self._spelling.joint)

    @property
    def features(self) -> frozenset[Feature]:
        found = features_of(self._spelling)
        if isinstance(self.target, Core):
            return found & _OF_THE_DEAD
        if self.streams is not None and self.streams.feeder is not None:
            found |= {Feature.STDIN}
        return found

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        return self._spelling.filters

    @property
    def advertised(self) -> Mapping[str, object]:
        return {}

    def unsupported_hint(self, feature: Feature) -> str | None:
        return self._spelling.nearest.get(feature)

    # --- breakpoints

    async def _set(
        self, group: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        if self._motion.running and not self._spelling.pauses:
            return self._set_later(group, wanted)
        late = self._spelling.interrupt_late or self._spelling.gentle is not None
        if not (late and self._motion.running):
            async with self._motion.standing(self._config.timeouts.request_s):
                return await self._marks.set(group, wanted)
        try:
            async with self._motion.standing(_HEARD_S):
                return await self._marks.set(group, wanted)
        except DebuggerTimeout:
            return self._set_later(group, wanted)

    def _set_later(
        self, group: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        """Set breakpoints as soon as a program can be held that does not hear of it now."""

        async def set_now() -> None:
            for bound in await self._marks.set(group, wanted):
                self.emit(events.BreakpointMoved(bound))

        self._motion.postpone(set_now)
        why = "the program waits for something; it is set as soon as that comes"
        if not self._spelling.pauses:
            why = f"{self._name} holds no running program; it is set at the next stop"
        return [BoundBreakpoint(want.id, False, message=why) for want in wanted]

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        async with self._motion.standing(self._config.timeouts.request_s):
            await self._set_filters(Configuration((), filters).filters_among(self.filters))

    async def passed(self, breakpoints: Sequence[int]) -> Passed:
        failures = {id: why for id, why in self._motion.failures.items() if id in breakpoints}
        return Passed(tuple(breakpoints), failures)

    def check_condition(self, expression: str, path: str | None) -> str | None:
        return self._spelling.check_condition(expression)

    # --- execution

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self._alive()
        await self._motion.resume(thread, only=only)

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        self._alive()
        await self._motion.step(kind, thread, instruction=instruction)

    async def step_back(self, thread: int, kind: StepKind | None = StepKind.OVER) -> None:
        self._alive()
        await self._motion.back(kind, thread)

    async def pause(self, thread: int | None) -> None:
        self._alive()
        await self._motion.pause()

    async def jump(self, thread: int, path: str, line: int) -> None:
        self._alive()
        if not await self._motion.jump(At(thread, 0), path, line):
            raise self._lacks(Feature.JUMP)

    async def force_return(self, thread: int, value: str | None) -> None:
        self._alive()
        at = At(thread, 0)
        asked = self._spelling.force_return(at, value)
        if asked is None:
            raise self._lacks(Feature.FORCE_RETURN)
        try:
            await self._motion.force_return(at, asked)
        except EvaluationFailed as error:
            raise refused_return(error.message) from None

    async def restart_frame(self, thread: int, frame: int) -> None:
        self._alive()
        asked = self._spelling.restart_frame(self._at(frame))
        if asked is None:
            raise self._lacks(Feature.RESTART_FRAME)
        try:
            await self._motion.restart_frame(self._at(frame), asked)
        except EvaluationFailed as error:
            raise refused_restart(error.message) from None

    # --- seeing

    async def threads(self) -> Sequence[Thread]:
        asked = self._spelling.threads()
        if asked is None:
            return [Thread(self._motion.thread, "main")]
        return await self._talk.ask(asked)

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        return await self._values.frames(thread, start, count)

    def _at(self, frame: int | None) -> At:
        return self._values.at(frame, At(self._motion.thread, 0))

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        return self._values.scopes(self._at(frame))

    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]:
        return await self._values.children(ref, start, count)

    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        return await self._values.evaluate(expression, self._at(frame), statement=statement)

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        return await self._values.assign(target, value, self._at(frame))

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        at = self._at(frame)
        asked = self._spelling.arguments(at)
        return None if asked is None else await self._talk.ask(asked, at)

    async def exception(self, thread: int) -> ExceptionInfo | None:
        asked = self._spelling.exception(thread)
        if asked is None or self._motion.halt.reason is not StopReason.EXCEPTION:
            return None
        info = await self._talk.ask(asked, slow=False)
        if info is None or self.streams is None:
            return info
        return self._spelling.last_words(info, "\n".join(self.streams.words.lines(100)))

    async def raw(self, command: str, frame: int | None) -> str:
        at = self._at(frame)
        if self._spelling.moves(command):
            return await self._run_raw(command)
        try:
            return await self._talk.ask(self._spelling.raw(command), at)
        except EvaluationFailed:
            raise
        except (DebuggerLost, DebuggerTimeout, Unsupported):
            raise
        except DebuggerError as error:
            raise EvaluationFailed(error.message) from None
        finally:
            self._talk.unsettled()

    async def _run_raw(self, command: str) -> str:
        """Send a command of the user's own that lets the program run."""
        self.emit(events.Continued())
        await self._motion.raw(command)
        return "the program runs; `dbg await` shows where it stops"

    # --- machine level

    async def _machine(self, asked: Ask[T] | None, feature: Feature) -> T:
        if asked is None:
            raise self._lacks(feature)
        return await self._talk.ask(asked)

    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]:
        asked = self._spelling.read_memory(address, count)
        return await self._machine(asked, Feature.MEMORY_READ)

    async def write_memory(self, address: str, data: bytes) -> int:
        asked = self._spelling.write_memory(address, data)
        return await self._machine(asked, Feature.MEMORY_WRITE)

    async def disassemble(self, address: str, count: int, offset: int = 0) -> Sequence[Instruction]:
        asked = self._spelling.disassemble(address, count, offset)
        return await self._machine(asked, Feature.DISASSEMBLE)

    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint:
        bound = await self._marks.watch(expression, access, condition, self._at(frame))
        if bound is None:
            raise self._lacks(Feature.WATCHPOINTS)
        return bound

    async def unwatch(self, id: int) -> None:
        async with self._motion.standing(self._config.timeouts.request_s):
            await self._marks.unwatch(id)

    async def save_core(self, path: str) -> None:
        await self._machine(self._spelling.save_core(path), Feature.SAVE_CORE)


def prompted(spell: Callable[[], Spelling]) -> Callable[[Found, Config], PromptBackend]:
    """Return what a `Debugger` makes a backend with, of a debugger's spelling."""
    return lambda found, config: PromptBackend(spell(), found, config)
