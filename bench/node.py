"""The same questions for JavaScript: `dbg` on node against a bare script on V8's inspector."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from typing import Any

from environment import PROGRAMS, line_of
from measures import FLOOR, Figure, Measure, Probe, Resume, Stopwatch, Taken

_PROGRAM = "steps.js"


class Inspector:
    """One program under node, over a WebSocket that is as simple as it can be."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["node", "--inspect-brk=127.0.0.1:0", str(PROGRAMS / _PROGRAM)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=dict(env),
        )
        assert self._process.stderr is not None
        said = self._process.stderr.readline().decode()
        found = re.search(r"ws://([^:]+):(\d+)(/\S+)", said)
        assert found is not None, said
        self._socket = socket.create_connection((found[1], int(found[2])))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET {found[3]} HTTP/1.1\r\nHost: {found[1]}:{found[2]}\r\nUpgrade: websocket\r\n"
        head += f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
        self._socket.sendall(f"{head}\r\n".encode())
        self._buffer = b""
        while b"\r\n\r\n" not in self._buffer:
            self._receive()
        self._buffer = self._buffer.partition(b"\r\n\r\n")[2]
        self._last = 0
        self._paused: dict[str, Any] | None = None

    def launch(self, line: int) -> None:
        for method in ("NodeRuntime.enable", "Debugger.enable"):
            self.ask(method)
        self.ask("Debugger.setPauseOnExceptions", state="uncaught")
        name = "file://" + str(PROGRAMS / _PROGRAM)
        self.ask("Debugger.setBreakpointByUrl", url=name, lineNumber=line - 1)
        self.ask("Runtime.runIfWaitingForDebugger")
        self._next_pause()
        self.ask("Debugger.resume")

    def stop_report(self) -> int:
        """Wait for the next stop and fetch what its report shows."""
        calls = self._next_pause()["callFrames"]
        self.ask(
            "Runtime.getProperties",
            objectId=calls[0]["scopeChain"][0]["object"]["objectId"],
            ownProperties=True,
            generatePreview=True,
        )
        return 1

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.communicate()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        if method == "next":
            method, params = "Debugger.stepOver", {}
        self._last += 1
        text = json.dumps({"id": self._last, "method": method, "params": params}).encode()
        size = len(text)
        length = bytes([0x80 | size]) if size < 126 else bytes([0xFE]) + size.to_bytes(2, "big")
        # A mask of zeros changes nothing.
        self._socket.sendall(b"\x81" + length + bytes(4) + text)
        while (message := self._message()).get("id") != self._last:
            self._note(message)
        return dict(message.get("result") or {})

    def _next_pause(self) -> dict[str, Any]:
        while self._paused is None:
            self._note(self._message())
        paused, self._paused = self._paused, None
        return paused

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Debugger.paused":
            self._paused = message["params"]

    def _message(self) -> dict[str, Any]:
        size, start = self._need(2)[1] & 127, 2
        if size > 125:
            width = 2 if size == 126 else 8
            size, start = int.from_bytes(self._need(2 + width)[2 : 2 + width], "big"), 2 + width
        data = self._need(start + size)
        self._buffer = self._buffer[start + size :]
        return dict(json.loads(data[start : start + size]))

    def _need(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._receive()
        return self._buffer

    def _receive(self) -> None:
        # Node writes header and body apart: 40 ms a message without this.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        self._buffer += self._socket.recv(1 << 20)


class NodeStart(Measure):
    """From nothing to a stop report."""

    name = "node-start"

    def open(self) -> dict[str, Probe]:
        self.lab.run("status")
        return {"dbg start, node": self._ours, "bare start, node": self._theirs}

    def _ours(self) -> float:
        where = ("-b", f"{_PROGRAM}:{line_of(_PROGRAM, 'stop')}", "--name", self.name)
        took_s, text = self.lab.timed("start", _PROGRAM, *where)
        if "stopped" not in text:
            raise RuntimeError(f"no stop report: {text}")
        self.lab.run("stop", "-s", self.name)
        return took_s

    def _theirs(self) -> float:
        with Stopwatch() as watch:
            bare = Inspector(self.lab.env)
            bare.launch(line_of(_PROGRAM, "stop"))
            bare.stop_report()
        bare.close()
        return watch.took_s

    def figures(self, taken: Taken) -> list[Figure]:
        ours, bare = taken["dbg start, node"], taken["bare start, node"]
        # Node starts faster than the client that asks for it can be left out of the account.
        allowed = 1.25 * taken[FLOOR] + 1.3 * bare
        return [
            Figure("dbg start, node / (1.25 × floor + 1.3 × bare)", ours / allowed, "×", 1.0),
            Figure("dbg start / bare start, node", ours / bare, "×"),
        ]


class NodeNext(Resume):
    name = "node-next"
    request = "next"
    language = ", node"

    def _stopped(self) -> Any:
        line = line_of(_PROGRAM, "stop")
        self.lab.run("start", _PROGRAM, "-b", f"{_PROGRAM}:{line}", "--name", self.name)
        bare = Inspector(self.lab.env)
        bare.launch(line)
        return bare


INSPECTED: tuple[type[Measure], ...] = (NodeStart, NodeNext) if shutil.which("node") else ()
