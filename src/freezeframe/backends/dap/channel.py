"""A DAP connection at work: requests out, answers and events in, every wait bounded.

Order is that of the wire. An event that stands before a response is handled before whoever awaits
that response goes on; whoever awaits a response goes on (as far as its next wait) before an event
that stands after it is handled.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from freezeframe.backends.transport.streams import Stream
from freezeframe.errors import DebuggerLost, DebuggerTimeout, FreezeframeError

from .connection import Answer, Broken, Connection, Incoming, Observer
from .messages import Body, Event, Refused, Request

log = logging.getLogger(__name__)

#: takes the arguments of a request that the adapter makes of us, returns the body of the answer;
#: a FreezeframeError refuses the request in its words
Handler = Callable[[Body], Awaitable[Body | None]]

_SLICE_S = 0.01  # of dispatching, before the rest of the loop has its turn
_BACKLOG = 2000  # messages not dispatched yet, at which reading stops


class Channel:
    """One connection to a debug adapter, on an opened stream.

    *on_event* is called with every event; it must not block. *handlers* serve the adapter's own
    requests, by command; others are refused. *on_lost* is called once when the adapter is gone or
    broke the protocol, after every pending request has failed; not after `close`.
    *last_words* gives what the adapter said elsewhere (the end of its stderr) at that moment.
    """

    def __init__(
        self,
        stream: Stream,
        *,
        name: str,
        on_event: Callable[[Event], None],
        handlers: Mapping[str, Handler] | None = None,
        on_lost: Callable[[DebuggerLost], None] | None = None,
        last_words: Callable[[], str] | None = None,
        observe: Observer | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self.name = name
        self._stream = stream
        self._on_event = on_event
        self._handlers = dict(handlers or {})
        self._on_lost = on_lost
        self._last_words = last_words
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._connection = Connection(observe)
        self._waiting: dict[int, asyncio.Future[Body]] = {}
        self._inbox: deque[Incoming | _End] = deque()
        self._turn: asyncio.Handle | None = None
        self._paused = False
        self._serving: set[asyncio.Task[None]] = set()
        self._lost: DebuggerLost | None = None
        stream.open(self._data, self._eof)

    @property
    def lost(self) -> DebuggerLost | None:
        """Why the adapter can no longer be asked; None while it can."""
        return self._lost

    @property
    def pending(self) -> tuple[str, ...]:
        """Commands that were not answered yet, oldest first."""
        return tuple(request.command for request in self._connection.pending.values())

    @property
    def ignored(self) -> int:
        """Messages that meant nothing to us: late or unknown responses, unknown types."""
        return self._connection.ignored

    async def request(
        self,
        command: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Body:
        """Send a request and return the body of its answer ({} when it has none).

        Raises Refused (a DebuggerError, in the adapter's words), DebuggerTimeout, or DebuggerLost
        at once when the adapter is gone, then or meanwhile.
        """
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        future = self.send_nowait(command, arguments)
        try:
            async with asyncio.timeout(limit_s):
                return await future
        except TimeoutError:
            raise DebuggerTimeout(
                f"{self.name} did not answer `{command}` within {limit_s:g} s.", next="dbg stop"
            ) from None

    def send_nowait(
        self, command: str, arguments: Mapping[str, Any] | None = None
    ) -> asyncio.Future[Body]:
        """Send a request; the future becomes the body of its answer, or raises as `request` does.

        The caller bounds the wait. Cancelling the future gives the answer up. A future that nobody
        looks at is no error.
        """
        future: asyncio.Future[Body] = self._loop.create_future()
        if self._lost is not None:
            future.set_exception(self._lost_again(self._lost))
            future.exception()
            return future
        seq, data = self._connection.request(command, arguments)
        self._waiting[seq] = future
        future.add_done_callback(lambda _: self._forget(seq))
        self._stream.write(data)
        return future

    def close(self) -> None:
        """Let go of the adapter. Everything pending fails; no callback follows."""
        self._on_lost = None
        self._inbox.clear()
        self._fail(DebuggerLost(f"the connection to {self.name} was closed."))

    # --- from the wire

    def _data(self, data: bytes) -> None:
        self._inbox.extend(self._connection.receive(data))
        if len(self._inbox) > _BACKLOG and not self._paused:
            self._paused = True
            self._stream.pause()
        if self._turn is None:
            self._dispatch()

    def _eof(self, reason: str | None) -> None:
        self._inbox.append(_End(reason))
        if self._turn is None:
            self._dispatch()

    def _dispatch(self) -> None:
        """Handle what has arrived, as far as this turn of the loop allows."""
        self._turn = None
        until = time.monotonic() + _SLICE_S
        while self._inbox:
            incoming = self._inbox.popleft()
            resumed = False
            if isinstance(incoming, Event):
                self._event(incoming)
            elif isinstance(incoming, Answer):
                resumed = self._answer(incoming)
            elif isinstance(incoming, Request):
                self._serve(incoming)
            elif isinstance(incoming, Broken):
                self._fail(self._last(incoming.error.message))
            else:
                self._fail(self._last(self._ending(incoming.reason)))
            # A future wakes its task through the loop's queue; standing behind it in that queue
            # lets it run before we go on, with what has come or comes before it has run.
            if resumed or (self._inbox and time.monotonic() > until):
                self._turn = self._loop.call_soon(self._dispatch)
                return
        if self._paused and self._lost is None:
            self._paused = False
            self._stream.resume()

    def _event(self, event: Event) -> None:
        try:
            self._on_event(event)
        except Exception:
            log.exception("%s of %s was not handled", event.describe(), self.name)

    def _answer(self, answer: Answer) -> bool:
        future = self._waiting.get(answer.request.seq)
        if future is None or future.done():
            return False
        if answer.response.success:
            future.set_result(answer.response.body)
        else:
            future.set_exception(Refused(answer.response))
            future.exception()
        return True

    def _forget(self, seq: int) -> None:
        self._waiting.pop(seq, None)
        self._connection.abandon(seq)

    # --- the adapter's own requests

    def _serve(self, request: Request) -> None:
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

    async def _serve_with(self, handler: Handler, request: Request) -> None:
        try:
            body = await handler(request.arguments)
        except FreezeframeError as error:
            data = self._connection.refuse(request, error.message)
        except Exception:
            log.exception("%s of %s was not served", request.describe(), self.name)
            data = self._connection.refuse(request, f"`{request.command}` met a bug of the client")
        else:
            data = self._connection.answer(request, body)
        if self._lost is None:
            self._stream.write(data)

    # --- the end

    def _ending(self, reason: str | None) -> str:
        if reason is not None:
            return f"the connection to {self.name} broke: {reason}."
        if self._connection.partial:
            return f"{self.name} ended in the middle of a message."
        return f"{self.name} ended."

    def _last(self, fact: str) -> DebuggerLost:
        """Join the fact with the adapter's last words."""
        words = self._last_words() if self._last_words is not None else ""
        words = (words or self._connection.noise).strip()
        if words:
            gap = "\n" if "\n" in words else " "
            fact = f"{fact.rstrip('.')}; its last words:{gap}{words}"
        return DebuggerLost(fact, next="dbg logs")

    def _fail(self, error: DebuggerLost) -> None:
        if self._lost is not None:
            return
        self._lost = error
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        self._inbox.clear()
        self._stream.close()
        for request in self._connection.end():
            future = self._waiting.get(request.seq)
            if future is not None and not future.done():
                future.set_exception(self._lost_again(error))
                future.exception()
        for task in self._serving:
            task.cancel()
        if self._on_lost is not None:
            self._on_lost(error)

    @staticmethod
    def _lost_again(error: DebuggerLost) -> DebuggerLost:
        # One exception raised in several tasks would collect all their tracebacks.
        return DebuggerLost(error.message, next=error.next)


class _End:
    """The stream is over."""

    __slots__ = ("reason",)

    def __init__(self, reason: str | None) -> None:
        self.reason = reason
