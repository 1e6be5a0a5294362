"""A debugger at its prompt as a `Backend`.

An operation that a debugger's command set lacks is refused here, in the same way for all.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    BoundBreakpoint,
    BreakpointRequest,
    Configuration,
    Core,
    Feature,
    HitBreakpoints,
    RawFrame,
    RawScope,
    RawValue,
    StepKind,
    ToolInfo,
    alternative,
)
from freezeframe.backends.debugger import Found
from freezeframe.backends.snapshots import Snapshot
from freezeframe.backends.transport.system_calls import is_busy
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

from .command_set import CommandSet, ConsoleQuery, FrameRef, features_of
from .lifecycle import PromptLifecycle

T = TypeVar("T")

#: for a running program to handle a signal, unless it is blocked
_INTERRUPT_S = 1.0
_CORE_FEATURES = frozenset(
    {Feature.MEMORY_READ, Feature.REGISTERS, Feature.DISASSEMBLE, Feature.RAW}
)


class PromptBackend(PromptLifecycle):
    """One debugger at its prompt, debugging one process. See `backends.backend.Backend`."""

    # --- identity and capabilities

    @property
    def tool(self) -> ToolInfo:
        commands = self._command_set
        return replace(super().tool, joint=commands.joint, mutable=commands.mutable)

    @property
    def features(self) -> frozenset[Feature]:
        found = features_of(self._command_set)
        if isinstance(self.target, Core):
            return found & _CORE_FEATURES
        if self.io is not None and self.io.stdin is not None:
            found |= {Feature.STDIN}
        return found

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        return self._command_set.filters

    @property
    def advertised(self) -> Mapping[str, object]:
        return {}

    def unsupported_hint(self, feature: Feature) -> str:
        return alternative(feature, self._command_set.alternatives)

    # --- breakpoints

    async def _set(
        self, group: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        if self._execution.running and not self._command_set.pauses:
            return self._set_later(group, requests)
        late = self._command_set.interrupt_late or self._command_set.soft_interrupt is not None
        if not (late and self._execution.running):
            async with self._execution.paused(self._config.timeouts.request_s):
                return await self._breakpoints.set(group, requests)
        try:
            async with self._execution.paused(_INTERRUPT_S):
                return await self._breakpoints.set(group, requests)
        except DebuggerTimeout:
            return self._set_later(group, requests)

    def _set_later(
        self, group: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        """Set breakpoints at the next stop of a program that cannot be interrupted now."""

        async def set_now() -> None:
            for bound in await self._breakpoints.set(group, requests):
                self.emit(events.BreakpointChanged(bound))

        self._execution.postpone(set_now)
        why = "the program is blocked; it is set as soon as the program runs again"
        if not self._command_set.pauses:
            why = f"{self._name} cannot pause a running program; it is set at the next stop"
        return [BoundBreakpoint(request.id, False, message=why) for request in requests]

    async def set_address_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        return await self._set("address", requests)

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        async with self._execution.paused(self._config.timeouts.request_s):
            await self._set_filters(Configuration((), filters).filters_among(self.filters))

    async def hit_breakpoints(self, breakpoints: Sequence[int]) -> HitBreakpoints:
        failures = {id: why for id, why in self._execution.failures.items() if id in breakpoints}
        return HitBreakpoints(tuple(breakpoints), failures)

    def check_condition(self, expression: str) -> str | None:
        return self._command_set.check_condition(expression)

    # --- execution

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self._alive()
        await self._execution.resume(thread, only=only)

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        self._alive()
        await self._execution.step(kind, thread, instruction=instruction)

    async def step_back(self, thread: int, kind: StepKind | None = StepKind.OVER) -> None:
        self._alive()
        await self._execution.back(kind, thread)

    async def pause(self, thread: int | None) -> None:
        self._alive()
        await self._execution.pause()

    @contextlib.asynccontextmanager
    async def halt_briefly(self) -> AsyncIterator[bool | None]:
        """Halt a busy program without reporting a stop; see `HaltsBriefly.halt_briefly`."""
        execution = self._execution
        async with contextlib.AsyncExitStack() as stack:
            halted: bool | None = None
            if execution.running and self.blind_because is None:
                halted = not execution.stepping
            if halted:
                try:
                    await stack.enter_async_context(execution.paused(_INTERRUPT_S))
                    halted = True if execution.halt.reason is StopReason.PAUSE else None
                except DebuggerTimeout:
                    halted = None
            yield halted

    @property
    def blind_because(self) -> str | None:
        if Feature.PAUSE not in self.features:
            return f"{self._name} shows no stack of a program that runs"
        is_waiting = self.pid is None or not is_busy(self.pid)
        if is_waiting and self._command_set.interrupt_late:
            return "it waits in a system call, and can be paused only when that call returns"
        if not self._command_set.halts_unseen:
            return f"{self._name} shows the stack of a stopped program only: dbg pause"
        if is_waiting:
            return "it waits in a system call; dbg pause shows where, and may end that call"
        return None

    async def jump(self, thread: int, path: str, line: int) -> None:
        self._alive()
        if not await self._execution.jump(FrameRef(thread, 0), path, line):
            raise self._lacks(Feature.JUMP)

    async def force_return(self, thread: int, value: str | None) -> None:
        self._alive()
        at = FrameRef(thread, 0)
        query = self._command_set.force_return(at, value)
        if query is None:
            raise self._lacks(Feature.FORCE_RETURN)
        try:
            await self._execution.force_return(at, query)
        except EvaluationFailed as error:
            raise refused_return(error.message) from None

    async def restart_frame(self, frame: int) -> None:
        self._alive()
        query = self._command_set.restart_frame(self._at(frame))
        if query is None:
            raise self._lacks(Feature.RESTART_FRAME)
        try:
            await self._execution.restart_frame(self._at(frame), query)
        except EvaluationFailed as error:
            raise refused_restart(error.message) from None

    # --- inspection

    async def threads(self) -> Sequence[Thread]:
        query = self._command_set.threads()
        if query is None:
            return [Thread(self._execution.thread, "main")]
        return await self._queries.run(query)

    async def snapshot(self, *, stacks: bool = True, waits: bool = False) -> Snapshot | None:
        """Return the tasks at a prompt; see `TakesSnapshots.snapshot`."""
        query = None if stacks else self._command_set.tasks()
        return None if query is None else Snapshot(tasks=tuple(await self._queries.run(query)))

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        return await self._variables.frames(thread, start, count)

    def _at(self, frame: int | None) -> FrameRef:
        return self._variables.at(frame, FrameRef(self._execution.thread, 0))

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        return self._variables.scopes(self._at(frame))

    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]:
        return await self._variables.children(ref, start, count)

    def slice_expression(self, expression: str, start: int, end: int) -> str | None:
        return self._command_set.slice(expression, start, end)

    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        return await self._variables.evaluate(expression, self._at(frame), statement=statement)

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        return await self._variables.assign(target, value, self._at(frame))

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        at = self._at(frame)
        query = self._command_set.arguments(at)
        return None if query is None else await self._queries.run(query, at)

    async def exception(self, thread: int) -> ExceptionInfo | None:
        query = self._command_set.exception(thread)
        if query is None or self._execution.halt.reason is not StopReason.EXCEPTION:
            return None
        info = await self._queries.run(query, slow=False)
        if info is None or self.io is None:
            return info
        return self._command_set.complete_exception(info, "\n".join(self.io.stderr_tail.lines(400)))

    async def raw(self, command: str, frame: int | None) -> str:
        at = self._at(frame)
        if self._command_set.resumes(command):
            return await self._run_raw(command)
        try:
            return await self._queries.run(self._command_set.raw(command, at), at)
        except EvaluationFailed:
            raise
        except (DebuggerLost, DebuggerTimeout, Unsupported):
            raise
        except DebuggerError as error:
            raise EvaluationFailed(error.message) from None
        finally:
            self._queries.forget_selection()

    async def _run_raw(self, command: str) -> str:
        """Send a raw command of the user's that resumes the program."""
        self.emit(events.Continued())
        await self._execution.raw(command)
        return "the program runs; `dbg await` shows where it stops"

    # --- machine level

    async def _required(self, query: ConsoleQuery[T] | None, feature: Feature) -> T:
        if query is None:
            raise self._lacks(feature)
        return await self._queries.run(query)

    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]:
        query = self._command_set.read_memory(address, count)
        return await self._required(query, Feature.MEMORY_READ)

    async def write_memory(self, address: str, data: bytes) -> int:
        query = self._command_set.write_memory(address, data)
        return await self._required(query, Feature.MEMORY_WRITE)

    async def disassemble(self, address: str, count: int, offset: int = 0) -> Sequence[Instruction]:
        query = self._command_set.disassemble(address, count, offset)
        return await self._required(query, Feature.DISASSEMBLE)

    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint:
        bound = await self._breakpoints.watch(expression, access, condition, self._at(frame))
        if bound is None:
            raise self._lacks(Feature.WATCHPOINTS)
        return bound

    async def unwatch(self, id: int) -> None:
        async with self._execution.paused(self._config.timeouts.request_s):
            await self._breakpoints.unwatch(id)

    async def save_core(self, path: str) -> None:
        await self._required(self._command_set.save_core(path), Feature.SAVE_CORE)


def prompted(
    make_command_set: Callable[[], CommandSet],
) -> Callable[[Found, Config], PromptBackend]:
    """Return the backend factory of a `Debugger` from its command set."""
    return lambda found, config: PromptBackend(make_command_set(), found, config)
