"""Inspector sessions over a unix socket, with the thread that `inspector_agent.cjs` runs in a
process.

No TCP port is opened for them: the socket is in a directory that only its owner can enter.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from freezeframe.backends.transport.streams import Stream
from freezeframe.backends.transport.unix import UnixListener

AGENT = str(Path(__file__).with_name("inspector_agent.cjs"))
#: size limit of one message; a heap snapshot comes in pieces, so no valid message is longer
_MAX_MESSAGE = 512 << 20
#: size limit of an agent's first message
_MAX_HELLO = 64 << 10


class MessageSocket(Protocol):
    """A two-way stream of text messages."""

    def open(
        self, on_message: Callable[[str], None], on_eof: Callable[[str | None], None]
    ) -> None: ...
    def send(self, text: str) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


class LineSocket:
    """Messages on a stream, one per line. Only the first is delivered before `open`."""

    def __init__(self, stream: Stream, on_first: Callable[[LineSocket, str], None]) -> None:
        self._stream = stream
        self._on_first: Callable[[LineSocket, str], None] | None = on_first
        self._on_message: Callable[[str], None] | None = None
        self._on_eof: Callable[[str | None], None] | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._early: list[str] = []
        self._ended: tuple[str | None] | None = None
        stream.open(self._take, self._end)

    def open(self, on_message: Callable[[str], None], on_eof: Callable[[str | None], None]) -> None:
        """Deliver messages from now on; call *on_eof* once, last, with the reason if there is
        one."""
        self._on_message, self._on_eof = on_message, on_eof
        early, self._early = self._early, []
        for message in early:
            on_message(message)
        if self._ended is not None:
            self._end(self._ended[0])

    def send(self, text: str) -> None:
        self._stream.write(text.encode("utf-8", "surrogatepass") + b"\n")

    def pause(self) -> None:
        self._stream.pause()

    def resume(self) -> None:
        self._stream.resume()

    def close(self) -> None:
        """End the session: the program continues without a debugger. May be called twice."""
        self._on_first = self._on_message = self._on_eof = None
        self._stream.close()

    def _take(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = b"".join((*self._parts, line))
            self._parts, self._size = [], 0
            self._message(whole.decode("utf-8", "replace"))
        self._parts.append(rest)
        self._size += len(rest)
        if self._size > (_MAX_MESSAGE if self._on_first is None else _MAX_HELLO):
            self._end("it sent a message that is too long")

    def _message(self, text: str) -> None:
        if self._on_first is not None:
            on_first, self._on_first = self._on_first, None
            on_first(self, text)
        elif self._on_message is not None:
            self._on_message(text)
        else:
            self._early.append(text)

    def _end(self, reason: str | None) -> None:
        self._stream.close()
        if self._on_eof is None:
            self._ended = (reason,)
            return
        on_eof, self._on_eof, self._on_message = self._on_eof, None, None
        on_eof(reason)


@dataclass(frozen=True, slots=True)
class WaitingProcess:
    """A process whose agent has connected, and which waits for us before its first line."""

    pid: int
    argv: tuple[str, ...]
    socket: MessageSocket


async def listen(on_caller: Callable[[WaitingProcess], None]) -> UnixListener:
    """Listen for agents. A connection without a valid first message is closed."""

    def greeted(socket: LineSocket, text: str) -> None:
        caller = _read_hello(socket, text)
        if caller is None:
            socket.close()
        else:
            on_caller(caller)

    def connected(stream: Stream) -> None:
        LineSocket(stream, greeted)

    return await UnixListener.open(connected)


def _read_hello(socket: LineSocket, text: str) -> WaitingProcess | None:
    try:
        hello = json.loads(text)
    except ValueError:
        return None
    pid = hello.get("pid") if isinstance(hello, dict) else None
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return None
    argv = hello.get("argv")
    args = tuple(each for each in argv if isinstance(each, str)) if isinstance(argv, list) else ()
    return WaitingProcess(pid, args, socket)


def start_code(path: str) -> str:
    """Return an expression that starts an agent in a running program."""
    return (
        "((load)=>{const{Worker}=load('worker_threads'),hello={pid:process.pid,argv:[]},"
        f"workerData={{path:{json.dumps(path)},hello,gate:new SharedArrayBuffer(8)}},"
        "options={workerData,env:{},execArgv:[],stdout:true,stderr:true};"
        f"new Worker({json.dumps(AGENT)},options).unref()}})"
        "(typeof require==='function'?require:process.getBuiltinModule)"
    )
