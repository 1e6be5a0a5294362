"""One interface over every way to exchange bytes with a debugger.

A stream delivers nothing until `open` is called, so nothing that arrives early is lost. After that
`on_data` gets every chunk in order, and `on_eof` is called exactly once, last, with a reason unless
it was an ordinary end. Neither is called after `close`.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from typing import Protocol

from .fd_reader import FdReader
from .fd_writer import StdinWriter
from .process import Process

OnData = Callable[[bytes], None]
OnEof = Callable[[str | None], None]

#: bytes that may be buffered for a debugger that does not read before the connection is dropped
WRITE_LIMIT = 64 << 20

# Absent on macOS and Windows, where delayed acknowledgement cannot be switched off.
_TCP_QUICKACK: int | None = (
    getattr(socket, "TCP_QUICKACK", None) if sys.platform == "linux" else None
)


class Stream(Protocol):
    """A two-way flow of bytes."""

    @property
    def peer(self) -> str:
        """The name of the other end, for messages."""

    def open(self, on_data: OnData, on_eof: OnEof) -> None:
        """Start to deliver what arrives."""

    def write(self, data: bytes) -> None:
        """Send *data*. Never blocks; does nothing if the other end is gone (see `on_eof`)."""

    def pause(self) -> None:
        """Deliver nothing until `resume`."""

    def resume(self) -> None: ...

    def close(self) -> None:
        """Close the connection. No callback follows. May be called twice."""


class PairStream:
    """Two descriptors, one to read and one to write: pipes, or two of one terminal.

    Takes ownership of both. Closing ends the other side's input; it kills no process.
    """

    def __init__(self, read: int, write: int, peer: str) -> None:
        self._peer = peer
        self._reader = FdReader(read, self._data, self._end)
        self._writer = StdinWriter(write, limit=WRITE_LIMIT)
        self._on_data: OnData | None = None
        self._on_eof: OnEof | None = None

    @property
    def peer(self) -> str:
        return self._peer

    def open(self, on_data: OnData, on_eof: OnEof) -> None:
        self._on_data = on_data
        self._on_eof = on_eof
        self._reader.start()

    def write(self, data: bytes) -> None:
        # A broken pipe is not reported here: the output that the process wrote before it ended is
        # still to be read, and reading reports the end.
        if not self._writer.offer(data) and not self._writer.broken:
            self._finish("it no longer reads what it is sent")

    def pause(self) -> None:
        self._reader.pause()

    def resume(self) -> None:
        self._reader.resume()

    def close(self) -> None:
        self._on_data = self._on_eof = None
        self._reader.close()
        self._writer.close()

    def _data(self, data: bytes) -> None:
        if self._on_data is not None:
            self._on_data(data)

    def _end(self) -> None:
        self._finish(None)

    def _finish(self, reason: str | None) -> None:
        on_eof, self._on_eof, self._on_data = self._on_eof, None, None
        if on_eof is not None:
            on_eof(reason)


class StdioStream(PairStream):
    """The standard input and output of a process that was spawned with pipes for both."""

    def __init__(self, process: Process) -> None:
        peer = f"{process.name} (pid {process.pid})"
        super().__init__(process.take_stdout(), process.take_stdin(), peer)


class SocketStream(asyncio.Protocol):
    """A connected TCP or unix socket. Created by `tcp` and `unix`."""

    def __init__(self, on_connected: Callable[[SocketStream], None] | None = None) -> None:
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._on_connected = on_connected
        self._on_data: OnData | None = None
        self._on_eof: OnEof | None = None
        self._early: list[bytes] = []
        self._ended: tuple[str | None] | None = None
        self._peer = "a closed socket"
        self._quick = False
        self._closed = False

    @property
    def peer(self) -> str:
        return self._peer

    @property
    def raw(self) -> socket.socket | None:
        """The TCP socket itself, for access checks."""
        return self._socket

    def open(self, on_data: OnData, on_eof: OnEof) -> None:
        self._on_data = on_data
        self._on_eof = on_eof
        asyncio.get_running_loop().call_soon(self._begin)

    def write(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > WRITE_LIMIT:
            self._transport.abort()
            self._finish("it no longer reads what it is sent")

    def pause(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        self._closed = True
        self._on_data = self._on_eof = None
        if self._transport is not None:
            self._transport.close()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.pause_reading()
        raw = transport.get_extra_info("socket")
        if raw is not None:
            self._peer = _peer_of(raw)
            if raw.family in (socket.AF_INET, socket.AF_INET6):
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._socket = raw
                self._quick = _TCP_QUICKACK is not None
                self._acknowledge()
        if self._on_connected is not None:
            self._on_connected(self)

    def data_received(self, data: bytes) -> None:
        # Many debuggers send header and body separately with Nagle on: the body waits for our
        # acknowledgement of the header, which the kernel delays by 40 ms unless TCP_QUICKACK is set
        # each time.
        self._acknowledge()
        if self._on_data is not None:
            self._on_data(data)
        elif not self._closed:
            self._early.append(data)  # arrived before reading was paused

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        reason = None if exc is None else (getattr(exc, "strerror", None) or str(exc))
        self._transport = None
        if self._on_eof is None:
            self._ended = (reason,)
        self._finish(reason)

    def _begin(self) -> None:
        early, self._early = self._early, []
        for data in early:
            self.data_received(data)
        if self._ended is not None:
            self._finish(self._ended[0])
        else:
            self.resume()

    def _acknowledge(self) -> None:
        if not self._quick or self._socket is None or _TCP_QUICKACK is None:
            return
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, _TCP_QUICKACK, 1)
        except OSError:
            self._quick = False

    def _finish(self, reason: str | None) -> None:
        on_eof, self._on_eof, self._on_data = self._on_eof, None, None
        if on_eof is not None:
            on_eof(reason)


def _peer_of(raw: socket.socket) -> str:
    try:
        name = raw.getpeername()
    except OSError:
        return "a closed socket"
    if isinstance(name, tuple):
        return f"{name[0]}:{name[1]}"
    return str(name) or "a unix socket"
