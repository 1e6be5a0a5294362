"""The server over HTTP: only on the loopback, only for who knows the token."""

from __future__ import annotations

import http.client
import json

from harness import facts

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


def test_only_who_knows_the_token_and_comes_from_here_is_served(dbg):
    port = facts.free_port()
    server = dbg.start_background("mcp", "--http", port, env={"FREEZEFRAME_MCP_TOKEN": "secret"})

    def status(**headers: str) -> int | None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        wanted = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        }
        try:
            connection.request("POST", "/mcp", json.dumps(HELLO), wanted)
            return connection.getresponse().status
        except ConnectionRefusedError:
            return None
        finally:
            connection.close()

    facts.wait_until(status, "the server listens", timeout_s=60)
    key = {"Authorization": "Bearer secret"}
    assert status() == 401
    assert status(Authorization="Bearer guess") == 401
    assert status(**key) == 200
    assert status(**key, Origin="http://elsewhere.example") == 403
    assert status(**key, Host="elsewhere.example") == 421
    server.interrupt()
    facts.wait_for_exit(server.pid)
