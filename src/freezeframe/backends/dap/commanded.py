"""Breakpoints as far as raw commands make them: what the protocol has no request for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence, Set

from freezeframe.backends.backend import BoundBreakpoint, Target, WantedBreakpoint
from freezeframe.errors import EvaluationFailed

from .adapters._descriptor import ModuleBreakpoint
from .wire import Wire


class Commanded:
    """Those of one wire. *ids* are ours behind the adapter's, *wanted* what was asked for."""

    def __init__(
        self, wire: Wire, ids: dict[int, tuple[int, ...]], wanted: dict[int, WantedBreakpoint]
    ) -> None:
        self._wire = wire
        self._ids = ids
        self._wanted = wanted
        #: our id → the adapter's
        self._numbers: dict[int, int] = {}

    async def set(
        self,
        wanted: Sequence[WantedBreakpoint],
        command: ModuleBreakpoint,
        counted: Callable[[WantedBreakpoint], WantedBreakpoint],
    ) -> list[BoundBreakpoint]:
        """Make those that are not there, and remove those not wanted."""
        kept = {want.id: want for want in wanted if self._wanted.get(want.id) == want}
        for id in [id for id in self._numbers if id not in kept]:
            number = self._numbers.pop(id)
            self._ids.pop(number, None)
            await self.raw(command.remove(number))
        bound = []
        for want in wanted:
            if want.log is not None:
                message = "a logpoint takes a file and a line, or a function without a module"
                bound.append(BoundBreakpoint(want.id, False, message=message, rejected=True))
                continue
            if want.id in self._numbers:
                continue
            made = command.read(await self.raw(command.make(counted(want))))
            if made is None:
                bound.append(BoundBreakpoint(want.id, False, rejected=True))
                continue
            self._wanted[want.id] = want
            self._numbers[want.id] = made[0]
            self._ids[made[0]] = (want.id,)
            bound.append(BoundBreakpoint(want.id, made[1]))
        return bound

    def __contains__(self, id: int) -> bool:
        return id in self._numbers

    async def once_a_pass(self, target: Target, ids: Set[int]) -> None:
        """Make breakpoints of ours stop once where their line has several places."""
        theirs = {
            number: [self._wanted[id] for id in ours]
            for number, ours in self._ids.items()
            if not ids.isdisjoint(ours)
        }
        command = self._wire.adapter.breakpoints.once_a_pass(target, theirs)
        if command is not None:
            # A debugger without Python has not learned the command.
            with contextlib.suppress(EvaluationFailed):
                await self.raw(command)

    async def raw(self, command: str) -> str:
        adapter = self._wire.adapter
        arguments = {"expression": adapter.raw.prefix + command, "context": adapter.raw.context}
        body = await self._wire.request("evaluate", arguments)
        return str(body.get("result", ""))
