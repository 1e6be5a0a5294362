"""Who is at the other end of a loopback connection: Linux lists the owner of every TCP socket.

Any user of the machine can connect to a loopback port, and TCP has no credentials of its own.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator

#: the kernel's tables of TCP sockets
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def lists_owners() -> bool:
    """Return whether this system shows the owners of sockets."""
    return sys.platform != "win32" and os.path.exists(_TABLES[0])


def own_user() -> int:
    """Return this user's number; any where the system lists no owners of sockets (Windows)."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def is_from(raw: socket.socket, users: set[int]) -> bool:
    """Return False if the other end of a loopback connection may belong to another user.

    Where our own socket is not listed either, nothing is known, and the answer is True.
    """
    try:
        local_address, peer_address = (
            hex_address(raw.getsockname()),
            hex_address(raw.getpeername()),
        )
    except OSError:
        return False
    known = False
    for fields in socket_table():
        # A dual-stack socket (the JVM's) has the same address after a prefix, in tcp6.
        local, remote = fields[1], fields[2]
        if local.endswith(peer_address) and remote.endswith(local_address):
            # A socket that its process closed has no inode and is listed as root's: any user may
            # have sent its data.
            return int(fields[7]) in users and fields[9] != "0"
        # The port that was connected to is listed even when the client has reset the connection.
        if local.endswith(local_address):
            known = True
    return not known


def socket_table() -> Iterator[list[str]]:
    """Yield the fields of every TCP socket that the system lists; nothing where it lists none."""
    if sys.platform == "win32":
        return  # wine would show those of Linux
    for path in _TABLES:
        try:
            with open(path, encoding="ascii") as file:
                lines = file.readlines()[1:]
        except OSError:
            continue
        for line in lines:
            yield line.split()


def hex_address(address: tuple[str, int]) -> str:
    """Return an IPv4 address as the kernel's tables write it: `0100007F:1F90`."""
    number = int.from_bytes(socket.inet_aton(address[0]), sys.byteorder)
    return f"{number:08X}:{address[1]:04X}"
