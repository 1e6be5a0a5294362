"""The channel to one adapter, with the adapter's capabilities."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from freezeframe.backends.backend import Feature
from freezeframe.backends.transport.streams import Stream
from freezeframe.backends.transport.wire_log import WireLog
from freezeframe.config import Config
from freezeframe.errors import DebuggerLost

from . import translate, validation
from .adapters._descriptor import Adapter
from .channel import Channel, Handler
from .child_counts import Sizes
from .messages import DapEvent

#: Names a file that every message is written to, for us and for tests.
TAP_VARIABLE = "FREEZEFRAME_DAP_TAP"


class AdapterChannel:
    """Requests out, answers and events in; silent until `open`.

    `on_event` and `on_lost` are called for events and for the loss of the adapter. Both can be
    replaced while the channel is open, when another debuggee takes over the process.
    """

    def __init__(self, adapter: Adapter, config: Config) -> None:
        self.adapter = adapter
        self.config = config
        self.capabilities: dict[str, Any] = {}
        self.features: frozenset[Feature] = frozenset()
        self.on_event: Callable[[DapEvent], None] = lambda event: None
        self.on_lost: Callable[[DebuggerLost], None] = lambda error: None
        #: `disconnect` was sent: the adapter may never answer requests sent after it
        self.disconnecting = False
        #: number of variables of each reference
        self.sizes = Sizes()
        self._channel: Channel | None = None
        self._tap: WireLog | None = None

    def open(
        self,
        stream: Stream,
        env: Mapping[str, str],
        handlers: Mapping[str, Handler],
        last_output: Callable[[], str],
    ) -> None:
        path = env.get(TAP_VARIABLE)
        self._tap = WireLog(path) if path else None
        self._channel = Channel(
            stream,
            name=self.adapter.name,
            on_event=lambda event: self.on_event(event),
            handlers=handlers,
            on_lost=lambda error: self.on_lost(error),
            last_output=last_output,
            observe=self._tap.observer(f"{id(self):x}") if self._tap else None,
            timeout_s=self.config.timeouts.request_s,
        )
        validation.prepare()  # the adapter is starting meanwhile

    @property
    def opened(self) -> bool:
        return self._channel is not None

    @property
    def alive(self) -> bool:
        return self._channel is not None and self._channel.lost is None

    def update_capabilities(self, capabilities: Mapping[str, Any], *also: Feature) -> None:
        """Add capabilities; the adapter may send them in several messages."""
        self.capabilities.update(capabilities)
        found = translate.features(self.capabilities, self.adapter)
        self.features = found | {*also} | (self.features & {Feature.STDIN})

    async def request(
        self,
        command: str,
        arguments: dict[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Return the body of the answer. Raises as `Channel.request` does."""
        self._check_not_disconnecting(command)
        body = await self._open().request(command, arguments, timeout_s=timeout_s)
        self.sizes.note(body)
        return body

    async def value_request(
        self, command: str, arguments: dict[str, Any], *, slow: bool = False
    ) -> dict[str, Any]:
        """Return the answer to a request that may run the program's code.

        *slow* requests, which the user asked for as such, get the time limit of any request, where
        the debugger can interrupt one.
        """
        return await self.request(command, arguments)

    def send(self, command: str, arguments: dict[str, Any]) -> asyncio.Future[dict[str, Any]]:
        """Send without waiting; the caller bounds the wait."""
        self._check_not_disconnecting(command)
        return self._open().send_nowait(command, arguments)

    async def reread(self, arguments: Mapping[str, Any]) -> str | None:
        """Return another expression for the value of one that the adapter would evaluate by the
        rules of another language; None if there is none.

        Raises EvaluationFailed if the expression has no value.
        """
        return None

    async def resolve(self, arguments: Mapping[str, Any]) -> str | None:
        """Return another expression for the value of one that the adapter refused to evaluate.

        Raises EvaluationFailed if the expression has no value.
        """
        return None

    def command_error(self, answer: str) -> str | None:
        """Return why a raw command failed, where its answer says so only in its text."""
        return None

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._tap is not None:
            self._tap.close()

    def _check_not_disconnecting(self, command: str) -> None:
        if self.disconnecting and command != "disconnect":
            raise DebuggerLost(
                f"{self.adapter.name} is disconnecting and accepts no more requests."
            )

    def _open(self) -> Channel:
        if self._channel is None:
            raise DebuggerLost(f"{self.adapter.name} is not connected.")
        return self._channel
