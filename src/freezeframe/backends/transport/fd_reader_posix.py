"""POSIX systems: read a descriptor without blocking the event loop.

See `overlapped_windows.py` for the same class there.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import sys
from collections.abc import Callable

#: bytes per read; also the capacity to which pipes are raised where the system allows it
CHUNK = 256 << 10
PIPE_SIZE = 1 << 20
#: reads per wake-up, so that a flood of output leaves time for the rest of the loop
READS_PER_WAKE = 4


class FdReader:
    """Deliver what arrives on *fd*, which may be a pipe, a FIFO, a socket or a terminal's master.

    Takes ownership of the descriptor. Nothing is delivered before `start`. `on_end` is called once,
    last, after the other side closed; not after `close`.
    """

    def __init__(
        self,
        fd: int,
        on_data: Callable[[bytes], None],
        on_end: Callable[[], None] | None = None,
    ) -> None:
        os.set_blocking(fd, False)
        widen(fd)
        self._fd = fd
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._reading = False
        self._closed = False
        self._ended = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether the other side has closed and all was delivered, or `close` was called."""
        return self._ended.is_set()

    def start(self) -> None:
        if not self._reading and not self._closed:
            self._loop.add_reader(self._fd, self._ready)
            self._reading = True

    def pause(self) -> None:
        """Deliver nothing until `resume`: the writer will block when the pipe is full."""
        if self._reading:
            self._loop.remove_reader(self._fd)
            self._reading = False

    def resume(self) -> None:
        self.start()

    def drain_now(self) -> None:
        """Deliver, before returning, everything that was written before this call.

        What is written meanwhile is left for later, so a flood cannot block the caller.
        """
        remaining = self._available()
        while remaining > 0 and not self._closed:
            size_read = self._read(min(remaining, CHUNK))
            if size_read <= 0:
                return
            remaining -= size_read

    async def wait_end(self, timeout_s: float) -> bool:
        """Wait until `ended`; False when *timeout_s* passed first."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Stop reading and close the descriptor. No callback follows. May be called twice."""
        if self._closed:
            return
        self.pause()
        self._closed = True
        os.close(self._fd)
        self._ended.set()

    def _ready(self) -> None:
        for _ in range(READS_PER_WAKE):
            if self._read(CHUNK) < CHUNK or not self._reading:
                return

    def _read(self, size: int) -> int:
        """Read once and deliver; return the number of bytes, 0 at the end, -1 if there are none."""
        try:
            data = os.read(self._fd, size)
        except (BlockingIOError, InterruptedError):
            return -1
        except OSError as error:
            # EIO is how Linux reports that the last program closed a terminal.
            if error.errno not in (errno.EIO, errno.ECONNRESET, errno.EBADF):
                raise
            data = b""
        if data:
            self._on_data(data)
        else:
            self._end()
        return len(data)

    def _end(self) -> None:
        if self._closed:
            return
        self.close()
        if self._on_end is not None:
            self._on_end()

    def _available(self) -> int:
        if self._closed:
            return 0
        import fcntl
        import termios

        buffer = bytearray(4)
        try:
            fcntl.ioctl(self._fd, termios.FIONREAD, buffer)
        except OSError:
            return CHUNK
        # At least one read, even of nothing: only a read detects the end.
        return max(1, int.from_bytes(buffer, sys.byteorder))


def widen(fd: int) -> None:
    """Raise a pipe's capacity where the system allows it; other descriptors are left unchanged."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
