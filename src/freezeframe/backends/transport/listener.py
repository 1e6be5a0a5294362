"""What a place to connect to has in common, TCP or unix socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from freezeframe.errors import DebuggerTimeout

from .streams import SocketStream, Stream


class Acceptor:
    """Hands each arriving stream to a callback, or keeps it until somebody accepts it.

    A factory of protocols for asyncio's servers: `create_server(acceptor.protocol, …)`.
    """

    def __init__(
        self,
        on_stream: Callable[[Stream], None] | None,
        admit: Callable[[SocketStream], bool] | None = None,
    ) -> None:
        self._on_stream = on_stream
        self._admit = admit
        self._arrived: asyncio.Queue[Stream] = asyncio.Queue()

    def protocol(self) -> SocketStream:
        return SocketStream(self._connected)

    async def accept(self, where: str, timeout_s: float) -> Stream:
        try:
            async with asyncio.timeout(timeout_s):
                return await self._arrived.get()
        except TimeoutError:
            raise DebuggerTimeout(
                f"the debugger did not connect to {where} within {timeout_s:g} s."
            ) from None

    def drop_waiting(self) -> None:
        """Close the streams that nobody accepted."""
        while not self._arrived.empty():
            self._arrived.get_nowait().close()

    def _connected(self, stream: SocketStream) -> None:
        if self._admit is not None and not self._admit(stream):
            stream.close()
        elif self._on_stream is not None:
            self._on_stream(stream)
        else:
            self._arrived.put_nowait(stream)
