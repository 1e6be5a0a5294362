"""DAP framing: bytes in, messages out, no I/O.

A message is `Content-Length: N`, an empty line, and N bytes of JSON. Real debuggers print text of
their own into the same stream (rdbg before its first header, a debuggee that inherited the
adapter's stdout at any time), so everything that is not a header is kept separately as noise.
"""

from __future__ import annotations

import json
import re
from typing import Any

from freezeframe.errors import DebuggerLost

Message = dict[str, Any]

#: A longer message is treated as garbage, not as data.
MAX_LENGTH = 64 << 20
_NOISE_LIMIT = 16 << 10
_LINE_LIMIT = 64 << 10
_QUOTE = 80

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r?\n", re.IGNORECASE)
# Text without a newline may precede a header on the same line; then the header must be exact.
_LATE_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d+)[ \t]*\r?\n", re.IGNORECASE)
_OTHER_HEADER = re.compile(rb"content-[a-z]+[ \t]*:", re.IGNORECASE)


class ProtocolError(DebuggerLost):
    """The received data is not DAP. The message quotes some of it."""


def encode(message: Message) -> bytes:
    """Return *message* framed, as one buffer: two writes would cost a delayed acknowledgement."""
    # ASCII, because file names may hold lone surrogates, which UTF-8 cannot.
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Framer:
    """Splits a stream of bytes, received in any chunks, into messages."""

    def __init__(self, peer: str = "the debugger") -> None:
        """Make one; *peer* is who sends, in messages."""
        self._peer = peer
        self._buffer = bytearray()
        self._length: int | None = None  # a Content-Length was read
        self._in_body = False  # ... and so was the empty line
        self._noise = bytearray()
        self._error: ProtocolError | None = None

    @property
    def noise(self) -> str:
        """The end of the text that arrived outside of messages."""
        return self._noise.decode("utf-8", "replace")

    @property
    def partial(self) -> bool:
        """Whether a message has arrived only in part."""
        return self._length is not None

    def feed(self, data: bytes) -> None:
        """Add bytes; `next_message` returns the messages that they complete."""
        self._buffer += data

    def next_message(self) -> Message | None:
        """Return the next whole message, or None until more bytes come.

        Raises ProtocolError, and again at every later call: the stream cannot be resynchronized.
        """
        if self._error is not None:
            raise self._error
        try:
            while not self._in_body:
                if not self._read_line():
                    return None
            return self._read_body()
        except ProtocolError as error:
            self._error = error
            self._buffer.clear()
            raise

    def _read_line(self) -> bool:
        """Consume one line outside of a body; False when there is no whole one."""
        end = self._buffer.find(b"\n") + 1
        if not end:
            if len(self._buffer) > _LINE_LIMIT:
                # Endless text without a newline. Its last bytes may be the start of a header.
                self._keep_noise(len(self._buffer) - _QUOTE)
            return False
        line = bytes(self._buffer[:end])
        if self._length is not None:
            self._in_body = line in (b"\r\n", b"\n")
            del self._buffer[:end]
            return True
        header = _LENGTH.match(line) or _LATE_LENGTH.search(line)
        if header is not None:
            self._length = self._checked_length(header[1])
            self._keep_noise(header.start())
            del self._buffer[: end - header.start()]
        elif _OTHER_HEADER.match(line):
            del self._buffer[:end]
        else:
            self._keep_noise(end)
        return True

    def _read_body(self) -> Message | None:
        assert self._length is not None
        if len(self._buffer) < self._length:
            return None
        with memoryview(self._buffer) as view:
            # An adapter may pass on program output that is not UTF-8: better U+FFFD than lost.
            text = str(view[: self._length], "utf-8", "replace")
        del self._buffer[: self._length]
        self._length = None
        self._in_body = False
        try:
            message = json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ProtocolError(
                f"{self._peer} sent a message that is not JSON ({error}): {_quoted(text)}."
            ) from None
        if not isinstance(message, dict):
            raise ProtocolError(
                f"{self._peer} sent a message that is not a JSON object: {_quoted(text)}."
            )
        return message

    def _checked_length(self, digits: bytes) -> int:
        # At most ten digits: int() of a megabyte of digits is slow.
        if not digits.isdigit() or len(digits) > 10:
            raise ProtocolError(
                f"{self._peer} sent a Content-Length that is not a length: {_quoted(digits)}."
            )
        length = int(digits)
        if length > MAX_LENGTH:
            raise ProtocolError(
                f"{self._peer} announced a message of {length} bytes; the limit is {MAX_LENGTH}."
            )
        return length

    def _keep_noise(self, count: int) -> None:
        self._noise += self._buffer[:count]
        del self._buffer[:count]
        if len(self._noise) > _NOISE_LIMIT:
            del self._noise[:-_NOISE_LIMIT]


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


def _quoted(text: str | bytes) -> str:
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return repr(text if len(text) <= _QUOTE else text[:_QUOTE] + "…")
