"""Breakpoints set by raw debugger commands, where DAP has no request for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from freezeframe.backends.backend import BoundBreakpoint, BreakpointRequest, Target

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

    async def set(
        self,
        requests: Sequence[BreakpointRequest],
        command: ModuleBreakpoint,
        counted: Callable[[BreakpointRequest], BreakpointRequest],
        target: Target,
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
            made = command.read(await self.raw(command.make(counted(request), target)))
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

    async def raw(self, command: str) -> str:
        adapter = self._channel.adapter
        arguments = {"expression": adapter.raw.prefix + command, "context": adapter.raw.context}
        body = await self._channel.request("evaluate", arguments)
        return str(body.get("result", ""))
