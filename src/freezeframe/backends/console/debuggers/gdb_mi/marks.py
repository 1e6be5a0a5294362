"""Breakpoints, logpoints, watchpoints and catchpoints as gdb has them, with our ids and meaning.

gdb counts a pass of a breakpoint only where its condition holds, which is what we mean too, so
hit counts are its ignore counts and enable counts: nothing stops that need not.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from freezeframe.backends import native_tests
from freezeframe.backends.backend import BoundBreakpoint, WantedBreakpoint
from freezeframe.backends.console.reader import Fields, quote
from freezeframe.backends.counting import read_hits, read_log
from freezeframe.errors import DebuggerError
from freezeframe.model.places import Location
from freezeframe.model.stops import ExceptionFilter

from . import names
from .line import GdbRefused, Line, rows

#: gdb's words when a place has no code (yet); anything else it says is about the condition
_NO_PLACE = re.compile(
    r"No source file named|Function \".*\" not defined|Function '.*' not defined|No symbol table"
    r"|No line |No compiled code|Can't find member|Couldn't find method|the class .* does not"
    r"|No function contains|No default source",
    re.DOTALL,
)
_NO_LINE = re.compile(r"No line |No compiled code")
_CATCHES = {"throw": "-catch-throw", "catch": "-catch-catch", "rethrow": "-catch-rethrow"}
_PANIC, _SIGNAL, _SANITIZER = "panic", "signal", "sanitizer"
#: where sanitizers go when their report is written: UBSan has one of its own
_REPORTED = ("__sanitizer_report_error_summary", "__ubsan_on_report")

FILTERS = (
    ExceptionFilter("throw", "C++: when an exception is thrown"),
    ExceptionFilter("catch", "C++: when an exception is caught"),
    ExceptionFilter("rethrow", "C++: when an exception is thrown again"),
    ExceptionFilter(_PANIC, "Rust: when a thread panics"),
    ExceptionFilter(_SIGNAL, "signals that end a program", default=True),
    ExceptionFilter(_SANITIZER, "what a sanitizer finds"),
)
#: signals that end a program by themselves, and mean that it is broken
_FATAL = "SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGSYS"


@dataclass(slots=True)
class Mark:
    """What is there in gdb for one of our breakpoints."""

    number: str
    wanted: WantedBreakpoint
    bound: BoundBreakpoint
    ignore: int = 0
    times: int = 0
    #: `%N`: the ignore count to set again after each stop
    again: int | None = None
    #: further breakpoints of gdb's: its name means several functions
    others: tuple[str, ...] = ()


class Marks:
    """What was set in one gdb."""

    def __init__(self, line: Line) -> None:
        self._line = line
        #: by group: a file, `function` or `address`
        self._groups: dict[str, dict[int, Mark]] = {}
        self._by_number: dict[str, Mark] = {}
        self._catches: dict[str, str] = {}
        #: the program stops for a signal that would end it, as gdb has it by itself
        self._heeding = True
        #: by filter: the type, as an expression, that alone is meant
        self.only: dict[str, str] = {}
        self._hit: list[str] = []
        self.python = False
        #: the function that Rust's panics pass through
        self.panics = "rust_panic"
        #: the function that failing assertions of a test program come to
        self.failing: str | None = None
        #: the program's file: of what lies in it gdb may name no module
        self.program = ""
        #: the functions that a name means in this program (`main` in Rust)
        self.meaning: Callable[[str], Awaitable[list[str]]] = _as_it_is

    # --- setting

    async def set(self, group: str, wanted: Sequence[WantedBreakpoint]) -> list[BoundBreakpoint]:
        """Make *wanted* the breakpoints of that group; those that are there as wanted stay."""
        have = self._groups.setdefault(group, {})
        keep = {want.id: want for want in wanted}
        gone = [mark for id, mark in have.items() if keep.get(id) != mark.wanted]
        if gone:
            numbers = [number for mark in gone for number in (mark.number, *mark.others)]
            await self._line.ask(f"-break-delete {' '.join(numbers)}")
            for mark in gone:
                del have[mark.wanted.id]
            for number in numbers:
                self._by_number.pop(number, None)
        return [
            have[want.id].bound if want.id in have else await self._add(have, want)
            for want in wanted
        ]

    async def _add(self, have: dict[int, Mark], want: WantedBreakpoint) -> BoundBreakpoint:
        try:
            hits = None if want.hit_count is None else read_hits(want.hit_count)
            body, trouble, others = await self._insert(want, hits)
            number = str(body["number"])
            mark = Mark(number, want, bound(want.id, body, trouble), others=others)
            have[want.id] = mark
            self._by_number |= dict.fromkeys((number, *others), mark)
            if hits is not None and want.log is None:
                await self._count(mark, *hits)
            if want.location.module is not None:
                mark.bound = await self._restrict(mark, body)
        except (GdbRefused, ValueError) as error:
            words = error.message if isinstance(error, DebuggerError) else str(error)
            return BoundBreakpoint(want.id, False, None, None, words.rstrip("."), True)
        return mark.bound

    async def _insert(
        self, want: WantedBreakpoint, hits: tuple[str, int] | None
    ) -> tuple[Fields, str | None, tuple[str, ...]]:
        """Return gdb's breakpoint, why it has no code yet, and further ones that it needs."""
        condition = f" -c {quote(want.condition)}" if want.condition else ""
        trouble = None
        places = await self._places(want.location)
        for place in places:
            try:
                body = await self._line.ask(f"-break-insert{condition} {spell(place)}")
                break
            except GdbRefused as error:
                if not _NO_PLACE.search(error.message):
                    raise
                trouble = trouble or error.message
                if _NO_LINE.search(error.message):
                    raise
        else:
            body = await self._line.ask(f"-break-insert -f{condition} {spell(places[0])}")
            place = places[0]
        made: Fields = rows(body.get("bkpt"))[0]
        trouble = trouble.rstrip(".") if trouble else None
        if want.log is not None:
            # Now that gdb has taken place and condition, the probe's kind goes in instead.
            await self._line.ask(f"-break-delete {made['number']}")
            return await self._insert_log(want, place, hits), trouble, ()
        others = []
        if want.location.function is not None:
            for another in places[1:]:
                body = await self._line.ask(f"-break-insert{condition} {spell(another)}")
                others.append(str(rows(body.get("bkpt"))[0]["number"]))
        return made, trouble, tuple(others)

    async def _insert_log(
        self, want: WantedBreakpoint, place: Mapping[str, str], hits: tuple[str, int] | None
    ) -> Fields:
        if not self.python:
            raise ValueError("this gdb was built without Python, which logpoints need")
        assert want.log is not None
        spec = {"place": place, "parts": read_log(want.log), "when": want.condition, "hits": hits}
        packed = json.dumps(spec).encode().hex()
        said = await self._line.cli(f"python freezeframe_log('{packed}')")
        match = re.search(r"freezeframe (\d+)", said)
        if match is None:
            raise ValueError(said.strip() or "gdb did not take the logpoint")
        body = await self._line.ask(f"-break-info {match[1]}")
        table: Fields = rows(body["BreakpointTable"]["body"])[0]
        return table

    async def _places(self, location: Location) -> list[dict[str, str]]:
        """Return how gdb may know a place, most exact first."""
        if location.address is not None:
            return [{"spec": f"*{location.address:#x}"}]
        if location.function is not None:
            return [{"function": each} for each in await self.meaning(location.function)]
        assert location.file is not None
        path, line = location.file, str(location.line)
        candidates = [path, os.path.realpath(path), "/".join(path.split("/")[-2:])]
        return [{"source": each, "line": line} for each in dict.fromkeys(candidates)]

    async def _count(self, mark: Mark, compare: str, n: int) -> None:
        for number in (mark.number, *mark.others):
            await self._count_one(mark, number, compare, n)

    async def _count_one(self, mark: Mark, number: str, compare: str, n: int) -> None:
        if compare in ("==", ">=", "%", ">"):
            mark.ignore = n if compare == ">" else max(n - 1, 0)
            if mark.ignore:
                await self._line.ask(f"-break-after {number} {mark.ignore}")
            mark.again = mark.ignore if compare == "%" else None
        if compare == "==" and n > 0:
            await self._line.cli(f"enable once {number}")
        elif compare in ("<", "<="):
            n = n - 1 if compare == "<" else n
            if n > 0:
                await self._line.cli(f"enable count {n} {number}")
        if n <= 0 and compare in ("==", "<", "<="):
            await self._line.ask(f"-break-disable {number}")

    async def _restrict(self, mark: Mark, body: Fields) -> BoundBreakpoint:
        """Keep only the places of a `module!function` that lie in that module."""
        module = mark.wanted.location.module or ""
        places = rows(body.get("locations")) or [body]
        kept = []
        for each in places:
            if not str(each.get("addr", "")).startswith("0x"):
                continue
            if _is_module(await self._owner(str(each["addr"])), module):
                kept.append(each)
            elif each is not body:
                await self._line.ask(f"-break-disable {each['number']}")
        if kept:
            return bound(mark.wanted.id, {**kept[0], "number": mark.number}, None)
        if mark.bound.verified and len(places) == 1:
            await self._line.ask(f"-break-disable {mark.number}")
        return replace(
            mark.bound,
            verified=False,
            message=f"no {mark.wanted.location.function} in {module} yet",
        )

    # --- exceptions

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        for number in self._catches:
            await self._line.ask(f"-break-delete {number}")
        self._catches.clear()
        await self._heed_signals(any(each.name == _SIGNAL for each in filters))
        self.only = {each.name: each.condition for each in filters if each.condition}
        for each in filters:
            if each.name in _CATCHES:
                # Not gdb's own `-r`: it needs probes that many C++ libraries are built without.
                body = await self._line.ask(_CATCHES[each.name])
            elif each.name == _PANIC:
                body = await self._line.ask(f"-break-insert -f --function {self.panics}")
            elif each.name == native_tests.NAME and self.failing is not None:
                body = await self._line.ask(f"-break-insert -f --function {self.failing}")
            elif each.name == _SANITIZER:
                for function in _REPORTED:
                    body = await self._line.ask(f"-break-insert -f --function {function}")
                    self._catches[str(rows(body["bkpt"])[0]["number"])] = each.name
                continue
            else:
                continue  # another language's
            self._catches[str(rows(body["bkpt"])[0]["number"])] = each.name

    async def _heed_signals(self, heed: bool) -> None:
        if heed is not self._heeding:
            how = "stop print pass" if heed else "nostop noprint pass"
            await self._line.cli(f"handle {_FATAL} {how}")
            self._heeding = heed

    # --- what happens to them

    def modified(self, body: Fields) -> BoundBreakpoint | None:
        """Take in what gdb says of a breakpoint; returns ours where it is bound otherwise now."""
        number = str(body.get("number", ""))
        mark = self._by_number.get(number)
        times, ignore = int(body.get("times") or 0), int(body.get("ignore") or 0)
        if mark is None:
            if number in self._catches and times:
                self._hit.append(number)
            return None
        if times > mark.times and not mark.ignore and mark.wanted.log is None:
            self._hit.append(number)
        mark.times, mark.ignore = times, ignore
        if mark.wanted.location.module is not None and mark.bound.verified:
            return None
        now = bound(mark.wanted.id, body, mark.bound.message)
        if now == mark.bound:
            return None
        mark.bound = now
        return now

    def resumed(self) -> None:
        self._hit.clear()

    async def stopped(self, number: str | None) -> tuple[tuple[int, ...], str | None]:
        """Return our breakpoints that a stop passed, and the filter where it is a catchpoint.

        gdb names only the first of several at one place; the others have been counted.
        """
        numbers = list(dict.fromkeys(([number] if number else []) + self._hit))
        self._hit.clear()
        ids = []
        filter = None
        for each in numbers:
            mark = self._by_number.get(each)
            filter = filter or self._catches.get(each)
            if mark is None or mark.wanted.log is not None:
                continue
            ids.append(mark.wanted.id)
            if mark.again:
                await self._line.ask(f"-break-after {each} {mark.again}")
                mark.ignore = mark.again
        return tuple(ids), filter

    def conditional(self, ids: Sequence[int]) -> list[int]:
        marks = {mark.wanted.id: mark for mark in self._by_number.values()}
        return [id for id in ids if id in marks and marks[id].wanted.condition is not None]

    def ours(self, number: str) -> int | None:
        mark = self._by_number.get(number)
        return None if mark is None else mark.wanted.id

    @property
    def hit(self) -> bool:
        """A breakpoint of the user's was passed since the program was resumed."""
        return any(number in self._by_number for number in self._hit)

    async def strange(self, ids: Sequence[int]) -> bool:
        """Whether a stop is only due to functions of that name in other modules than wanted."""
        marks = [mark for mark in self._by_number.values() if mark.wanted.id in ids]
        if not marks or any(mark.wanted.location.module is None for mark in marks):
            return False
        owner = await self._owner("$pc")
        return not any(_is_module(owner, mark.wanted.location.module or "") for mark in marks)

    async def _owner(self, address: str) -> str:
        """Return the file that the code at an address comes from."""
        said = await self._line.cli(f"info symbol {address}")
        return said.rpartition(" of ")[2].strip() if " of " in said else self.program


# --- reading ------------------------------------------------------------------------------------


def spell(place: Mapping[str, str]) -> str:
    """Return a place as words of -break-insert."""
    if "spec" in place:
        return place["spec"]
    if "function" in place:
        return f"--function {quote(place['function'])}"
    return f"--source {quote(place['source'])} --line {place['line']}"


def bound(id: int, body: Fields, message: str | None) -> BoundBreakpoint:
    """Return what gdb made of a breakpoint."""
    places = rows(body.get("locations"))
    first = places[0] if places else body
    address = str(first.get("addr", body.get("addr", "")))
    if not address.startswith("0x"):
        return BoundBreakpoint(id, False, message=message or "no code for it is loaded yet")
    line = first.get("line")
    return BoundBreakpoint(id, True, names.place(first), int(line) if line else None)


def _is_module(owner: str, module: str) -> bool:
    base = os.path.basename(owner)
    return base == module or base.split(".so")[0] in (module, f"lib{module}")


async def _as_it_is(name: str) -> list[str]:
    return [name]
