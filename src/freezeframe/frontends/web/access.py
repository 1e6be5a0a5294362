"""Who may see the page: the link's token once, then a cookie that only this page's requests send.

Cookies of the loopback address go to every port of it, also to one of another user. The address of
the page therefore begins with a key that nobody else knows, and the cookie is sent only there.
"""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus

from .http import BadRequest, Request

HOST = "127.0.0.1"
COOKIE = "freezeframe"

#: nothing is loaded from elsewhere, and no script but the files of the page runs
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Access:
    """The secrets of one server."""

    def __init__(self, port: int) -> None:
        self.base = f"/{secrets.token_urlsafe(18)}/"
        self._token = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self.link = f"http://{HOST}:{port}{self.base}?token={self._token}"

    @property
    def set_cookie(self) -> str:
        return f"{COOKIE}={self._cookie}; HttpOnly; SameSite=Strict; Path={self.base}"

    def check_address(self, request: Request) -> str:
        """Return the path below the page's address. Raises BadRequest.

        A name that another site made resolve to this machine has that site's Host and Origin.
        """
        if request.headers.get("host") not in self._hosts:
            raise BadRequest(HTTPStatus.MISDIRECTED_REQUEST)
        origin = request.headers.get("origin")
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            raise BadRequest(HTTPStatus.FORBIDDEN)
        if request.method == "POST" and origin is None:
            raise BadRequest(HTTPStatus.FORBIDDEN)
        if not _equal(request.path[: len(self.base)], self.base):
            raise BadRequest(HTTPStatus.NOT_FOUND)
        return request.path[len(self.base) :]

    def has_token(self, request: Request) -> bool:
        return _equal(request.query.get("token", ""), self._token)

    def check_cookie(self, request: Request) -> None:
        """Raise BadRequest unless the request is one of the page."""
        if not _equal(request.cookie(COOKIE) or "", self._cookie):
            raise BadRequest(HTTPStatus.FORBIDDEN, "open the link that `dbg web` shows")
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise BadRequest(HTTPStatus.FORBIDDEN)


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
