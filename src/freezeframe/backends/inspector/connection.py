"""The inspector protocol without I/O: which answer belongs to which request, of which isolate.

The main thread is spoken to directly; a worker through messages within messages, as deep as
workers start workers. A path names an isolate: () is the main thread, ("2",) a worker's session.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .protocol import EVENTS, RESULTS, fits

Path = tuple[str, ...]
Body = dict[str, Any]
#: `send` or `recv`, and the message as it is on the wire
Observer = Callable[[str, Mapping[str, Any]], None]

_WRAP = "NodeWorker.sendMessageToWorker"
_UNWRAP = "NodeWorker.receivedMessageFromWorker"
#: workers that start workers; requests have room for their depth
_MOST_DEPTH = 15


@dataclass(frozen=True, slots=True)
class Request:
    id: int
    path: Path
    method: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request: its result, or why it was refused."""

    request: Request
    result: Body
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    path: Path
    method: str
    params: Body


@dataclass(frozen=True, slots=True)
class Broken:
    """The other side left the protocol; nothing after this can be read."""

    reason: str


Incoming = Answer | Event | Broken


class Connection:
    """The books of one connection."""

    def __init__(self, observe: Observer | None = None) -> None:
        self._last = 0
        self._pending: dict[int, Request] = {}
        self._observe = observe
        #: messages that nobody waits for, late ones too
        self.ignored = 0

    @property
    def pending(self) -> Mapping[int, Request]:
        """Our requests that were not answered yet, oldest first."""
        return self._pending

    def request(self, path: Path, method: str, params: Mapping[str, Any]) -> tuple[int, str]:
        """Return the id of a new request and the text to send."""
        self._last += 1
        id = self._last
        self._pending[id] = Request(id, path, method)
        message: Body = {"id": id, "method": method, "params": dict(params)}
        if self._observe is not None:
            self._observe("send", {**message, "path": path} if path else message)
        for depth, session in enumerate(reversed(path), 1):
            # The wrapping has an answer of its own, which says no more than that it arrived; told
            # apart by sign and depth, so that a refusal of any of them fails the request.
            outer = -(id * 16 + depth)
            wrapped = {"sessionId": session, "message": json.dumps(message)}
            message = {"id": outer, "method": _WRAP, "params": wrapped}
        return id, json.dumps(message)

    def receive(self, text: str) -> list[Incoming]:
        """Return what one message holds."""
        path: Path = ()
        while True:
            try:
                message = json.loads(text)
            except (ValueError, RecursionError):
                return [Broken("it sent a message that is no JSON")]
            if not isinstance(message, dict):
                return [Broken("it sent a message that is no object")]
            method, params = message.get("method"), message.get("params") or {}
            if method != _UNWRAP:
                found = self._read(message, path)
                return [found] if found is not None else []
            if not fits(params, EVENTS[_UNWRAP]) or len(path) >= _MOST_DEPTH:
                return [Broken(f"it sent a {_UNWRAP} that is none")]
            path, text = (*path, params["sessionId"]), params["message"]

    def _read(self, message: Body, path: Path) -> Incoming | None:
        if self._observe is not None:
            self._observe("recv", {**message, "path": path} if path else message)
        if "id" in message:
            return self._answer(message)
        method, params = message.get("method"), message.get("params") or {}
        if not isinstance(method, str) or not fits(params, EVENTS.get(method, {})):
            # The program stands, and nobody can say where.
            if method == "Debugger.paused":
                return Broken(f"it sent a {method} that is none")
            self.ignored += 1
            return None
        return Event(path, method, params)

    def _answer(self, message: Body) -> Answer | None:
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
                return Answer(request, result)
            return Answer(request, {}, f"it answered `{request.method}` with something else")
        told = refused if isinstance(refused, dict) else {}
        words = str(told.get("message") or "it gave no reason")
        if told.get("data"):
            words = f"{words}: {told['data']}"
        return Answer(request, {}, words)

    def abandon(self, id: int) -> None:
        """Nobody waits for that answer any more."""
        self._pending.pop(id, None)

    def abandon_below(self, path: Path) -> list[Request]:
        """An isolate is gone: return what it and those that it started will never answer."""
        lost = [each for each in self._pending.values() if each.path[: len(path)] == path]
        for each in lost:
            del self._pending[each.id]
        return lost

    def end(self) -> list[Request]:
        """Return everything that will never be answered."""
        return self.abandon_below(())
