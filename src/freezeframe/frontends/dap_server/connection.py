"""The messages of one editor, over a pair of streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

from freezeframe.dap_framing import Framer, Message, ProtocolError, encode

_CHUNK_BYTES = 65536

Body = dict[str, Any]


class ByteWriter(Protocol):
    """What messages are written to: a socket, or standard output."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...

    def close(self) -> None: ...


class EditorConnection:
    """Reads the requests of an editor; writes responses, events and requests of ours."""

    def __init__(self, reader: asyncio.StreamReader, writer: ByteWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._seq = 0
        self._framer = Framer("the editor")

    async def messages(self) -> AsyncIterator[Message]:
        """Yield every message until the editor disconnects. Raises ProtocolError.

        Text outside of messages ends the connection: a web page can make a browser send a request
        to a port, and its header and body would be a message after the first line.
        """
        while data := await self._read():
            self._framer.feed(data)
            while True:
                message = self._framer.next_message()
                if self._framer.noise:
                    raise ProtocolError("the editor sent text that is not a message.")
                if message is None:
                    break
                yield message

    async def _read(self) -> bytes:
        try:
            return await self._reader.read(_CHUNK_BYTES)
        except OSError:
            return b""

    def respond(self, request: Message, body: Body | None = None) -> None:
        self._send(
            {
                "type": "response",
                "request_seq": request["seq"],
                "command": request["command"],
                "success": True,
                **({} if body is None else {"body": body}),
            }
        )

    def refuse(self, request: Message, message: str, next: str | None = None) -> None:
        """Answer with a failure; *next* is a command that helps."""
        text = f"{message} (next: {next})" if next else message
        self._send(
            {
                "type": "response",
                "request_seq": request["seq"],
                "command": request["command"],
                "success": False,
                "message": message,
                "body": {"error": {"id": 1, "format": _escaped(text), "showUser": True}},
            }
        )

    def event(self, name: str, body: Mapping[str, Any] | None = None) -> None:
        self._send({"type": "event", "event": name, **({} if body is None else {"body": body})})

    def request(self, command: str, arguments: Mapping[str, Any]) -> None:
        """Send a request of ours; its response is not waited for."""
        self._send({"type": "request", "command": command, "arguments": arguments})

    def _send(self, message: Body) -> None:
        self._seq += 1
        self._writer.write(encode({"seq": self._seq, **message}))

    async def close(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            pass
        self._writer.close()


def _escaped(text: str) -> str:
    """Return text for a format, in which braces are variables."""
    return text.replace("{", "(").replace("}", ")")
