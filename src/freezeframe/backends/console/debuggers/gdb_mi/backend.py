"""gdb through MI as a `Backend`: everything that a session requests."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

from freezeframe.backends import native_tests
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
    alternative,
)
from freezeframe.backends.capabilities import supported
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields, quote
from freezeframe.backends.transport.system_calls import is_disturbed_by_a_halt
from freezeframe.errors import EvaluationFailed, Stale
from freezeframe.model.answers import Instruction
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Thread

from . import blocked_threads, frame_names, memory, rust_frames
from .breakpoints import FILTERS
from .lifecycle import GdbLifecycle
from .mi_channel import Answered, MiError, at, rows
from .value_nodes import levels_of
from .var_objects import GdbFrameRef
from .watchpoints import WatchRequest

#: in addition to those that methods implement
_ALWAYS = frozenset(
    {
        Feature.FUNCTION_BREAKPOINTS,
        Feature.CONDITIONS,
        Feature.HIT_COUNTS,
        Feature.EXCEPTIONS,
        Feature.EXCEPTION_TYPES,
        Feature.REGISTERS,
        Feature.INSTRUCTION_STEP,
        Feature.SINGLE_THREAD,
        Feature.PAUSE,
        Feature.DETACH,
    }
)
_CORE_FEATURES = frozenset(
    {Feature.MEMORY_READ, Feature.REGISTERS, Feature.DISASSEMBLE, Feature.RAW}
)
_HINTS = {
    Feature.LOGPOINTS: "dbg raw 'dprintf FILE:LINE,\"%d\\n\",EXPR'",
}


class GdbMi(GdbLifecycle):
    """One gdb debugging one process. See `backends.backend.Backend`."""

    def _new_backend(self) -> GdbMi:
        return GdbMi(self._found, self._config)

    # --- capabilities

    @property
    def features(self) -> frozenset[Feature]:
        if isinstance(self.target, Core):
            return _CORE_FEATURES
        found = _ALWAYS | supported(GdbMi)
        if self._breakpoints.python:
            found |= {Feature.LOGPOINTS}
        writable = self.io is not None and self.io.stdin is not None
        return found if writable else found - {Feature.STDIN}

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        if isinstance(self.target, Core):
            return ()  # a core file throws nothing
        known = (*FILTERS, *((native_tests.FILTER,) if self._breakpoints.failing else ()))
        return tuple(
            replace(f, default=f.default or f.name in self._default_filters) for f in known
        )

    @property
    def advertised(self) -> Mapping[str, object]:
        return dict.fromkeys(self._advertised, True)

    def unsupported_hint(self, feature: Feature) -> str:
        return alternative(feature, _HINTS)

    # --- breakpoints

    async def _set(
        self, group: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        async with self._execution.paused(self._config.timeouts.request_s):
            return await self._breakpoints.set(group, requests)

    async def set_address_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        return await self._set("address", requests)

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        if isinstance(self.target, Core):
            return  # a core file throws nothing
        async with self._execution.paused(self._config.timeouts.request_s):
            chosen = Configuration(filters=filters).filters_among(self.filters)
            await self._breakpoints.set_filters(chosen)

    async def hit_breakpoints(self, breakpoints: Sequence[int]) -> HitBreakpoints:
        failures = {id: why for id, why in self._execution.failures.items() if id in breakpoints}
        return HitBreakpoints(tuple(breakpoints), failures)

    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint:
        frame_ref = self._frame_ref(frame)
        thread, level = (frame_ref.thread, frame_ref.level) if frame_ref is not None else (None, 0)
        lvalue = await self._values.lvalue(expression, frame_ref)
        watch = WatchRequest(expression, lvalue, access, condition)
        return await self._watches.add(watch, thread, level, self._rust)

    async def unwatch(self, id: int) -> None:
        async with self._execution.paused(self._config.timeouts.request_s):
            await self._watches.remove(id)

    # --- execution

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self._alive()
        self._frames.clear()
        await self._execution.resume(thread, only=only)

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        self._alive()
        self._frames.clear()
        await self._execution.step(kind, thread, instruction=instruction)

    async def step_back(self, thread: int, kind: StepKind | None = StepKind.OVER) -> None:
        self._alive()
        await self._execution.check_recording()
        self._frames.clear()
        await self._execution.back(kind, thread)

    async def pause(self, thread: int | None) -> None:
        self._alive()
        await self._execution.pause()

    @contextlib.asynccontextmanager
    async def halt_briefly(self) -> AsyncIterator[bool]:
        pid = self._execution.pid
        free = self._execution.running and self._execution.free
        if not free or pid is None or is_disturbed_by_a_halt(pid):
            yield False
            return
        async with self._execution.paused(self._config.timeouts.request_s):
            yield True
        self._frames.clear()

    async def jump(self, thread: int, path: str, line: int) -> None:
        self._alive()
        self._frames.clear()
        await self._execution.jump(thread, path, line)

    async def force_return(self, thread: int, value: str | None) -> None:
        self._alive()
        await self._execution.force_return(thread, value)
        self._frames.clear()

    # --- inspection

    async def threads(self) -> Sequence[Thread]:
        body = await self._channel.request("-thread-info")
        return [
            Thread(int(each["id"]), _thread_name(each), str(each.get("state", "stopped")))
            for each in rows(body.get("threads"))
        ]

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        end = start + count
        if start == 0:
            self._values.prefetch(GdbFrameRef(thread, 0))
        listed, called, depth, *optimized = await self._channel.request_all(
            [
                f"-stack-list-frames --thread {thread} {start} {end - 1}",
                f"-stack-list-arguments --thread {thread} --simple-values {start} {end - 1}",
                # Bounded: counting all frames of an endless recursion takes too long.
                f"-stack-info-depth --thread {thread} {end + 1}",
                *self._optimized_command(thread, start, end - 1),
            ]
        )
        levels = (
            set(levels_of(optimized[0].console_text))
            if optimized and isinstance(optimized[0], Answered)
            else set()
        )
        total = None
        if isinstance(depth, Answered):
            known = int(depth.result.fields["depth"])
            total = known if known <= end else None
        if isinstance(listed, MiError):
            if total is not None and start >= total:
                return [], total
            raise listed
        called_with: dict[str, str | None] = {}
        if isinstance(called, Answered):
            stack = rows(called.result.fields.get("stack-args"))
            called_with = {each["level"]: frame_names.arguments(each, self._rust) for each in stack}
        frames = []
        for each in rows(listed.result.fields.get("stack")):
            self._last_frame += 1
            self._frames[self._last_frame] = GdbFrameRef(thread, int(each["level"]))
            arguments = called_with.get(each["level"])
            frame = frame_names.frame(each, self._last_frame, arguments, self._debug)
            frames.append(replace(frame, optimized=int(each["level"]) in levels))
        named = await rust_frames.with_names(self._channel, thread, start, frames)
        return await blocked_threads.with_lock_holders(self._channel, thread, start, named), total

    def _optimized_command(self, thread: int, first: int, last: int) -> list[str]:
        if not self._values.python:
            return []
        agent = quote(f"python freezeframe_optimized({first}, {last})")
        return [f"-interpreter-exec --thread {thread} --frame 0 console {agent}"]

    def _frame_ref(self, frame: int | None) -> GdbFrameRef | None:
        if frame is None:
            return None
        frame_ref = self._frames.get(frame)
        if frame_ref is None:
            raise Stale("that frame belongs to an earlier stop.", next="dbg backtrace")
        return frame_ref

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        frame_ref = self._frame_ref(frame)
        assert frame_ref is not None
        return self._values.scopes(frame_ref)

    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]:
        return await self._values.children(ref, start, count)

    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        return await self._values.evaluate(expression, self._frame_ref(frame))

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        return await self._values.assign(target, value, self._frame_ref(frame))

    async def exception(self, thread: int) -> ExceptionInfo | None:
        return self._execution.exception

    async def evaluate_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        return await self._values.in_hex(expression, self._frame_ref(frame))

    # --- machine level

    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]:
        return await memory.read_memory(self._channel, address, count)

    async def write_memory(self, address: str, data: bytes) -> int:
        self._values.invalidate()
        return await memory.write_memory(self._channel, address, data)

    async def disassemble(self, address: str, count: int, offset: int = 0) -> Sequence[Instruction]:
        return await memory.disassemble(self._channel, address, count, offset)

    async def raw(self, command: str, frame: int | None) -> str:
        frame_ref = self._frame_ref(frame)
        self._values.invalidate()
        where = at(frame_ref.thread, frame_ref.level) if frame_ref is not None else ""
        try:
            return await self._channel.cli(command, where=where)
        except MiError as error:
            raise EvaluationFailed(error.message) from None
        finally:
            self._check_exit()

    async def save_core(self, path: str) -> None:
        await self._channel.cli(f"generate-core-file {path}")


def _thread_name(body: Fields) -> str:
    name = body.get("name") or body.get("details")
    if name:
        return str(name)
    # Threads of a core file have no names; the system's thread id distinguishes them.
    target = str(body.get("target-id") or "")
    number = re.search(r"LWP \d+", target)
    return number[0] if number else target
