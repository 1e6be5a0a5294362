"""Breakpoints set by raw debugger commands, where DAP has no request for them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence, Set

from freezeframe.backends.backend import BoundBreakpoint, BreakpointRequest
from freezeframe.errors import EvaluationFailed

from .adapter_channel import AdapterChannel
from .adapters._descriptor import ModuleBreakpoint


class CommandBreakpoints:
    """Command breakpoints of one channel.

    *ids* maps the adapter's ids to ours, *requests* our ids to the requests. Both are shared with
    AdapterBreakpoints.
    """

    def __init__(
        self,
        channel: AdapterChannel,
        ids: dict[int, tuple[int, ...]],
        requests: dict[int, BreakpointRequest],
    ) -> None:
        self._channel = channel
        self._ids = ids
        self._requests = requests
        #: our id → the adapter's
        self._numbers: dict[int, int] = {}
        #: breakpoints of other numbers have replaced some
        self._has_replacements = False

    async def set(
        self,
        requests: Sequence[BreakpointRequest],
        command: ModuleBreakpoint,
        counted: Callable[[BreakpointRequest], BreakpointRequest],
    ) -> list[BoundBreakpoint]:
        """Set the requested breakpoints that are new, and remove the others."""
        kept = {each.id: each for each in requests if self._requests.get(each.id) == each}
        for id in [id for id in self._numbers if id not in kept]:
            number = self._numbers.pop(id)
            self._ids.pop(number, None)
            await self.raw(command.remove(number))
        bound = []
        for request in requests:
            if request.log is not None:
                message = "a logpoint takes a file and a line, or a function without a module"
                bound.append(BoundBreakpoint(request.id, False, message=message, rejected=True))
                continue
            if request.id in self._numbers:
                continue
            made = command.read(await self.raw(command.make(counted(request))))
            if made is None:
                bound.append(BoundBreakpoint(request.id, False, rejected=True))
                continue
            self._requests[request.id] = request
            self._numbers[request.id] = made[0]
            self._ids[made[0]] = (request.id,)
            bound.append(BoundBreakpoint(request.id, made[1]))
        return bound

    def __contains__(self, id: int) -> bool:
        return id in self._numbers

    async def merge_locations(self, ids: Set[int]) -> Set[int]:
        """Make breakpoints stop once per execution of their line, where the line begins.

        Return those that breakpoints of other numbers replace now.
        """
        by_number = {
            number: [self._requests[id] for id in own_ids]
            for number, own_ids in self._ids.items()
            if not ids.isdisjoint(own_ids)
        }
        adapter = self._channel.adapter.breakpoints
        command = adapter.merge_locations(by_number, self._has_replacements)
        moved: set[int] = set()
        if command is not None:
            # A debugger built without Python does not have the command.
            with contextlib.suppress(EvaluationFailed):
                replaced = adapter.read_replaced(await self.raw(command))
                self._has_replacements |= bool(replaced)
                for number, others in replaced.items():
                    moved.update(self._ids[number])
                    self._ids.update((other, self._ids[number]) for other in others)
        return moved

    async def raw(self, command: str) -> str:
        adapter = self._channel.adapter
        arguments = {"expression": adapter.raw.prefix + command, "context": adapter.raw.context}
        body = await self._channel.request("evaluate", arguments)
        return str(body.get("result", ""))
