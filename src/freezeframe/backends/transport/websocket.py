"""Text messages over a WebSocket (RFC 6455), client side: the transport of V8's inspector.

`WebSocketFrames` is the protocol without I/O; `Socket` puts it on a stream. Text only, no
extensions: nothing else is negotiated, so nothing else may arrive.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from freezeframe.errors import DebuggerError, DebuggerTimeout

from .streams import Stream
from .tcp import dial

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
#: size limit of one message; a heap snapshot comes in pieces, so no valid one is longer
MAX_MESSAGE = 512 << 20
#: size limit of the headers of an HTTP response
_MAX_HEAD = 64 << 10


class BadFrame(Exception):
    """The other side violated the protocol."""


class WebSocketFrames:
    """Frames of one connection: bytes in, whole text messages out."""

    def __init__(self, mask: Callable[[], bytes] = lambda: os.urandom(4)) -> None:
        self._mask = mask
        self._buffer = bytearray()
        self._parts: list[bytes] | None = None
        self._size = 0
        #: the other side has sent a close frame, and will send no more
        self.closed = False
        #: frames that answer received ones: to be sent before anything else
        self.replies = bytearray()

    def encode(self, text: str) -> bytes:
        """Return one message as the bytes of one masked frame."""
        return self._frame(_TEXT, text.encode("utf-8", "surrogatepass"))

    def encode_close(self, code: int = 1000) -> bytes:
        return self._frame(_CLOSE, code.to_bytes(2, "big"))

    def receive(self, data: bytes) -> list[str]:
        """Return the messages that *data* completes. Raises BadFrame."""
        self._buffer += data
        messages = []
        for final, opcode, payload in self._frames():
            if self.closed:
                break
            if opcode == _PING:
                self.replies += self._frame(_PONG, payload)
            elif opcode == _CLOSE:
                self.closed = True
                self.replies += self._frame(_CLOSE, payload[:2])
            elif opcode in (_TEXT, _BINARY, _CONTINUATION):
                whole = self._join(final, opcode, payload)
                if whole is not None:
                    messages.append(whole.decode("utf-8", "replace"))
            elif opcode != _PONG:
                raise BadFrame(f"a frame of the unknown kind {opcode}")
        return messages

    def _join(self, final: bool, opcode: int, payload: bytes) -> bytes | None:
        if (opcode == _CONTINUATION) != (self._parts is not None):
            raise BadFrame("a message in pieces, out of order")
        parts = self._parts = self._parts or []
        parts.append(payload)
        self._size += len(payload)
        if self._size > MAX_MESSAGE:
            raise BadFrame(f"a message of more than {MAX_MESSAGE} bytes")
        if not final:
            return None
        self._parts, self._size = None, 0
        return b"".join(parts)

    def _frames(self) -> Iterator[tuple[bool, int, bytes]]:
        while (head := self._head()) is not None:
            final, opcode, start, length, key = head
            end = start + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[start:end])
            del self._buffer[:end]
            yield final, opcode, _masked(payload, key) if key is not None else payload

    def _head(self) -> tuple[bool, int, int, int, bytes | None] | None:
        """Return the next frame's header: final, opcode, start and length of the payload, key."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        if buffer[0] & 0x70:
            raise BadFrame("an extension that was not agreed on")
        final, opcode = bool(buffer[0] & 0x80), buffer[0] & 0x0F
        length, start = buffer[1] & 0x7F, 2
        if opcode >= _CLOSE and (length > 125 or not final):
            raise BadFrame("a control frame that is too long, or in pieces")
        if length >= 126:
            size = 2 if length == 126 else 8
            if len(buffer) < start + size:
                return None
            length = int.from_bytes(buffer[start : start + size], "big")
            start += size
        if length > MAX_MESSAGE:
            raise BadFrame(f"a frame of {length} bytes")
        if not buffer[1] & 0x80:
            return final, opcode, start, length, None
        # A server must not mask, but masked frames of one can be read.
        if len(buffer) < start + 4:
            return None
        return final, opcode, start + 4, length, bytes(buffer[start : start + 4])

    def _frame(self, opcode: int, payload: bytes) -> bytes:
        length = len(payload)
        if length < 126:
            head = bytes([0x80 | opcode, 0x80 | length])
        elif length < 1 << 16:
            head = bytes([0x80 | opcode, 0x80 | 126]) + length.to_bytes(2, "big")
        else:
            head = bytes([0x80 | opcode, 0x80 | 127]) + length.to_bytes(8, "big")
        key = self._mask()
        return head + key + _masked(payload, key)


def _masked(payload: bytes, key: bytes) -> bytes:
    """XOR with the repeated key, as one big number: a loop takes a hundred times as long."""
    size = len(payload)
    repeated = (key * (size // 4 + 1))[:size]
    mixed = int.from_bytes(payload, "little") ^ int.from_bytes(repeated, "little")
    return mixed.to_bytes(size, "little")


class Socket:
    """One WebSocket: a stream of messages. Nothing is delivered until `open`."""

    def __init__(self, stream: Stream, early: bytes) -> None:
        """Use `connect`."""
        self._stream = stream
        self._early = early
        self._frames = WebSocketFrames()
        self._on_message: Callable[[str], None] | None = None
        self._on_eof: Callable[[str | None], None] | None = None
        self._ended: tuple[str | None] | None = None

    @property
    def peer(self) -> str:
        return self._stream.peer

    def open(self, on_message: Callable[[str], None], on_eof: Callable[[str | None], None]) -> None:
        """Deliver messages from now on; call *on_eof* once, last, with the reason if any."""
        self._on_message, self._on_eof = on_message, on_eof
        asyncio.get_running_loop().call_soon(self._begin)

    def send(self, text: str) -> None:
        self._stream.write(self._frames.encode(text))

    def pause(self) -> None:
        self._stream.pause()

    def resume(self) -> None:
        self._stream.resume()

    def close(self) -> None:
        """Send a close frame and close the stream. No callback follows. May be called twice."""
        if not self._frames.closed:
            self._frames.closed = True
            self._stream.write(self._frames.encode_close())
        self._on_message = self._on_eof = None
        self._stream.close()

    def _begin(self) -> None:
        early, self._early = self._early, b""
        if early:
            self.take(early)
        if self._ended is not None:
            self.end(self._ended[0])
        else:
            self._stream.resume()

    # --- callbacks of the stream, after the handshake

    def take(self, data: bytes) -> None:
        if self._on_message is None:
            self._early += data  # not open yet
            return
        try:
            messages = self._frames.receive(data)
        except BadFrame as error:
            self.end(f"it sent {error}")
            return
        if self._frames.replies:
            self._stream.write(bytes(self._frames.replies))
            self._frames.replies.clear()
        for message in messages:
            if self._on_message is not None:
                self._on_message(message)
        if self._frames.closed:
            self.end(None)

    def end(self, reason: str | None) -> None:
        if self._on_eof is None:
            self._ended = (reason,)
            return
        on_eof, self._on_eof, self._on_message = self._on_eof, None, None
        self._stream.close()
        on_eof(reason)


async def connect(host: str, port: int, path: str, *, timeout_s: float) -> Socket:
    """Connect and do the handshake. Raises DebuggerError `connect`, or DebuggerTimeout."""
    key = base64.b64encode(os.urandom(16)).decode()
    fields = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": "13",
    }
    http = await _Http.open(host, port, path, fields, timeout_s)
    status, answer, rest = await http.head(timeout_s)
    proof = base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest()).decode()
    if status != 101 or answer.get("sec-websocket-accept") != proof:
        http.stream.close()
        raise DebuggerError(
            f"{host}:{port} does not speak WebSocket at {path or '/'} (HTTP {status}).",
            code="connect",
        )
    http.stream.pause()
    socket = Socket(http.stream, rest)
    http.hand_over(socket.take, socket.end)
    return socket


async def fetch_json(host: str, port: int, path: str, *, timeout_s: float) -> Any:
    """Return the JSON that an HTTP server has at *path*. Raises as `connect` does."""
    http = await _Http.open(host, port, path, {"Connection": "close"}, timeout_s)
    try:
        status, answer, body = await http.head(timeout_s)
        length = int(answer.get("content-length") or 0)
        while len(body) < length and (more := await http.more(timeout_s)):
            body += more
        if status == 200:
            return json.loads(body)
    except ValueError:
        pass
    finally:
        http.stream.close()
    raise DebuggerError(f"{host}:{port} is not a debug server.", code="connect")


class _Http:
    """One HTTP request and its response."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self._on_data: Callable[[bytes], None] = self._arrived.put_nowait
        self._on_eof: Callable[[str | None], None] = lambda reason: self._arrived.put_nowait(b"")
        stream.open(lambda data: self._on_data(data), lambda reason: self._on_eof(reason))

    @classmethod
    async def open(
        cls, host: str, port: int, path: str, fields: dict[str, str], timeout_s: float
    ) -> _Http:
        http = cls(await dial(host, port, timeout_s=timeout_s))
        # V8 refuses host names that are neither an address nor localhost.
        shown = f"[{host}]" if ":" in host else host
        lines = [f"GET {path or '/'} HTTP/1.1", f"Host: {shown}:{port}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        http.stream.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        return http

    async def head(self, timeout_s: float) -> tuple[int, dict[str, str], bytes]:
        """Return the status, the header fields in lower case, and the bytes after the headers."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = await self.more(timeout_s)
            data += more
            if not more or len(data) > _MAX_HEAD:
                self.stream.close()
                raise DebuggerError(f"{self.stream.peer} does not speak HTTP.", code="connect")
        head, _, rest = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        status_line = first.split()
        status = int(status_line[1]) if len(status_line) > 1 and status_line[1].isdecimal() else 0
        pairs = (line.partition(":") for line in lines)
        return status, {name.strip().lower(): value.strip() for name, _, value in pairs}, rest

    async def more(self, timeout_s: float) -> bytes:
        """Return the next bytes; empty at the end."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._arrived.get()
        except TimeoutError:
            self.stream.close()
            raise DebuggerTimeout(
                f"{self.stream.peer} did not answer within {timeout_s:g} s."
            ) from None

    def hand_over(
        self, on_data: Callable[[bytes], None], on_eof: Callable[[str | None], None]
    ) -> None:
        """Deliver everything that follows to other callbacks."""
        while not self._arrived.empty():
            on_data(self._arrived.get_nowait())
        self._on_data, self._on_eof = on_data, on_eof
