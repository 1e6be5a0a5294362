"""TCP connections to and from debuggers, on the loopback interface unless the user names a host."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable

from freezeframe.errors import DebuggerError, DebuggerTimeout
from freezeframe.loopback_peers import hex_address, is_from, own_user, socket_table

from .acceptor import Acceptor
from .streams import SocketStream, Stream

LOOPBACK = "127.0.0.1"
_RETRY_S = 0.02
#: the state of a listening socket in the kernel's tables
_LISTEN_STATE = "0A"


async def dial(
    host: str, port: int, *, timeout_s: float, retry: bool = False, own: bool = False
) -> Stream:
    """Connect, and return the stream (not opened yet).

    With *own* the listener must belong to this user, as far as the system shows: another user may
    have taken the port before the debugger did. No other user may be connected either: a debugger
    executes what any client requests, with this user's rights.

    With *retry* a refused connection means that the other side does not listen yet; it is tried
    again until *timeout_s* is over. Raises DebuggerTimeout, or DebuggerError `connect` with the
    reason.
    """
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    return await _dial_once(host, port, own)
                except ConnectionRefusedError:
                    if not retry:
                        raise
                await asyncio.sleep(_RETRY_S)
    except TimeoutError:
        raise DebuggerTimeout(
            f"nothing answered at {host}:{port} within {timeout_s:g} s."
        ) from None
    except ConnectionRefusedError:
        raise DebuggerError(f"nothing listens at {host}:{port}.", code="connect") from None
    except socket.gaierror:
        raise DebuggerError(f"there is no host {host}.", code="connect") from None
    except OSError as error:
        message = error.strerror or str(error)
        raise DebuggerError(
            f"{host}:{port} cannot be reached: {message}.", code="connect"
        ) from None


async def _dial_once(host: str, port: int, own: bool = False) -> Stream:
    # Address by address: asyncio merges the errors of several addresses (localhost has two) into
    # one text.
    loop = asyncio.get_running_loop()
    last_error: OSError | None = None
    for family, _, _, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        try:
            _, stream = await loop.create_connection(SocketStream, *address[:2], family=family)
            if own and stream.raw is not None and not _is_our_listener(stream.raw):
                stream.close()
                raise PermissionError(errno.EPERM, "another user listens there")
            if own and stream.raw is not None and _has_foreign_client(stream.raw):
                stream.close()
                raise PermissionError(errno.EPERM, "another user has connected to it")
            return stream
        except OSError as error:
            last_error = error
    raise last_error or socket.gaierror(host)


def free_port() -> int:
    """Return a loopback port that is free now.

    Another program may take it before it is used: for programs that cannot choose a port
    themselves.
    """
    with socket.socket() as trial:
        trial.bind((LOOPBACK, 0))
        return int(trial.getsockname()[1])


class Listener:
    """A port that debuggers connect to. Loopback only, chosen at random.

    Where the system shows socket owners, a connection of another user is closed unread: a client
    that speaks the protocol is trusted.
    """

    def __init__(self, server: asyncio.Server, acceptor: Acceptor) -> None:
        """Use `open`."""
        self._server = server
        self._acceptor = acceptor
        self.host: str
        self.port: int
        self.host, self.port = server.sockets[0].getsockname()[:2]

    @classmethod
    async def open(
        cls, on_stream: Callable[[Stream], None] | None = None, *, caller: int | None = None
    ) -> Listener:
        """Listen. Each connection goes to *on_stream* (not opened yet), or waits for `accept`.

        *caller* is a process whose owner may connect as well as this user: root debugs any user's
        process.
        """
        users = {own_user(), *_owner(caller)}
        acceptor = Acceptor(
            on_stream, lambda stream: stream.raw is None or is_from(stream.raw, users)
        )
        loop = asyncio.get_running_loop()
        return cls(await loop.create_server(acceptor.protocol, LOOPBACK, 0), acceptor)

    async def accept(self, *, timeout_s: float) -> Stream:
        """Return the next connection (not opened yet). Raises DebuggerTimeout."""
        return await self._acceptor.accept(f"port {self.port}", timeout_s)

    def close(self) -> None:
        """Stop listening, and close connections that were not accepted. Accepted ones stay open."""
        self._server.close()
        self._acceptor.drop_waiting()


def _owner(pid: int | None) -> set[int]:
    """Return the owner of a process, where it is visible."""
    try:
        return set() if pid is None else {os.stat(f"/proc/{pid}").st_uid}
    except OSError:
        return set()


def _is_our_listener(raw: socket.socket) -> bool:
    """Return False if the port that a loopback connection goes to certainly is another user's."""
    if raw.family != socket.AF_INET:
        return True
    try:
        peer_address = hex_address(raw.getpeername())
    except OSError:
        return False
    port = peer_address.partition(":")[2]
    owners = set()
    for fields in socket_table():
        address, _, listening_port = fields[1].rpartition(":")
        any_address = not address.strip("0")
        if (
            fields[3] == _LISTEN_STATE
            and listening_port == port
            and (any_address or fields[1].endswith(peer_address))
        ):
            owners.add(int(fields[7]))
    return not owners or owners == {own_user()}


def _has_foreign_client(raw: socket.socket) -> bool:
    """Return whether another user has a connection to the same port as *raw*."""
    if raw.family != socket.AF_INET:
        return False
    try:
        peer_address = hex_address(raw.getpeername())
    except OSError:
        return True
    # A closed socket is listed as root's, who may do anything anyway.
    users = {0, own_user()}
    return any(
        fields[2].endswith(peer_address) and int(fields[7]) not in users
        for fields in socket_table()
    )
