"""The past of a stopped program, from the trace of its second run, as a backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from freezeframe.backends.backend import BreakpointRequest, ToolInfo
from freezeframe.history.recorded_values import NotRecorded
from freezeframe.history.trace_replay import TraceReplay
from freezeframe.model.history import RecordedStop, Recording
from freezeframe.model.locations import Location
from freezeframe.model.runs import Run
from freezeframe.model.trace import Trace
from freezeframe.model.values import Scope, Value
from freezeframe.questions.traced_stops import TracedStops
from freezeframe.session.session import Session


class PastBackend(TraceReplay):
    """Walks the steps before the present stop of a session. The last step is the present."""

    def __init__(
        self, live: Session, trace: Trace, present: int, location: str, *, is_left: bool
    ) -> None:
        """*present* is the number of the step at which the program is, *location* where.

        With *is_left* an exception has just left the line.
        """
        self._stops = TracedStops(trace, present, is_left=is_left)
        self._trace = trace
        self._live = live
        self._present_location = location
        run = Run(0, live.name, live.name)
        recording = Recording(run, "", self._stops)
        super().__init__(recording, "", len(self._stops))
        #: the walk has come back to the present
        self.is_present = False

    @property
    def tool(self) -> ToolInfo:
        return ToolInfo("trace of a second run", None, "recording")

    def moment(self, frame: int) -> tuple[Trace, int, int]:
        """Return the trace, and the frame and step in it that a frame of the current stop is."""
        traced, step = self._stops.stack(self._at)[frame]
        return self._trace, traced.number, step.number

    # --- what a walk looks at: without making a stop of each step

    def _thread(self, at: int) -> int:
        return self._stops.thread(at)

    def _depth(self, at: int) -> int:
        return self._stops.depth(at)

    def _location(self, at: int) -> tuple[str | None, int | None]:
        return self._stops.location(at)

    def _function(self, at: int) -> str:
        return self._stops.stack(at)[0][0].function

    def _arrive(self, at: int, *, hit: bool = False) -> None:
        last = len(self._stops) - 1
        self.is_present = at >= last
        super()._arrive(min(at, last), hit=hit and not self.is_present)

    def _position(self, stop: RecordedStop) -> str:
        return f"{super()._position(stop)}; the program itself is at {self._present_location}"

    def _requests(self) -> Iterable[BreakpointRequest]:
        """Yield the present breakpoints of the program, and those of an operation such as until."""
        yield from (each for each in self._breakpoints.values() if each.id < 0)
        for entry in self._live.breakpoints:
            if not entry.enabled or entry.log is not None:
                continue
            bound = self._live.bound_breakpoints.get(entry.id)
            location = entry.location
            if bound is not None and bound.path is not None and bound.line is not None:
                location = Location(file=bound.path, line=bound.line)
            yield BreakpointRequest(entry.id, location, entry.condition)

    # --- every frame has variables

    def _scopes_of(self, frame: int) -> Sequence[Scope] | None:
        return self._stops.scopes(self._at, frame)

    def _compute(self, expression: str, known: Mapping[str, Value]) -> object:
        try:
            return super()._compute(expression, known)
        except NotRecorded as missing:
            found = self._stops.global_value(self._at, str(missing))
            if found is None:
                raise
            return super()._compute(expression, {**known, found.name: found})
