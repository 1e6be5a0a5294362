"""What clients are told unasked: messages of the log, and that a resource has changed.

With a handshake a client says it once, for its connection. Without one, each request says which
messages it wants while it is under way, and changes come on a stream that is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, get_args

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)

from .bridge import Bridge
from .documents import check
from .refusals import protocol_errors
from .watching import Happening, Watch, changed

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext

    Asked = ServerRequestContext[Any, Any]
    #: finds the directory whose sessions are meant
    Settle = Callable[[Asked, Bridge], Awaitable[None]]

LOGGER = "freezeframe"
_LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)
#: of the scratch space of a connection
_KEY = "freezeframe.client"


class HonestServer(Server[Any]):
    """Claims what it does: resources come and go, tools and prompts do not."""

    def get_capabilities(self, *args: Any, **kwargs: Any) -> types.ServerCapabilities:
        found = super().get_capabilities(*args, **kwargs)
        for part in (found.tools, found.prompts):
            if part is not None:
                part.list_changed = False
        return found


class Telling:
    """The handlers of all that; one for each server."""

    def __init__(self, bridge: Bridge, settle: Settle) -> None:
        self._bridge = bridge
        self._settle = settle

    def join(self, server: Server[Any]) -> None:
        """Let *server* serve it."""
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self.set_level)
        for method, handler in (
            ("resources/subscribe", self.subscribe),
            ("resources/unsubscribe", self.unsubscribe),
        ):
            server.add_request_handler(method, types.SubscribeRequestParams, handler)
        server.add_request_handler(
            "subscriptions/listen", types.SubscriptionsListenRequestParams, self.listen
        )

    # --- with a handshake

    async def set_level(self, ctx: Asked, params: types.SetLevelRequestParams) -> types.EmptyResult:
        client = self._client(ctx)
        client.level = params.level
        return await self._follow(ctx, client)

    async def subscribe(
        self, ctx: Asked, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        uri = str(params.uri)
        with protocol_errors(uri):
            check(uri)
        client = self._client(ctx)
        client.uris.add(uri)
        return await self._follow(ctx, client)

    async def unsubscribe(
        self, ctx: Asked, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        client = self._client(ctx)
        client.uris.discard(str(params.uri))
        return await self._follow(ctx, client)

    async def _follow(self, ctx: Asked, client: _Client) -> types.EmptyResult:
        await self._settle(ctx, self._bridge)
        with protocol_errors():
            await client.follow()
        return types.EmptyResult()

    def _client(self, ctx: Asked) -> _Client:
        # The only way from a request to its connection, which lives longer, and knows its end.
        connection = ctx.session._connection
        client = connection.state.get(_KEY)
        if not isinstance(client, _Client):
            client = connection.state[_KEY] = _Client(self._bridge, connection)
            connection.exit_stack.push_async_callback(client.leave)
        return client

    # --- without one

    async def listen(
        self, ctx: Asked, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        bus = InMemorySubscriptionBus()
        serve = ListenHandler(bus)
        wanted = params.notifications
        if not wanted.resource_subscriptions and not wanted.resources_list_changed:
            return await serve(ctx, params)

        async def publish(news: list[Happening]) -> None:
            for uri in changed(news):
                await bus.publish(ResourceUpdated(uri))
            if any(each.lists for each in news):
                await bus.publish(ResourcesListChanged())

        await self._settle(ctx, self._bridge)
        watch = Watch(self._bridge, publish)
        with protocol_errors():
            for uri in wanted.resource_subscriptions or ():
                check(uri)
            await watch.begin()
        try:
            return await serve(ctx, params)
        finally:
            await watch.end()

    @asynccontextmanager
    async def logged(self, ctx: Asked) -> AsyncIterator[None]:
        """Send what happens meanwhile on the stream of a request that wants it."""
        level = (ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
        if _KEY in ctx.session._connection.state or level not in _LEVELS:
            yield
            return

        async def send(news: list[Happening]) -> None:
            for each in news:
                if _matters(each.level, level):
                    await _log(ctx, each.level, each.data())

        watch = Watch(self._bridge, send, output=True)
        await watch.begin()
        try:
            yield
        finally:
            await watch.end(tell_rest=True)

    async def warn(self, ctx: Asked, notes: Iterable[str]) -> None:
        """Send the notes of an answer as warnings, to who wants them."""
        client = ctx.session._connection.state.get(_KEY)
        asked = (ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
        level = client.level if isinstance(client, _Client) else asked
        if level in _LEVELS and _matters("warning", level):
            for note in notes:
                await _log(ctx, "warning", note)


class _Client:
    """A connection with a handshake: what it wants to be told of, and who tells it."""

    def __init__(self, bridge: Bridge, connection: Connection) -> None:
        self._bridge = bridge
        self._connection = connection
        self._watch: Watch | None = None
        self._changing = asyncio.Lock()
        self.uris: set[str] = set()
        self.level: str | None = None

    async def follow(self) -> None:
        """Watch, if there is anything to be told of. Raises FreezeframeError."""
        async with self._changing:
            if not self.uris and self.level is None:
                await self._end()
            elif self._watch is None:
                watch = Watch(self._bridge, self._tell, output=self.level is not None)
                await watch.begin()
                self._watch = watch
            else:
                self._watch.output = self.level is not None

    async def leave(self) -> None:
        async with self._changing:
            await self._end()

    async def _end(self) -> None:
        if self._watch is not None:
            watch, self._watch = self._watch, None
            await watch.end()

    async def _tell(self, news: list[Happening]) -> None:
        for uri in changed(news):
            if uri in self.uris:
                await self._connection.send_resource_updated(uri)
        for each in news:
            if self.level is not None and _matters(each.level, self.level):
                params = {"level": each.level, "logger": LOGGER, "data": each.data()}
                await self._connection.notify("notifications/message", params)


def _matters(level: str, wanted: str) -> bool:
    return _LEVELS.index(level) >= _LEVELS.index(wanted)


async def _log(ctx: Asked, level: str, data: object) -> None:
    params = {"level": level, "logger": LOGGER, "data": data}
    await ctx.session.send_notification(
        types.LoggingMessageNotification.model_validate({"params": params}),
        related_request_id=ctx.request_id,
    )
