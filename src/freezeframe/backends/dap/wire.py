"""The channel to one adapter, with what it said it can do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from freezeframe.backends.backend import Feature
from freezeframe.backends.transport.streams import Stream
from freezeframe.backends.transport.tap import Tap
from freezeframe.config import Config
from freezeframe.errors import DebuggerLost

from . import translate, validation
from .adapters._descriptor import Adapter
from .channel import Channel, Handler
from .messages import Event
from .sizes import Sizes

#: Names a file that every message is written to, for us and for tests.
TAP_VARIABLE = "FREEZEFRAME_DAP_TAP"


class Wire:
    """Requests out, answers and events in; silent until `open`.

    `hear` and `lost` say who is told of events and of the end; they can be changed while it is
    open, when another link takes its process over.
    """

    def __init__(self, adapter: Adapter, config: Config) -> None:
        self.adapter = adapter
        self.config = config
        self.capabilities: dict[str, Any] = {}
        self.features: frozenset[Feature] = frozenset()
        self.hear: Callable[[Event], None] = lambda event: None
        self.on_lost: Callable[[DebuggerLost], None] = lambda error: None
        #: it was told to disconnect: whatever is asked after that, it may never answer
        self.leaving = False
        #: a thread was stuck while it showed a value
        self.blocked = False
        #: how many variables are behind each reference
        self.sizes = Sizes()
        self._channel: Channel | None = None
        self._tap: Tap | None = None

    def open(
        self,
        stream: Stream,
        env: Mapping[str, str],
        handlers: Mapping[str, Handler],
        last_words: Callable[[], str],
    ) -> None:
        path = env.get(TAP_VARIABLE)
        self._tap = Tap(path) if path else None
        self._channel = Channel(
            stream,
            name=self.adapter.name,
            on_event=lambda event: self.hear(event),
            handlers=handlers,
            on_lost=lambda error: self.on_lost(error),
            last_words=last_words,
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

    def learn(self, capabilities: Mapping[str, Any], *also: Feature) -> None:
        """Take in what the adapter says it can do; it may say so bit by bit."""
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
        self._refuse_late(command)
        body = await self._open().request(command, arguments, timeout_s=timeout_s)
        self.sizes.note(body)
        return body

    def send(self, command: str, arguments: dict[str, Any]) -> asyncio.Future[dict[str, Any]]:
        """Send without waiting; the caller bounds the wait."""
        self._refuse_late(command)
        return self._open().send_nowait(command, arguments)

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._tap is not None:
            self._tap.close()

    def _refuse_late(self, command: str) -> None:
        if self.leaving and command != "disconnect":
            raise DebuggerLost(f"{self.adapter.name} was left, and is asked nothing more.")

    def _open(self) -> Channel:
        if self._channel is None:
            raise DebuggerLost(f"{self.adapter.name} is not connected.")
        return self._channel
