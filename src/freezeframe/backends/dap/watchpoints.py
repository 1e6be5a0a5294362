"""Watchpoints: `setDataBreakpoints` always sends all of them, and the adapter gives them new ids.

A watchpoint on a local variable ends when its function returns: then its memory is reused. The
adapter does not know that, so an internal breakpoint is set at the return address
(`AdapterBreakpoints.set_scope`), and the stack pointer shows whether the frame is gone.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from freezeframe.backends.backend import BoundBreakpoint, RawFrame, RawValue
from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.stops import WatchHit

from . import translate
from .adapter_channel import AdapterChannel
from .messages import ErrorResponse
from .stop_queries import evaluate_condition, evaluate_text, innermost

#: How far below its stack pointer a leaf function may keep variables.
_RED_ZONE = 128


@dataclass(slots=True)
class Watch:
    """One watchpoint: the user's expression, and its entry in `setDataBreakpoints`."""

    expression: str
    entry: dict[str, Any]
    #: an expression for its value that is valid in every frame
    again: str | None = None
    #: its last known value
    text: str | None = None
    condition: str | None = None
    #: of a local variable: the thread, and its stack pointer after the function has returned
    scope: tuple[int, int] | None = None


async def address_of(channel: AdapterChannel, expression: str, frame: int | None) -> str | None:
    """Return the address of a value, by an expression: lldb-dap 19 does not send it."""
    text = await evaluate_text(channel, f"&({expression})", frame)
    match = re.match(r"0x[0-9a-fA-F]+", text or "")
    return match[0] if match is not None else None


async def again_anywhere(channel: AdapterChannel, value: RawValue, frame: int) -> str | None:
    """Return an expression for a variable that is valid in every frame: by its address."""
    query = channel.adapter.breakpoints.address_of(value.name)
    address = await evaluate_text(channel, query, frame) if query is not None else None
    return channel.adapter.breakpoints.value_at(value.type or "", address) if address else None


class WatchpointTable:
    """The watchpoints of one process; maps the adapter's ids to ours."""

    def __init__(self, channel: AdapterChannel) -> None:
        self._channel = channel
        self._watches: dict[int, Watch] = {}
        self._made = 0
        #: the adapter's ids → ours
        self._ids: dict[int, tuple[int, ...]] = {}

    async def add(
        self, watch: Watch, how: Mapping[str, Any], condition: str | None
    ) -> BoundBreakpoint:
        """Set a watchpoint; *how*: arguments of `dataBreakpointInfo`. Raises DebuggerError."""
        try:
            info = await self._channel.request("dataBreakpointInfo", dict(how))
        except ErrorResponse as error:
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
        brief = self._channel.adapter.expressions.brief_error
        reason = brief(why).rstrip(".") if why else "no reason was given"
        return DebuggerError(
            f"{expression} cannot be watched: {reason}.", code="no-watch", next="dbg watch list"
        )

    async def returns_to(
        self, id: int, address: str, thread: int, stack: Sequence[RawFrame]
    ) -> tuple[int, int] | None:
        """Return the return address of the function that owns a watched variable.

        And the stack pointer there. None for a variable in no frame of *stack*: the thread's
        frames, innermost first.
        """
        variable = int(address, 0)
        for index, frame in enumerate(stack):
            pointer = await self._stack_pointer(frame.id)
            if pointer is None or (index == 0 and variable < pointer - _RED_ZONE):
                return None
            if index and variable < pointer:
                self._watches[id].scope = (thread, pointer)
                return (int(frame.address, 0), pointer) if frame.address is not None else None
        return None

    async def _stack_pointer(self, frame: int) -> int | None:
        text = await evaluate_text(self._channel, "$sp", frame)
        try:
            return int((text or "").split()[0], 0)
        except (IndexError, ValueError):
            return None

    @property
    def scoped(self) -> bool:
        """Whether any watchpoint is on a local variable."""
        return any(watch.scope is not None for watch in self._watches.values())

    async def end_scopes(self, thread: int | None) -> list[WatchHit]:
        """Remove the watchpoints on frames that a stopped thread has returned from."""
        here = {
            id: watch.scope[1]
            for id, watch in self._watches.items()
            if watch.scope is not None and watch.scope[0] == thread
        }
        frame = await innermost(self._channel, thread) if here else None
        pointer = await self._stack_pointer(frame["id"]) if frame is not None else None
        if pointer is None:
            return []
        gone = [id for id, end in here.items() if end <= pointer]
        ended = [WatchHit(id, self._watches.pop(id).expression, ended=True) for id in gone]
        if ended:
            await self._set()
        return ended

    async def remove(self, id: int) -> None:
        self._watches.pop(id, None)
        await self._set()

    async def _set(self) -> dict[int, BoundBreakpoint]:
        # Adapters forget the first of two entries with the same `dataId`, so they are merged.
        groups: dict[str, list[int]] = {}
        for id, watch in self._watches.items():
            groups.setdefault(str(watch.entry["dataId"]), []).append(id)
        entries = [self._entry(ids) for ids in groups.values()]
        body = await self._channel.request("setDataBreakpoints", {"breakpoints": entries})
        answered = list(zip(groups.values(), body.get("breakpoints") or [], strict=False))
        self._ids = {a["id"]: tuple(ids) for ids, a in answered if "id" in a}
        await self._set_conditions()
        bound = [translate.bound_one(id, a) for ids, a in answered for id in ids]
        # The message of a verified watchpoint only says that it is set.
        return {b.id: replace(b, message=None) if b.verified else b for b in bound}

    def _entry(self, ids: Sequence[int]) -> dict[str, Any]:
        """Return one entry that stops for every access the watchpoints *ids* ask for."""
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
        """Set the conditions by raw commands, for a debugger that ignores those of DAP."""
        raw = self._channel.adapter.raw
        if raw.watch_condition is None:
            return
        for adapters_id, ids in self._ids.items():
            condition = self._entry(ids).get("condition")
            if condition is not None:
                command = raw.prefix + raw.watch_condition(adapters_id, condition)
                arguments = {"expression": command, "context": raw.context}
                await self._channel.request("evaluate", arguments)

    def hit(self, body: Mapping[str, Any]) -> int | None:
        """Return our id of the watchpoint that a `stopped` event names."""
        for adapters_id in body.get("hitBreakpointIds") or ():
            for id in self._ids.get(adapters_id, ()):
                if id in self._watches:
                    return id
        # Some adapters name none: a single one is unambiguous.
        text = f"{body.get('reason')} {body.get('description')}"
        watched = re.search(r"data breakpoint|\bwatchpoint \d", text) is not None
        data_ids = {str(watch.entry["dataId"]) for watch in self._watches.values()}
        return next(iter(self._watches)) if watched and len(data_ids) == 1 else None

    async def hits(self, id: int, thread: int | None) -> list[WatchHit]:
        """Return the hits of the watchpoints on one `dataId`, with old and new value.

        Empty if none of them stops for this access.
        """
        data_id = self._watches[id].entry["dataId"]
        ids = [each for each, watch in self._watches.items() if watch.entry["dataId"] == data_id]
        entry = self._entry(ids)
        mixed = entry.get("accessType") == "readWrite"
        reads_see_writes = self._channel.adapter.breakpoints.reads_see_writes
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
                frame = await innermost(self._channel, thread)
                frame_id = frame["id"] if frame else None
                with contextlib.suppress(EvaluationFailed):
                    if not await evaluate_condition(self._channel, watch.condition, frame_id):
                        continue
            # A read does not change the value: a write before it did.
            was = old if changed and access != "read" else None
            hits.append(WatchHit(each, watch.expression, was, now))
        return hits

    async def _now(self, expression: str, thread: int | None) -> str | None:
        arguments: dict[str, Any] = {
            "expression": expression,
            "context": self._channel.adapter.expressions.context,
        }
        try:
            frame = await innermost(self._channel, thread)
            if frame is not None:
                arguments["frameId"] = frame["id"]
            body = await self._channel.request("evaluate", arguments)
        except DebuggerError:
            return None
        return translate.value(body, self._channel.adapter, expression).text
