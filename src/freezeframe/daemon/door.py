"""Where connections come in: what the server needs of it, and the unix socket.

The named pipe of Windows is in pipe_windows.py.
"""

from __future__ import annotations

import asyncio
import os
import socket as sockets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from freezeframe.daemon import lifecycle, peer

#: called with the streams of each connection, in a task of its own
Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Door(Protocol):
    """Lets connections in until it is closed."""

    async def open(self, connected: Connected, buffer_bytes: int) -> None:
        """Start to accept; *buffer_bytes* bound what is read ahead of a connection's task."""

    async def open_again(self) -> None:
        """Make the address anew if it was taken away."""

    def admits(self, writer: asyncio.StreamWriter) -> bool:
        """Is this connection the owner's?"""

    async def close(self) -> None:
        """Remove the address, let in who came before that, and accept no more."""


class UnixDoor:
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
        return peer.is_owner(writer.get_extra_info("socket"))

    async def close(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        # Whoever connected before that sits in the socket's queue, and must not be dropped.
        for _ in range(3):
            await asyncio.sleep(0)
        if self._server:
            self._server.close()
