"""A recorded run as a debugger that can only be looked through.

It satisfies `Backend`, so that every operation that looks at a stop works on a recording as it
does on a live program, and going on means going to the next recorded stop.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping, Sequence

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    BoundBreakpoint,
    Configuration,
    Feature,
    Passed,
    RawFrame,
    RawScope,
    RawValue,
    Sink,
    StepKind,
    Target,
    ToolInfo,
    WantedBreakpoint,
)
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.answers import Instruction
from freezeframe.model.history import RecordedStop, Recording
from freezeframe.model.places import Source
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason, Thread
from freezeframe.model.values import Value
from freezeframe.session.sources import Sources

from . import codec, places, plain, where
from .plain import Missing, Structure
from .secrets import Secrets

_NO_SECRETS = Secrets(())


class Replay:
    """Walks through a recording. Nothing runs."""

    def __init__(self, recording: Recording, root: str, first: int = 1) -> None:
        """*root* is what relative paths are below; *first* the stop to begin at."""
        self._recording = recording
        self._root = root
        self._at = first - 1
        self._sink: Sink = lambda event: None
        self._wanted: dict[int, WantedBreakpoint] = {}
        self._values: list[Sequence[Value]] = []
        self._printed = 0
        self._over = False

    # --- who it is

    @property
    def tool(self) -> ToolInfo:
        run = self._recording.run
        of = f" ({run.debugger})" if run.debugger else ""
        return ToolInfo(f"recording of run {run.number}{of}", None, "recording")

    @property
    def features(self) -> frozenset[Feature]:
        return frozenset({Feature.STEP_BACK, Feature.FUNCTION_BREAKPOINTS})

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        return ()

    @property
    def advertised(self) -> Mapping[str, object]:
        return {}

    @property
    def lingering(self) -> bool:
        return False

    def unsupported_hint(self, feature: Feature) -> str | None:
        return "dbg locals"

    # --- life

    async def start(
        self, target: Target, configuration: Configuration, sink: Sink
    ) -> Sequence[BoundBreakpoint]:
        self._sink = sink
        self._over = False
        sink(events.Initialized())
        sink(events.ProcessStarted(None, self._recording.run.program))
        bound = [self._bind(wanted) for wanted in configuration.breakpoints]
        asyncio.get_running_loop().call_soon(self._go, self._at)
        return bound

    def _go(self, index: int) -> None:
        """Stand at a recorded stop; beyond the last one the run has ended."""
        if self._over:
            return
        stops = self._recording.stops
        self._values = []
        if index >= len(stops):
            self._print(None)
            self._over = True
            self._sink(events.Ended(self._recording.run.exit or Exit()))
            return
        self._at = index
        stop = stops[index]
        self._print(stop.cursor)
        words = f"recorded stop {stop.number} of {len(stops)}"
        reason = StopReason(stop.reason)
        self._sink(
            events.Stopped(
                reason,
                stop.thread,
                stop.description if reason is StopReason.SIGNAL else words,
            )
        )

    def _print(self, cursor: int | None) -> None:
        """Tell what was printed up to a cursor, once."""
        start = 0
        for chunk in self._recording.output:
            end = start + len(chunk.text)
            upto = end if cursor is None else min(end, cursor)
            if upto > max(start, self._printed):
                text = chunk.text[max(0, self._printed - start) : upto - start]
                self._sink(events.Printed(chunk.stream, text))
                self._printed = upto
            start = end

    async def terminate(self) -> None:
        if not self._over:
            self._over = True
            self._sink(events.Ended(Exit(how="killed")))

    async def detach(self) -> None:
        raise _nothing_runs()

    async def dispose(self) -> None:
        self._over = True

    # --- breakpoints: where `continue` stops besides

    def _bind(self, wanted: WantedBreakpoint) -> BoundBreakpoint:
        self._wanted[wanted.id] = wanted
        hits = sum(self._is_at(stop, wanted) for stop in self._recording.stops)
        message = None if hits else "the recording has no stop there"
        place = wanted.location
        return BoundBreakpoint(wanted.id, bool(hits), place.file, place.line, message)

    def _is_at(self, stop: RecordedStop, wanted: WantedBreakpoint) -> bool:
        if not stop.frames:
            return False
        top, place = stop.frames[0], wanted.location
        if place.file is not None:
            return (places.absolute(top.path, self._root), top.line) == (place.file, place.line)
        key = places.function_key(top.function)
        return place.function is not None and place.function in (key, places.bare(key))

    async def set_breakpoints(
        self, path: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        self._forget([w for w in self._wanted.values() if w.location.file == path])
        return [self._bind(each) for each in wanted]

    async def set_function_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        self._forget([w for w in self._wanted.values() if w.location.function is not None])
        return [self._bind(each) for each in wanted]

    def _forget(self, gone: Sequence[WantedBreakpoint]) -> None:
        for each in gone:
            del self._wanted[each.id]

    async def set_address_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        raise _nothing_runs()

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        raise _nothing_runs()

    async def passed(self, breakpoints: Sequence[int]) -> Passed:
        return Passed(tuple(breakpoints))

    def check_condition(self, expression: str, path: str | None) -> str | None:
        return "a recording has no conditions; `dbg hits LOC --where` has"

    def check_log(self, message: str, path: str | None) -> str | None:
        return None

    # --- going on, and back

    @property
    def _stop(self) -> RecordedStop:
        return self._recording.stops[self._at]

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        """Go to the next stop that a breakpoint stands at, or that was the program's own doing.

        Where no breakpoints stand, those that made the recorded stops count.
        """
        stops = self._recording.stops
        index = self._at + 1
        while index < len(stops) and not self._halts(stops[index]):
            index += 1
        self._move(index)

    def _halts(self, stop: RecordedStop) -> bool:
        """Whether a program that is let run would come to that stop."""
        passed = {StopReason.STEP} | ({StopReason.BREAKPOINT} if self._wanted else set())
        wanted = any(self._is_at(stop, each) for each in self._wanted.values())
        return wanted or stop.reason not in passed

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        index, depth = self._at + 1, self._stop.depth
        if kind is StepKind.OUT and depth is not None:
            stops = self._recording.stops
            while index < len(stops) and (stops[index].depth or 0) >= depth:
                index += 1
        self._move(index)

    async def step_back(self, thread: int, kind: StepKind | None = StepKind.OVER) -> None:
        if self._at == 0:
            raise DebuggerError("this is the first recorded stop.", next="dbg next")
        stops, index, depth = self._recording.stops, self._at - 1, self._stop.depth
        if kind is None:
            while index > 0 and not self._halts(stops[index]):
                index -= 1
        if kind is StepKind.OUT and depth is not None:
            while index > 0 and (stops[index].depth or 0) >= depth:
                index -= 1
        self._move(index)

    def _move(self, index: int) -> None:
        self._sink(events.Continued())
        asyncio.get_running_loop().call_soon(self._go, index)

    async def pause(self, thread: int | None) -> None:
        raise _nothing_runs()

    async def jump(self, thread: int, path: str, line: int) -> None:
        raise _nothing_runs()

    # --- seeing

    async def threads(self) -> Sequence[Thread]:
        return [Thread(self._stop.thread, self._stop.thread_name)]

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        if thread != self._stop.thread:
            raise DebuggerError("only the thread that stopped was recorded.", next="dbg backtrace")
        frames = [
            RawFrame(
                frame.index,
                frame.function,
                places.absolute(frame.path, self._root),
                frame.line,
                module=frame.module,
                library=frame.library,
                arguments=frame.arguments,
            )
            for frame in self._stop.frames[start : start + count]
        ]
        depth = self._stop.depth
        return frames, max(depth, len(self._stop.frames)) if depth is not None else None

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        if frame != self._stop.shown:
            return ()
        return [
            RawScope(scope.name, scope.kind, self._keep(scope.values), count=len(scope.values))
            for scope in self._stop.scopes
        ]

    def _keep(self, values: Sequence[Value]) -> int:
        """Return a reference for *values*; 0 for none."""
        self._values.append(values)
        return len(self._values)

    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]:
        values = self._values[ref - 1][start : None if count is None else start + count]
        return [self._raw(value) for value in values]

    def _raw(self, value: Value) -> RawValue:
        return RawValue(
            value.name,
            value.text,
            value.type,
            self._keep(value.children) if value.children else 0,
            value.count,
            opaque=value.opaque,
            failed=value.failed,
        )

    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        if frame is not None and frame != self._stop.shown:
            raise EvaluationFailed(
                f"the variables of frame {frame} were not recorded; "
                f"those of frame {self._stop.shown} were.",
                next=f"dbg frame {self._stop.shown}",
            )
        known = {v.name: v for scope in self._stop.scopes for v in scope.values}
        if expression.strip() in known:
            return self._raw(known[expression.strip()])
        for watched in self._stop.watched:
            if watched.expression == expression.strip():
                return RawValue(expression, watched.text)

        def find(name: str) -> object:
            if name not in known:
                raise Missing(name)
            return plain.read(codec.raw_value(known[name], _NO_SECRETS, 9, 1 << 30))

        try:
            found = where.compile(expression)(find)
        except Missing as missing:
            have = ", ".join(known)
            raise EvaluationFailed(
                f"{missing} was not recorded" + (f"; there are {have}." if have else ".")
            ) from None
        if isinstance(found, Structure):
            return self._raw(found.value)
        return RawValue(expression, repr(found))

    async def in_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        return None

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        raise _nothing_runs()

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        return None

    def slice_expression(self, expression: str, start: int, end: int) -> str | None:
        return None

    async def exception(self, thread: int) -> ExceptionInfo | None:
        if self._stop.exception is None:
            return None
        kind, _, message = self._stop.exception.partition(": ")
        return ExceptionInfo(kind, message)

    async def source(self, reference: int, path: str | None) -> str:
        raise _nothing_runs()

    def drain(self) -> None:
        pass

    # --- what only a program can do

    async def write_stdin(self, data: bytes) -> None:
        raise _nothing_runs()

    async def close_stdin(self) -> None:
        raise _nothing_runs()

    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]:
        raise _nothing_runs()

    async def write_memory(self, address: str, data: bytes) -> int:
        raise _nothing_runs()

    async def disassemble(self, address: str, count: int, offset: int = 0) -> Sequence[Instruction]:
        raise _nothing_runs()

    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint:
        raise _nothing_runs()

    async def unwatch(self, id: int) -> None:
        raise _nothing_runs()

    async def save_core(self, path: str) -> None:
        raise _nothing_runs()

    async def raw(self, command: str, frame: int | None) -> str:
        raise _nothing_runs()


def _nothing_runs() -> Unsupported:
    return Unsupported(
        "this is a recording: it can be looked at, and nothing in it runs.", next="dbg restart"
    )


class RecordedSources(Sources):
    """The files of a run as they were while it went on, and no others.

    A recording that was imported names whatever its author likes; what is on this machine may be
    something else, or nobody's business.
    """

    def __init__(self, recording: Recording, root: str) -> None:
        super().__init__()
        self._kept = {
            os.path.join(root, source.file): source.text.split("\n") for source in recording.sources
        }

    def lines(self, path: str) -> list[str]:
        kept = self._kept.get(path)
        if kept is None:
            raise FileNotFoundError(errno.ENOENT, "not in the recording", path)
        return kept

    def excerpt(
        self,
        path: str,
        line: int,
        context: int,
        *,
        current: int | None = None,
        newer_than: float | None = None,
    ) -> Source:
        from dataclasses import replace

        found = super().excerpt(path, line, context, current=current)
        kept = self._kept.get(path)
        if kept is None:
            return found
        try:
            same = super().lines(path) == kept
        except OSError:
            return replace(found, note="as it was then; the file is gone")
        return found if same else replace(found, note="as it was then; the file has changed since")
