"""A client of `dbg mcp` that writes what it likes, line by line, and knows no SDK."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from .client import CLIENT, Dbg


class Raw:
    """One client, and the server that it started."""

    def __init__(self, dbg: Dbg, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(CLIENT), "mcp", "--structured"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=dbg.project,
            env=env or dbg.env,
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

    def call(self, id: int, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the result of a call, whether it succeeded or not."""
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        result: dict[str, Any] = self.answer(id)["result"]
        return result

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
