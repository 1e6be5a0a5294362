"""A connection to an inspector at work: requests out, answers and events in, every wait bounded.

Order is that of the wire: whoever awaits an answer goes on (as far as its next wait) before an
event that stands behind it is handled.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from freezeframe.backends.transport.tap import Tap
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout

from .agent import MessageSocket
from .connection import Answer, Body, Broken, Connection, Event, Incoming, Path

log = logging.getLogger(__name__)

_BACKLOG = 5000  # messages not dispatched yet, at which reading stops
_TURN = 200  # messages handled before the rest of the loop has its turn


class Refused(DebuggerError):
    """The inspector refused a request, in its own words."""


class Wire:
    """One connection to one process; the isolates in it are told apart by their paths."""

    def __init__(
        self,
        socket: MessageSocket,
        *,
        name: str,
        on_event: Callable[[Event], None],
        on_lost: Callable[[DebuggerLost], None],
        tap: Tap | None,
        timeout_s: float,
    ) -> None:
        self.name = name
        self._socket = socket
        self._on_event = on_event
        self._on_lost: Callable[[DebuggerLost], None] | None = on_lost
        self._tap = tap
        self._timeout_s = timeout_s
        self._connection = Connection(tap.observer(f"{id(self):x}") if tap else None)
        self._waiting: dict[int, asyncio.Future[Body]] = {}
        self._inbox: deque[Incoming | str | None] = deque()
        self._loop = asyncio.get_running_loop()
        self._turn: asyncio.Handle | None = None
        self._paused = False
        self.lost: DebuggerLost | None = None
        socket.open(self._message, self._eof)

    async def request(
        self, path: Path, method: str, params: Body, timeout_s: float | None = None
    ) -> Body:
        """Return the result. Raises Refused, DebuggerTimeout, or DebuggerLost at once when gone."""
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        future = self.send(path, method, params)
        try:
            async with asyncio.timeout(limit_s):
                return await future
        except TimeoutError:
            raise DebuggerTimeout(
                f"{self.name} did not answer `{method}` within {limit_s:g} s.", next="dbg stop"
            ) from None

    def send(self, path: Path, method: str, params: Body) -> asyncio.Future[Body]:
        """Send without waiting. A future that nobody looks at is no error."""
        future: asyncio.Future[Body] = self._loop.create_future()
        if self.lost is not None:
            self._refuse(future, DebuggerLost(self.lost.message, next=self.lost.next))
            return future
        id, text = self._connection.request(path, method, params)
        self._waiting[id] = future
        future.add_done_callback(lambda _: self._forget(id))
        self._socket.send(text)
        return future

    def forget(self, path: Path) -> None:
        """An isolate is gone: whoever waits for it is told."""
        for request in self._connection.abandon_below(path):
            self._fail_one(request.id, DebuggerLost("the thread has ended."))

    def close(self) -> None:
        """Let go. Everything pending fails; no callback follows. May be called twice."""
        self._on_lost = None
        self._fail(DebuggerLost(f"the connection to {self.name} was closed."))

    # --- from the wire

    def _message(self, text: str) -> None:
        self._inbox.append(text)
        if len(self._inbox) > _BACKLOG and not self._paused:
            self._paused = True
            self._socket.pause()
        if self._turn is None:
            self._dispatch()

    def _eof(self, reason: str | None) -> None:
        self._inbox.append(Broken(reason) if reason else None)
        if self._turn is None:
            self._dispatch()

    def _dispatch(self) -> None:
        self._turn = None
        woken = False
        for _ in range(_TURN):
            if woken or not self._inbox or self.lost is not None:
                break
            woken = self._take(self._inbox.popleft())
        # What comes next comes behind the task that an answer has woken.
        if (woken or self._inbox) and self.lost is None:
            self._turn = self._loop.call_soon(self._dispatch)
        elif self._paused and self.lost is None:
            self._paused = False
            self._socket.resume()

    def _take(self, incoming: Incoming | str | None) -> bool:
        """Handle one message; True when somebody was woken by it."""
        if incoming is None:
            self._fail(DebuggerLost(f"{self.name} ended."))
        elif isinstance(incoming, Broken):
            self._fail(
                DebuggerLost(f"the connection to {self.name} broke: {incoming.reason}."),
            )
        elif isinstance(incoming, str):
            woken = [self._take(each) for each in self._connection.receive(incoming)]
            return any(woken)
        elif isinstance(incoming, Event):
            try:
                self._on_event(incoming)
            except Exception:
                log.exception("%s of %s was not handled", incoming.method, self.name)
        else:
            return self._answer(incoming)
        return False

    def _answer(self, answer: Answer) -> bool:
        future = self._waiting.get(answer.request.id)
        if future is None or future.done():
            return False
        if answer.error is None:
            future.set_result(answer.result)
        else:
            self._refuse(future, Refused(f"{answer.error.rstrip('.')}."))
        return True

    def _forget(self, id: int) -> None:
        self._waiting.pop(id, None)
        self._connection.abandon(id)

    def _fail_one(self, id: int, error: DebuggerLost) -> None:
        future = self._waiting.get(id)
        if future is not None and not future.done():
            self._refuse(future, error)

    @staticmethod
    def _refuse(future: asyncio.Future[Any], error: DebuggerError) -> None:
        future.set_exception(error)
        future.exception()  # looked at: nobody is warned of it

    def _fail(self, error: DebuggerLost) -> None:
        if self.lost is not None:
            return
        self.lost = error
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        self._inbox.clear()
        self._socket.close()
        for request in self._connection.end():
            self._fail_one(request.id, DebuggerLost(error.message, next=error.next))
        if self._tap is not None:
            self._tap.close()
        if self._on_lost is not None:
            self._on_lost(error)
