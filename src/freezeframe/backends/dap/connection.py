"""One DAP connection without I/O: which answer belongs to which request.

The caller moves bytes; this keeps the books. What arrives is given back in wire order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .framing import Framer, Message, ProtocolError, encode
from .messages import Body, Event, Request, Response, checked, parse

#: `send` or `recv`, and the message as it is on the wire
Observer = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a request of ours."""

    request: Request
    response: Response


@dataclass(frozen=True, slots=True)
class Broken:
    """The adapter left the protocol; nothing after this can be read."""

    error: ProtocolError


#: a Request here is one that the adapter makes of us
Incoming = Answer | Event | Request | Broken


class Connection:
    """The books of one connection."""

    def __init__(self, observe: Observer | None = None) -> None:
        self._framer = Framer()
        self._seq = 0
        self._pending: dict[int, Request] = {}
        self._over = False
        #: responses that nobody waits for (late ones too) and messages that are none
        self.ignored = 0
        self.observe = observe

    @property
    def pending(self) -> Mapping[int, Request]:
        """Our requests that were not answered yet, by their seq, oldest first."""
        return self._pending

    @property
    def noise(self) -> str:
        """The end of what the adapter printed outside of messages."""
        return self._framer.noise

    @property
    def partial(self) -> bool:
        """A message is cut in the middle."""
        return self._framer.partial

    def request(
        self, command: str, arguments: Mapping[str, Any] | None = None
    ) -> tuple[int, bytes]:
        """Return the seq of a new request and the bytes to send."""
        message: Message = {"type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = dict(arguments)
        data = self._encode(message)
        self._pending[self._seq] = Request(self._seq, command, message.get("arguments", {}))
        return self._seq, data

    def answer(self, request: Request, body: Body | None = None) -> bytes:
        """Return the bytes that answer the adapter's own *request*."""
        message: Message = {
            "type": "response",
            "request_seq": request.seq,
            "command": request.command,
            "success": True,
        }
        if body is not None:
            message["body"] = body
        return self._encode(message)

    def refuse(self, request: Request, reason: str) -> bytes:
        """Return the bytes that refuse the adapter's own *request*."""
        return self._encode(
            {
                "type": "response",
                "request_seq": request.seq,
                "command": request.command,
                "success": False,
                "message": reason,
                "body": {"error": {"id": 1, "format": reason, "showUser": False}},
            }
        )

    def receive(self, data: bytes) -> list[Incoming]:
        """Return what *data* completes, in wire order; `Broken` is the last if it is there."""
        found: list[Incoming] = []
        if self._over:
            return found
        self._framer.feed(data)
        while True:
            try:
                message = self._framer.next_message()
            except ProtocolError as error:
                self._over = True
                found.append(Broken(error))
                return found
            if message is None:
                return found
            if self.observe is not None:
                self.observe("recv", message)
            incoming = self._sort(message)
            if incoming is None:
                self.ignored += 1
            else:
                found.append(incoming)

    def abandon(self, seq: int) -> None:
        """Expect no answer to that request any more; one that comes late is ignored."""
        self._pending.pop(seq, None)

    def end(self) -> list[Request]:
        """The stream is over: return the requests that will never be answered, oldest first."""
        self._over = True
        lost = list(self._pending.values())
        self._pending.clear()
        return lost

    def _sort(self, message: Message) -> Incoming | None:
        parsed = parse(message)
        if isinstance(parsed, Response):
            request = self._pending.pop(parsed.request_seq, None)
            if request is None:
                return None
            return Answer(request, checked(parsed, request.command))
        return parsed

    def _encode(self, message: Message) -> bytes:
        # The seq is spent only when the message could be encoded: no gaps on the wire.
        whole = {"seq": self._seq + 1, **message}
        data = encode(whole)
        self._seq += 1
        if self.observe is not None:
            self.observe("send", whole)
        return data
