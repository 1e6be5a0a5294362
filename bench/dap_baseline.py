"""The least a debug session costs: a DAP client of a few lines on the debugger's own adapter.

It requests what a stop report needs and nothing else, keeps nothing and prints nothing. What
Freezeframe adds to this, interpreter start of the client included, is what the bench limits.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

#: debugpy 1.8 sends header and body of a message apart: 44 ms a request without this.
NODELAY = "__import__('pydevd').get_global_debugger().writer.sock.setsockopt(6, 1, 1)"


class Bare:
    """One program under an adapter, over stdio."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to = self._process.stdin.fileno()
        self._from = self._process.stdout.fileno()
        self._buffer = b""
        self._seq = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._events: list[dict[str, Any]] = []

    def stop_report(self) -> int:
        """Wait for the next stop, fetch what its report shows, and return the thread."""
        thread = int(self.wait_for("stopped")["body"]["threadId"])
        frames = self.ask("stackTrace", threadId=thread, startFrame=0, levels=20)["stackFrames"]
        scopes = self.ask("scopes", frameId=frames[0]["id"])["scopes"]
        self.ask("variables", variablesReference=scopes[0]["variablesReference"])
        return thread

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Return the body of the answer."""
        return self._answer_to(self._send(command, **arguments))

    def wait_for(self, event: str) -> dict[str, Any]:
        """Return the next event of that name; those before it are dropped."""
        while True:
            while self._events:
                message = self._events.pop(0)
                if message["event"] == event:
                    return message
            self._receive()

    def close(self) -> None:
        """End the program and the adapter."""
        self.ask("disconnect", terminateDebuggee=True)
        self._process.communicate()

    def _send(self, command: str, **arguments: Any) -> int:
        self._seq += 1
        message = {"seq": self._seq, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        os.write(self._to, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return self._seq

    def _answer_to(self, seq: int) -> dict[str, Any]:
        while seq not in self._answers:
            self._receive()
        message = self._answers.pop(seq)
        if not message["success"]:
            raise RuntimeError(f"{message['command']}: {message.get('message')}")
        return dict(message.get("body") or {})

    def _receive(self) -> None:
        """Take in what has come, at least one message."""
        taken = False
        while not taken:
            chunk = os.read(self._from, 1 << 20)
            if not chunk:
                raise RuntimeError("the adapter ended")
            self._buffer += chunk
            while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
                start = end + 4
                stop = start + int(self._buffer[:end].rpartition(b":")[2])
                if len(self._buffer) < stop:
                    break
                message = json.loads(self._buffer[start:stop])
                self._buffer = self._buffer[stop:]
                taken = True
                if message["type"] == "response":
                    self._answers[message["request_seq"]] = message
                elif message["type"] == "event":
                    self._events.append(message)


class Debugpy(Bare):
    """One Python program under debugpy's adapter."""

    def __init__(self, python: str, env: Mapping[str, str]) -> None:
        super().__init__([python, "-m", "debugpy.adapter"], env)

    def launch(self, interpreter: str, program: str, *words: str, line: int | None = None) -> None:
        """Start *program* with everything in place; it runs when this returns."""
        self.ask("initialize", adapterID="debugpy", pathFormat="path", linesStartAt1=True)
        launching = self._send(
            "launch",
            program=program,
            args=words,
            python=[interpreter],
            console="internalConsole",
            justMyCode=False,
            subProcess=False,
            redirectOutput=True,
        )
        self.wait_for("initialized")
        self.ask("evaluate", expression=NODELAY, context="repl")
        if line is not None:
            self.ask("setBreakpoints", source={"path": program}, breakpoints=[{"line": line}])
        self.ask("setExceptionBreakpoints", filters=["uncaught"])
        self.ask("configurationDone")
        self._answer_to(launching)


class Lldb(Bare):
    """One native program under lldb-dap."""

    def __init__(self, adapter: str, env: Mapping[str, str]) -> None:
        super().__init__([adapter], env)
        self._env = env

    def launch(self, program: str, source: str, line: int) -> None:
        """Start *program* with a breakpoint in place; it runs when this returns."""
        self.ask("initialize", adapterID="lldb-dap", pathFormat="path", linesStartAt1=True)
        launching = self._send(
            "launch",
            program=program,
            env=[f"{name}={value}" for name, value in self._env.items()],
            # Containers forbid it.
            disableASLR=False,
        )
        self.wait_for("initialized")
        self.ask("setBreakpoints", source={"path": source}, breakpoints=[{"line": line}])
        self.ask("setExceptionBreakpoints", filters=[])
        self.ask("configurationDone")
        self._answer_to(launching)


class Gdb:
    """One native program under gdb's MI."""

    _REQUESTS: ClassVar = {"next": "-exec-next"}

    def __init__(self, gdb: str, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [gdb, "-q", "-nx", "-i=mi3"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
        )

    def launch(self, program: str, source: str, line: int) -> None:
        """Start *program* with a breakpoint in place; it runs when this returns."""
        for command in (
            "-gdb-set mi-async on",
            # Containers forbid it.
            "-gdb-set disable-randomization off",
            "-gdb-set inferior-tty /dev/null",
            "-enable-pretty-printing",
            f'-file-exec-and-symbols "{program}"',
            f'-break-insert --source "{source}" --line {line}',
            "-exec-run",
        ):
            self._do(command)

    def ask(self, request: str, **arguments: Any) -> None:
        self._do(f"{self._REQUESTS[request]} --thread {arguments['threadId']}")

    def stop_report(self) -> int:
        """Wait for the next stop, fetch what its report shows, and return the thread."""
        self._read_until(b"*stopped")
        self._do("-stack-list-frames 0 19")
        self._do("-stack-list-variables --all-values")
        return 1

    def close(self) -> None:
        """End the program and the debugger."""
        self._do("-interpreter-exec console kill")
        self._process.communicate(b"-gdb-exit\n")

    def _do(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"7{command}\n".encode())
        self._process.stdin.flush()
        line = self._read_until(b"7^")
        if line.startswith(b"7^error"):
            raise RuntimeError(f"{command}: {line.decode()}")

    def _read_until(self, beginning: bytes) -> bytes:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(beginning):
                return line
        raise RuntimeError("gdb ended")
