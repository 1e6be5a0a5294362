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
        #: the probe is there
        self.python = False

    async def add(
        self, expression: str, access: str, condition: str | None, thread: int | None, level: int
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
        return None if "hw" in str(made.get("type")) or "acc" in str(made.get("type")) else _SLOW

    async def remove(self, id: int) -> None:
        for number, watch in list(self._by_number.items()):
            if watch.id == id:
                del self._by_number[number]
                await self._line.ask(f"-break-delete {number}")

    async def seen(self, fields: Fields, thread: int | None, rust: bool) -> WatchHit | None:
        """Return what one saw, where a stop is due to one; forgets one that is out of scope."""
        numbers = stops.watch_numbers(fields)
        watches = [self._by_number[number] for number in numbers if number in self._by_number]
        if not watches:
            return None
        if stops.reason(fields) == "watchpoint-scope":
            for number in numbers:
                self._by_number.pop(number, None)
            first, *rest = [WatchHit(each.id, each.expression, ended=True) for each in watches]
            return replace(first, also=tuple(rest))
        watch = watches[0]
        old, new = (
            None if text is None else tidy(text, rust=rust) for text in stops.watch_values(fields)
        )
        path, line = await self._writer(fields, thread)
        return WatchHit(watch.id, watch.expression, old, new, path, line)

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
