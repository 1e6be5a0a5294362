"""The listener interface that the server uses, and its unix socket.

The named pipe of Windows is in named_pipe_windows.py.
"""

from __future__ import annotations

import asyncio
import os
import socket as sockets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from freezeframe.daemon import lifecycle, peer_credentials

#: called with the streams of each connection, in its own task
Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class DaemonListener(Protocol):
    """Accepts connections until it is closed."""

    async def open(self, connected: Connected, buffer_bytes: int) -> None:
        """Start accepting; *buffer_bytes* limits what is read ahead for one connection."""

    async def open_again(self) -> None:
        """Create the address again if somebody removed it."""

    def admits(self, writer: asyncio.StreamWriter) -> bool:
        """Return whether the peer is the daemon's owner."""

    async def close(self) -> None:
        """Remove the address, accept the connections made before that, then stop accepting."""


class UnixSocketListener:
    """A listening unix socket in the runtime directory."""

    def __init__(self, listener: sockets.socket, directory: str) -> None:
        self._listener = listener
        self._directory = directory
        self._path = os.path.join(directory, lifecycle.SOCKET)
        self._server: asyncio.AbstractServer | None = None
        self._connected: Connected | None = None
        self._buffer_bytes = 0

    async def open(self, connected: Connected, buffer_bytes: int) -> None:
        self._connected, self._buffer_bytes = connected, buffer_bytes
        self._server = await self._serve(self._listener)

    async def open_again(self) -> None:
        if self._is_there():
            return
        with lifecycle.inside(self._directory):
            listener = lifecycle.bind()
        previous, self._server = self._server, await self._serve(listener)
        if previous:
            previous.close()

    def _is_there(self) -> bool:
        return os.path.lexists(self._path)

    async def _serve(self, listener: sockets.socket) -> asyncio.AbstractServer:
        assert self._connected is not None
        return await asyncio.start_unix_server(
            self._connected, sock=listener, limit=self._buffer_bytes, backlog=lifecycle.BACKLOG
        )

    def admits(self, writer: asyncio.StreamWriter) -> bool:
        return peer_credentials.is_owner(writer.get_extra_info("socket"))

    async def close(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        # Clients that connected before that are in the socket's queue and must not be dropped.
        for _ in range(3):
            await asyncio.sleep(0)
        if self._server:
            self._server.close()
