"""A client made with the official SDK, connected to a real `dbg mcp`."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from harness.client import CLIENT, Dbg
from harness.raw_mcp_client import Raw

__all__ = ["HANDSHAKE", "STATELESS", "Raw", "call", "connected", "on_loop", "refusal"]

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
async def connected(
    dbg: Dbg, *words: str, mode: str = HANDSHAKE, structured: bool = True, **options: Any
) -> AsyncIterator[Client]:
    """Connect to a server that was started in the test's project.

    Its answers hold data besides text, which tests look at, unless *structured* is False.
    """
    if structured:
        words = (*words, "--structured")
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(CLIENT), "mcp", *words],
        cwd=str(dbg.project),
        env=dbg.env,
    )
    async with Client(stdio_client(server), mode=mode, **options) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return text and data of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    assert not result.is_error, text
    return text, result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return text and error (code, message, next) of a call that must fail."""
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    assert result.is_error, text
    assert result.structured_content is None
    lines = [line for line in text.splitlines() if not line.startswith("note: ")]
    code, _, message = lines[0].partition(": ")
    steps = [line.strip().removeprefix("next: ") for line in lines if line.startswith("  next: ")]
    return text, {"code": code, "message": message, "next": steps[0] if steps else None}
