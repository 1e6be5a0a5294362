"""Requests to the daemon, one connection for each that is under way.

A request that nobody waits for any more is ended by closing its connection: the daemon cancels
what it was doing, and the session stays as it is. Connections that were answered are kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from freezeframe import __version__
from freezeframe.daemon import ipc, lifecycle, silence
from freezeframe.errors import DaemonError, FreezeframeError, UserError
from freezeframe.session.bell import Bell

#: waits of a program's next stop that name no time: the limit of common clients is 25 s
WAIT_S = 20.0
#: waits of a program's next stop end by then: hosts give a call up after about 60 s
PATIENCE_S = 45.0
#: whatever a request does, it is ended by then
LIMIT_S = 55.0
PROGRESS_EVERY_S = 1.0
#: a daemon that has not answered for this long is looked at: it may be stopped
LOOK_EVERY_S = 3.0
#: answers longer than this are none of ours
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_IDLE = 4

Progress = Callable[[float], Awaitable[None]]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Bridge:
    """Asks the daemon, as one caller: its directory and environment are those of this process."""

    def __init__(
        self, cwd: str, env: Mapping[str, str], *, limit_s: float = LIMIT_S, budget: int | None
    ) -> None:
        self._caller = {"cwd": cwd, "env": dict(env), "budget": budget, "text": True}
        self._env = env
        self._limit_s = limit_s
        self._patience_s = min(PATIENCE_S, limit_s * PATIENCE_S / LIMIT_S)
        self._idle: list[Connection] = []
        #: rings when the daemon has answered
        self.met = Bell()
        # Some hosts start their servers in no project: there a root of the client's is better.
        self.astray = os.path.realpath(cwd) in ("/", os.path.realpath(env.get("HOME") or "/"))
        # A connection is made in the daemon's directory, and a process is in one at a time.
        self._dialling = threading.Lock()

    @property
    def cwd(self) -> str:
        """Where relative paths count from, and whose sessions are meant."""
        return str(self._caller["cwd"])

    def settle(self, cwd: str | None) -> None:
        """Stay in *cwd* from now on; without one, where we are."""
        self.astray = False
        if cwd is not None:
            self._caller["cwd"] = cwd

    async def ask(
        self, request: Mapping[str, object], progress: Progress | None = None
    ) -> dict[str, Any]:
        """Return the daemon's answer. Raises FreezeframeError.

        Calls *progress* with the seconds since the request, while it is under way.
        """
        began = time.monotonic()
        looked_s = 0.0
        work = asyncio.ensure_future(self._ask(request))
        try:
            while not (await asyncio.wait({work}, timeout=PROGRESS_EVERY_S))[0]:
                waited_s = time.monotonic() - began
                if waited_s > looked_s + LOOK_EVERY_S:
                    looked_s = waited_s
                    if error := await asyncio.to_thread(silence.explain_stopped, self._env):
                        raise error
                if waited_s > self._limit_s:
                    raise UserError(
                        f"this was not done after {waited_s:.0f} s, and was given up.",
                        code="time-up",
                        next="dbg status",
                    )
                if progress is not None:
                    await progress(waited_s)
            return work.result()
        finally:
            work.cancel()

    def close(self) -> None:
        while self._idle:
            self._idle.pop()[1].close()

    async def _ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        asked = {
            **self._caller,
            "patience_s": self._patience_s,
            "wait_s": WAIT_S,
            **request,
            "id": 1,
        }
        reader, writer = await self._connection()
        answered = False
        try:
            writer.write(json.dumps(asked).encode() + b"\n")
            answer = await _answer(reader, writer)
            answered = True
            self.met.ring()
        finally:
            if answered and len(self._idle) < MAX_IDLE:
                self._idle.append((reader, writer))
            else:
                writer.close()
        if not answer["success"]:
            error = told(answer["error"])
            for note in answer.get("notes", ()):
                error.add_note(note)
            raise error
        return answer

    async def _connection(self) -> Connection:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        link = await asyncio.to_thread(self._dial)
        reader, writer = await asyncio.open_connection(sock=link, limit=MAX_ANSWER_BYTES)
        try:
            writer.write(json.dumps({"protocol": ipc.PROTOCOL, "id": 0}).encode() + b"\n")
            greeting = await _answer(reader, writer)
            if not greeting["success"]:
                raise told(greeting["error"])
            if greeting["result"]["version"] != __version__:
                raise DaemonError(
                    f"the daemon is freezeframe {greeting['result']['version']}, "
                    f"this is {__version__}.",
                    next="dbg daemon stop",
                )
        except BaseException:
            writer.close()
            raise
        return reader, writer

    def _dial(self) -> socket.socket:
        with self._dialling:
            return lifecycle.connect(self._env)


def told(error: Mapping[str, Any]) -> FreezeframeError:
    """Return an error of the daemon's as one of ours."""
    return FreezeframeError(error["message"], code=error["code"], next=error.get("next"))


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> dict[str, Any]:
    try:
        await writer.drain()
        line = await reader.readuntil(b"\n")
    except (OSError, EOFError):
        raise DaemonError("the daemon ended before it answered.", next="dbg status") from None
    answer: dict[str, Any] = json.loads(line)
    return answer
