"""Requests to the daemon, one connection for each pending request.

Closing its connection cancels a request: the daemon stops working on it, and the session stays as
it is. Connections are reused after the answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from freezeframe import __version__
from freezeframe.daemon import ipc, lifecycle, unresponsive
from freezeframe.errors import DaemonError, FreezeframeError, UserError
from freezeframe.session.broadcast import Broadcast

#: default time limit of a wait for a stop: common clients give up after 25 s
WAIT_S = 20.0
#: maximum of a wait for a stop: hosts give up a call after about 60 s
PATIENCE_S = 45.0
#: maximum of any request
LIMIT_S = 55.0
PROGRESS_EVERY_S = 1.0
#: after this long without an answer, check whether the daemon is stopped
LOOK_EVERY_S = 3.0
#: maximum length of an answer
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_IDLE = 4

Progress = Callable[[float], Awaitable[None]]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class DaemonClient:
    """Client of the daemon, with the directory and environment of this process."""

    def __init__(
        self, cwd: str, env: Mapping[str, str], *, limit_s: float = LIMIT_S, budget: int | None
    ) -> None:
        self._caller = {"cwd": cwd, "env": dict(env), "budget": budget, "text": True}
        self._env = env
        self._limit_s = limit_s
        self._patience_s = min(PATIENCE_S, limit_s * PATIENCE_S / LIMIT_S)
        self._idle: list[Connection] = []
        #: set when the daemon has answered
        self.reconnected = Broadcast()
        # Some hosts start their servers outside of a project: use a root of the client then.
        home = env.get("HOME") or env.get("USERPROFILE") or "/"
        self.has_no_project = os.path.realpath(cwd) in map(os.path.realpath, ("/", home))
        # Connecting changes the working directory of the process to the daemon's.
        self._dialling = threading.Lock()

    @property
    def cwd(self) -> str:
        """The directory of relative paths and of the workspace."""
        return str(self._caller["cwd"])

    def set_project(self, cwd: str | None) -> None:
        """Use *cwd* as the project from now on; None: the current directory."""
        self.has_no_project = False
        if cwd is not None:
            self._caller["cwd"] = cwd

    async def call(
        self, request: Mapping[str, object], progress: Progress | None = None
    ) -> dict[str, Any]:
        """Return the daemon's answer. Raises FreezeframeError.

        Calls *progress* with the seconds since the request while it is pending.
        """
        began = time.monotonic()
        looked_s = 0.0
        work = asyncio.ensure_future(self._call(request))
        try:
            while not (await asyncio.wait({work}, timeout=PROGRESS_EVERY_S))[0]:
                waited_s = time.monotonic() - began
                if waited_s > looked_s + LOOK_EVERY_S:
                    looked_s = waited_s
                    if error := await asyncio.to_thread(unresponsive.explain_stopped, self._env):
                        raise error
                if waited_s > self._limit_s:
                    raise UserError(
                        f"the request was not done after {waited_s:.0f} s and was cancelled.",
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

    async def _call(self, request: Mapping[str, object]) -> dict[str, Any]:
        message = {
            **self._caller,
            "patience_s": self._patience_s,
            "wait_s": WAIT_S,
            **request,
            "id": 1,
        }
        reader, writer = await self._connection()
        answered = False
        try:
            writer.write(json.dumps(message).encode() + b"\n")
            answer = await _answer(reader, writer)
            answered = True
            self.reconnected.notify_all()
        finally:
            if answered and len(self._idle) < MAX_IDLE:
                self._idle.append((reader, writer))
            else:
                writer.close()
        if not answer["success"]:
            error = to_exception(answer["error"])
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
        reader, writer = await lifecycle.streams_of(link, MAX_ANSWER_BYTES)
        try:
            writer.write(json.dumps({"protocol": ipc.PROTOCOL, "id": 0}).encode() + b"\n")
            greeting = await _answer(reader, writer)
            if not greeting["success"]:
                raise to_exception(greeting["error"])
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

    def _dial(self) -> Any:
        with self._dialling:
            return lifecycle.connect(self._env)


def to_exception(error: Mapping[str, Any]) -> FreezeframeError:
    """Return an error of the daemon as an exception."""
    return FreezeframeError(error["message"], code=error["code"], next=error.get("next"))


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> dict[str, Any]:
    try:
        await writer.drain()
        line = await reader.readuntil(b"\n")
    except (OSError, EOFError):
        raise DaemonError("the daemon ended before it answered.", next="dbg status") from None
    answer: dict[str, Any] = json.loads(line)
    return answer
