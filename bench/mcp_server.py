"""What the MCP server costs: until its first list of tools, and for each call."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from typing import Any

from measures import Figure, Measure, Probe, Taken

CALLS = 50
#: the least server that the package `mcp` allows: one tool that says one word
BARE = """
import asyncio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def list_tools(ctx, params):
    tool = {"name": "x", "inputSchema": {"type": "object"}}
    return types.ListToolsResult.model_validate({"tools": [tool]})


async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="x")])


async def main():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


asyncio.run(main())
"""


class Client:
    """Sends the protocol to a server that it starts, and does nothing else."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )
        self._last = 0
        hello = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=hello)
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._last:
                result: dict[str, Any] = message["result"]
                return result
        raise RuntimeError("the server left")

    def call(self, tool: str) -> None:
        if self.ask("tools/call", name=tool, arguments={}).get("isError"):
            raise RuntimeError(f"{tool} was refused")

    def close(self) -> None:
        self._process.communicate(timeout=20)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


class Served(Measure):
    """The server against the least one there can be, a call against a request to the daemon."""

    name = "mcp"

    def open(self) -> dict[str, Probe]:
        self.lab.run("status")
        self._ours = [*self.lab.dbg, "mcp"]
        self._least = [self.lab.python, "-c", BARE]
        self._client = Client(self._ours, self.lab.env)
        self._bare = Client(self._least, self.lab.env)
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(os.path.join(self.lab.env["FREEZEFRAME_HOME"], "daemon.sock"))
        self._lines = self._link.makefile("rb")
        self._direct({"protocol": 1, "id": 0})
        request = {"command": "status", "args": {}, "cwd": "/", "env": self.lab.env, "text": True}
        return {
            "dbg mcp, to the first tools": lambda: _listed_s(self._ours, self.lab.env),
            "bare mcp server, to the first tools": lambda: _listed_s(self._least, self.lab.env),
            "call over MCP": lambda: _each_s(lambda: self._client.call("debug_status")),
            "call of a bare mcp server": lambda: _each_s(lambda: self._bare.call("x")),
            "request to the daemon": lambda: _each_s(lambda: self._direct(request)),
        }

    def figures(self, taken: Taken) -> list[Figure]:
        listed = taken["dbg mcp, to the first tools"]
        least = taken["bare mcp server, to the first tools"]
        bare, direct = taken["call of a bare mcp server"], taken["request to the daemon"]
        return [
            Figure("dbg mcp / bare mcp server, first tools", listed / least, "×", 1.6),
            Figure("call over MCP / request to the daemon", taken["call over MCP"] / direct, "×"),
            Figure(
                "call over MCP / (bare mcp call + request)",
                taken["call over MCP"] / (bare + direct),
                "×",
                1.5,
            ),
        ]

    def close(self) -> None:
        self._client.close()
        self._bare.close()
        self._lines.close()
        self._link.close()

    def _direct(self, request: dict[str, Any]) -> None:
        self._link.sendall(json.dumps({"id": 1, **request}).encode() + b"\n")
        if not json.loads(self._lines.readline())["success"]:
            raise RuntimeError("the daemon refused")


def _listed_s(command: list[str], env: dict[str, str]) -> float:
    """Return the seconds from the start of a server to its first list of tools."""
    begin = time.perf_counter()
    client = Client(command, env)
    client.ask("tools/list")
    took_s = time.perf_counter() - begin
    client.close()
    return took_s


def _each_s(call: Probe | Any) -> float:
    """Return the seconds of one of several calls."""
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS


SERVED = (Served,)
