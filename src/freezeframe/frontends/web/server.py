"""The addresses of the page: its files, events as they happen, and operations.

GET  /KEY/?token=T            the cookie, then the page
GET  /KEY/                    the page
GET  /KEY/NAME                a file of the page
GET  /KEY/events?page=&run=   Server-Sent Events; the id of an event says what the page has then
GET  /KEY/source?run=&file=   the recorded text of a file
POST /KEY/op                  an operation: {"page": …, "command": …, "args": …}
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from http import HTTPStatus
from typing import Any

from freezeframe import loopback_peers
from freezeframe.errors import FreezeframeError
from freezeframe.history import page_files
from freezeframe.session.broadcast import Broadcast

from . import http
from .access import HEADERS, Access
from .daemon_link import DaemonLink
from .http import BadRequest, Request, response

logger = logging.getLogger(__name__)

#: what a page may ask for; each is an operation of the command line
OPERATIONS = frozenset(
    (
        *("continue", "next", "step", "finish", "until", "pause", "restart", "stop"),
        *("back", "reverse_step", "reverse_continue"),
        *("breakpoint_add", "breakpoint_remove", "breakpoint_enable", "breakpoint_disable"),
        *("breakpoint_condition", "set", "eval", "print", "locals", "globals", "threads"),
        *("backtrace", "input", "control"),
    )
)
MAX_CONNECTIONS = 64
MAX_STREAMS = 16
#: minimum time between two events of a page, however often a program prints
PAUSE_S = 0.02
#: for a page that does not read its events
WRITE_S = 20.0
_KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_HTML = "text/html; charset=utf-8"
_JSON = "application/json"
_ENTRANCE = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=./">'
    "<title>Freezeframe</title>"
)


class PageServer:
    """Serves one workspace to its owner."""

    def __init__(self, daemon: DaemonLink, access: Access) -> None:
        self._daemon, self._access = daemon, access
        self._connections: set[asyncio.Task[None]] = set()
        #: pages that receive events
        self.streams = 0
        self.changed = Broadcast()
        self._files = {name: page_files.read(name).encode() for name in page_files.LIVE_FILES}
        self._page = page_files.served().encode()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        # Other users may connect to the loopback interface too: they get no answer at all.
        own = {loopback_peers.own_user()}
        is_own = loopback_peers.is_from(writer.get_extra_info("socket"), own)
        if not is_own or len(self._connections) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
            await writer.drain()
        except (ConnectionError, TimeoutError, asyncio.CancelledError):
            pass  # the browser has left
        except Exception:
            logger.exception("a request of the page ended in a bug")
        finally:
            self._connections.discard(task)
            writer.close()

    async def close(self) -> None:
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=1.0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await http.read_request(reader)
            if request is None:
                return
            path = self._access.check_address(request)
            if request.method == "GET" and path == "" and self._access.has_token(request):
                # Not a redirect: the cookie would not be sent after one that another site began.
                headers = {**HEADERS, "Set-Cookie": self._access.set_cookie}
                writer.write(response(HTTPStatus.OK, headers, _ENTRANCE.encode(), kind=_HTML))
                return
            self._access.check_cookie(request)
            await self._answer(request, path, reader, writer)
        except BadRequest as bad:
            text = f"{bad}\n".encode()
            writer.write(response(bad.status, HEADERS, text, kind="text/plain; charset=utf-8"))

    async def _answer(
        self,
        request: Request,
        path: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        match request.method, path:
            case "GET", "":
                writer.write(response(HTTPStatus.OK, HEADERS, self._page, kind=_HTML))
            case "GET", "events":
                await self._stream(request, reader, writer)
            case "GET", "source":
                writer.write(await self._source(request))
            case "POST", "op":
                writer.write(await self._operation(request))
            case "GET", name if name in self._files:
                kind = _KINDS[name.rpartition(".")[2]]
                writer.write(response(HTTPStatus.OK, HEADERS, self._files[name], kind=kind))
            case _:
                raise BadRequest(HTTPStatus.NOT_FOUND)

    # --- operations

    async def _operation(self, request: Request) -> bytes:
        if request.headers.get("content-type") != _JSON:
            raise BadRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        try:
            given = json.loads(request.body)
            command, page = given["command"], given["page"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BadRequest(HTTPStatus.BAD_REQUEST) from None
        if command not in OPERATIONS or not _is_page(page):
            raise BadRequest(HTTPStatus.FORBIDDEN)
        call = {key: given[key] for key in ("args", "session", "frame", "thread") if key in given}
        call = {**call, "command": command, "text": True, "owner": _owner(page)}
        return _json_response(await self._call(call))

    async def _source(self, request: Request) -> bytes:
        args = {"run": _number(request, "run"), "file": request.query.get("file", "")}
        call = {"command": "live_source", "args": args, "notes": False, "owner": _owner("files")}
        return _json_response(await self._call(call))

    async def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._daemon.call(call)
        except FreezeframeError as error:
            facts = {"code": error.error_code, "message": error.message, "next": error.next}
            return {"success": False, "error": facts}

    # --- events

    async def _stream(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        page = request.query.get("page", "")
        if not _is_page(page) or self.streams >= MAX_STREAMS:
            raise BadRequest(HTTPStatus.FORBIDDEN)
        writer.write(response(HTTPStatus.OK, HEADERS, None, kind="text/event-stream"))
        has = Has.read(request.headers.get("last-event-id", ""), _number(request, "run"))
        self.streams += 1
        self.changed.notify_all()
        left = asyncio.ensure_future(reader.read(1))  # a page sends nothing more
        following = asyncio.ensure_future(self._follow(page, has, writer))
        try:
            await asyncio.wait({left, following}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
            following.cancel()
            self.streams -= 1
            self.changed.notify_all()

    async def _follow(self, page: str, has: Has, writer: asyncio.StreamWriter) -> None:
        """Send what is new, again and again. What a page has is in the id of the last event."""
        owner = _owner(page)
        while True:
            call = {"command": "live", "args": has.arguments(), "notes": False, "owner": owner}
            try:
                answer = await self._daemon.call(call)
            except FreezeframeError as error:
                await _send(writer, "lost", json.dumps({"message": error.message}), has)
                await self._daemon.wait_for_daemon()
                continue
            began = time.monotonic()
            text = answer["result"]["text"]
            state = json.loads(text)
            has = has.after(state)
            await _send(writer, "state", text, has)
            run = state["run"]
            if run is None or not run["more"]:
                await asyncio.sleep(max(0.0, PAUSE_S - (time.monotonic() - began)))


class Has:
    """What a page has: of which run how many stops and pieces of output, of which daemon."""

    def __init__(
        self,
        run: int = 0,
        stops: int = 0,
        pieces: int = 0,
        commands: int = 0,
        daemon: int = 0,
        version: int = 0,
    ) -> None:
        self._numbers = (run, stops, pieces, commands, daemon, version)

    @classmethod
    def read(cls, id: str, run: int) -> Has:
        """Return what the id of the last event says, if it is of the same run."""
        parts = id.split("-")
        if len(parts) != 6 or not all(each.isdecimal() and len(each) < 16 for each in parts):
            return cls(run)
        numbers = tuple(map(int, parts))
        # The state is sent again, whatever happened meanwhile.
        return cls(*numbers[:5]) if numbers[0] == run else cls(run)

    def arguments(self) -> dict[str, int]:
        names = ("run", "stops", "pieces", "commands", "daemon", "version")
        return dict(zip(names, self._numbers, strict=True))

    def after(self, state: dict[str, Any]) -> Has:
        run, stops, pieces, *_ = self._numbers
        if state["run"] is not None:
            stops, pieces = stops + len(state["run"]["stops"]), state["run"]["pieces"]
        version = 0 if state["run"] is not None and state["run"]["more"] else state["version"]
        return Has(run, stops, pieces, state["known"], state["daemon"], version)

    def __str__(self) -> str:
        return "-".join(map(str, self._numbers))


async def _send(writer: asyncio.StreamWriter, kind: str, data: str, has: Has) -> None:
    writer.write(f"id: {has}\nevent: {kind}\ndata: {data}\n\n".encode())
    async with asyncio.timeout(WRITE_S):
        await writer.drain()


def _json_response(answer: dict[str, Any]) -> bytes:
    return response(HTTPStatus.OK, HEADERS, json.dumps(answer).encode(), kind=_JSON)


def _owner(page: str) -> dict[str, str]:
    return {"id": f"page-{page}", "kind": "person"}


def _is_page(page: object) -> bool:
    return isinstance(page, str) and 8 <= len(page) <= 64 and page.replace("-", "").isalnum()


def _number(request: Request, name: str) -> int:
    text = request.query.get(name, "0")
    if not (text.isdecimal() and len(text) < 10):
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    return int(text)
