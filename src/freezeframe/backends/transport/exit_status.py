"""Find the exit status of a process that is not our child.

A program that is killed while it is being debugged stays in the process table until the debugger
reaps it. Some debuggers reap it only when it is resumed; others reap it at once and do not report
the status.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct

#: PIDFD_GET_INFO of a `struct pidfd_info`, with PIDFD_INFO_EXIT requested: Linux 6.15
_GET_INFO = 0xC040FF0B
_INFO = struct.Struct("=QQ11Ii")
_INFO_EXIT = 1 << 3


class WatchedProcess:
    """A process that another program started. Create this while the process is alive."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pidfd: int | None = None
        with contextlib.suppress(AttributeError, OSError):
            self._pidfd = os.pidfd_open(pid)

    @property
    def is_child(self) -> bool:
        """Whether the process is our own child: its parent's code then learns the exit status."""
        fields = _fields(f"/proc/{self.pid}/stat")
        return fields is not None and int(fields[1]) == os.getpid()

    def returncode(self) -> int | None:
        """Return the exit code, or minus the signal's number. None: still alive, or unknown."""
        status = self._status_kept()
        if status is None and self._is_there():
            status = self._status_of_zombie()
        return None if status is None else os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def _is_there(self) -> bool:
        """Return whether the pid still belongs to the watched process."""
        if self._pidfd is None:
            return False
        try:
            signal.pidfd_send_signal(self._pidfd, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass  # we may not signal this process
        return True

    def _status_of_zombie(self) -> int | None:
        """Return the exit status of a zombie all of whose threads have ended."""
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
        """Return the exit status that the kernel keeps for holders of a pidfd."""
        if self._pidfd is None:  # also where the system has none
            return None
        from fcntl import ioctl

        request = _INFO.pack(_INFO_EXIT, *[0] * 13)
        try:
            info = _INFO.unpack(ioctl(self._pidfd, _GET_INFO, request))
        except OSError:  # the process is alive, or the kernel is older
            return None
        return info[-1] if info[0] & _INFO_EXIT else None


def _fields(path: str) -> list[bytes] | None:
    """Return the fields that follow the name in a /proc `stat` file: state, parent, …"""
    try:
        with open(path, "rb") as file:
            line = file.read()
    except OSError:
        return None
    return line[line.rfind(b")") + 2 :].split() or None
