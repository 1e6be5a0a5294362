"""The user and the process at the other end of a unix socket, as the kernel reports them."""

from __future__ import annotations

import os
import socket as sockets
import stat
import struct
import sys

# <sys/un.h> of macOS; Python does not name them.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1


def user(connection: sockets.socket) -> int | None:
    """Return the effective user id of the peer, None where the kernel does not report it."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(
            sockets.SOL_SOCKET, sockets.SO_PEERCRED, struct.calcsize("3i")
        )
        _, uid, _ = struct.unpack("3i", credentials)
        return int(uid)
    elif sys.platform == "darwin":  # noqa: RET505 - after a plain `if`, mypy takes the rest for unreachable
        # struct xucred: version, uid, and groups that do not matter here
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 256)
        _, uid = struct.unpack_from("=II", credentials)
        return int(uid)
    else:
        return None


def redirected_input(connection: sockets.socket) -> str | None:
    """Return the file that the peer's standard input was redirected from, None without one."""
    if sys.platform != "linux":
        return None
    credentials = connection.getsockopt(
        sockets.SOL_SOCKET, sockets.SO_PEERCRED, struct.calcsize("3i")
    )
    descriptor = f"/proc/{struct.unpack('3i', credentials)[0]}/fd/0"
    try:
        facts, path = os.stat(descriptor), os.readlink(descriptor)
        is_file = stat.S_ISREG(facts.st_mode) and os.path.samestat(facts, os.stat(path))
    except OSError:
        return None
    return path if is_file else None


def is_owner(connection: sockets.socket) -> bool:
    """Return whether the peer may use this daemon.

    Where the kernel does not report its user, the directory's mode has decided already.
    """
    if sys.platform == "win32":
        return True  # the pipe's access list has admitted the peer
    uid = user(connection)
    return uid is None or uid == os.geteuid()
