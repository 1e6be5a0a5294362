"""Unix sockets to and from debuggers: only the owner of their directory can connect."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable

from freezeframe import paths
from freezeframe.errors import DebuggerError, DebuggerTimeout

from .acceptor import Acceptor
from .streams import SocketStream, Stream

_RETRY_S = 0.02


async def dial(path: str, *, timeout_s: float, retry: bool = False) -> Stream:
    """Connect to the socket at *path*, and return the stream (not opened yet).

    With *retry* an absent or refusing socket means that the other side does not listen yet; it is
    tried again until *timeout_s* is over. Raises DebuggerTimeout, or DebuggerError `connect` with
    the reason.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    _, stream = await loop.create_unix_connection(SocketStream, path)
                    return stream
                except (ConnectionRefusedError, FileNotFoundError):
                    if not retry:
                        raise
                await asyncio.sleep(_RETRY_S)
    except TimeoutError:
        raise DebuggerTimeout(f"nothing answered at {path} within {timeout_s:g} s.") from None
    except FileNotFoundError:
        raise DebuggerError(f"there is no socket {path}.", code="connect") from None
    except ConnectionRefusedError:
        raise DebuggerError(f"nothing listens at {path}.", code="connect") from None
    except OSError as error:
        raise DebuggerError(
            f"{path} cannot be reached: {error.strerror or error}.", code="connect"
        ) from None


class UnixListener:
    """A socket in a private directory (mode 0700) that debuggers connect to."""

    def __init__(self, server: asyncio.Server, acceptor: Acceptor, path: str) -> None:
        """Use `open`."""
        self._server = server
        self._acceptor = acceptor
        self.path = path

    @classmethod
    async def open(cls, on_stream: Callable[[Stream], None] | None = None) -> UnixListener:
        """Listen. Each connection goes to *on_stream* (not opened yet), or waits for `accept`."""
        directory = paths.scratch()
        path = os.path.join(directory, "s")
        acceptor = Acceptor(on_stream)
        try:
            loop = asyncio.get_running_loop()
            return cls(await loop.create_unix_server(acceptor.protocol, path), acceptor, path)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise

    async def accept(self, *, timeout_s: float) -> Stream:
        """Return the next connection (not opened yet). Raises DebuggerTimeout."""
        return await self._acceptor.accept(self.path, timeout_s)

    def close(self) -> None:
        """Stop listening, remove the socket, close what was not accepted. The rest stays open."""
        self._server.close()
        self._acceptor.drop_waiting()
        shutil.rmtree(os.path.dirname(self.path), ignore_errors=True)
