"""Who is at the other end of a unix socket, as the kernel says it."""

from __future__ import annotations

import os
import socket as sockets
import struct
import sys

# <sys/un.h> of macOS; Python does not name them.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1


def user(connection: sockets.socket) -> int | None:
    """Return the effective user id of the peer, None where the kernel does not tell."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(
            sockets.SOL_SOCKET, sockets.SO_PEERCRED, struct.calcsize("3i")
        )
        _, uid, _ = struct.unpack("3i", credentials)
        return int(uid)
    elif sys.platform == "darwin":  # noqa: RET505 - mypy takes an `if` for the platform's end
        # struct xucred: version, uid, and groups that do not matter here
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 256)
        _, uid = struct.unpack_from("=II", credentials)
        return int(uid)
    else:
        return None


def is_owner(connection: sockets.socket) -> bool:
    """May the peer use this daemon?

    Where the kernel does not tell, the directory's mode has decided already.
    """
    if sys.platform == "win32":
        return True  # the pipe's access list let it in
    uid = user(connection)
    return uid is None or uid == os.geteuid()
