"""Watchpoints as gdb has them, with our ids."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from freezeframe.backends.backend import BoundBreakpoint
from freezeframe.backends.console.reader import Fields, quote
from freezeframe.backends.gdb.texts import tidy
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import WatchHit

from . import names, stops
from .line import Answered, GdbRefused, Line, at, rows

_NO_ROOM = re.compile(r"Could not insert hardware (?:\w+ )?watchpoint (\d+)")
_SLOW = "gdb has no hardware for it: the program runs step by step, which is slow"


@dataclass(frozen=True, slots=True)
class _Watch:
    id: int
    expression: str


class Watches:
    """The watchpoints of one gdb."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._by_number: dict[str, _Watch] = {}
        self._made = 0
        #: how often each was hit, as gdb counts
        self._times: dict[str, int] = {}
        #: the value that each saw last
        self._texts: dict[str, str] = {}
        #: the probe is there
        self.python = False

    async def add(
        self,
        expression: str,
        access: str,
        condition: str | None,
        thread: int | None,
        level: int,
        rust: bool,
    ) -> BoundBreakpoint:
        """Watch an expression. Raises DebuggerError where gdb cannot."""
        option = {"read": " -r", "readWrite": " -a"}.get(access, "")
        number = None
        try:
            number = await self._insert(
                f"-break-watch{at(thread, level)}{option} {quote(expression)}"
            )
            if condition is not None:
                await self._line.ask(f"-break-condition {number} {condition}")
        except GdbRefused as error:
            if number is not None:
                await self._line.ask(f"-break-delete {number}")
            words = error.message.rstrip(".")
            raise DebuggerError(
                f"{expression} cannot be watched: {words}.", code="no-watch", next="dbg watch list"
            ) from None
        self._made += 1
        self._by_number[number] = _Watch(self._made, expression)
        if (now := await self._value(expression, thread, level, rust)) is not None:
            self._texts[number] = now
        return BoundBreakpoint(self._made, True, message=await self._remark(number))

    async def _insert(self, command: str) -> str:
        """Set a watchpoint in the processor at once: what it has no room for is refused now."""
        _, made, _ = await self._line.together(
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
        await self._line.ask(f"-break-delete {too_many[1]}")
        raise GdbRefused(f"the processor has no room for it beside {len(self._by_number)} others.")

    async def _remark(self, number: str) -> str | None:
        body = await self._line.ask(f"-break-info {number}")
        made = rows(body["BreakpointTable"]["body"])[0]
        # Only those on writes are there without hardware, as `watchpoint` and nothing more.
        return _SLOW if str(made.get("type")) == "watchpoint" else None

    async def remove(self, id: int) -> None:
        for number, watch in list(self._by_number.items()):
            if watch.id == id:
                del self._by_number[number]
                await self._line.ask(f"-break-delete {number}")

    async def seen(self, fields: Fields, thread: int | None, rust: bool) -> WatchHit | None:
        """Return what one saw, where a stop is due to one; forgets one that is out of scope."""
        numbers = stops.watch_numbers(fields)
        if self._by_number:
            hit = await self._newly_hit()
            if hit and not numbers:
                return await self._unsaid(hit, fields, thread, rust)
        watches = [self._by_number[number] for number in numbers if number in self._by_number]
        if not watches:
            return None
        if stops.reason(fields) == "watchpoint-scope":
            for number in numbers:
                self._by_number.pop(number, None)
            hits = [WatchHit(each.id, each.expression, ended=True) for each in watches]
        else:
            path, line = await self._writer(fields, thread)
            values = dict(zip(numbers, stops.watch_values(fields), strict=False))
            hits = []
            for number in numbers:
                if (watch := self._by_number.get(number)) is not None:
                    old, new = (
                        None if text is None else tidy(text, rust=rust)
                        for text in values.get(number, (None, None))
                    )
                    if new is not None:
                        self._texts[number] = new
                    hits.append(WatchHit(watch.id, watch.expression, old, new, path, line))
        return replace(hits[0], also=tuple(hits[1:]))

    async def _newly_hit(self) -> list[str]:
        """Return the numbers of watchpoints that were hit since this was asked last."""
        body = await self._line.ask("-break-list")
        times = {
            str(each.get("number")): int(each.get("times", 0))
            for each in rows(body["BreakpointTable"]["body"])
        }
        before, self._times = self._times, times
        return [n for n in self._by_number if times.get(n, 0) > before.get(n, 0)]

    async def _unsaid(
        self, numbers: list[str], fields: Fields, thread: int | None, rust: bool
    ) -> WatchHit:
        """Return what watchpoints saw of which gdb tells nothing, for a breakpoint is there too."""
        path, line = await self._writer(fields, thread)
        hits = []
        for number in numbers:
            watch = self._by_number[number]
            old, now = self._texts.get(number), await self._value(watch.expression, thread, 0, rust)
            if now is not None:
                self._texts[number] = now
            changed = old is not None and old != now
            hits.append(
                WatchHit(watch.id, watch.expression, old if changed else None, now, path, line)
            )
        return replace(hits[0], also=tuple(hits[1:]))

    async def _value(
        self, expression: str, thread: int | None, level: int, rust: bool
    ) -> str | None:
        try:
            asked = f"-data-evaluate-expression{at(thread, level)} {quote(expression)}"
            return tidy(str((await self._line.ask(asked))["value"]), rust=rust)
        except GdbRefused:
            return None

    async def _writer(self, fields: Fields, thread: int | None) -> tuple[str | None, int | None]:
        """Return the line of the instruction that did it, when the program stands elsewhere.

        Hardware tells after the access, so that is the instruction before this one.
        """
        if not self.python or thread is None:
            return None, None
        try:
            said = await self._line.cli("python freezeframe_before()", where=at(thread, 0))
        except GdbRefused:
            return None, None
        line, _, path = said.strip().partition("\t")
        here = fields.get("frame") or {}
        if not line.isdecimal() or (line, path) == (here.get("line"), names.place(here)):
            return None, None
        return path, int(line)
