"""Requests that wait for their replies, and incoming messages in the order of the wire.

The base of every connection to a debugger: DAP, the V8 inspector, a prompt. A subclass encodes
requests, decodes what arrives and owns the transport; this class owns three rules.

- **Order.** A message that precedes a reply on the wire is handled before the task that awaits the
  reply continues; that task continues, as far as its next wait, before a message that follows the
  reply is handled. A future wakes its task through the queue of the event loop, so after a
  reply the next message is dispatched from behind that task in the same queue.
- **Bounds.** Every wait has a limit. Dispatching yields to the event loop after a time slice, and
  reading pauses while too many messages are undispatched. A debugger that reports stop after stop
  without being asked to resume is lost.
- **One end.** When the debugger is lost every pending request fails, then `on_lost` is called,
  once. After that every request fails at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout

_SLICE_S = 0.01  # of dispatching, before the rest of the event loop gets a turn
_BACKLOG = 2000  # undispatched messages at which reading pauses
#: Stops of one thread, and of all threads, since the program was resumed.
_MAX_STOPS_OF_THREAD = 1000
_MAX_STOPS = 10_000
_SHOWN = 60  # characters of a request in an error message

Incoming = TypeVar("Incoming")
Result = TypeVar("Result")


class RequestChannel(Generic[Incoming, Result]):
    """One connection to a debugger, without its transport.

    *on_lost* is called once when the debugger is gone or broke the protocol, after every
    pending request has failed; it is not called after `close`.
    """

    def __init__(
        self,
        name: str,
        *,
        on_lost: Callable[[DebuggerLost], None] | None,
        timeout_s: float,
    ) -> None:
        self.name = name
        #: why the debugger takes no more requests; None while it does
        self.lost: DebuggerLost | None = None
        self._on_lost = on_lost
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._pending: dict[int, asyncio.Future[Result]] = {}
        self._inbox: deque[Incoming] = deque()
        self._turn: asyncio.Handle | None = None
        self._reading = True
        #: stops since the program was resumed, by thread
        self._stops: Counter[object] = Counter()

    def close(self) -> None:
        """Close the connection. Every pending request fails; no callback follows. Idempotent."""
        self._on_lost = None
        self._fail(DebuggerLost(f"the connection to {self.name} was closed."))

    # --- provided by a subclass

    def _handle(self, incoming: Incoming) -> bool:
        """Handle one message. Return True when it completed a pending request."""
        raise NotImplementedError

    def _set_reading(self, on: bool) -> None:
        """Resume or pause reading from the transport."""

    def _abandoned(self, key: int) -> None:
        """A request is no longer pending: answered, cancelled or failed."""

    def _drained(self) -> None:
        """Everything that has arrived was handled."""

    def _disconnect(self) -> None:
        """Close the transport: the debugger is lost or the channel is closed."""
        raise NotImplementedError

    # --- requests

    def _expect(self, key: int) -> asyncio.Future[Result]:
        """Return the future of a request's reply. A future that nobody awaits is not an error."""
        future: asyncio.Future[Result] = self._loop.create_future()
        self._pending[key] = future

        def forget(done: asyncio.Future[Result]) -> None:
            if self._pending.get(key) is done:
                del self._pending[key]
                self._abandoned(key)

        future.add_done_callback(forget)
        return future

    def _refused(self, error: DebuggerError) -> asyncio.Future[Result]:
        """Return a future that has failed."""
        future: asyncio.Future[Result] = self._loop.create_future()
        self._reject(future, error)
        return future

    async def _reply(
        self, future: asyncio.Future[Result], request: str, timeout_s: float | None
    ) -> Result:
        """Await a reply. Raises DebuggerTimeout when the limit is over."""
        limit_s = self._limit(timeout_s)
        # The future itself is awaited, not a wrapper: see the rule of order.
        try:
            async with asyncio.timeout(limit_s):
                return await future
        except TimeoutError:
            raise self._unanswered(request, limit_s) from None

    def _limit(self, timeout_s: float | None) -> float:
        return self._timeout_s if timeout_s is None else timeout_s

    def _unanswered(self, request: str, limit_s: float) -> DebuggerTimeout:
        shown = request if len(request) < _SHOWN else request[: _SHOWN - 3] + "…"
        return DebuggerTimeout(
            f"{self.name} did not answer `{shown}` within {limit_s:g} s.", next="dbg stop"
        )

    def _resolve(self, key: int, result: Result | DebuggerError) -> bool:
        """Complete a pending request. Return False when nobody waits for it any more."""
        future = self._pending.get(key)
        if future is None or future.done():
            return False
        if isinstance(result, DebuggerError):
            self._reject(future, result)
        else:
            future.set_result(result)
        return True

    @staticmethod
    def _reject(future: asyncio.Future[Result], error: DebuggerError) -> None:
        future.set_exception(error)
        future.exception()  # retrieved, so that asyncio does not warn about it

    # --- incoming messages

    def _receive(self, incoming: Iterable[Incoming]) -> None:
        """Queue messages in the order of the wire and dispatch them."""
        self._inbox.extend(incoming)
        if len(self._inbox) > _BACKLOG and self._reading:
            self._reading = False
            self._set_reading(False)
        if self._turn is None:
            self._dispatch()

    def _dispatch(self) -> None:
        """Handle what has arrived, as far as this turn of the event loop allows."""
        self._turn = None
        until = time.monotonic() + _SLICE_S
        while self._inbox:
            woken = self._handle(self._inbox.popleft())
            if woken or (self._inbox and time.monotonic() > until):
                self._turn = self._loop.call_soon(self._dispatch)
                return
        if not self._reading and self.lost is None:
            self._reading = True
            self._set_reading(True)
        self._drained()

    # --- stops

    def resumed(self) -> None:
        """The program is resumed: stops may follow."""
        self._stops.clear()

    def is_flood(self, thread: object) -> bool:
        """Count a stop of a thread. End the connection if there are too many since a resume."""
        self._stops[thread] += 1
        count = self._stops[thread]
        if count <= _MAX_STOPS_OF_THREAD and (count > 1 or len(self._stops) <= _MAX_STOPS):
            return False
        reported = f"{self._stops.total():,} stops after one request to resume"
        self._fail(self._flooded(f"{self.name} reported {reported}."))
        return True

    def _flooded(self, fact: str) -> DebuggerLost:
        """Return the error for a debugger that reports too much."""
        return DebuggerLost(fact, next="dbg logs")

    # --- the end

    def _lost_with(self, fact: str, output: str) -> DebuggerLost:
        """Return the error for a debugger that is gone, with the end of its output."""
        if output := output.strip():
            gap = "\n" if "\n" in output else " "
            fact = f"{fact.rstrip('.')}; its last output:{gap}{output}"
        return DebuggerLost(fact, next="dbg logs")

    def _fail(self, error: DebuggerLost) -> None:
        if self.lost is not None:
            return
        self.lost = error
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        self._inbox.clear()
        self._disconnect()
        for future in list(self._pending.values()):
            if not future.done():
                self._reject(future, copy_of(error))
        if self._on_lost is not None:
            self._on_lost(error)


def copy_of(error: DebuggerLost) -> DebuggerLost:
    """Return the error anew: one that several tasks raise collects the tracebacks of all."""
    return DebuggerLost(error.message, next=error.next)
