"""The inspector protocol without I/O: matches answers to requests and isolates.

Messages to the main thread are sent directly; those to a worker are wrapped in messages to its
parent, as deep as workers start workers. A path names an isolate: () is the main thread, ("2",) a
worker's session.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .protocol import EVENTS, RESULTS, fits

Path = tuple[str, ...]
Body = dict[str, Any]
#: `send` or `recv`, and the message as sent or received
Observer = Callable[[str, Mapping[str, Any]], None]

_WRAP = "NodeWorker.sendMessageToWorker"
_UNWRAP = "NodeWorker.receivedMessageFromWorker"
#: the deepest nesting of workers; request ids have room for it
_MAX_DEPTH = 15


@dataclass(frozen=True, slots=True)
class InspectorRequest:
    id: int
    path: Path
    method: str


@dataclass(frozen=True, slots=True)
class InspectorAnswer:
    """The answer to a request: its result, or why it was refused."""

    request: InspectorRequest
    result: Body
    error: str | None = None


@dataclass(frozen=True, slots=True)
class InspectorEvent:
    path: Path
    method: str
    params: Body


@dataclass(frozen=True, slots=True)
class InspectorBroken:
    """The other side violated the protocol; nothing after this can be read."""

    reason: str


Incoming = InspectorAnswer | InspectorEvent | InspectorBroken


class InspectorConnection:
    """The pending requests of one connection."""

    def __init__(self, observe: Observer | None = None) -> None:
        self._last = 0
        self._pending: dict[int, InspectorRequest] = {}
        self._observe = observe
        #: messages that answer no pending request, late ones included
        self.ignored = 0

    @property
    def pending(self) -> Mapping[int, InspectorRequest]:
        """Our requests that were not answered yet, oldest first."""
        return self._pending

    def request(self, path: Path, method: str, params: Mapping[str, Any]) -> tuple[int, str]:
        """Return the id of a new request and the text to send."""
        self._last += 1
        id = self._last
        self._pending[id] = InspectorRequest(id, path, method)
        message: Body = {"id": id, "method": method, "params": dict(params)}
        if self._observe is not None:
            self._observe("send", {**message, "path": path} if path else message)
        for depth, session in enumerate(reversed(path), 1):
            # The wrapping request has an answer of its own, which only confirms its arrival. Its id
            # is distinguished by sign and depth, so that a refusal at any depth fails the request.
            outer = -(id * 16 + depth)
            wrapped = {"sessionId": session, "message": json.dumps(message)}
            message = {"id": outer, "method": _WRAP, "params": wrapped}
        return id, json.dumps(message)

    def receive(self, text: str) -> list[Incoming]:
        """Return the answer or event in one message."""
        path: Path = ()
        while True:
            try:
                message = json.loads(text)
            except (ValueError, RecursionError):
                return [InspectorBroken("it sent a message that is not JSON")]
            if not isinstance(message, dict):
                return [InspectorBroken("it sent a message that is not an object")]
            method, params = message.get("method"), message.get("params") or {}
            if method != _UNWRAP:
                found = self._read(message, path)
                return [found] if found is not None else []
            if not fits(params, EVENTS[_UNWRAP]) or len(path) >= _MAX_DEPTH:
                return [InspectorBroken(f"it sent a {_UNWRAP} that is none")]
            path, text = (*path, params["sessionId"]), params["message"]

    def _read(self, message: Body, path: Path) -> Incoming | None:
        if self._observe is not None:
            self._observe("recv", {**message, "path": path} if path else message)
        if "id" in message:
            return self._answer(message)
        method, params = message.get("method"), message.get("params") or {}
        if not isinstance(method, str) or not fits(params, EVENTS.get(method, {})):
            # The program is paused, and the location is unknown.
            if method == "Debugger.paused":
                return InspectorBroken(f"it sent a {method} that is none")
            self.ignored += 1
            return None
        return InspectorEvent(path, method, params)

    def _answer(self, message: Body) -> InspectorAnswer | None:
        id, refused = message["id"], message.get("error")
        if not isinstance(id, int) or isinstance(id, bool):
            self.ignored += 1
            return None
        wrapping = id < 0
        if wrapping:
            if refused is None:
                return None
            id = -id // 16
        request = self._pending.pop(id, None)
        if request is None:
            self.ignored += 1
            return None
        if refused is None:
            result = message.get("result") or {}
            if fits(result, RESULTS.get(request.method, {})):
                return InspectorAnswer(request, result)
            return InspectorAnswer(
                request, {}, f"it answered `{request.method}` with something else"
            )
        error = refused if isinstance(refused, dict) else {}
        reason = str(error.get("message") or "it gave no reason")
        if error.get("data"):
            reason = f"{reason}: {error['data']}"
        return InspectorAnswer(request, {}, reason)

    def abandon(self, id: int) -> None:
        """Forget a request whose answer is no longer needed."""
        self._pending.pop(id, None)

    def abandon_below(self, path: Path) -> list[InspectorRequest]:
        """Return the requests that an isolate which has ended, and its workers, will never
        answer."""
        lost = [each for each in self._pending.values() if each.path[: len(path)] == path]
        for each in lost:
            del self._pending[each.id]
        return lost

    def end(self) -> list[InspectorRequest]:
        """Return all requests that will never be answered."""
        return self.abandon_below(())
