"""The server over HTTP: only on the loopback, only for who knows the token."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from frontends.mcp.talking import HANDSHAKE, STATELESS, call, on_loop, refusal
from harness import waits
from harness.client import Background, Dbg

KEY = {"Authorization": "Bearer secret"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def status(port: int, body: object = HELLO, **headers: str) -> int | None:
    """Return the status of a request; None while no process listens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    wanted = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **headers,
    }
    text = body if isinstance(body, str) else json.dumps(body)
    try:
        connection.request("POST", "/mcp", text, wanted)
        return connection.getresponse().status
    except ConnectionRefusedError:
        return None
    finally:
        connection.close()


def _served(dbg: Dbg) -> tuple[int, Background]:
    """Start a server, and return when it listens."""
    port = waits.free_port()
    server = dbg.start_background("mcp", "--http", port, env={"FREEZEFRAME_MCP_TOKEN": "secret"})
    waits.wait_until(lambda: not server.running or status(port), "the server listens", timeout_s=60)
    if not server.running:
        ended = server.wait()
        assert "cannot be used" in ended.err, str(ended)
        return _served(dbg)  # another process took the port first
    return port, server


@pytest.fixture
def port(dbg: Dbg) -> Iterator[int]:
    """The port of a server of the test's project."""
    port, server = _served(dbg)
    yield port
    server.interrupt()
    waits.wait_for_exit(server.pid)


@asynccontextmanager
async def connected(port: int, mode: str) -> AsyncIterator[Client]:
    async with create_mcp_http_client(headers=KEY) as with_key:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=with_key)
        async with Client(transport, mode=mode) as client:
            yield client


def test_only_a_local_client_with_the_token_is_served(dbg, port):
    assert status(port) == 401
    assert status(port, Authorization="Bearer guess") == 401
    assert status(port, Authorization="Bearer ") == 401
    assert status(port, **KEY) == 200
    assert status(port, **KEY, Origin="http://elsewhere.example") == 403
    assert status(port, **KEY, Host="elsewhere.example") == 421
    for nonsense in ("no json", "[]", {"jsonrpc": "2.0"}, {**HELLO, "method": 3}):
        assert (status(port, nonsense, **KEY) or 0) // 100 == 4, nonsense
    assert status(port, **KEY) == 200
    second = dbg("mcp", "--http", port)
    assert (second.code, second.out) == (1, "")
    assert f"port {port} cannot be used" in second.err
    assert "Bearer" not in second.err


@on_loop
async def test_two_clients_of_both_eras_share_a_session_that_outlives_them(dbg, program, port):
    p = program("loop.py")
    async with connected(port, HANDSHAKE) as one, connected(port, STATELESS) as two:
        await call(one, "debug_breakpoint_add", where=p.at("loop"))
        text, _ = await call(one, "debug_start", program="loop.py")
        assert p.at("loop") in text
        # Both at once: the second one steps after the first, or is refused as too early.
        both = [client.call_tool("debug_step", {}) for client in (one, two)]
        said = [step.content[0].text for step in await asyncio.gather(*both)]
        assert any(text.startswith("stopped: step") for text in said)
        assert all(text.startswith(("stopped: step", "not-stopped: ")) for text in said)
        text, _ = await call(two, "debug_variables")
        assert "amount = 6" in text
        _, error = await refusal(two, "debug_stack", session="nobody")
        assert error["code"] == "no-session"
    async with connected(port, STATELESS) as three:
        text, _ = await call(three, "debug_status")
        assert "loop" in text
        text, _ = await call(three, "debug_stop")
        assert "loop" in text


@on_loop
async def test_a_client_that_disconnects_leaves_the_program_running(dbg, program, port):
    program("endless.py")
    async with connected(port, STATELESS) as one:
        await call(one, "debug_start", program="endless.py", timeout=0)
        waiting = asyncio.create_task(one.call_tool("debug_continue", {"mode": "wait"}))
        await asyncio.to_thread(waits.wait_for_file, dbg.project / "spinning.txt")
    waiting.cancel()
    await asyncio.wait({waiting})
    async with connected(port, HANDSHAKE) as two:
        text, _ = await call(two, "debug_continue", mode="pause")
        assert text.startswith("stopped: pause")
