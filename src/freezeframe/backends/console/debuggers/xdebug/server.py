"""`php -S` as one debuggee: PHP's built-in server connects to its debugger for each request.

`RequestStream` is the one connection that the session sees. It keeps the breakpoints and settings
and sends them to Xdebug when a request begins. Between two requests it answers itself: the program
runs, waiting for a request. Requests of several workers are handled one after another.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from xml.sax.saxutils import escape

from freezeframe.backends.transport.streams import OnData, OnEof, Stream
from freezeframe.backends.transport.tcp import Listener

from . import dbgp

_RESUMING = frozenset({"run", "step_over", "step_into", "step_out"})
_BREAKPOINT = re.compile(r'(<(?:\w+:)?breakpoint\b[^>]*? id=")(\d+)(?=")')
_RESPONSE_ID = re.compile(r'(<response\b[^>]*? id=")(\d+)(?=")')
_TRANSACTION = re.compile(r" -i (\d+)")
_NUMBER_OPTION = re.compile(r"( -d )(\d+)")
_XMLNS = 'xmlns="urn:debugger_protocol_v1" xmlns:xdebug="https://xdebug.org/dbgp/xdebug"'
_BETWEEN_REQUESTS = "the server waits for a request, so no script is running"


class RequestStream:
    """A stream to the Xdebug of the current request. See `streams.Stream`."""

    peer = "PHP's server"

    def __init__(self, setup: tuple[str, ...] = ()) -> None:
        #: commands that are sent at the beginning of each request
        self._setup = setup
        self._listener: Listener | None = None
        self._on_data: OnData | None = None
        self._waiting: deque[Stream] = deque()
        self._request: Stream | None = None
        self._received = bytearray()
        #: by option: the settings
        self._features: dict[str, str] = {}
        #: by our numbers: the commands that set the breakpoints
        self._breakpoints: dict[str, str] = {}
        self._last_number = 0
        #: the last command of the session that set a breakpoint
        self._last_set = ""
        #: Xdebug's numbers in this request → ours
        self._numbers: dict[str, str] = {}
        #: what the request was sent at its beginning and has not answered, → the breakpoint
        self._preparing: dict[int, str | None] = {}
        #: what the session was not answered yet: the command's name and transaction number
        self._pending: tuple[str, int] | None = None

    async def listen(self) -> tuple[str, int]:
        """Accept requests; return host and port."""
        self._listener = await Listener.open(self._accept)
        return self._listener.host, self._listener.port

    @property
    def is_idle(self) -> bool:
        """Whether the server waits for a request."""
        return self._request is None

    def interrupt(self) -> None:
        """Report a stop between two requests."""
        if self._pending is not None and self.is_idle:
            name, number = self._pending
            message = '<xdebug:message filename="" lineno=""></xdebug:message>'
            self._answer(name, number, message, 'status="break" reason="ok"')

    # --- the session's side

    def open(self, on_data: OnData, on_eof: OnEof) -> None:
        self._on_data = on_data
        asyncio.get_running_loop().call_soon(self._deliver, f"<init {_XMLNS}></init>")

    def write(self, data: bytes) -> None:
        for line in data.decode("utf-8", "surrogateescape").split("\0"):
            found = _TRANSACTION.search(line)
            if found is None:
                continue
            name = line.split(" ", 1)[0]
            self._pending = name, int(found[1])
            if name == "feature_set":
                self._features[line.split(" -n ", 1)[-1].split(" ", 1)[0]] = line
            if self._request is None:
                self._answer_idle(name, int(found[1]), line)
            else:
                self._forward(name, line)

    def pause(self) -> None:
        if self._request is not None:
            self._request.pause()

    def resume(self) -> None:
        if self._request is not None:
            self._request.resume()

    def close(self) -> None:
        self._on_data = None
        if self._listener is not None:
            self._listener.close()
        for stream in (self._request, *self._waiting):
            if stream is not None:
                stream.close()
        self._request = None
        self._waiting.clear()

    def _answer_idle(self, name: str, number: int, line: str) -> None:
        if name in _RESUMING:
            self._begin_waiting()
        elif name == "feature_set":
            self._answer(name, number, "", 'success="1"')
        elif name == "breakpoint_set":
            self._answer(name, number, "", f'id="{self._keep(line)}" resolved="unresolved"')
        elif name == "breakpoint_remove":
            self._drop(line)
            self._answer(name, number)
        elif name == "detach":
            self._answer(name, number)
            asyncio.get_running_loop().call_soon(self.close)
        elif name == "status":
            self._answer(name, number, "", 'status="running" reason="ok"')
        elif name == "eval":
            self._answer(name, number, '<property type="bool"><![CDATA[0]]></property>')
        else:
            error = f'<error code="998"><message>{escape(_BETWEEN_REQUESTS)}</message></error>'
            self._answer(name, number, error)

    def _forward(self, name: str, line: str) -> None:
        """Send a command of the session to Xdebug, with Xdebug's number of a breakpoint."""
        if name == "breakpoint_remove":
            self._drop(line)
        if name == "breakpoint_set":
            self._last_set = line
        if name.startswith("breakpoint_") and (found := _NUMBER_OPTION.search(line)):
            engine_numbers = {kept: number for number, kept in self._numbers.items()}
            line = line.replace(found[0], found[1] + engine_numbers.get(found[2], "0"), 1)
        self._send(line)

    def _keep(self, line: str) -> str:
        """Keep a breakpoint for the next requests; return its number."""
        self._last_number += 1
        self._breakpoints[str(self._last_number)] = line
        return str(self._last_number)

    def _drop(self, line: str) -> None:
        if found := _NUMBER_OPTION.search(line):
            self._breakpoints.pop(found[2], None)

    def _answer(self, name: str, number: int, content: str = "", attributes: str = "") -> None:
        self._pending = None
        start = f'<response {_XMLNS} command="{name}" transaction_id="{number}" {attributes}>'
        asyncio.get_running_loop().call_soon(self._deliver, f"{start}{content}</response>")

    def _deliver(self, document: str) -> None:
        encoded = document.encode("utf-8", "surrogateescape")
        if self._on_data is not None:
            self._on_data(b"%d\0%b\0" % (len(encoded), encoded))

    # --- the side of the requests

    def _accept(self, stream: Stream) -> None:
        self._waiting.append(stream)
        self._begin_waiting()

    def _begin_waiting(self) -> None:
        """Handle the next request, if the program runs."""
        resumed = self._pending is not None and self._pending[0] in _RESUMING
        if self._request is None and resumed and self._waiting:
            self._received.clear()
            self._numbers, self._preparing = {}, {}
            self._request = stream = self._waiting.popleft()
            stream.open(self._on_received, lambda reason: self._on_end(stream))

    def _send(self, line: str) -> None:
        if self._request is not None:
            self._request.write(line.encode("utf-8", "surrogateescape") + b"\0")

    def _on_received(self, data: bytes) -> None:
        self._received += data
        while (document := dbgp.take(self._received)) is not None:
            self._on_document(document)

    def _on_document(self, document: str) -> None:
        root = dbgp.read(document)
        if dbgp.tag(root) == "init":
            self._prepare()
            return
        number = dbgp.number(root.get("transaction_id"))
        if number in self._preparing and dbgp.tag(root) == "response":
            kept = self._preparing.pop(number)
            if kept is not None:
                self._numbers[root.get("id") or ""] = kept
            if not self._preparing and self._pending is not None:
                self._send(f"run -i {self._pending[1]}")
        elif root.get("status") == "stopping":
            self._send("run -i 0")
        elif root.get("status") != "stopped":
            self._on_answer(root.get("command"), number, document)

    def _prepare(self) -> None:
        """Send the settings and breakpoints; the program continues when all are answered."""
        lines: list[tuple[str | None, str]] = [
            *((None, line) for line in (*self._features.values(), *self._setup)),
            *self._breakpoints.items(),
        ]
        # Numbers that the session does not use: it counts from 1.
        for number, (kept, line) in enumerate(lines, 1 << 40):
            name, _, rest = _TRANSACTION.sub("", line, count=1).partition(" ")
            self._preparing[number] = kept
            self._send(f"{name} -i {number} {rest}")
        if not self._preparing and self._pending is not None:
            self._send(f"run -i {self._pending[1]}")

    def _on_answer(self, name: str | None, number: int, document: str) -> None:
        if self._pending is not None and number == self._pending[1]:
            self._pending = None
        if name == "breakpoint_set" and (found := _RESPONSE_ID.search(document)):
            self._numbers[found[2]] = self._keep(self._last_set)
        for pattern in (_BREAKPOINT, *((_RESPONSE_ID,) if name == "breakpoint_set" else ())):
            document = pattern.sub(
                lambda found: found[1] + self._numbers.get(found[2], found[2]), document
            )
        self._deliver(document)

    def _on_end(self, stream: Stream) -> None:
        """A request has ended: wait for the next one."""
        stream.close()
        if stream is not self._request:
            return
        self._request = None
        if self._pending is not None and self._pending[0] not in _RESUMING:
            name, number = self._pending
            error = '<error code="998"><message>the request has ended</message></error>'
            self._answer(name, number, error)
        self._begin_waiting()
