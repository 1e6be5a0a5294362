"""Watchpoints: an adapter is always told all of them, and gives them new ids each time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from freezeframe.backends.backend import BoundBreakpoint
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import WatchHit

from . import translate
from .messages import Refused
from .study import innermost
from .wire import Wire


@dataclass(slots=True)
class Watch:
    """One watchpoint: what the user wrote, and how it stands in `setDataBreakpoints`."""

    expression: str
    entry: dict[str, Any]
    #: an expression for its value that holds in every frame
    again: str | None = None
    #: its value when it was seen last
    text: str | None = None


class Watches:
    """The watchpoints of one process; knows our ids behind the adapter's."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._watches: dict[int, Watch] = {}
        self._made = 0
        #: the adapter's ids → ours
        self._ids: dict[int, int] = {}

    async def add(
        self, watch: Watch, how: Mapping[str, Any], condition: str | None
    ) -> BoundBreakpoint:
        """Watch what *how* names to `dataBreakpointInfo`. Raises DebuggerError when it cannot."""
        try:
            info = await self._wire.request("dataBreakpointInfo", dict(how))
        except Refused as error:
            raise self._refused(watch.expression, error.message) from None
        if info.get("dataId") is None:
            raise self._refused(watch.expression, str(info.get("description") or ""))
        watch.entry["dataId"] = info["dataId"]
        if condition is not None:
            watch.entry["condition"] = condition
        self._made += 1
        id = self._made
        self._watches[id] = watch
        bound = (await self._set())[id]
        if not bound.verified:
            del self._watches[id]
            await self._set()
            raise self._refused(watch.expression, bound.message or "")
        return bound

    def _refused(self, expression: str, why: str) -> DebuggerError:
        words = self._wire.adapter.brief_error(why).rstrip(".") if why else "no reason was given"
        return DebuggerError(
            f"{expression} cannot be watched: {words}.", code="no-watch", next="dbg watch list"
        )

    async def remove(self, id: int) -> None:
        self._watches.pop(id, None)
        await self._set()

    async def _set(self) -> dict[int, BoundBreakpoint]:
        ids = list(self._watches)
        entries = [self._watches[id].entry for id in ids]
        body = await self._wire.request("setDataBreakpoints", {"breakpoints": entries})
        answers = body.get("breakpoints") or []
        self._ids = {a["id"]: id for id, a in zip(ids, answers, strict=False) if "id" in a}
        bound = [translate.bound_one(id, a) for id, a in zip(ids, answers, strict=False)]
        # What is said of one in place is only that.
        return {b.id: replace(b, message=None) if b.verified else b for b in bound}

    def hit(self, body: Mapping[str, Any]) -> int | None:
        """Return our id of the watchpoint that a `stopped` event names."""
        for adapters_id in body.get("hitBreakpointIds") or ():
            id = self._ids.get(adapters_id)
            if id in self._watches:
                return id
        return None

    async def seen(self, id: int, thread: int | None) -> WatchHit:
        """Return what a watchpoint saw: its value then and now."""
        watch = self._watches[id]
        if watch.again is None or watch.text is None:
            return WatchHit(id, watch.expression)
        old, watch.text = watch.text, await self._now(watch.again, thread) or watch.text
        return WatchHit(id, watch.expression, old, watch.text)

    async def _now(self, expression: str, thread: int | None) -> str | None:
        arguments: dict[str, Any] = {
            "expression": expression,
            "context": self._wire.adapter.expression_context,
        }
        try:
            frame = await innermost(self._wire, thread)
            if frame is not None:
                arguments["frameId"] = frame["id"]
            body = await self._wire.request("evaluate", arguments)
        except DebuggerError:
            return None
        return translate.value(body, self._wire.adapter, expression).text
