"""Notifications to a client: messages of the log, changes of resources."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import LoggingMessageNotificationParams, ResourceUpdatedNotification

from frontends.mcp.talking import HANDSHAKE, STATELESS, call, connected, on_loop
from harness import waits

# The calls of versions with a handshake, which are still supported.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

PRINTS = 'print("one", flush=True)\nprint("two", flush=True)\nraise ValueError("three")\n'


class Heard:
    """What came, to be waited for."""

    def __init__(self) -> None:
        self.messages: list[LoggingMessageNotificationParams] = []
        self.updated: list[str] = []
        self.news = asyncio.Event()

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        self.messages.append(params)
        self.news.set()

    async def anything(self, message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.updated.append(str(message.params.uri))
            self.news.set()

    def events(self) -> set[tuple[str, str]]:
        """Level and kind of every message."""
        return {(each.level, each.data["event"]) for each in self.messages}

    def printed(self) -> str:
        return "".join(m.data["text"] for m in self.messages if m.data["event"] == "output")

    async def until(self, fact: Any) -> None:
        while not fact():
            self.news.clear()
            await self.news.wait()


@on_loop
async def test_subscribers_are_notified_of_changed_resources_of_a_session(dbg):
    (dbg.project / "prints.py").write_text(PRINTS)
    output, source = (f"freezeframe://session/prints/{part}" for part in ("output", "source"))
    heard, other = Heard(), Heard()
    async with (
        connected(dbg, message_handler=heard.anything) as client,
        connected(dbg, message_handler=other.anything) as bystander,
    ):
        assert client.server_capabilities.resources.subscribe
        assert not client.server_capabilities.tools.list_changed
        await client.subscribe_resource(output)
        await client.subscribe_resource(source)
        with pytest.raises(MCPError, match="of a session there are transcript, output, source"):
            await client.subscribe_resource("freezeframe://session/prints/outptu")
        await call(bystander, "debug_start", program="prints.py", stop_on_entry=True)
        await heard.until(lambda: heard.updated == [source])
        await call(bystander, "debug_step")
        await heard.until(lambda: {output, source} == set(heard.updated))
        read = await client.read_resource(output)
        assert "one" in read.contents[0].text
        heard.updated.clear()
        await client.unsubscribe_resource(source)
        await call(bystander, "debug_step")
        await heard.until(lambda: heard.updated)
        assert set(heard.updated) == {output}, "told again of what was told before"
    assert not other.updated


@on_loop
async def test_a_stream_of_changes_is_served_without_a_handshake(dbg):
    (dbg.project / "prints.py").write_text(PRINTS)
    source = "freezeframe://session/prints/source"
    heard = Heard()
    async with connected(dbg, mode="auto", logging_callback=heard.log) as client:
        assert client.protocol_version == STATELESS
        capabilities = client.server_capabilities
        assert capabilities.resources.subscribe
        assert not capabilities.tools.list_changed
        async with client.listen(
            resources_list_changed=True, resource_subscriptions=[source]
        ) as stream:
            await call(client, "debug_start", program="prints.py", stop_on_entry=True)
            kinds = {type(await anext(stream)).__name__ for _ in range(2)}
            assert kinds == {"ResourcesListChanged", "ResourceUpdated"}
        await call(client, "debug_stop")
    assert not heard.messages, "no request wanted any"


@pytest.mark.parametrize("mode", [HANDSHAKE, STATELESS])
@on_loop
async def test_a_log_tells_of_stops_and_of_what_is_printed(dbg, mode):
    (dbg.project / "prints.py").write_text(PRINTS)
    heard = Heard()
    wanted = {"log_level": "info"} if mode == STATELESS else {}
    async with connected(dbg, mode=mode, logging_callback=heard.log, **wanted) as client:
        if mode == HANDSHAKE:
            await call(client, "debug_start", program="prints.py", stop_on_entry=True)
            assert not heard.messages, "nobody asked for them"
            await client.set_logging_level("info")
            await call(client, "debug_continue")
        else:
            await call(client, "debug_start", program="prints.py")
        await heard.until(lambda: ("warning", "stop") in heard.events())
        assert "one\ntwo\n" in heard.printed()
        assert ("debug", "resume") not in heard.events()
        assert {each.logger for each in heard.messages} == {"freezeframe"}


@on_loop
async def test_a_watcher_does_not_restart_the_daemon_and_finds_the_next_one(dbg):
    (dbg.project / "prints.py").write_text(PRINTS)
    source = "freezeframe://session/prints/source"
    heard = Heard()
    async with connected(dbg, message_handler=heard.anything) as client:
        await client.subscribe_resource(source)
        await asyncio.to_thread(dbg, "daemon", "stop")
        await asyncio.to_thread(waits.wait_until, lambda: not dbg.daemon_lives(), "it has left")
        await client.list_tools()
        assert not dbg.daemon_lives()
        await call(client, "debug_start", program="prints.py", stop_on_entry=True)
        await heard.until(lambda: heard.updated == [source])
