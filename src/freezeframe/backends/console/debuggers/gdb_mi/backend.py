"""gdb through MI as a `Backend`: everything that a session asks of it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

from freezeframe.backends import native_tests
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
    WantedBreakpoint,
)
from freezeframe.backends.console.reader import Fields, quote
from freezeframe.backends.transport.system_calls import is_disturbed_by_a_halt
from freezeframe.errors import (
    EvaluationFailed,
    Stale,
)
from freezeframe.model.answers import Instruction
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Thread

from . import machine, names, waits
from .life import GdbLife
from .line import Answered, GdbRefused, at, rows
from .marks import FILTERS
from .objects import Place
from .shapes import levels_of

_ALWAYS = frozenset(
    {
        Feature.FUNCTION_BREAKPOINTS,
        Feature.CONDITIONS,
        Feature.HIT_COUNTS,
        Feature.ADDRESS_BREAKPOINTS,
        Feature.WATCHPOINTS,
        Feature.EXCEPTIONS,
        Feature.EXCEPTION_TYPES,
        Feature.SET,
        Feature.JUMP,
        Feature.FORCE_RETURN,
        Feature.MEMORY_READ,
        Feature.MEMORY_WRITE,
        Feature.REGISTERS,
        Feature.DISASSEMBLE,
        Feature.INSTRUCTION_STEP,
        Feature.SINGLE_THREAD,
        Feature.RAW,
        Feature.SAVE_CORE,
        Feature.STEP_BACK,
        Feature.PAUSE,
        Feature.DETACH,
    }
)
_OF_THE_DEAD = frozenset({Feature.MEMORY_READ, Feature.REGISTERS, Feature.DISASSEMBLE, Feature.RAW})
_HINTS = {
    Feature.RESTART: "dbg restart",
    Feature.LOGPOINTS: "dbg raw 'dprintf FILE:LINE,\"%d\\n\",EXPR'",
}


class GdbMi(GdbLife):
    """One gdb at work on one process. See `backends.backend.Backend`."""

    def _another(self) -> GdbMi:
        return GdbMi(self._found, self._config)

    # --- who it is

    @property
    def features(self) -> frozenset[Feature]:
        if isinstance(self.target, Core):
            return _OF_THE_DEAD
        found = set(_ALWAYS)
        if self._marks.python:
            found.add(Feature.LOGPOINTS)
        if self.streams is not None and self.streams.feeder is not None:
            found.add(Feature.STDIN)
        return frozenset(found)

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        if isinstance(self.target, Core):
            return ()  # the dead throw nothing
        known = (*FILTERS, *((native_tests.FILTER,) if self._marks.failing else ()))
        return tuple(
            replace(f, default=f.default or f.name in self._default_filters) for f in known
        )

    @property
    def advertised(self) -> Mapping[str, object]:
        return dict.fromkeys(self._advertised, True)

    def unsupported_hint(self, feature: Feature) -> str | None:
        return _HINTS.get(feature)

    # --- breakpoints

    async def _set(
        self, group: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        async with self._motion.standing(self._config.timeouts.request_s):
            return await self._marks.set(group, wanted)

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        if isinstance(self.target, Core):
            return  # the dead throw nothing
        async with self._motion.standing(self._config.timeouts.request_s):
            chosen = Configuration(filters=filters).filters_among(self.filters)
            await self._marks.set_filters(chosen)

    async def passed(self, breakpoints: Sequence[int]) -> Passed:
        failures = {id: why for id, why in self._motion.failures.items() if id in breakpoints}
        return Passed(tuple(breakpoints), failures)

    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint:
        place = self._place(frame)
        thread, level = (place.thread, place.level) if place is not None else (None, 0)
        return await self._watches.add(expression, access, condition, thread, level, self._rust)

    async def unwatch(self, id: int) -> None:
        async with self._motion.standing(self._config.timeouts.request_s):
            await self._watches.remove(id)

    # --- execution

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self._alive()
        self._frames.clear()
        await self._motion.resume(thread, only=only)

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        self._alive()
        self._frames.clear()
        await self._motion.step(kind, thread, instruction=instruction)

    async def step_back(self, thread: int, kind: StepKind | None = StepKind.OVER) -> None:
        self._alive()
        await self._motion.check_recording()
        self._frames.clear()
        await self._motion.back(kind, thread)

    async def pause(self, thread: int | None) -> None:
        self._alive()
        await self._motion.pause()

    @contextlib.asynccontextmanager
    async def halt_briefly(self) -> AsyncIterator[bool]:
        pid = self._motion.pid
        free = self._motion.running and self._motion.free
        if not free or pid is None or is_disturbed_by_a_halt(pid):
            yield False
            return
        async with self._motion.standing(self._config.timeouts.request_s):
            yield True
        self._frames.clear()

    async def jump(self, thread: int, path: str, line: int) -> None:
        self._alive()
        self._frames.clear()
        await self._motion.jump(thread, path, line)

    async def force_return(self, thread: int, value: str | None) -> None:
        self._alive()
        await self._motion.force_return(thread, value)
        self._frames.clear()

    # --- seeing

    async def threads(self) -> Sequence[Thread]:
        body = await self._line.ask("-thread-info")
        return [
            Thread(int(each["id"]), _thread_name(each), str(each.get("state", "stopped")))
            for each in rows(body.get("threads"))
        ]

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        end = start + count
        if start == 0:
            self._values.foresee(Place(thread, 0))
        listed, called, depth, *optimized = await self._line.together(
            [
                f"-stack-list-frames --thread {thread} {start} {end - 1}",
                f"-stack-list-arguments --thread {thread} --simple-values {start} {end - 1}",
                # Bounded: an endless recursion has more frames than anyone waits for.
                f"-stack-info-depth --thread {thread} {end + 1}",
                *self._ask_optimized(thread, start, end - 1),
            ]
        )
        levels = (
            set(levels_of(optimized[0].said))
            if optimized and isinstance(optimized[0], Answered)
            else set()
        )
        total = None
        if isinstance(depth, Answered):
            known = int(depth.result.fields["depth"])
            total = known if known <= end else None
        if isinstance(listed, GdbRefused):
            if total is not None and start >= total:
                return [], total
            raise listed
        told: dict[str, str | None] = {}
        if isinstance(called, Answered):
            stack = rows(called.result.fields.get("stack-args"))
            told = {each["level"]: names.arguments(each, self._rust) for each in stack}
        frames = []
        for each in rows(listed.result.fields.get("stack")):
            self._last_frame += 1
            self._frames[self._last_frame] = Place(thread, int(each["level"]))
            arguments = told.get(each["level"])
            frame = names.frame(each, self._last_frame, arguments, self._debug)
            frames.append(replace(frame, optimized=int(each["level"]) in levels))
        return await waits.told(self._line, thread, start, frames), total

    def _ask_optimized(self, thread: int, first: int, last: int) -> list[str]:
        if not self._values.python:
            return []
        probe = quote(f"python freezeframe_optimized({first}, {last})")
        return [f"-interpreter-exec --thread {thread} --frame 0 console {probe}"]

    def _place(self, frame: int | None) -> Place | None:
        if frame is None:
            return None
        place = self._frames.get(frame)
        if place is None:
            raise Stale("that frame is of an earlier stop.", next="dbg backtrace")
        return place

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        place = self._place(frame)
        assert place is not None
        return self._values.scopes(place)

    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]:
        return await self._values.children(ref, start, count)

    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        return await self._values.evaluate(expression, self._place(frame))

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        return await self._values.assign(target, value, self._place(frame))

    async def exception(self, thread: int) -> ExceptionInfo | None:
        return self._motion.exception

    async def in_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        return await self._values.in_hex(expression, self._place(frame))

    # --- machine level

    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]:
        return await machine.read_memory(self._line, address, count)

    async def write_memory(self, address: str, data: bytes) -> int:
        self._values.stale()
        return await machine.write_memory(self._line, address, data)

    async def disassemble(self, address: str, count: int, offset: int = 0) -> Sequence[Instruction]:
        return await machine.disassemble(self._line, address, count, offset)

    async def raw(self, command: str, frame: int | None) -> str:
        place = self._place(frame)
        self._values.stale()
        where = at(place.thread, place.level) if place is not None else ""
        try:
            return await self._line.cli(command, where=where)
        except GdbRefused as error:
            raise EvaluationFailed(error.message) from None
        finally:
            self._look_for_end()

    async def save_core(self, path: str) -> None:
        await self._line.cli(f"generate-core-file {path}")


def _thread_name(body: Fields) -> str:
    name = body.get("name") or body.get("details")
    if name:
        return str(name)
    # In a core file threads have no names: what tells them apart is the system's number.
    target = str(body.get("target-id") or "")
    number = re.search(r"LWP \d+", target)
    return number[0] if number else target
