"""One connection from a program: requests and answers as lines of JSON.

    {"protocol": 1}                                        optional, first
    {"id": 1, "command": "breakpoint_add", "args": {…}}    → {"id": 1, "success": true, …}

Requests run concurrently and are answered in the order in which they finish. A line that cannot
be parsed is answered with id null, and the connection stays open.
"""

from __future__ import annotations

import asyncio
import json
import logging
import select
import sys

from freezeframe import __version__
from freezeframe.daemon import ipc
from freezeframe.daemon.cli_connection import internal
from freezeframe.daemon.handler import Handler
from freezeframe.errors import DaemonError, FreezeframeError, UsageError

logger = logging.getLogger(__name__)

#: longer lines are refused; also the size of the stream's buffer
MAX_LINE_BYTES = 4 * 1024 * 1024
#: pending requests of one connection; the next line is read when one has been answered
MAX_AT_WORK = 256


class JsonConnection:
    """Serves one program until it closes the connection."""

    def __init__(
        self, handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._handler = handler
        self._reader = reader
        self._writer = writer
        self._work: set[asyncio.Task[None]] = set()

    async def serve(self, first: bytes) -> None:
        """Answer every line; *first* has been read already.

        When the program disconnects, its requests are cancelled. A program that closed only its
        sending side (`printf … | nc -U`) gets all its answers.
        """
        try:
            while True:
                try:
                    line = first + await self._reader.readuntil(b"\n")
                except asyncio.LimitOverrunError as error:
                    await self._skip_line(error.consumed)
                    await self._refuse(None, UsageError(f"a line exceeds {MAX_LINE_BYTES} bytes."))
                    continue
                except asyncio.IncompleteReadError as error:
                    if (first + error.partial).strip():
                        await self._take(first + error.partial)
                    break
                finally:
                    first = b""
                await self._take(line)
            if self._work and not self._is_gone():
                await asyncio.wait(self._work)
        finally:
            for task in self._work:
                task.cancel()
            if self._work:
                await asyncio.wait(self._work)

    async def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            request = json.loads(line)
        except (ValueError, RecursionError) as error:
            await self._refuse(None, UsageError(f"a line is not JSON: {error}."))
            return
        if not isinstance(request, dict):
            await self._refuse(None, UsageError("a request is a JSON object."))
            return
        if "command" not in request and "protocol" in request:
            await self._greet(request)
            return
        if len(self._work) >= MAX_AT_WORK:
            await asyncio.wait(self._work, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._carry_out(request))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _carry_out(self, request: dict[str, object]) -> None:
        id = request.get("id")
        try:
            answer = await self._handler.call(request)
        except FreezeframeError as error:
            await self._refuse(id, error)
        except Exception as error:
            logger.exception("a request ended in a bug")
            await self._refuse(id, internal(error))
        else:
            await self._send({"id": id, **answer})

    async def _greet(self, request: dict[str, object]) -> None:
        id = request.get("id")
        if request["protocol"] != ipc.PROTOCOL:
            message = f"this daemon speaks protocol {ipc.PROTOCOL}, not {request['protocol']}."
            await self._refuse(id, DaemonError(message, code="protocol", next="dbg daemon stop"))
            return
        facts = {"protocol": ipc.PROTOCOL, "version": __version__}
        await self._send({"id": id, "success": True, "result": facts})

    async def _refuse(self, id: object, error: FreezeframeError) -> None:
        fields = {"code": error.error_code, "message": error.message}
        if error.next:
            fields["next"] = error.next
        await self._send({"id": id, "success": False, "error": fields})

    async def _send(self, answer: dict[str, object]) -> None:
        if self._writer.is_closing():
            return
        self._writer.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        try:
            await self._writer.drain()
        except ConnectionError:
            pass  # disconnected; reading ends for the same reason

    async def _skip_line(self, consumed: int) -> None:
        while True:
            await self._reader.readexactly(consumed)
            try:
                await self._reader.readuntil(b"\n")
                return
            except asyncio.LimitOverrunError as error:
                consumed = error.consumed

    def _is_gone(self) -> bool:
        """Return whether the peer closed both directions; True where that cannot be found out."""
        connection = self._writer.get_extra_info("socket")
        if connection is None or sys.platform == "win32":
            return True
        poll = select.poll()
        poll.register(connection.fileno(), 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))
