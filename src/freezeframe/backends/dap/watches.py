"""Watchpoints: an adapter is always told all of them, and gives them new ids each time.

One on a variable in a function's frame ends when that function returns: from then on its memory
is another's. The adapter does not know that, so the place where the caller goes on is a breakpoint
of ours (`Marks.set_scope`), and the stack pointer tells whether the frame has gone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from freezeframe.backends.backend import BoundBreakpoint, RawFrame, RawValue
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import WatchHit

from . import translate
from .messages import Refused
from .study import evaluated, innermost
from .wire import Wire

#: How far below its stack pointer a function that calls no other may keep variables.
_RED_ZONE = 128
#: what a condition that does not hold is
_FALSE = frozenset({"0", "false"})


@dataclass(slots=True)
class Watch:
    """One watchpoint: what the user wrote, and how it stands in `setDataBreakpoints`."""

    expression: str
    entry: dict[str, Any]
    #: an expression for its value that holds in every frame
    again: str | None = None
    #: its value when it was seen last
    text: str | None = None
    condition: str | None = None
    #: of a variable that goes with its function: the thread, and where its stack ends then
    scope: tuple[int, int] | None = None


async def address_of(wire: Wire, expression: str, frame: int | None) -> str | None:
    """Return where a value is, asked in the program's language: lldb-dap 19 does not tell."""
    text = await evaluated(wire, f"&({expression})", frame)
    match = re.match(r"0x[0-9a-fA-F]+", text or "")
    return match[0] if match is not None else None


async def again_anywhere(wire: Wire, value: RawValue, frame: int) -> str | None:
    """Return an expression for a variable that holds in every frame: by its address."""
    ask = wire.adapter.breakpoints.address_of(value.name)
    address = await evaluated(wire, ask, frame) if ask is not None else None
    return wire.adapter.breakpoints.value_at(value.type or "", address) if address else None


class Watches:
    """The watchpoints of one process; knows our ids behind the adapter's."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._watches: dict[int, Watch] = {}
        self._made = 0
        #: the adapter's ids → ours
        self._ids: dict[int, tuple[int, ...]] = {}

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
        watch.condition = condition
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
        brief = self._wire.adapter.expressions.brief_error
        words = brief(why).rstrip(".") if why else "no reason was given"
        return DebuggerError(
            f"{expression} cannot be watched: {words}.", code="no-watch", next="dbg watch list"
        )

    async def returns_to(
        self, id: int, address: str, thread: int, stack: Sequence[RawFrame]
    ) -> tuple[int, int] | None:
        """Return where the program goes on when the variable of a watchpoint is gone.

        And where the stack ends then. None for what is in no frame of the *stack*: the thread's
        frames from the innermost on.
        """
        where = int(address, 0)
        for index, frame in enumerate(stack):
            pointer = await self._stack_pointer(frame.id)
            if pointer is None or (index == 0 and where < pointer - _RED_ZONE):
                return None
            if index and where < pointer:
                self._watches[id].scope = (thread, pointer)
                return (int(frame.address, 0), pointer) if frame.address is not None else None
        return None

    async def _stack_pointer(self, frame: int) -> int | None:
        text = await evaluated(self._wire, "$sp", frame)
        try:
            return int((text or "").split()[0], 0)
        except (IndexError, ValueError):
            return None

    @property
    def scoped(self) -> bool:
        """There are watchpoints that end with a function."""
        return any(watch.scope is not None for watch in self._watches.values())

    async def leave(self, thread: int | None) -> list[WatchHit]:
        """Remove the watchpoints on frames that a thread, which has stopped, has left."""
        here = {
            id: watch.scope[1]
            for id, watch in self._watches.items()
            if watch.scope is not None and watch.scope[0] == thread
        }
        frame = await innermost(self._wire, thread) if here else None
        pointer = await self._stack_pointer(frame["id"]) if frame is not None else None
        if pointer is None:
            return []
        gone = [id for id, end in here.items() if end <= pointer]
        left = [WatchHit(id, self._watches.pop(id).expression, ended=True) for id in gone]
        if left:
            await self._set()
        return left

    async def remove(self, id: int) -> None:
        self._watches.pop(id, None)
        await self._set()

    async def _set(self) -> dict[int, BoundBreakpoint]:
        # Of two with one `dataId` an adapter forgets the first: they are one to it.
        groups: dict[str, list[int]] = {}
        for id, watch in self._watches.items():
            groups.setdefault(str(watch.entry["dataId"]), []).append(id)
        entries = [self._entry(ids) for ids in groups.values()]
        body = await self._wire.request("setDataBreakpoints", {"breakpoints": entries})
        answered = list(zip(groups.values(), body.get("breakpoints") or [], strict=False))
        self._ids = {a["id"]: tuple(ids) for ids, a in answered if "id" in a}
        await self._set_conditions()
        bound = [translate.bound_one(id, a) for ids, a in answered for id in ids]
        # What is said of one in place is only that.
        return {b.id: replace(b, message=None) if b.verified else b for b in bound}

    def _entry(self, ids: Sequence[int]) -> dict[str, Any]:
        """Return one watchpoint that sees whatever those of *ids* are to see."""
        watches = [self._watches[id] for id in ids]
        accesses = {watch.entry.get("accessType") for watch in watches}
        entry = dict(watches[0].entry)
        if len(accesses) > 1:
            entry["accessType"] = "readWrite"
        conditions = {watch.condition for watch in watches}
        if conditions != {None} and len(conditions) == 1 and len(accesses) == 1:
            entry["condition"] = watches[0].condition
        return entry

    async def _set_conditions(self) -> None:
        """Say the conditions again, in the debugger's own words, to one that heeds only those."""
        raw = self._wire.adapter.raw
        if raw.watch_condition is None:
            return
        for adapters_id, ids in self._ids.items():
            condition = self._entry(ids).get("condition")
            if condition is not None:
                command = raw.prefix + raw.watch_condition(adapters_id, condition)
                arguments = {"expression": command, "context": raw.context}
                await self._wire.request("evaluate", arguments)

    def hit(self, body: Mapping[str, Any]) -> int | None:
        """Return our id of the watchpoint that a `stopped` event names."""
        for adapters_id in body.get("hitBreakpointIds") or ():
            for id in self._ids.get(adapters_id, ()):
                if id in self._watches:
                    return id
        # Some name none: of one there is no doubt.
        words = f"{body.get('reason')} {body.get('description')}"
        watched = re.search(r"data breakpoint|\bwatchpoint \d", words) is not None
        places = {str(watch.entry["dataId"]) for watch in self._watches.values()}
        return next(iter(self._watches)) if watched and len(places) == 1 else None

    async def seen(self, id: int, thread: int | None) -> list[WatchHit]:
        """Return what the watchpoints on one place saw: the value then and now.

        Nothing where none of them waits for such an access.
        """
        place = self._watches[id].entry["dataId"]
        ids = [each for each, watch in self._watches.items() if watch.entry["dataId"] == place]
        entry = self._entry(ids)
        mixed = entry.get("accessType") == "readWrite"
        reads_see_writes = self._wire.adapter.breakpoints.reads_see_writes
        hits = []
        for each in ids:
            watch = self._watches[each]
            if watch.again is None or watch.text is None:
                hits.append(WatchHit(each, watch.expression))
                continue
            old, now = watch.text, await self._now(watch.again, thread)
            watch.text = now or old
            access, changed = watch.entry.get("accessType"), now != old
            if access == "read" and changed and (mixed or reads_see_writes):
                continue
            if access == "write" and not changed and mixed:
                continue
            if watch.condition is not None and "condition" not in entry:
                frame = await innermost(self._wire, thread)
                held = await evaluated(self._wire, watch.condition, frame["id"] if frame else None)
                if held in _FALSE:
                    continue
            # What was only read is what it was.
            hits.append(WatchHit(each, watch.expression, old if changed else None, now))
        return hits

    async def _now(self, expression: str, thread: int | None) -> str | None:
        arguments: dict[str, Any] = {
            "expression": expression,
            "context": self._wire.adapter.expressions.context,
        }
        try:
            frame = await innermost(self._wire, thread)
            if frame is not None:
                arguments["frameId"] = frame["id"]
            body = await self._wire.request("evaluate", arguments)
        except DebuggerError:
            return None
        return translate.value(body, self._wire.adapter, expression).text
