"""A DAP connection: requests out, responses and events in, every wait bounded.

The order of messages and the end of the connection: `backends/request_channel.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from freezeframe.backends.request_channel import RequestChannel, copy_of
from freezeframe.backends.transport.streams import Stream
from freezeframe.errors import DebuggerLost, FreezeframeError

from .connection import DapAnswer, DapBroken, DapConnection, Incoming, Observer
from .messages import Body, DapEvent, DapRequest, ErrorResponse

log = logging.getLogger(__name__)

#: serves a request of the adapter: takes its arguments, returns the body of the response;
#: a FreezeframeError refuses the request with its message
Handler = Callable[[Body], Awaitable[Body | None]]

#: requests after which a program runs, or a thread of it stops
_RESUMING = frozenset(
    {"attach", "configurationDone", "continue", "evaluate", "goto", "launch", "next", "pause"}
    | {"restart", "restartFrame", "reverseContinue", "stepBack", "stepIn", "stepOut"}
)


class _End:
    """The stream is over."""

    __slots__ = ("reason",)

    def __init__(self, reason: str | None) -> None:
        self.reason = reason


class Channel(RequestChannel[Incoming | _End, Body]):
    """One connection to a debug adapter, on an opened stream.

    *on_event* is called with every event; it must not block. *handlers* serve the adapter's own
    requests, by command; others are refused. *last_output* returns the end of what the adapter
    wrote elsewhere (its standard error) when it is lost.
    """

    def __init__(
        self,
        stream: Stream,
        *,
        name: str,
        on_event: Callable[[DapEvent], None],
        handlers: Mapping[str, Handler] | None = None,
        on_lost: Callable[[DebuggerLost], None] | None = None,
        last_output: Callable[[], str] | None = None,
        observe: Observer | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        super().__init__(name, on_lost=on_lost, timeout_s=timeout_s)
        self._stream = stream
        self._on_event = on_event
        self._handlers = dict(handlers or {})
        self._last_output = last_output
        self._connection = DapConnection(observe)
        self._serving: set[asyncio.Task[None]] = set()
        stream.open(lambda data: self._receive(self._connection.receive(data)), self._eof)

    @property
    def pending(self) -> tuple[str, ...]:
        """Commands that were not answered yet, oldest first."""
        return tuple(request.command for request in self._connection.pending.values())

    @property
    def ignored(self) -> int:
        """Messages without a meaning for us: late or unknown responses, unknown types."""
        return self._connection.ignored

    async def request(
        self,
        command: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Body:
        """Send a request and return the body of its response ({} when it has none).

        Raises ErrorResponse (a DebuggerError with the adapter's message), DebuggerTimeout, or
        DebuggerLost at once when the adapter is gone, then or meanwhile.
        """
        return await self._reply(self.send_nowait(command, arguments), command, timeout_s)

    def send_nowait(
        self, command: str, arguments: Mapping[str, Any] | None = None
    ) -> asyncio.Future[Body]:
        """Send a request; the future becomes the body of its response, or raises as `request` does.

        The caller bounds the wait. Cancelling the future abandons the request.
        """
        if self.lost is not None:
            return self._refused(copy_of(self.lost))
        if command in _RESUMING:
            self.resumed()
        seq, data = self._connection.request(command, arguments)
        future = self._expect(seq)
        self._stream.write(data)
        return future

    # --- incoming messages

    def _eof(self, reason: str | None) -> None:
        self._receive([_End(reason)])

    def _set_reading(self, on: bool) -> None:
        (self._stream.resume if on else self._stream.pause)()

    def _abandoned(self, key: int) -> None:
        self._connection.abandon(key)

    def _handle(self, incoming: Incoming | _End) -> bool:
        if isinstance(incoming, DapEvent):
            self._event(incoming)
        elif isinstance(incoming, DapAnswer):
            response = incoming.response
            result = response.body if response.success else ErrorResponse(response)
            return self._resolve(incoming.request.seq, result)
        elif isinstance(incoming, DapRequest):
            self._serve(incoming)
        elif isinstance(incoming, DapBroken):
            self._fail(self._last(incoming.error.message))
        else:
            self._fail(self._last(self._ending(incoming.reason)))
        return False

    def _event(self, event: DapEvent) -> None:
        if event.event == "stopped" and self.is_flood(event.body.get("threadId")):
            return
        try:
            self._on_event(event)
        except Exception:
            log.exception("%s of %s was not handled", event.describe(), self.name)

    def _flooded(self, fact: str) -> DebuggerLost:
        return self._last(fact)

    # --- the adapter's own requests

    def _serve(self, request: DapRequest) -> None:
        handler = self._handlers.get(request.command)
        if handler is None:
            reason = f"`{request.command}` is not supported by this client"
            self._stream.write(self._connection.refuse(request, reason))
            return
        if request.problem is not None:
            self._stream.write(self._connection.refuse(request, request.problem))
            return
        task = self._loop.create_task(self._serve_with(handler, request))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve_with(self, handler: Handler, request: DapRequest) -> None:
        try:
            body = await handler(request.arguments)
        except FreezeframeError as error:
            data = self._connection.refuse(request, error.message)
        except Exception:
            log.exception("%s of %s was not served", request.describe(), self.name)
            data = self._connection.refuse(request, f"`{request.command}` met a bug of the client")
        else:
            data = self._connection.answer(request, body)
        if self.lost is None:
            self._stream.write(data)

    # --- the end

    def _ending(self, reason: str | None) -> str:
        if reason is not None:
            return f"the connection to {self.name} broke: {reason}."
        if self._connection.partial:
            return f"{self.name} ended in the middle of a message."
        return f"{self.name} ended."

    def _last(self, fact: str) -> DebuggerLost:
        output = self._last_output() if self._last_output is not None else ""
        return self._lost_with(fact, output or self._connection.noise)

    def _disconnect(self) -> None:
        self._connection.end()
        self._stream.close()
        for task in self._serving:
            task.cancel()
