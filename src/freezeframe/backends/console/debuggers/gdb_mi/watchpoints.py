"""Watchpoints in gdb, by our ids."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from freezeframe.backends import gdb
from freezeframe.backends.backend import BoundBreakpoint
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields, quote
from freezeframe.backends.gdb.value_text import tidy
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import WatchHit

from . import frame_names, stop_records
from .mi_channel import Answered, MiChannel, MiError, at, rows

_NO_ROOM = re.compile(r"Could not insert hardware (?:\w+ )?watchpoint (\d+)")
_SLOW = "gdb has no hardware for it: the program runs step by step, which is slow"


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What to watch."""

    expression: str
    #: its memory, as an expression of gdb
    lvalue: str
    access: str
    condition: str | None


@dataclass(frozen=True, slots=True)
class _Watch:
    id: int
    expression: str
    lvalue: str


class GdbWatchpoints:
    """The watchpoints of one gdb."""

    def __init__(self, channel: MiChannel) -> None:
        self._channel = channel
        self._by_number: dict[str, _Watch] = {}
        self._made = 0
        #: hit counts, as gdb reports them
        self._times: dict[str, int] = {}
        #: the last value seen by each
        self._texts: dict[str, str] = {}
        #: gdb can run the agent
        self.python = False

    async def add(
        self, request: WatchRequest, thread: int | None, level: int, rust: bool
    ) -> BoundBreakpoint:
        """Watch an expression. Raises DebuggerError if gdb cannot."""
        option = {"read": " -r", "readWrite": " -a"}.get(request.access, "")
        number = None
        try:
            number = await self._insert(
                f"-break-watch{at(thread, level)}{option} {quote(request.lvalue)}"
            )
            if request.condition is not None:
                condition = request.condition
                if self.python:
                    condition = gdb.condition(condition, rust=rust)
                await self._channel.request(f"-break-condition {number} {condition}")
        except MiError as error:
            if number is not None:
                await self._channel.request(f"-break-delete {number}")
            message = error.message.rstrip(".")
            raise DebuggerError(
                f"{request.expression} cannot be watched: {message}.",
                code="no-watch",
                next="dbg watch list",
            ) from None
        self._made += 1
        self._by_number[number] = _Watch(self._made, request.expression, request.lvalue)
        if (now := await self._value(request.lvalue, thread, level, rust)) is not None:
            self._texts[number] = now
        return BoundBreakpoint(self._made, True, message=await self._remark(number))

    async def _insert(self, command: str) -> str:
        """Set a watchpoint in the processor now, so that a lack of registers is an error."""
        _, made, _ = await self._channel.request_all(
            [
                "-gdb-set breakpoint always-inserted on",
                command,
                "-gdb-set breakpoint always-inserted off",
            ]
        )
        if isinstance(made, Answered):
            body = made.result.fields
            return str(next(v for key, v in body.items() if key.endswith("wpt"))["number"])
        too_many = _NO_ROOM.search(made.message)
        if too_many is None:
            raise made
        await self._channel.request(f"-break-delete {too_many[1]}")
        raise MiError(
            f"the processor has no watchpoint register left: {len(self._by_number)} are in use."
        )

    async def _remark(self, number: str) -> str | None:
        body = await self._channel.request(f"-break-info {number}")
        made = rows(body["BreakpointTable"]["body"])[0]
        # Without hardware only write watchpoints exist; their type is plain `watchpoint`.
        return _SLOW if str(made.get("type")) == "watchpoint" else None

    async def remove(self, id: int) -> None:
        for number, watch in list(self._by_number.items()):
            if watch.id == id:
                del self._by_number[number]
                await self._channel.request(f"-break-delete {number}")

    async def hit(self, fields: Fields, thread: int | None, rust: bool) -> WatchHit | None:
        """Return the hit of the watchpoints that caused a stop; drop those out of scope."""
        numbers = [n for n in stop_records.watch_numbers(fields) if n in self._by_number]
        hit = await self._newly_hit() if self._by_number else []
        unreported = [n for n in hit if n not in numbers]
        hits: list[WatchHit] = []
        if stop_records.reason(fields) == "watchpoint-scope":
            ended = [self._by_number.pop(number) for number in numbers]
            hits = [WatchHit(each.id, each.expression, ended=True) for each in ended]
        elif numbers:
            hits = await self._reported(numbers, fields, thread, rust)
        if unreported:
            hits += await self._unreported(unreported, fields, thread, rust)
        return replace(hits[0], also=tuple(hits[1:])) if hits else None

    async def _reported(
        self, numbers: list[str], fields: Fields, thread: int | None, rust: bool
    ) -> list[WatchHit]:
        """Return hits with the values that gdb reports."""
        path, line = await self._writer(fields, thread)
        named, texts = stop_records.watch_numbers(fields), stop_records.watch_values(fields)
        values = dict(zip(named, texts, strict=False))
        hits = []
        for number in numbers:
            watch = self._by_number[number]
            old, new = (
                None if text is None else tidy(text, rust=rust)
                for text in values.get(number, (None, None))
            )
            if new is not None:
                self._texts[number] = new
            hits.append(WatchHit(watch.id, watch.expression, old, new, path, line))
        return hits

    async def _newly_hit(self) -> list[str]:
        """Return the numbers of watchpoints hit since the last call."""
        body = await self._channel.request("-break-list")
        times = {
            str(each.get("number")): int(each.get("times", 0))
            for each in rows(body["BreakpointTable"]["body"])
        }
        before, self._times = self._times, times
        return [n for n in self._by_number if times.get(n, 0) > before.get(n, 0)]

    async def _unreported(
        self, numbers: list[str], fields: Fields, thread: int | None, rust: bool
    ) -> list[WatchHit]:
        """Return hits that gdb does not report.

        It reports the watchpoints up to the first breakpoint of the stop, by number.
        """
        path, line = await self._writer(fields, thread)
        hits = []
        for number in numbers:
            watch = self._by_number[number]
            old, now = self._texts.get(number), await self._value(watch.lvalue, thread, 0, rust)
            if now is not None:
                self._texts[number] = now
            changed = old is not None and old != now
            hits.append(
                WatchHit(watch.id, watch.expression, old if changed else None, now, path, line)
            )
        return hits

    async def _value(
        self, expression: str, thread: int | None, level: int, rust: bool
    ) -> str | None:
        try:
            command = f"-data-evaluate-expression{at(thread, level)} {quote(expression)}"
            return tidy(str((await self._channel.request(command))["value"]), rust=rust)
        except MiError:
            return None

    async def _writer(self, fields: Fields, thread: int | None) -> tuple[str | None, int | None]:
        """Return the line of the accessing instruction, if the program stopped on another line.

        The processor reports after the access, so it is the instruction before the current one.
        """
        if not self.python or thread is None:
            return None, None
        try:
            output = await self._channel.cli("python freezeframe_before()", where=at(thread, 0))
        except MiError:
            return None, None
        line, _, path = output.strip().partition("\t")
        here = fields.get("frame") or {}
        if not line.isdecimal() or (line, path) == (
            here.get("line"),
            frame_names.source_path(here),
        ):
            return None, None
        return path, int(line)
