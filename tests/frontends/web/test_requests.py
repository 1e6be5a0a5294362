"""What a server on the loopback interface must refuse: tried without a browser."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import pytest

from freezeframe.frontends.web.access import Access
from freezeframe.frontends.web.http import MAX_BODY_BYTES, BadRequest, Request, read_request
from freezeframe.frontends.web.server import Has

HOST = "127.0.0.1:8000"


def received(data: bytes) -> Request | None:
    async def read() -> Request | None:
        reader = asyncio.StreamReader(limit=16 * 1024)
        reader.feed_data(data)
        reader.feed_eof()
        return await read_request(reader)

    return asyncio.run(read())


def test_a_request_is_read():
    request = received(b"POST /k/op?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")

    assert request is not None
    assert (request.method, request.path, request.query) == ("POST", "/k/op", {"a": "1"})
    assert (request.headers["host"], request.body) == ("x", b"{}")
    assert received(b"GET / HT") is None


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 400),
        (b"\xff\xfe\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"GET /?" + b"a&" * 50 + b"b=" + b"c&b=" * 30 + b" HTTP/1.1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), 413),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
    ],
)
def test_what_is_no_bounded_request_is_refused(data, status):
    with pytest.raises(BadRequest) as refused:
        received(data)
    assert refused.value.status == status


def request(access: Access, method: str = "GET", path: str = "", **headers: str) -> Request:
    named = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Request(method, access.base + path, {}, named)


def status_of(access: Access, request: Request) -> int:
    try:
        access.check_address(request)
        access.check_cookie(request)
    except BadRequest as bad:
        return int(bad.status)
    return int(HTTPStatus.OK)


def test_only_the_page_itself_is_answered():
    access = Access(8000)
    cookie = access.set_cookie.partition(";")[0]
    origin = f"http://{HOST}"

    assert status_of(access, request(access, cookie=cookie)) == 200
    assert status_of(access, request(access, "POST", "op", cookie=cookie, origin=origin)) == 200
    refused = {
        "no cookie": request(access),
        "wrong cookie": request(access, cookie="freezeframe=x"),
        "another name for this machine": request(access, cookie=cookie, host="evil.example:8000"),
        "another port": request(access, cookie=cookie, host="127.0.0.1:8001"),
        "another site": request(access, "POST", cookie=cookie, origin="http://evil.example"),
        "no site": request(access, "POST", cookie=cookie),
        "another port's page": request(access, cookie=cookie, sec_fetch_site="same-site"),
        "another address": Request("GET", "/other/", {}, {"host": HOST, "cookie": cookie}),
    }
    assert {
        name: status_of(access, each) == 200 for name, each in refused.items()
    } == dict.fromkeys(refused, False)
    for promise in ("HttpOnly", "SameSite=Strict", f"Path={access.base}"):
        assert promise in access.set_cookie


def test_a_page_that_comes_back_says_what_it_has():
    has = Has(3, 10, 2, 7, 99, 41)

    assert Has.read(str(has), 3).arguments() == {**has.arguments(), "version": 0}
    for wrong in ("", "x", "1-2-3", "3-10-2-7-99--1", "9" * 40 + "-1-1-1-1-1"):
        assert Has.read(wrong, 3).arguments() == Has(3).arguments()
    assert Has.read(str(has), 4).arguments() == Has(4).arguments(), "of another run"
