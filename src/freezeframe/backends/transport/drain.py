"""Read a descriptor without ever blocking the event loop.

`Reader` gives bytes, `Drain` gives text, `Tail` keeps the end of a text.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import os
import sys
from collections.abc import Callable

#: one read; also the size to which pipes are raised where the system lets us
CHUNK = 256 << 10
PIPE_SIZE = 1 << 20
#: reads at one wake-up, so that a flood leaves room for the rest of the loop
READS_PER_WAKE = 4


class Reader:
    """Delivers what arrives on *fd*, and takes the descriptor over.

    Silent until `start`. `on_end` is called once, last, after the other side closed; not after
    `close`. A pipe, a FIFO, a socket or the master of a terminal.
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
        """The other side has closed and everything was delivered, or `close` was called."""
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
        """Deliver, before returning, everything that had been written before this call.

        What is written meanwhile is left for later, so a flood cannot hold the caller.
        """
        left = self._available()
        while left > 0 and not self._closed:
            got = self._read(min(left, CHUNK))
            if got <= 0:
                return
            left -= got

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
        """Read once and deliver; the number of bytes, 0 at the end, -1 when there is nothing."""
        try:
            data = os.read(self._fd, size)
        except (BlockingIOError, InterruptedError):
            return -1
        except OSError as error:
            # EIO is how Linux says that the last program left a terminal.
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
        # At least one read, even of nothing: it is how the end is noticed.
        return max(1, int.from_bytes(buffer, sys.byteorder))


class Drain(Reader):
    """A Reader that delivers text. Invalid bytes become U+FFFD; a character is never split."""

    def __init__(
        self,
        fd: int,
        on_text: Callable[[str], None],
        on_end: Callable[[], None] | None = None,
        *,
        encoding: str = "utf-8",
    ) -> None:
        super().__init__(fd, self._decode, on_end)
        self._on_text = on_text
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def _decode(self, data: bytes) -> None:
        text = self._decoder.decode(data)
        if text:
            self._on_text(text)

    def close(self) -> None:
        if not self._closed:
            # Half a character at the very end is still something that was written.
            rest = self._decoder.decode(b"", final=True)
            if rest:
                self._on_text(rest)
        super().close()


class Tail:
    """The last *limit* characters of a text: a debugger's last words."""

    def __init__(self, limit: int = 4000) -> None:
        self._limit = limit
        self._text = ""
        self._cut = False

    def feed(self, text: str) -> None:
        whole = self._text + text[-self._limit - 1 :]
        self._cut = self._cut or len(whole) > self._limit
        self._text = whole[-self._limit :]

    def lines(self, count: int = 10) -> list[str]:
        """Return the last *count* lines that are not empty; one whose start was cut is left out."""
        lines = self._text.split("\n")
        if self._cut and len(lines) > 1:
            del lines[0]
        return [line.rstrip("\r") for line in lines if line.strip()][-count:]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def widen(fd: int) -> None:
    """Raise a pipe's capacity where the system has a way; nothing happens to other descriptors."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
