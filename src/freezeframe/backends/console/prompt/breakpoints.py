"""Breakpoints at a prompt, with the conditions, hit counts and logpoints a debugger lacks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from freezeframe.backends.backend import (
    BoundBreakpoint,
    BreakpointChanged,
    BreakpointRequest,
    Event,
    OutputEvent,
)
from freezeframe.backends.breakpoint_hits import BreakpointHits, HitDecision
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout
from freezeframe.model.locations import Location
from freezeframe.model.stops import WatchHit

from .command_set import CommandSet, DebuggerBreakpoint, FrameRef, StopInfo
from .frame_queries import FrameQueries

#: a location, and the condition that the debugger evaluates itself
_Key = tuple[Location, str | None]


@dataclass(slots=True)
class ConsoleBreakpoint:
    """One breakpoint of the user, and what it needs in the debugger."""

    request: BreakpointRequest
    key: _Key


class ConsoleBreakpoints:
    """The breakpoints of one debugger; maps its numbers to our ids."""

    def __init__(
        self, queries: FrameQueries, command_set: CommandSet, emit: Callable[[Event], None]
    ) -> None:
        self._queries = queries
        self._command_set = command_set
        self._emit = emit
        self._hits = BreakpointHits()
        self._breakpoints: dict[str, dict[int, ConsoleBreakpoint]] = {}
        self._installed: dict[str, dict[_Key, DebuggerBreakpoint]] = {}
        self._last_watch = 0
        #: our ids → the debugger's number and the expression
        self.watches: dict[int, tuple[str, str]] = {}

    # --- setting

    async def set(self, group: str, requests: Sequence[BreakpointRequest]) -> list[BoundBreakpoint]:
        """Make *requests* the breakpoints of a group; unchanged ones stay set."""
        refused: dict[int, BoundBreakpoint] = {}
        breakpoints: dict[int, ConsoleBreakpoint] = {}
        for request in requests:
            try:
                breakpoints[request.id] = self._parse(request, requests)
            except ValueError as error:
                refused[request.id] = _refused(request.id, str(error))
        self._breakpoints[group] = breakpoints
        installed = self._installed.setdefault(group, {})
        keys = dict.fromkeys(breakpoint.key for breakpoint in breakpoints.values())
        for key in [key for key in installed if key not in keys]:
            await self._queries.send(self._command_set.delete_breakpoint(installed.pop(key).number))
        for key in keys:
            if key in installed:
                continue
            try:
                installed[key] = await self._install(*key)
            except (DebuggerLost, DebuggerTimeout):
                raise
            except DebuggerError as error:
                for id in [id for id, breakpoint in breakpoints.items() if breakpoint.key == key]:
                    refused[id] = _refused(id, error.message)
                    del breakpoints[id]
        return [
            refused[request.id]
            if request.id in refused
            else _bound(request.id, installed[breakpoints[request.id].key], request.location)
            for request in requests
        ]

    def _parse(
        self, request: BreakpointRequest, others: Sequence[BreakpointRequest]
    ) -> ConsoleBreakpoint:
        """Parse a request. Raises ValueError with a sentence for the user."""
        if request.condition is not None:
            problem = self._command_set.check_condition(request.condition)
            if problem is not None:
                raise ValueError(problem)
        self._hits.add(request)
        alone = [each.location for each in others].count(request.location) == 1
        delegated = self._command_set.own_conditions and (
            alone or not self._command_set.one_per_location
        )
        return ConsoleBreakpoint(
            request, (request.location, request.condition if delegated else None)
        )

    async def _install(self, location: Location, condition: str | None) -> DebuggerBreakpoint:
        missing = self._command_set.missing_feature(location)
        query = None if missing else self._command_set.break_at(location, condition)
        if query is None:
            what = missing.value if missing else "breakpoints there"
            raise DebuggerError(f"{self._command_set.name} has no {what}.")
        return await self._queries.run(query)

    def rebind(self, installed: DebuggerBreakpoint) -> list[BoundBreakpoint]:
        """Record the new location of one debugger breakpoint; return the user's breakpoints
        there.
        """
        changed = []
        for group, there in self._installed.items():
            for key in [key for key, each in there.items() if each.number == installed.number]:
                there[key] = installed
                changed += [
                    _bound(id, installed, breakpoint.request.location)
                    for id, breakpoint in self._breakpoints.get(group, {}).items()
                    if breakpoint.key == key
                ]
        return changed

    def rebind_all(self, installed: Sequence[DebuggerBreakpoint]) -> list[BoundBreakpoint]:
        """Record breakpoints that were pending and are bound now; return the user's breakpoints."""
        found = {each.number: each for each in installed}
        bound = []
        for group, breakpoints in self._breakpoints.items():
            for key, old in self._installed.get(group, {}).items():
                if old.number not in found:
                    continue
                self._installed[group][key] = found[old.number]
                bound += [
                    _bound(id, found[old.number], breakpoint.request.location)
                    for id, breakpoint in breakpoints.items()
                    if breakpoint.key == key
                ]
        return bound

    # --- hits

    async def evaluate_hit(
        self, halt: StopInfo, at: FrameRef, *, back: bool = False
    ) -> HitDecision:
        """Return which breakpoints a stop is for; count hits and write logpoint messages.

        When going *back* nothing is counted or written.
        """
        met = [
            (breakpoint, self._installed[group][breakpoint.key])
            for group, breakpoints in self._breakpoints.items()
            for breakpoint in breakpoints.values()
            if breakpoint.key in self._installed[group]
            and _is_at(self._installed[group][breakpoint.key], breakpoint, halt)
        ]
        for _, installed in met:
            if not installed.verified:
                self._bind(installed, halt)
        commands, run = self._command_set, self._queries.run
        decision = await self._hits.decide(
            [breakpoint.request.id for breakpoint, _ in met],
            lambda code: run(commands.evaluate_condition(code, at), at, slow=False),
            lambda code: run(commands.log_text(code, at), at, slow=False),
            back=back,
        )
        for message in decision.messages:
            self._emit(OutputEvent("log", message + "\n"))
        return decision

    def _bind(self, installed: DebuggerBreakpoint, halt: StopInfo) -> None:
        """Report a pending breakpoint as bound: the program has stopped at it."""
        for each in self.rebind(replace(installed, verified=True, message=None)):
            self._emit(BreakpointChanged(replace(each, path=halt.path, line=halt.line)))

    @property
    def has_unreported_hits(self) -> bool:
        """Whether some breakpoint may be hit without reporting a stop."""
        return any(
            request.condition is not None
            or request.hit_count is not None
            or request.log is not None
            for breakpoints in self._breakpoints.values()
            for request in (breakpoint.request for breakpoint in breakpoints.values())
        )

    # --- watchpoints

    async def watch(
        self, expression: str, access: str, condition: str | None, at: FrameRef
    ) -> BoundBreakpoint | None:
        query = self._command_set.watch(expression, access, condition, at)
        if query is None:
            return None
        installed = await self._queries.run(query, at)
        self._last_watch += 1
        self.watches[self._last_watch] = (installed.number, expression)
        return BoundBreakpoint(self._last_watch, installed.verified, message=installed.message)

    def translate_watch_hit(self, hit: WatchHit) -> WatchHit | None:
        """Return a watchpoint hit with our id in place of the debugger's number."""
        for id, (number, expression) in self.watches.items():
            if number == str(hit.id):
                if hit.ended:
                    del self.watches[id]
                also = tuple(
                    each for each in map(self.translate_watch_hit, hit.also) if each is not None
                )
                return replace(hit, id=id, expression=expression, also=also)
        return None

    async def unwatch(self, id: int) -> None:
        watch = self.watches.pop(id, None)
        if watch is not None:
            await self._queries.send(self._command_set.unwatch(watch[0]))


def _is_at(installed: DebuggerBreakpoint, breakpoint: ConsoleBreakpoint, halt: StopInfo) -> bool:
    """Whether a stop is at a breakpoint: by number if the debugger reports it, else by location."""
    if halt.numbers is not None:
        return installed.number in halt.numbers
    if installed.number in halt.among:
        return True
    function = breakpoint.request.location.function
    if function is not None and halt.function is not None and halt.function.startswith("<"):
        return False  # code outside of functions may be on the line of one
    if installed.line is not None and halt.line is not None:
        return installed.line == halt.line and _same_file(installed.path, halt.path)
    return function is not None and halt.function is not None and halt.function == function


def _same_file(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _bound(id: int, installed: DebuggerBreakpoint, location: Location) -> BoundBreakpoint:
    if not installed.verified:
        return BoundBreakpoint(
            id, False, message=installed.message or "no code for it is loaded yet"
        )
    path = location.file if _same_file(location.file, installed.path) else installed.path
    return BoundBreakpoint(
        id, True, path, installed.line, installed.message, edited=installed.edited
    )


def _refused(id: int, message: str) -> BoundBreakpoint:
    return BoundBreakpoint(id, False, message=message.rstrip("."), rejected=True)
