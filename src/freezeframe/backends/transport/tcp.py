"""TCP to and from debuggers, on the loopback interface unless the user names another host."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import sys
from collections.abc import Callable, Iterator

from freezeframe.errors import DebuggerError, DebuggerTimeout

from .listener import Acceptor
from .streams import SocketStream, Stream

LOOPBACK = "127.0.0.1"
_RETRY_S = 0.02
#: the state of a socket that waits for connections, in the kernel's tables
_LISTENS = "0A"


async def dial(
    host: str, port: int, *, timeout_s: float, retry: bool = False, own: bool = False
) -> Stream:
    """Connect, and return the stream (not opened yet).

    With *own* somebody of this user must listen there, as far as the system can tell: another
    user may have taken the port before the debugger that was told to.

    With *retry* a refusal means that the other side does not listen yet, and is tried again until
    *timeout_s* is over. Raises DebuggerTimeout, or DebuggerError `connect` with the reason.
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
        words = error.strerror or str(error)
        raise DebuggerError(f"{host}:{port} cannot be reached: {words}.", code="connect") from None


async def _dial_once(host: str, port: int, own: bool = False) -> Stream:
    # Address by address: asyncio melts the refusals of several (localhost is two) into one text.
    loop = asyncio.get_running_loop()
    refusal: OSError | None = None
    for family, _, _, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        try:
            _, stream = await loop.create_connection(SocketStream, *address[:2], family=family)
            if own and stream.raw is not None and not _listened_at_by_us(stream.raw):
                stream.close()
                raise PermissionError(errno.EPERM, "another user listens there")
            return stream
        except OSError as error:
            refusal = error
    raise refusal or socket.gaierror(host)


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens at now.

    Somebody else may take it before it is used: for programs that cannot choose one themselves.
    """
    with socket.socket() as trial:
        trial.bind((LOOPBACK, 0))
        return int(trial.getsockname()[1])


class Listener:
    """A port that debuggers connect to. Loopback only, chosen at random.

    Where the system can tell, a connection of another user is dropped unheard: whoever speaks as
    the debugger is believed.
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

        *caller* is a process whose owner may connect as well as this user: root debugs anybody's.
        """
        users = {os.geteuid(), *_owner(caller)}
        acceptor = Acceptor(on_stream, lambda stream: _is_from(stream, users))
        loop = asyncio.get_running_loop()
        return cls(await loop.create_server(acceptor.protocol, LOOPBACK, 0), acceptor)

    async def accept(self, *, timeout_s: float) -> Stream:
        """Return the next connection (not opened yet). Raises DebuggerTimeout."""
        return await self._acceptor.accept(f"port {self.port}", timeout_s)

    def close(self) -> None:
        """Listen no more, and drop connections that nobody accepted. Accepted ones go on."""
        self._server.close()
        self._acceptor.drop_waiting()


def _owner(pid: int | None) -> set[int]:
    """Return the user of a process, where that may be seen."""
    try:
        return set() if pid is None else {os.stat(f"/proc/{pid}").st_uid}
    except OSError:
        return set()


def _is_from(stream: SocketStream, users: set[int]) -> bool:
    """False when the other end of a loopback connection may be a process of another user's.

    Linux lists the owner of every socket; where ours is not listed either nothing can be said.
    """
    if stream.raw is None:
        return True
    try:
        ours, theirs = (
            _hex_address(stream.raw.getsockname()),
            _hex_address(stream.raw.getpeername()),
        )
    except OSError:
        return False
    known = False
    for fields in _socket_table():
        # A dual-stack socket (the JVM's) has the same address behind a prefix, in tcp6.
        local, remote = fields[1], fields[2]
        if local.endswith(theirs) and remote.endswith(ours):
            # A socket that its process closed has no inode and counts as root's: what it
            # sent before may be anybody's.
            return int(fields[7]) in users and fields[9] != "0"
        # The port that was called is there even when the caller has reset the connection.
        if local.endswith(ours):
            known = True
    return not known


def _socket_table() -> Iterator[list[str]]:
    """Yield the fields of every TCP socket that the system lists; nothing where it lists none."""
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(path, encoding="ascii") as file:
                lines = file.readlines()[1:]
        except OSError:
            continue
        for line in lines:
            yield line.split()


def _listened_at_by_us(raw: socket.socket) -> bool:
    """False when the port that a loopback connection goes to certainly is another user's."""
    if raw.family != socket.AF_INET:
        return True
    try:
        theirs = _hex_address(raw.getpeername())
    except OSError:
        return False
    port = theirs.partition(":")[2]
    owners = set()
    for fields in _socket_table():
        address, _, its_port = fields[1].rpartition(":")
        everywhere = not address.strip("0")
        if (
            fields[3] == _LISTENS
            and its_port == port
            and (everywhere or fields[1].endswith(theirs))
        ):
            owners.add(int(fields[7]))
    return not owners or owners == {os.geteuid()}


def _hex_address(address: tuple[str, int]) -> str:
    """Return an IPv4 address as the kernel's tables spell it: `0100007F:1F90`."""
    number = int.from_bytes(socket.inet_aton(address[0]), sys.byteorder)
    return f"{number:08X}:{address[1]:04X}"
