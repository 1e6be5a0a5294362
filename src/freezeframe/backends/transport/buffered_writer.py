"""The buffer in front of a descriptor that is written without blocking the event loop."""

from __future__ import annotations

import asyncio
import os

from freezeframe.errors import UserError

#: bytes that may be buffered for a program that does not read
LIMIT = 16 << 20


class BufferedWriter:
    """Send bytes to *fd* in order. Takes ownership of the descriptor. Use `fd_writer.StdinWriter`.

    What the pipe does not accept is buffered in memory, up to *limit* bytes.
    """

    def __init__(self, fd: int, *, limit: int = LIMIT, end: bytes | None = None) -> None:
        """*end* is what ends the input of a descriptor that must stay open (a terminal)."""
        self._fd = fd
        self._limit = limit
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._ending = False  # close after the buffer was written
        self._closed = False
        self._broken = False
        self._waiters: list[asyncio.Future[None]] = []
        self._open()

    @property
    def pending(self) -> int:
        """The number of bytes that were not written yet."""
        return len(self._waiting)

    @property
    def broken(self) -> bool:
        """Whether the reader at the other end is gone."""
        return self._broken

    def offer(self, data: bytes) -> bool:
        """Send *data* without waiting; False, with nothing sent, if the buffer cannot take it all.

        A single piece larger than the limit is accepted when the buffer is empty.
        """
        if self._ending or self._closed:
            return False
        if self._waiting and len(self._waiting) + len(data) > self._limit:
            return False
        self._waiting += data
        self._flush()
        return not self._broken

    async def write(self, data: bytes, *, timeout_s: float = 10.0) -> None:
        """Send all of *data* or nothing; returns as soon as the buffer has room for it.

        Raises UserError `input-closed` when the reader is gone or the input was ended before,
        `input-full` when the program left no room for *timeout_s*.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while not self.offer(data):
                    if self._broken:
                        raise _closed("the program has closed its standard input.")
                    if self._ending:
                        raise _closed("the program's standard input was ended before.")
                    waiter = self._loop.create_future()
                    self._waiters.append(waiter)
                    await waiter
        except TimeoutError:
            raise UserError(
                f"the program does not read its input: {self.pending} bytes still wait.",
                next="dbg status",
                code="input-full",
            ) from None

    def end(self) -> None:
        """Close the input after the buffer was written: the program then reads end of file."""
        if self._end is not None:
            self.offer(self._end)
            return
        self._ending = True
        if not self._waiting:
            self.close()

    def close(self) -> None:
        """Close the descriptor now and discard the buffer. May be called twice."""
        if self._closed:
            return
        self._ending = self._closed = True
        self._stop()
        self._waiting.clear()
        os.close(self._fd)
        self._wake()

    def _open(self) -> None:
        """Prepare the descriptor."""
        raise NotImplementedError

    def _flush(self) -> None:
        """Write what the descriptor accepts now, and see that the rest is written later."""
        raise NotImplementedError

    def _stop(self) -> None:
        """Write nothing later."""
        raise NotImplementedError

    def _flushed(self) -> None:
        """Note that some of the buffer was written."""
        if not self._waiting and self._ending:
            self.close()
        self._wake()

    def _break(self) -> None:
        """Note that the reader is gone."""
        self._broken = True
        self.close()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


def _closed(fact: str) -> UserError:
    return UserError(fact, next="dbg status", code="input-closed")
