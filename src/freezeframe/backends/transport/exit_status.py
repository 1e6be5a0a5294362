"""How a process ended that is not our child: what its debugger, or its parent, may not tell.

A program that is killed while a debugger holds it stays in the process table until the debugger
asks for its status, which some do only when it is resumed; others ask at once and do not tell.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct

try:
    from fcntl import ioctl
except ImportError:  # not Unix: nothing can be told
    ioctl = None  # type: ignore[assignment]

#: PIDFD_GET_INFO of a `struct pidfd_info`, with PIDFD_INFO_EXIT asked for: Linux 6.15
_GET_INFO = 0xC040FF0B
_INFO = struct.Struct("=QQ11Ii")
_INFO_EXIT = 1 << 3


class Watched:
    """A process that somebody else started. Made while it lives."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pidfd: int | None = None
        with contextlib.suppress(AttributeError, OSError):
            self._pidfd = os.pidfd_open(pid)

    @property
    def ours(self) -> bool:
        """It is our own child: whoever started it learns its end."""
        fields = _fields(f"/proc/{self.pid}/stat")
        return fields is not None and int(fields[1]) == os.getpid()

    def returncode(self) -> int | None:
        """Return its exit code, or minus the signal's number. None: it lives, or nobody knows."""
        status = self._status_kept()
        if status is None and self._is_there():
            status = self._status_of_zombie()
        return None if status is None else os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def _is_there(self) -> bool:
        """Its number is still its own."""
        if self._pidfd is None:
            return False
        try:
            signal.pidfd_send_signal(self._pidfd, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass  # not ours to signal
        return True

    def _status_of_zombie(self) -> int | None:
        """Return the status of a process all of whose threads have ended, not yet asked for."""
        folder = f"/proc/{self.pid}/task"
        try:
            threads = os.listdir(folder)
        except OSError:
            return None
        for thread in threads:
            fields = _fields(f"{folder}/{thread}/stat")
            if fields is not None and fields[0] not in (b"Z", b"X"):
                return None
        fields = _fields(f"/proc/{self.pid}/stat")
        return None if fields is None or len(fields) < 50 else int(fields[49])

    def _status_kept(self) -> int | None:
        """Return the status that the kernel keeps for those who hold a pidfd."""
        if ioctl is None or self._pidfd is None:
            return None
        asked = _INFO.pack(_INFO_EXIT, *[0] * 13)
        try:
            told = _INFO.unpack(ioctl(self._pidfd, _GET_INFO, asked))
        except OSError:  # it lives, or the kernel is older
            return None
        return told[-1] if told[0] & _INFO_EXIT else None


def _fields(path: str) -> list[bytes] | None:
    """Return what follows the name in a `stat` of /proc: state, parent, …"""
    try:
        with open(path, "rb") as file:
            line = file.read()
    except OSError:
        return None
    return line[line.rfind(b")") + 2 :].split() or None
