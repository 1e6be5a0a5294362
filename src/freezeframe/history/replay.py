"""A backend that replays a recorded run.

It implements `Backend`, so that every operation that inspects a stop works on a recording as on a
live program. Resuming moves to the next recorded stop.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping, Sequence

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    BoundBreakpoint,
    BreakpointRequest,
    Configuration,
    EventSink,
    Feature,
    RawFrame,
    RawScope,
    RawValue,
    StepKind,
    Target,
    ToolInfo,
)
from freezeframe.backends.capabilities import supported
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.history import RecordedStop, Recording
from freezeframe.model.locations import Source
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason, Thread
from freezeframe.model.values import Scope, Value
from freezeframe.session.source_cache import Sources

from . import codec, expressions, location_keys, recorded_values
from .recorded_values import NotRecorded, OpaqueValue
from .redaction import Secrets

_NO_SECRETS = Secrets(())


class ReplayBackend:
    """Steps through the stops of a recording. No program runs."""

    def __init__(self, recording: Recording, root: str, first: int = 1) -> None:
        """*root* is the base of relative paths; *first* the number of the first stop."""
        self._recording = recording
        self._root = root
        self._at = first - 1
        self._sink: EventSink = lambda event: None
        self._breakpoints: dict[int, BreakpointRequest] = {}
        self._values: list[Sequence[Value]] = []
        self._printed = 0
        self._ended = False

    # --- identity

    @property
    def tool(self) -> ToolInfo:
        run = self._recording.run
        of = f" ({run.debugger})" if run.debugger else ""
        return ToolInfo(f"recording of run {run.number}{of}", None, "recording")

    @property
    def features(self) -> frozenset[Feature]:
        return supported(ReplayBackend) | {Feature.FUNCTION_BREAKPOINTS}

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        return ()

    @property
    def advertised(self) -> Mapping[str, object]:
        return {}

    @property
    def has_detached_output(self) -> bool:
        return False

    def unsupported_hint(self, feature: Feature) -> str:
        return "dbg locals"

    # --- lifecycle

    async def start(
        self, target: Target, configuration: Configuration, sink: EventSink
    ) -> Sequence[BoundBreakpoint]:
        self._sink = sink
        self._ended = False
        sink(events.Initialized())
        sink(events.ProcessStarted(None, self._recording.run.program))
        bound = [self._bind(request) for request in configuration.breakpoints]
        asyncio.get_running_loop().call_soon(self._stop_at, self._at)
        return bound

    def _stop_at(self, index: int) -> None:
        """Report the recorded stop at *index*; after the last one, the exit."""
        if self._ended:
            return
        stops = self._recording.stops
        self._values = []
        if index >= len(stops):
            self._print(None)
            self._ended = True
            self._sink(events.ExitedEvent(self._recording.run.exit or Exit()))
            return
        self._at = index
        stop = stops[index]
        self._print(stop.cursor)
        position = self._position(stop)
        reason = self._reason(stop)
        self._sink(
            events.Stopped(
                reason,
                stop.thread,
                stop.description if reason is StopReason.SIGNAL else position,
            )
        )

    def _reason(self, stop: RecordedStop) -> StopReason:
        return StopReason(stop.reason)

    def _position(self, stop: RecordedStop) -> str:
        return f"recorded stop {stop.number} of {len(self._recording.stops)}"

    def _print(self, cursor: int | None) -> None:
        """Report the output up to a cursor, once."""
        start = 0
        for chunk in self._recording.output:
            end = start + len(chunk.text)
            upto = end if cursor is None else min(end, cursor)
            if upto > max(start, self._printed):
                text = chunk.text[max(0, self._printed - start) : upto - start]
                self._sink(events.OutputEvent(chunk.stream, text))
                self._printed = upto
            start = end

    async def terminate(self) -> None:
        if not self._ended:
            self._ended = True
            self._sink(events.ExitedEvent(Exit(how="killed")))

    async def detach(self) -> None:
        raise _not_running()

    async def dispose(self) -> None:
        self._ended = True

    # --- breakpoints: further stops of `continue`

    def _bind(self, request: BreakpointRequest) -> BoundBreakpoint:
        self._breakpoints[request.id] = request
        hits = sum(self._is_at(stop, request) for stop in self._recording.stops)
        message = None if hits else "the recording has no stop there"
        location = request.location
        return BoundBreakpoint(request.id, bool(hits), location.file, location.line, message)

    def _is_at(self, stop: RecordedStop, request: BreakpointRequest) -> bool:
        if not stop.frames:
            return False
        top, location = stop.frames[0], request.location
        if location.file is not None:
            return (location_keys.absolute(top.path, self._root), top.line) == (
                location.file,
                location.line,
            )
        key = location_keys.function_key(top.function)
        return location.function is not None and location.function in (key, location_keys.bare(key))

    async def set_breakpoints(
        self, path: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        self._forget([w for w in self._breakpoints.values() if w.location.file == path])
        return [self._bind(each) for each in requests]

    async def set_function_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        self._forget([w for w in self._breakpoints.values() if w.location.function is not None])
        return [self._bind(each) for each in requests]

    def _forget(self, gone: Sequence[BreakpointRequest]) -> None:
        for each in gone:
            del self._breakpoints[each.id]

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        raise _not_running()

    def check_condition(self, expression: str) -> str | None:
        return "a recording has no conditions; `dbg hits LOC --where` has"

    def check_log(self, message: str) -> str | None:
        return None

    # --- execution, forward and backward

    @property
    def _stop(self) -> RecordedStop:
        return self._recording.stops[self._at]

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        """Move to the next stop at a breakpoint, or that the program itself caused.

        If no breakpoints are set, every recorded breakpoint stop counts.
        """
        stops = self._recording.stops
        index = self._at + 1
        while index < len(stops) and not self._is_stop_of_continue(stops[index]):
            index += 1
        self._move_to(index)

    def _is_stop_of_continue(self, stop: RecordedStop) -> bool:
        """Whether `continue` ends at *stop*."""
        skipped = {StopReason.STEP} | ({StopReason.BREAKPOINT} if self._breakpoints else set())
        hit = any(self._is_at(stop, each) for each in self._breakpoints.values())
        return hit or stop.reason not in skipped

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        index, depth = self._at + 1, self._stop.depth
        if kind is StepKind.OUT and depth is not None:
            stops = self._recording.stops
            while index < len(stops) and (stops[index].depth or 0) >= depth:
                index += 1
        self._move_to(index)

    async def step_back(self, thread: int, kind: StepKind | None = StepKind.OVER) -> None:
        if self._at == 0:
            raise DebuggerError("this is the first recorded stop.", next="dbg next")
        stops, index, depth = self._recording.stops, self._at - 1, self._stop.depth
        if kind is None:
            while index > 0 and not self._is_stop_of_continue(stops[index]):
                index -= 1
        if kind is StepKind.OUT and depth is not None:
            while index > 0 and (stops[index].depth or 0) >= depth:
                index -= 1
        self._move_to(index)

    def _move_to(self, index: int) -> None:
        self._sink(events.Continued())
        asyncio.get_running_loop().call_soon(self._stop_at, index)

    async def pause(self, thread: int | None) -> None:
        raise _not_running()

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
                location_keys.absolute(frame.path, self._root),
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
        return [
            RawScope(scope.name, scope.kind, self._keep(scope.values), count=len(scope.values))
            for scope in self._scopes_of(frame) or ()
        ]

    def _scopes_of(self, frame: int) -> Sequence[Scope] | None:
        """Return the variables of a frame of the current stop; None if they were not recorded."""
        return self._stop.scopes if frame == self._stop.shown else None

    def _keep(self, values: Sequence[Value]) -> int:
        """Return a reference for *values*."""
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
        scopes = self._scopes_of(self._stop.shown if frame is None else frame)
        if scopes is None:
            raise EvaluationFailed(
                f"the variables of frame {frame} were not recorded; "
                f"those of frame {self._stop.shown} were.",
                next=f"dbg frame {self._stop.shown}",
            )
        known = {v.name: v for scope in scopes for v in scope.values}
        if expression.strip() in known:
            return self._raw(known[expression.strip()])
        for watched in self._stop.watched:
            if watched.expression == expression.strip():
                return RawValue(expression, watched.text)

        try:
            found = self._compute(expression, known)
        except NotRecorded as missing:
            have = ", ".join(known)
            raise EvaluationFailed(
                f"{missing} was not recorded" + (f"; there are {have}." if have else ".")
            ) from None
        if isinstance(found, OpaqueValue):
            return self._raw(found.value)
        return RawValue(expression, repr(found))

    def _compute(self, expression: str, known: Mapping[str, Value]) -> object:
        """Return the value of an expression of recorded variables. Raises NotRecorded."""

        def find(name: str) -> object:
            if name not in known:
                raise NotRecorded(name)
            return recorded_values.read(codec.raw_value(known[name], _NO_SECRETS, 9, 1 << 30))

        return expressions.compile(expression)(find)

    async def exception(self, thread: int) -> ExceptionInfo | None:
        if self._stop.exception is None:
            return None
        kind, _, message = self._stop.exception.partition(": ")
        return ExceptionInfo(kind, message)

    def drain(self) -> None:
        pass


def _not_running() -> Unsupported:
    return Unsupported(
        "this is a recording: it can be inspected, but no program runs.", next="dbg restart"
    )


class RecordedSources(Sources):
    """The recorded sources of a run, and no other files.

    An imported recording may name any path; the file of that name on this machine may be a
    different one, or private.
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
