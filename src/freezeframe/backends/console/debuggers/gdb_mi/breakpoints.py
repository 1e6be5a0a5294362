"""Breakpoints, logpoints and catchpoints in gdb, by our ids.

gdb counts a hit of a breakpoint only if its condition holds, as we do, so hit counts map to gdb's
ignore counts and enable counts and the program does not stop needlessly.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from freezeframe.backends import gdb, native_tests
from freezeframe.backends.backend import BoundBreakpoint, BreakpointRequest
from freezeframe.backends.breakpoint_hits import HitCondition, read_log
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields, quote
from freezeframe.errors import DebuggerError
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter

from . import frame_names
from .mi_channel import MiChannel, MiError, rows

#: gdb's messages for a location without code (yet); any other message concerns the condition
_NO_CODE = re.compile(
    r"No source file named|Function \".*\" not defined|Function '.*' not defined|No symbol table"
    r"|No line |No compiled code|Can't find member|Couldn't find method|the class .* does not"
    r"|No function contains|No default source",
    re.DOTALL,
)
_NO_LINE = re.compile(r"No line |No compiled code")
_CATCHES = {"throw": "-catch-throw", "catch": "-catch-catch", "rethrow": "-catch-rethrow"}
_PANIC, _SIGNAL, _SANITIZER = "panic", "signal", "sanitizer"
#: functions that sanitizers call with a complete report; UBSan has its own
_REPORTED = ("__sanitizer_report_error_summary", "__ubsan_on_report")

FILTERS = (
    ExceptionFilter("throw", "C++: when an exception is thrown"),
    ExceptionFilter("catch", "C++: when an exception is caught"),
    ExceptionFilter("rethrow", "C++: when an exception is thrown again"),
    ExceptionFilter(_PANIC, "Rust: when a thread panics"),
    ExceptionFilter(_SIGNAL, "signals that end a program", default=True),
    ExceptionFilter(_SANITIZER, "what a sanitizer finds"),
)
#: signals that terminate a program and mean that it is broken
_FATAL = "SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGSYS"


@dataclass(slots=True)
class GdbBreakpoint:
    """gdb's breakpoints for one of our breakpoints."""

    number: str
    request: BreakpointRequest
    bound: BoundBreakpoint
    ignore: int = 0
    times: int = 0
    #: `%N`: the ignore count to set again after each stop
    again: int | None = None
    #: further breakpoints in gdb: the name resolves to several functions
    others: tuple[str, ...] = ()


class GdbBreakpoints:
    """The breakpoints and catchpoints set in one gdb."""

    def __init__(self, channel: MiChannel) -> None:
        self._channel = channel
        #: by group: a file, `function` or `address`
        self._groups: dict[str, dict[int, GdbBreakpoint]] = {}
        self._by_number: dict[str, GdbBreakpoint] = {}
        self._catches: dict[str, str] = {}
        #: the program stops for fatal signals, which is gdb's default
        self._stops_on_signals = True
        #: by filter: the only type, as an expression, to stop for
        self.only: dict[str, str] = {}
        self._hit: list[str] = []
        self.python = False
        #: the function that every Rust panic calls
        self.panics = "rust_panic"
        #: the program was compiled by rustc
        self.rust = False
        #: the function that failing assertions of a test program call
        self.failing: str | None = None
        #: the program's file: gdb may name no module for code in it
        self.program = ""
        #: resolve a function name in this program (`main` in Rust)
        self.resolve_function: Callable[[str], Awaitable[list[str]]] = _unresolved

    # --- setting

    async def set(self, group: str, requests: Sequence[BreakpointRequest]) -> list[BoundBreakpoint]:
        """Make *requests* the breakpoints of the group; unchanged ones are left alone."""
        have = self._groups.setdefault(group, {})
        keep = {request.id: request for request in requests}
        gone = [breakpoint for id, breakpoint in have.items() if keep.get(id) != breakpoint.request]
        if gone:
            numbers = [
                number for breakpoint in gone for number in (breakpoint.number, *breakpoint.others)
            ]
            await self._channel.request(f"-break-delete {' '.join(numbers)}")
            for breakpoint in gone:
                del have[breakpoint.request.id]
            for number in numbers:
                self._by_number.pop(number, None)
        return [
            have[request.id].bound if request.id in have else await self._add(have, request)
            for request in requests
        ]

    async def _add(
        self, have: dict[int, GdbBreakpoint], request: BreakpointRequest
    ) -> BoundBreakpoint:
        try:
            hits = None if request.hit_count is None else HitCondition.parse(request.hit_count)
            body, trouble, others = await self._insert(request, hits)
            number = str(body["number"])
            breakpoint = GdbBreakpoint(
                number, request, bound(request.id, body, trouble), others=others
            )
            have[request.id] = breakpoint
            self._by_number |= dict.fromkeys((number, *others), breakpoint)
            if hits is not None and request.log is None:
                await self._count(breakpoint, *hits)
            if request.location.module is not None:
                breakpoint.bound = await self._restrict(breakpoint, body)
        except (MiError, ValueError) as error:
            message = error.message if isinstance(error, DebuggerError) else str(error)
            return BoundBreakpoint(request.id, False, None, None, message.rstrip("."), True)
        return breakpoint.bound

    async def _insert(
        self, request: BreakpointRequest, hits: HitCondition | None
    ) -> tuple[Fields, str | None, tuple[str, ...]]:
        """Return gdb's breakpoint, why it has no code yet, and the numbers of further ones."""
        condition = f" -c {quote(self._condition(request.condition))}" if request.condition else ""
        trouble = None
        linespecs = await self._linespecs(request.location)
        for linespec in linespecs:
            try:
                body = await self._channel.request(
                    f"-break-insert{condition} {insert_args(linespec)}"
                )
                break
            except MiError as error:
                if not _NO_CODE.search(error.message):
                    raise
                trouble = trouble or error.message
                if _NO_LINE.search(error.message):
                    raise
        else:
            body = await self._channel.request(
                f"-break-insert -f{condition} {insert_args(linespecs[0])}"
            )
            linespec = linespecs[0]
        made: Fields = rows(body.get("bkpt"))[0]
        trouble = trouble.rstrip(".") if trouble else None
        if (
            self.python
            and "line" in linespec
            and (at_start := await self._move_to_line_start(made, condition))
        ):
            linespec, made = at_start
        if request.log is not None:
            # gdb has accepted location and condition: replace the breakpoint by the agent's
            # logpoint.
            await self._channel.request(f"-break-delete {made['number']}")
            return await self._insert_log(request, linespec, hits), trouble, ()
        others = []
        if request.location.function is not None:
            for another in linespecs[1:]:
                body = await self._channel.request(
                    f"-break-insert{condition} {insert_args(another)}"
                )
                others.append(str(rows(body.get("bkpt"))[0]["number"]))
        return made, trouble, tuple(others)

    def _condition(self, expression: str) -> str:
        return gdb.condition(expression, rust=self.rust) if self.python else expression

    async def _move_to_line_start(
        self, made: Fields, condition: str
    ) -> tuple[dict[str, str], Fields] | None:
        """Move a breakpoint to where its line begins; return its new linespec and breakpoint."""
        addresses = [str(each.get("addr", "")) for each in rows(made.get("locations")) or [made]]
        if not all(each.startswith("0x") for each in addresses):
            return None
        try:
            output = await self._channel.cli(f"python freezeframe_begins({', '.join(addresses)})")
            found = re.search(r"\[(\d+), \"(.*)\"\]", output)
            if found is None:
                return None
            body = await self._channel.request(f"-break-insert{condition} {quote(found[2])}")
        except MiError:
            return None
        moved: Fields = rows(body.get("bkpt"))[0]
        right = str(moved.get("addr")) == f"{int(found[1]):#018x}"
        await self._channel.request(f"-break-delete {(made if right else moved)['number']}")
        return ({"spec": found[2]}, moved) if right else None

    async def _insert_log(
        self, request: BreakpointRequest, linespec: Mapping[str, str], hits: HitCondition | None
    ) -> Fields:
        if not self.python:
            raise ValueError("this gdb was built without Python, which logpoints need")
        assert request.log is not None
        spec = {
            "location": linespec,
            "parts": read_log(request.log),
            "when": request.condition,
            "hits": None if hits is None else hits.expression("hits"),
        }
        packed = json.dumps(spec).encode().hex()
        output = await self._channel.cli(f"python freezeframe_log('{packed}')")
        match = re.search(r"freezeframe (\d+)", output)
        if match is None:
            raise ValueError(output.strip() or "gdb did not take the logpoint")
        body = await self._channel.request(f"-break-info {match[1]}")
        table: Fields = rows(body["BreakpointTable"]["body"])[0]
        return table

    async def _linespecs(self, location: Location) -> list[dict[str, str]]:
        """Return the linespecs under which gdb may know a location, most exact first."""
        if location.address is not None:
            return [{"spec": f"*{location.address:#x}"}]
        if location.function is not None:
            return [{"function": each} for each in await self.resolve_function(location.function)]
        assert location.file is not None
        path, line = location.file, str(location.line)
        candidates = [path, os.path.realpath(path), "/".join(path.split("/")[-2:])]
        return [{"source": each, "line": line} for each in dict.fromkeys(candidates)]

    async def _count(self, breakpoint: GdbBreakpoint, compare: str, n: int) -> None:
        for number in (breakpoint.number, *breakpoint.others):
            await self._count_one(breakpoint, number, compare, n)

    async def _count_one(
        self, breakpoint: GdbBreakpoint, number: str, compare: str, n: int
    ) -> None:
        if compare in ("==", ">=", "%", ">"):
            breakpoint.ignore = n if compare == ">" else max(n - 1, 0)
            if breakpoint.ignore:
                await self._channel.request(f"-break-after {number} {breakpoint.ignore}")
            breakpoint.again = breakpoint.ignore if compare == "%" else None
        if compare == "==" and n > 0:
            await self._channel.cli(f"enable once {number}")
        elif compare in ("<", "<="):
            n = n - 1 if compare == "<" else n
            if n > 0:
                await self._channel.cli(f"enable count {n} {number}")
        if n <= 0 and compare in ("==", "<", "<="):
            await self._channel.request(f"-break-disable {number}")

    async def _restrict(self, breakpoint: GdbBreakpoint, body: Fields) -> BoundBreakpoint:
        """Disable the locations of a `module!function` outside that module."""
        module = breakpoint.request.location.module or ""
        locations = rows(body.get("locations")) or [body]
        kept = []
        for each in locations:
            if not str(each.get("addr", "")).startswith("0x"):
                continue
            if _is_module(await self._owner(str(each["addr"])), module):
                kept.append(each)
            elif each is not body:
                await self._channel.request(f"-break-disable {each['number']}")
        if kept:
            return bound(breakpoint.request.id, {**kept[0], "number": breakpoint.number}, None)
        if breakpoint.bound.verified and len(locations) == 1:
            await self._channel.request(f"-break-disable {breakpoint.number}")
        return replace(
            breakpoint.bound,
            verified=False,
            message=f"no {breakpoint.request.location.function} in {module} yet",
        )

    # --- exceptions

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        for number in self._catches:
            await self._channel.request(f"-break-delete {number}")
        self._catches.clear()
        await self._set_signal_stops(any(each.name == _SIGNAL for each in filters))
        self.only = {each.name: each.condition for each in filters if each.condition}
        for each in filters:
            if each.name in _CATCHES:
                # Not gdb's own `-r`: it needs SystemTap probes, which many C++ libraries lack.
                body = await self._channel.request(_CATCHES[each.name])
            elif each.name == _PANIC:
                body = await self._channel.request(f"-break-insert -f --function {self.panics}")
            elif each.name == native_tests.NAME and self.failing is not None:
                body = await self._channel.request(f"-break-insert -f --function {self.failing}")
            elif each.name == _SANITIZER:
                for function in _REPORTED:
                    body = await self._channel.request(f"-break-insert -f --function {function}")
                    self._catches[str(rows(body["bkpt"])[0]["number"])] = each.name
                continue
            else:
                continue  # a filter of another language
            self._catches[str(rows(body["bkpt"])[0]["number"])] = each.name

    async def _set_signal_stops(self, stop: bool) -> None:
        if stop is not self._stops_on_signals:
            how = "stop print pass" if stop else "nostop noprint pass"
            await self._channel.cli(f"handle {_FATAL} {how}")
            self._stops_on_signals = stop

    # --- notifications

    def modified(self, body: Fields) -> BoundBreakpoint | None:
        """Handle gdb's `breakpoint-modified`; return our breakpoint if its binding changed."""
        number = str(body.get("number", ""))
        breakpoint = self._by_number.get(number)
        times, ignore = int(body.get("times") or 0), int(body.get("ignore") or 0)
        if breakpoint is None:
            if number in self._catches and times:
                self._hit.append(number)
            return None
        if times > breakpoint.times and not breakpoint.ignore and breakpoint.request.log is None:
            self._hit.append(number)
        breakpoint.times, breakpoint.ignore = times, ignore
        if breakpoint.request.location.module is not None and breakpoint.bound.verified:
            return None
        now = bound(breakpoint.request.id, body, breakpoint.bound.message)
        if now == breakpoint.bound:
            return None
        breakpoint.bound = now
        return now

    def resumed(self) -> None:
        self._hit.clear()

    async def stopped(self, number: str | None) -> tuple[tuple[int, ...], str | None]:
        """Return the ids of the breakpoints that a stop hit, and the filter of a catchpoint.

        gdb names only the first of several at one location; the others are known by their hit
        counts.
        """
        numbers = list(dict.fromkeys(([number] if number else []) + self._hit))
        self._hit.clear()
        ids = []
        filter = None
        for each in numbers:
            breakpoint = self._by_number.get(each)
            filter = filter or self._catches.get(each)
            if breakpoint is None or breakpoint.request.log is not None:
                continue
            ids.append(breakpoint.request.id)
            if breakpoint.again:
                await self._channel.request(f"-break-after {each} {breakpoint.again}")
                breakpoint.ignore = breakpoint.again
        return tuple(ids), filter

    def conditional(self, ids: Sequence[int]) -> list[int]:
        breakpoints = {breakpoint.request.id: breakpoint for breakpoint in self._by_number.values()}
        return [
            id for id in ids if id in breakpoints and breakpoints[id].request.condition is not None
        ]

    def id_of(self, number: str) -> int | None:
        breakpoint = self._by_number.get(number)
        return None if breakpoint is None else breakpoint.request.id

    @property
    def hit(self) -> bool:
        """Whether a breakpoint of the user was hit since the program resumed."""
        return any(number in self._by_number for number in self._hit)

    async def is_in_other_modules(self, ids: Sequence[int]) -> bool:
        """Whether a stop was only caused by functions of that name in other modules."""
        breakpoints = [
            breakpoint for breakpoint in self._by_number.values() if breakpoint.request.id in ids
        ]
        if not breakpoints or any(
            breakpoint.request.location.module is None for breakpoint in breakpoints
        ):
            return False
        owner = await self._owner("$pc")
        return not any(
            _is_module(owner, breakpoint.request.location.module or "")
            for breakpoint in breakpoints
        )

    async def _owner(self, address: str) -> str:
        """Return the file that contains the code at an address."""
        output = await self._channel.cli(f"info symbol {address}")
        return output.rpartition(" of ")[2].strip() if " of " in output else self.program


# --- parsing ------------------------------------------------------------------------------------


def insert_args(linespec: Mapping[str, str]) -> str:
    """Return a linespec as arguments of -break-insert."""
    if "spec" in linespec:
        return linespec["spec"]
    if "function" in linespec:
        return f"--function {quote(linespec['function'])}"
    return f"--source {quote(linespec['source'])} --line {linespec['line']}"


def bound(id: int, body: Fields, message: str | None) -> BoundBreakpoint:
    """Return gdb's binding of a breakpoint."""
    locations = rows(body.get("locations"))
    first = locations[0] if locations else body
    address = str(first.get("addr", body.get("addr", "")))
    if not address.startswith("0x"):
        return BoundBreakpoint(id, False, message=message or "no code for it is loaded yet")
    line = first.get("line")
    return BoundBreakpoint(id, True, frame_names.source_path(first), int(line) if line else None)


def _is_module(owner: str, module: str) -> bool:
    base = os.path.basename(owner)
    return base == module or base.split(".so")[0] in (module, f"lib{module}")


async def _unresolved(name: str) -> list[str]:
    return [name]
