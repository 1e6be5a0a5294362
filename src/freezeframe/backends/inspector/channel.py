"""A connection to a V8 inspector: requests out, answers and events in, every wait bounded.

The order of messages and the end of the connection: `backends/request_channel.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from freezeframe.backends.request_channel import RequestChannel, copy_of
from freezeframe.backends.transport.wire_log import WireLog
from freezeframe.errors import DebuggerError, DebuggerLost

from .agent_sessions import MessageSocket
from .connection import (
    Body,
    Incoming,
    InspectorAnswer,
    InspectorBroken,
    InspectorConnection,
    InspectorEvent,
    Path,
)

log = logging.getLogger(__name__)

#: requests after which a thread runs, or stops
_RESUMING = frozenset(
    {"Debugger.continueToLocation", "Debugger.pause", "Debugger.resume", "Debugger.stepInto"}
    | {"Debugger.stepOut", "Debugger.stepOver", "Runtime.runIfWaitingForDebugger"}
)


class InspectorRefused(DebuggerError):
    """The inspector refused a request; the message is its own."""


class InspectorChannel(RequestChannel[Incoming | str | None, Body]):
    """One connection to one process; the isolates in the process are identified by their paths."""

    def __init__(
        self,
        socket: MessageSocket,
        *,
        name: str,
        on_event: Callable[[InspectorEvent], None],
        on_lost: Callable[[DebuggerLost], None],
        tap: WireLog | None,
        timeout_s: float,
    ) -> None:
        super().__init__(name, on_lost=on_lost, timeout_s=timeout_s)
        self._socket = socket
        self._on_event = on_event
        self._tap = tap
        self._connection = InspectorConnection(tap.observer(f"{id(self):x}") if tap else None)
        socket.open(lambda text: self._receive([text]), self._eof)

    async def request(
        self, path: Path, method: str, params: Body, timeout_s: float | None = None
    ) -> Body:
        """Return the result. Raises InspectorRefused, DebuggerTimeout, or DebuggerLost at once."""
        return await self._reply(self.send(path, method, params), method, timeout_s)

    def send(self, path: Path, method: str, params: Body) -> asyncio.Future[Body]:
        """Send a request without waiting for its answer."""
        if self.lost is not None:
            return self._refused(copy_of(self.lost))
        if method in _RESUMING:
            self.resumed()
        id, text = self._connection.request(path, method, params)
        future = self._expect(id)
        self._socket.send(text)
        return future

    def forget(self, path: Path) -> None:
        """An isolate is gone: fail the requests to it."""
        for request in self._connection.abandon_below(path):
            self._resolve(request.id, DebuggerLost("the thread has ended."))

    # --- incoming messages

    def _eof(self, reason: str | None) -> None:
        self._receive([InspectorBroken(reason) if reason else None])

    def _set_reading(self, on: bool) -> None:
        (self._socket.resume if on else self._socket.pause)()

    def _abandoned(self, key: int) -> None:
        self._connection.abandon(key)

    def _handle(self, incoming: Incoming | str | None) -> bool:
        if incoming is None:
            self._fail(DebuggerLost(f"{self.name} ended."))
        elif isinstance(incoming, InspectorBroken):
            self._fail(DebuggerLost(f"the connection to {self.name} broke: {incoming.reason}."))
        elif isinstance(incoming, str):
            woken = [self._handle(each) for each in self._connection.receive(incoming)]
            return any(woken)
        elif isinstance(incoming, InspectorEvent):
            if incoming.method == "Debugger.paused" and self.is_flood(incoming.path):
                return False
            try:
                self._on_event(incoming)
            except Exception:
                log.exception("%s of %s was not handled", incoming.method, self.name)
        else:
            return self._answered(incoming)
        return False

    def _answered(self, answer: InspectorAnswer) -> bool:
        if answer.error is None:
            return self._resolve(answer.request.id, answer.result)
        return self._resolve(answer.request.id, InspectorRefused(f"{answer.error.rstrip('.')}."))

    def _disconnect(self) -> None:
        self._connection.end()
        self._socket.close()
        if self._tap is not None:
            self._tap.close()
