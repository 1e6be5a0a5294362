"""Accept connections for a listener, TCP or unix socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from freezeframe.errors import DebuggerTimeout

from .streams import SocketStream, Stream


class Acceptor:
    """Pass each accepted stream to a callback, or queue it until `accept` is called.

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

    async def accept(self, address: str, timeout_s: float) -> Stream:
        try:
            async with asyncio.timeout(timeout_s):
                return await self._arrived.get()
        except TimeoutError:
            raise DebuggerTimeout(
                f"the debugger did not connect to {address} within {timeout_s:g} s."
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
