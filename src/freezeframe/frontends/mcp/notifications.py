"""MCP notifications: log messages, and changes of resources.

With a handshake a client subscribes once, for its connection. Without one, each request names the
log level that it wants while it is pending, and changes are sent on a stream that the client opens.
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

from freezeframe.frontends.daemon_client import DaemonClient

from .errors import protocol_errors
from .event_watcher import EventWatcher, WatchedEvent, changed
from .resources import check

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext

    RequestContext = ServerRequestContext[Any, Any]
    #: sets the directory of the workspace
    AdoptRoot = Callable[[RequestContext, DaemonClient], Awaitable[None]]

LOGGER = "freezeframe"
_LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)
#: key in the state of a connection
_KEY = "freezeframe.client"


class StaticCatalogServer(Server[Any]):
    """Declares that the list of resources changes, and that tools and prompts do not."""

    def get_capabilities(self, *args: Any, **kwargs: Any) -> types.ServerCapabilities:
        found = super().get_capabilities(*args, **kwargs)
        for part in (found.tools, found.prompts):
            if part is not None:
                part.list_changed = False
        return found


class Notifier:
    """The handlers of subscriptions and log levels; one for each server."""

    def __init__(self, daemon: DaemonClient, adopt_root: AdoptRoot) -> None:
        self._daemon = daemon
        self._adopt_root = adopt_root

    def register(self, server: Server[Any]) -> None:
        """Register the handlers with *server*."""
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

    async def set_level(
        self, ctx: RequestContext, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        client = self._client(ctx)
        client.level = params.level
        return await self._follow(ctx, client)

    async def subscribe(
        self, ctx: RequestContext, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        uri = str(params.uri)
        with protocol_errors(uri):
            check(uri)
        client = self._client(ctx)
        client.uris.add(uri)
        return await self._follow(ctx, client)

    async def unsubscribe(
        self, ctx: RequestContext, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        client = self._client(ctx)
        client.uris.discard(str(params.uri))
        return await self._follow(ctx, client)

    async def _follow(self, ctx: RequestContext, client: _Client) -> types.EmptyResult:
        await self._adopt_root(ctx, self._daemon)
        with protocol_errors():
            await client.follow()
        return types.EmptyResult()

    def _client(self, ctx: RequestContext) -> _Client:
        # The only way from a request to its connection, which outlives the request.
        connection = ctx.session._connection
        client = connection.state.get(_KEY)
        if not isinstance(client, _Client):
            client = connection.state[_KEY] = _Client(self._daemon, connection)
            connection.exit_stack.push_async_callback(client.leave)
        return client

    # --- without one

    async def listen(
        self, ctx: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        bus = InMemorySubscriptionBus()
        serve = ListenHandler(bus)
        requested = params.notifications
        if not requested.resource_subscriptions and not requested.resources_list_changed:
            return await serve(ctx, params)

        async def publish(events: list[WatchedEvent]) -> None:
            for uri in changed(events):
                await bus.publish(ResourceUpdated(uri))
            if any(each.lists for each in events):
                await bus.publish(ResourcesListChanged())

        await self._adopt_root(ctx, self._daemon)
        watch = EventWatcher(self._daemon, publish)
        with protocol_errors():
            for uri in requested.resource_subscriptions or ():
                check(uri)
            await watch.begin()
        try:
            return await serve(ctx, params)
        finally:
            await watch.end()

    @asynccontextmanager
    async def logged(self, ctx: RequestContext) -> AsyncIterator[None]:
        """Send events as log messages on the request's stream while it is pending, if requested."""
        level = (ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
        if _KEY in ctx.session._connection.state or level not in _LEVELS:
            yield
            return

        async def send(events: list[WatchedEvent]) -> None:
            for each in events:
                if _matters(each.level, level):
                    await log_message(ctx, each.level, each.data())

        watch = EventWatcher(self._daemon, send, output=True)
        await watch.begin()
        try:
            yield
        finally:
            await watch.end(report_rest=True)

    async def warn(self, ctx: RequestContext, notes: Iterable[str]) -> None:
        """Send the notes of an answer as warnings, if the client requests that level."""
        client = ctx.session._connection.state.get(_KEY)
        requested = (ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
        level = client.level if isinstance(client, _Client) else requested
        if level in _LEVELS and _matters("warning", level):
            for note in notes:
                await log_message(ctx, "warning", note)


class _Client:
    """A connection with a handshake: its subscriptions and its watcher."""

    def __init__(self, daemon: DaemonClient, connection: Connection) -> None:
        self._daemon = daemon
        self._connection = connection
        self._watch: EventWatcher | None = None
        self._changing = asyncio.Lock()
        self.uris: set[str] = set()
        self.level: str | None = None

    async def follow(self) -> None:
        """Start watching if there is a subscription or log level. Raises FreezeframeError."""
        async with self._changing:
            if not self.uris and self.level is None:
                await self._end()
            elif self._watch is None:
                watch = EventWatcher(self._daemon, self._on_events, output=self.level is not None)
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

    async def _on_events(self, events: list[WatchedEvent]) -> None:
        for uri in changed(events):
            if uri in self.uris:
                await self._connection.send_resource_updated(uri)
        for each in events:
            if self.level is not None and _matters(each.level, self.level):
                params = {"level": each.level, "logger": LOGGER, "data": each.data()}
                await self._connection.notify("notifications/message", params)


def _matters(level: str, minimum: str) -> bool:
    return _LEVELS.index(level) >= _LEVELS.index(minimum)


async def log_message(ctx: RequestContext, level: str, data: object) -> None:
    """Send a log message on the stream of a request."""
    params = {"level": level, "logger": LOGGER, "data": data}
    await ctx.session.send_notification(
        types.LoggingMessageNotification.model_validate({"params": params}),
        related_request_id=ctx.request_id,
    )
