"""One DAP connection without I/O: matches responses to requests.

The caller moves the bytes. Incoming messages are returned in the order of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from freezeframe.dap_framing import Framer, Message, ProtocolError, encode

from .messages import Body, DapEvent, DapRequest, DapResponse, checked, parse

#: Called with `send` or `recv`, and the message.
Observer = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class DapAnswer:
    """The response to a request of ours."""

    request: DapRequest
    response: DapResponse


@dataclass(frozen=True, slots=True)
class DapBroken:
    """The adapter violated the protocol; nothing after this can be read."""

    error: ProtocolError


#: A DapRequest here is a reverse request of the adapter.
Incoming = DapAnswer | DapEvent | DapRequest | DapBroken


class DapConnection:
    """The state of one connection: sequence numbers and pending requests."""

    def __init__(self, observe: Observer | None = None) -> None:
        self._framer = Framer()
        self._seq = 0
        self._pending: dict[int, DapRequest] = {}
        self._over = False
        #: responses that no request waits for (late ones too) and messages of unknown type
        self.ignored = 0
        self.observe = observe

    @property
    def pending(self) -> Mapping[int, DapRequest]:
        """Our requests without an answer yet, by their seq, oldest first."""
        return self._pending

    @property
    def noise(self) -> str:
        """The end of the text the adapter printed outside of messages."""
        return self._framer.noise

    @property
    def partial(self) -> bool:
        """Whether a message has arrived only in part."""
        return self._framer.partial

    def request(
        self, command: str, arguments: Mapping[str, Any] | None = None
    ) -> tuple[int, bytes]:
        """Return the seq of a new request and the bytes to send."""
        message: Message = {"type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = dict(arguments)
        data = self._encode(message)
        self._pending[self._seq] = DapRequest(self._seq, command, message.get("arguments", {}))
        return self._seq, data

    def answer(self, request: DapRequest, body: Body | None = None) -> bytes:
        """Return the bytes that answer the adapter's reverse *request*."""
        message: Message = {
            "type": "response",
            "request_seq": request.seq,
            "command": request.command,
            "success": True,
        }
        if body is not None:
            message["body"] = body
        return self._encode(message)

    def refuse(self, request: DapRequest, reason: str) -> bytes:
        """Return the bytes that refuse the adapter's reverse *request*."""
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
        """Return the messages that *data* completes, in order; `DapBroken` is always the last."""
        found: list[Incoming] = []
        if self._over:
            return found
        self._framer.feed(data)
        while True:
            try:
                message = self._framer.next_message()
            except ProtocolError as error:
                self._over = True
                found.append(DapBroken(error))
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
        """Stop waiting for the answer to a request; a late one is ignored."""
        self._pending.pop(seq, None)

    def end(self) -> list[DapRequest]:
        """End the connection. Return the requests that will never be answered, oldest first."""
        self._over = True
        lost = list(self._pending.values())
        self._pending.clear()
        return lost

    def _sort(self, message: Message) -> Incoming | None:
        parsed = parse(message)
        if isinstance(parsed, DapResponse):
            request = self._pending.pop(parsed.request_seq, None)
            if request is None:
                return None
            return DapAnswer(request, checked(parsed, request.command))
        return parsed

    def _encode(self, message: Message) -> bytes:
        # The seq is used up only if the message can be encoded, so the sequence has no gaps.
        whole = {"seq": self._seq + 1, **message}
        data = encode(whole)
        self._seq += 1
        if self.observe is not None:
            self.observe("send", whole)
        return data
