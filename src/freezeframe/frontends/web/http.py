"""HTTP/1.1 as far as a page needs it: one bounded request for each connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from freezeframe.model.fast_dataclass import dataclass

MAX_HEAD_BYTES = 16 * 1024
MAX_BODY_BYTES = 1024 * 1024
#: for a client to send its request
READ_S = 10.0


class BadRequest(Exception):
    """What was received is no request that is served here."""

    def __init__(self, status: HTTPStatus, text: str = "") -> None:
        super().__init__(text or status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    #: by their names in lower case; a header that was sent twice is refused
    headers: Mapping[str, str]
    body: bytes = b""

    def cookie(self, name: str) -> str | None:
        for pair in self.headers.get("cookie", "").split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                return value
        return None


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Return the request of a connection; None if it was closed. Raises BadRequest."""
    try:
        async with asyncio.timeout(READ_S):
            head = await reader.readuntil(b"\r\n\r\n")
            request = _parse_head(head)
            length = request.headers.get("content-length", "0")
            if "transfer-encoding" in request.headers or not length.isdecimal():
                raise BadRequest(HTTPStatus.LENGTH_REQUIRED)
            if int(length) > MAX_BODY_BYTES:
                raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            body = await reader.readexactly(int(length))
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    except TimeoutError:
        raise BadRequest(HTTPStatus.REQUEST_TIMEOUT) from None
    return Request(request.method, request.path, request.query, request.headers, body)


def _parse_head(head: bytes) -> Request:
    try:
        first, *lines = head.decode("ascii").split("\r\n")[:-2]
        method, target, version = first.split(" ")
    except ValueError:
        raise BadRequest(HTTPStatus.BAD_REQUEST) from None
    if version != "HTTP/1.1" or not target.startswith("/"):
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    headers: dict[str, str] = {}
    for line in lines:
        name, separator, value = line.partition(":")
        name = name.lower()
        if not separator or not name or name != name.strip() or name in headers:
            raise BadRequest(HTTPStatus.BAD_REQUEST)
        headers[name] = value.strip()
    try:
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, max_num_fields=20))
    except ValueError:
        raise BadRequest(HTTPStatus.BAD_REQUEST) from None
    return Request(method, parts.path, query, headers)


def response(
    status: HTTPStatus, headers: Mapping[str, str], body: bytes | None = b"", *, kind: str
) -> bytes:
    """Return an answer, or without a body the head of one that follows."""
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", f"Content-Type: {kind}"]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + (body or b"")
