"""Windows: read and write descriptors of pipes through the completion port of the event loop.

asyncio's pipe transports do the same, but deliver in their own time: a reader here can also be
told to deliver at once what was written before (`drain_now`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from freezeframe import windows

from .buffered_writer import BufferedWriter

#: bytes per read
CHUNK = 64 << 10
#: reads of one `drain_now`, so that a flood of output leaves time for the rest of the loop
_MOST_READS = 64


def pipe(*, reading: bool) -> tuple[int, int]:
    """Return the descriptors of a new pipe: our end, which the loop can wait for, and the other.

    Neither is inherited by programs.
    """
    utils = windows.module("asyncio.windows_utils")
    overlapped = (True, False) if reading else (False, True)
    read, write = utils.pipe(overlapped=overlapped, duplex=False)
    near_end, far_end = (read, write) if reading else (write, read)
    opened = windows.module("msvcrt").open_osfhandle
    return opened(near_end, os.O_RDONLY if reading else 0), opened(far_end, 0)


class _Pipe:
    """A descriptor as the completion port wants it: an object with a handle."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._handle: int = windows.module("msvcrt").get_osfhandle(fd)

    def fileno(self) -> int:
        return self._handle


def _proactor() -> Any:
    loop: Any = asyncio.get_running_loop()
    return loop._proactor


class FdReader:
    """Deliver what arrives on *fd*, our end of a pipe. See `fd_reader_posix.FdReader`."""

    def __init__(
        self,
        fd: int,
        on_data: Callable[[bytes], None],
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self._pipe = _Pipe(fd)
        self._proactor = _proactor()
        self._on_data = on_data
        self._on_end = on_end
        self._reading = False
        self._closed = False
        self._ended = asyncio.Event()
        self._pending: asyncio.Future[bytes] | None = None

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def start(self) -> None:
        if not self._reading and not self._closed:
            self._reading = True
            self._deliver_received()

    def pause(self) -> None:
        self._reading = False

    def resume(self) -> None:
        self.start()

    def drain_now(self) -> None:
        for _ in range(_MOST_READS):
            if self._closed:
                return
            self._receive()
            self._proactor._poll(0)  # completes the futures of what has arrived, of any pipe
            if self._pending is None or not self._pending.done():
                return
            self._take(self._pending)

    async def wait_end(self, timeout_s: float) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        if self._closed:
            return
        self._reading = False
        self._closed = True
        if self._pending is not None:
            self._pending.cancel()
        os.close(self._pipe.fd)
        self._ended.set()

    def _receive(self) -> None:
        """Have a read under way."""
        if self._pending is None and not self._closed:
            self._pending = self._proactor.recv(self._pipe, CHUNK)
            self._pending.add_done_callback(self._received)

    def _received(self, read: asyncio.Future[bytes]) -> None:
        # One that `drain_now` has taken is not the pending one any more.
        if read is self._pending and self._reading:
            self._take(read)
            self._deliver_received()

    def _deliver_received(self) -> None:
        while self._reading and not self._closed:
            self._receive()
            if self._pending is None or not self._pending.done():
                return
            self._take(self._pending)

    def _take(self, read: asyncio.Future[bytes]) -> None:
        self._pending = None
        if read.cancelled():
            return
        try:
            data = read.result()
        except OSError:  # how Windows reports that the last writer is gone
            data = b""
        if data:
            self._on_data(data)
        elif not self._closed:
            self.close()
            if self._on_end is not None:
                self._on_end()


class StdinWriter(BufferedWriter):
    """Send bytes to *fd*, our end of a pipe, in order."""

    _sending: asyncio.Future[int] | None = None

    def _open(self) -> None:
        self._pipe = _Pipe(self._fd)
        self._proactor = _proactor()

    def _flush(self) -> None:
        if self._sending is None and self._waiting:
            try:
                self._sending = self._proactor.send(self._pipe, bytes(self._waiting[:CHUNK]))
            except OSError:
                self._break()
                return
            self._sending.add_done_callback(self._sent)

    def _sent(self, sending: asyncio.Future[int]) -> None:
        self._sending = None
        if sending.cancelled() or self._closed:
            return
        try:
            del self._waiting[: sending.result()]
        except OSError:
            self._break()
            return
        self._flush()
        self._flushed()

    def _stop(self) -> None:
        if self._sending is not None:
            with suppress(OSError):
                self._sending.cancel()
