"""A client made with the official SDK, connected to a real `dbg mcp`, and one that speaks raw."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from harness.client import CLIENT, Dbg

#: the newest version with a handshake, and the one without
HANDSHAKE, STATELESS = "legacy", "2026-07-28"


def on_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a plain test of an async one. It fails when it takes longer than 120 s."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(120):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


@asynccontextmanager
async def connected(dbg: Dbg, *words: str, mode: str = HANDSHAKE) -> AsyncIterator[Client]:
    """Connect to a server that was started in the test's project."""
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(CLIENT), "mcp", *words],
        cwd=str(dbg.project),
        env=dbg.env,
    )
    async with Client(stdio_client(server), mode=mode) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return text and data of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    assert not result.is_error, text
    return text, result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return text and error of a call that must fail."""
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    assert result.is_error, text
    return text, result.structured_content["error"]


class Raw:
    """A client that writes what it likes, line by line."""

    def __init__(self, dbg: Dbg) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(CLIENT), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=dbg.project,
            env=dbg.env,
            text=True,
        )

    def send(self, line: str | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line if isinstance(line, str) else json.dumps(line))
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def answer(self, id: object) -> dict[str, Any]:
        """Return the answer to the request *id*; what comes before it is passed over."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == id and "method" not in message:
                return message
        raise AssertionError(f"the server left before it answered {id}")

    def greet(self) -> None:
        self.send(
            {
                "jsonrpc": "2.0",
                "id": 0,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "raw", "version": "1"},
                },
            }
        )
        assert self.answer(0)["result"]["protocolVersion"] == "2025-06-18"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(20)
        self.process.stdout.close()
        return code
