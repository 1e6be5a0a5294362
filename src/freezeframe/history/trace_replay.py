"""Walk the steps of a traced run, both ways: every line that was executed is a stop."""

from __future__ import annotations

from collections.abc import Iterable

from freezeframe.backends.backend import BoundBreakpoint, BreakpointRequest, Feature, StepKind
from freezeframe.errors import DebuggerError, UsageError
from freezeframe.model.history import RecordedStop
from freezeframe.model.stops import StopReason

from . import location_keys, recorded_values
from .recorded_values import NotRecorded
from .replay import ReplayBackend


class TraceReplay(ReplayBackend):
    """Steps through the lines of a traced run. No program runs.

    A step stays in its thread. `continue` goes to the next breakpoint, in any thread.
    """

    @property
    def features(self) -> frozenset[Feature]:
        return super().features | {Feature.CONDITIONS}

    def check_condition(self, expression: str) -> str | None:
        return None

    # --- what a walk looks at

    def _thread(self, at: int) -> int:
        return self._recording.stops[at].thread

    def _depth(self, at: int) -> int:
        return self._recording.stops[at].depth or 0

    def _location(self, at: int) -> tuple[str | None, int | None]:
        frames = self._recording.stops[at].frames
        if not frames:
            return None, None
        return location_keys.absolute(frames[0].path, self._root), frames[0].line

    def _function(self, at: int) -> str:
        frames = self._recording.stops[at].frames
        return frames[0].function if frames else ""

    # --- walks

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        end = len(self._recording.stops)
        found = next((at for at in range(self._at + 1, end) if self._is_hit(at)), end)
        self._arrive(found, hit=True)

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        end = len(self._recording.stops)
        found = self._first(range(self._at + 1, end), kind)
        self._arrive(end if found is None else found)

    async def step_back(self, thread: int, kind: StepKind | None = StepKind.OVER) -> None:
        earlier = range(self._at - 1, -1, -1)
        found = self._first(earlier, kind) if kind is not None else None
        if kind is None and self._at:
            found = next((at for at in earlier if self._is_hit(at)), 0)
        if found is None:
            raise DebuggerError("this is the first recorded step.", next="dbg next")
        self._arrive(found, hit=kind is None)

    def _first(self, steps: Iterable[int], kind: StepKind) -> int | None:
        """Return the first of *steps* where a step of that kind ends; None if there is none."""
        thread, depth, function = (
            self._thread(self._at),
            self._depth(self._at),
            self._function(self._at),
        )
        for at in steps:
            if self._thread(at) != thread:
                continue
            inner = self._depth(at) - depth
            is_same = inner == 0 and self._function(at) == function
            if kind is StepKind.INTO or inner < 0 or (kind is StepKind.OVER and is_same):
                return at
        return None

    def _arrive(self, at: int, *, hit: bool = False) -> None:
        self._arrived_at = at if hit and at < len(self._recording.stops) else None
        self._move_to(at)

    #: the step at which `continue` has found a breakpoint
    _arrived_at: int | None = None

    def _reason(self, stop: RecordedStop) -> StopReason:
        hit = self._arrived_at is not None and self._arrived_at == self._at
        return StopReason.BREAKPOINT if hit and self._is_hit(self._at) else StopReason.STEP

    def _position(self, stop: RecordedStop) -> str:
        total = self._recording.run.traced or len(self._recording.stops)
        return f"step {stop.number:,} of {total:,}"

    # --- breakpoints

    def _bind(self, request: BreakpointRequest) -> BoundBreakpoint:
        self._breakpoints[request.id] = request
        location = request.location
        message = None
        if location.file is not None:
            requested = (location.file, location.line)
            found = any(self._location(at) == requested for at in range(len(self._recording.stops)))
            message = None if found else "no traced step is there"
        return BoundBreakpoint(request.id, message is None, location.file, location.line, message)

    def _requests(self) -> Iterable[BreakpointRequest]:
        """Return the breakpoints that `continue` stops at."""
        return self._breakpoints.values()

    def _is_hit(self, at: int) -> bool:
        return any(self._is_breakpoint_at(at, each) for each in self._requests())

    def _is_breakpoint_at(self, at: int, request: BreakpointRequest) -> bool:
        location = request.location
        if location.file is not None:
            if self._location(at) != (location.file, location.line):
                return False
        elif not self._is_at(self._recording.stops[at], request) or not self._is_entry(at):
            return False
        if request.condition is None:
            return True
        stop = self._recording.stops[at]
        known = {v.name: v for scope in stop.scopes for v in scope.values}
        try:
            return recorded_values.is_true(self._compute(request.condition, known))
        except (NotRecorded, UsageError):
            return True  # what cannot be decided is shown

    def _is_entry(self, at: int) -> bool:
        return self._recording.stops[at].entry
