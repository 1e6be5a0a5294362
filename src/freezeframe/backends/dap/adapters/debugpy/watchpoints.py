"""Watchpoints of Python programs: pydevd has none, so `watching_agent.py` observes each line."""

from __future__ import annotations

import json
from dataclasses import replace

from freezeframe.backends.backend import BoundBreakpoint, Stopped
from freezeframe.backends.dap.adapter_channel import AdapterChannel
from freezeframe.backends.dap.messages import ErrorResponse
from freezeframe.backends.dap.stop_events import StopHandler
from freezeframe.backends.dap.stop_queries import evaluate_text
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.stops import StopReason, WatchHit

from . import conditions

#: what the agent says of a watchpoint that it has set
_MESSAGES = {
    "evaluated": "evaluated after each line, so what it calls runs in the program",
    "unset": "it has no value yet",
}


class PythonWatchpoints:
    """The watchpoints of one process: our ids, and the expressions."""

    def __init__(self) -> None:
        self._made = 0
        self._expressions: dict[int, str] = {}

    @property
    def any(self) -> bool:
        return bool(self._expressions)

    async def add(
        self,
        channel: AdapterChannel,
        expression: str,
        access: str,
        condition: str | None,
        frame: int | None,
    ) -> BoundBreakpoint:
        """Watch an expression in a frame. Raises Unsupported, or DebuggerError with the reason."""
        if access != "write":
            raise Unsupported(
                "debugpy has no watchpoints on reads: Python does not report them.",
                next=f"dbg watch {expression}",
            )
        if frame is None:
            raise DebuggerError("there is no frame to watch it in.", next="dbg backtrace")
        id = self._made + 1
        arguments = {
            "expression": conditions.watch(id, expression, condition, frame),
            "context": channel.adapter.expressions.context,
        }
        try:
            body = await channel.request("evaluate", arguments)
        except ErrorResponse as error:
            reason = channel.adapter.expressions.brief_error(error.message)
            raise EvaluationFailed(f"{expression} cannot be watched: {reason}") from None
        self._made = id
        self._expressions[id] = expression
        return BoundBreakpoint(id, True, message=_MESSAGES.get(str(body.get("result"))))

    async def remove(self, channel: AdapterChannel, id: int) -> None:
        if self._expressions.pop(id, None) is not None:
            await evaluate_text(channel, conditions.unwatch(id), None)

    async def hits(self, channel: AdapterChannel) -> list[WatchHit]:
        """Return the hits of the present stop; those out of scope are removed."""
        text = await evaluate_text(channel, conditions.watch_hits(), None)
        try:
            by_thread = json.loads(text or "{}")
            facts = [hit for hits in by_thread.values() for hit in hits]
        except (ValueError, AttributeError):
            return []
        found = [
            WatchHit(
                hit["id"],
                self._expressions.get(hit["id"], ""),
                hit.get("old"),
                hit.get("new"),
                hit.get("path"),
                hit.get("line"),
                ended=hit.get("ended", False),
            )
            for hit in facts
            if hit["id"] in self._expressions
        ]
        for hit in found:
            if hit.ended:
                del self._expressions[hit.id]
        return found


class DebugpyStops(StopHandler):
    """The stops of a Python program, with the watchpoints that were hit."""

    def _deliver(self, stopped: Stopped) -> None:
        points = getattr(self._debuggee, "watchpoints", None)
        if isinstance(points, PythonWatchpoints) and points.any:
            self._debuggee.spawn_task(self._with_hits(stopped, points))
        else:
            super()._deliver(stopped)

    async def _with_hits(self, stopped: Stopped, points: PythonWatchpoints) -> None:
        hits = await points.hits(self._debuggee.channel)
        if hits:
            watch = replace(hits[0], also=tuple(hits[1:]))
            stopped = replace(stopped, reason=StopReason.WATCHPOINT, watch=watch)
        self._debuggee.emit(stopped)
