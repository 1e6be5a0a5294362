"""An editor: a client of `dbg dap` that holds every message to the protocol's schema."""

from __future__ import annotations

import json
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any

import dap_schema

from .client import CLIENT, HANG_S, Dbg

Message = dict[str, Any]


class Editor:
    """One connection, over the streams of a `dbg dap` of its own or to a port."""

    def __init__(self, dbg: Dbg, port: int | None = None) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None
        if port is None:
            self._process = subprocess.Popen(
                [sys.executable, str(CLIENT), "dap"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=dbg.project,
                env=dbg.env,
            )
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._out: IO[bytes] = self._process.stdin
            self._in: IO[bytes] = self._process.stdout
        else:
            self._link = socket.create_connection(("127.0.0.1", port))
            self._out, self._in = self._link.makefile("wb"), self._link.makefile("rb")
        self._seq = 0
        self._arrived: queue.Queue[Message | None] = queue.Queue()
        self._kept: list[Message] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(HANG_S)
        if self._link is not None:
            self._link.shutdown(socket.SHUT_RDWR)
            self._link.close()
        self._reader.join(HANG_S)

    def _read(self) -> None:
        while header := self._in.readline():
            size = int(header.split(b":")[1])
            self._in.readline()
            self._arrived.put(json.loads(self._in.read(size)))
        self._arrived.put(None)

    def send(self, command: str, **arguments: Any) -> int:
        self._seq += 1
        message = {"seq": self._seq, "type": "request", "command": command, "arguments": arguments}
        dap_schema.validate(message)
        body = json.dumps(message).encode()
        self._out.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._out.flush()
        return self._seq

    def _wait(self, is_it: Callable[[Message], bool]) -> Message:
        for kept in self._kept:
            if is_it(kept):
                self._kept.remove(kept)
                return kept
        while True:
            message = self._arrived.get(timeout=HANG_S)
            assert message is not None, f"the server left; before: {self._kept}"
            dap_schema.validate(message)
            if is_it(message):
                return message
            self._kept.append(message)

    def response(self, seq: int) -> Message:
        return self._wait(lambda m: m["type"] == "response" and m["request_seq"] == seq)

    def request(self, command: str, **arguments: Any) -> Message:
        """Return the body of a successful response."""
        answer = self.response(self.send(command, **arguments))
        assert answer["success"], answer
        body: Message = answer.get("body", {})
        return body

    def event(self, name: str, is_it: Callable[[Message], bool] = lambda body: True) -> Message:
        """Return the body of the next event of that name."""
        found = self._wait(
            lambda m: m["type"] == "event" and m["event"] == name and is_it(m.get("body", {}))
        )
        body: Message = found.get("body", {})
        return body

    def begin(self, command: str, *configuration: tuple[str, Message], **arguments: Any) -> Message:
        """Initialize, launch or attach, configure; return the response of launch or attach."""
        self.request("initialize", adapterID="dbg", clientName="Tester")
        seq = self.send(command, **arguments)
        self.event("initialized")
        for request, args in configuration:
            self.request(request, **args)
        self.request("configurationDone")
        return self.response(seq)

    def frame(self, index: int = 0) -> Message:
        thread = self.request("threads")["threads"][0]["id"]
        frame: Message = self.request("stackTrace", threadId=thread)["stackFrames"][index]
        return frame

    def variables(self) -> dict[str, Message]:
        """Return the variables of the first scope of the innermost frame, by name."""
        scope = self.request("scopes", frameId=self.frame()["id"])["scopes"][0]
        found = self.request("variables", variablesReference=scope["variablesReference"])
        return {each["name"]: each for each in found["variables"]}
