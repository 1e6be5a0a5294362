"""No message of an inspector makes this package fail: it is used, or ignored."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from freezeframe.backends import backend as events
from freezeframe.backends.debugger import Found
from freezeframe.backends.inspector.backend import InspectorBackend
from freezeframe.backends.inspector.node import _RUNTIME
from freezeframe.config import Config

_PLACE = {"scriptId": "7", "lineNumber": 1, "columnNumber": 2}
_REMOTE = {"type": "object", "className": "Foo", "description": "Foo", "objectId": "1.1.1"}
_SCOPE = {"type": "local", "object": _REMOTE, "startLocation": _PLACE, "endLocation": _PLACE}
_CALL = {
    "callFrameId": "1",
    "functionName": "f",
    "functionLocation": _PLACE,
    "location": _PLACE,
    "scopeChain": [_SCOPE],
    "this": _REMOTE,
    "returnValue": _REMOTE,
}
_TRACE = {"description": "await", "callFrames": [{"functionName": "g", **_PLACE}]}
_DATA = {**_REMOTE, "uncaught": True, "reasons": [{"reason": "exception", "auxData": _REMOTE}]}
#: what a well-behaved inspector sends; each test spoils one field of one of them
_MESSAGES: list[dict[str, Any]] = [
    {
        "method": "Debugger.scriptParsed",
        "params": {"scriptId": "7", "url": "file:///p/x.js", "sourceMapURL": "data:,{}"},
    },
    *(
        {
            "method": "Debugger.paused",
            "params": {
                "callFrames": [_CALL, _CALL],
                "reason": reason,
                "data": _DATA,
                "hitBreakpoints": ["1:2"],
                "asyncStackTrace": {**_TRACE, "parent": _TRACE},
            },
        }
        for reason in ("other", "exception", "ambiguous", "instrumentation", "promiseRejection")
    ),
    {"method": "Debugger.breakpointResolved", "params": {"breakpointId": "1", "location": _PLACE}},
    {
        "method": "Runtime.bindingCalled",
        "params": {"name": "__freezeframe__", "payload": '{"hit": [1]}'},
    },
    {
        "method": "NodeWorker.attachedToWorker",
        "params": {"sessionId": "1", "workerInfo": {"title": "w", "url": "file:///w.js"}},
    },
    {"method": "NodeWorker.detachedFromWorker", "params": {"sessionId": "1"}},
    {
        "method": "NodeWorker.receivedMessageFromWorker",
        "params": {"sessionId": "1", "message": '{"id": 3, "result": {}}'},
    },
    {"method": "NodeRuntime.waitingForDisconnect", "params": {}},
]
#: what any request is answered with
_RESULT = {
    "result": _REMOTE,
    "breakpointId": "1:2",
    "actualLocation": _PLACE,
    "locations": [{**_PLACE, "type": "return"}],
    "scriptSource": "function f() { return 1 }",
}
_JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(['{"hit":3}', '{"log":1}', '{"exit":"x"}', "[[", "7", "file:///p/x.js"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every field of a message, however deep."""
    found = [at] if at else []
    inner = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else inner:
        found += _paths(each, (*at, key))
    return found


def _spoiled(message: dict[str, Any], path: tuple[Any, ...], junk: Any) -> dict[str, Any]:
    made = copy.deepcopy(message)
    *way, last = path
    holder: Any = made
    for key in way:
        holder = holder[key]
    holder[last] = junk
    return made


class _Peer:
    """An inspector that answers every request, with invalid fields where the test says so."""

    def __init__(self, result: Any) -> None:
        self._result = result
        self._say: Any = None

    def open(self, on_message: Any, on_eof: Any) -> None:
        self._say = on_message

    def send(self, text: str) -> None:
        message = {"id": json.loads(text)["id"], "result": self._result}
        asyncio.get_running_loop().call_soon(self.say, json.dumps(message))

    def say(self, text: str) -> None:
        self._say(text)

    close = pause = resume = lambda self: None


_SPOILED = st.one_of(
    [st.builds(_spoiled, st.just(each), st.sampled_from(_paths(each)), _JUNK) for each in _MESSAGES]
)
_RESULTS = st.builds(_spoiled, st.just(_RESULT), st.sampled_from(_paths(_RESULT)), _JUNK)


@settings(max_examples=100)
@given(st.lists(_SPOILED | st.sampled_from(_MESSAGES), min_size=1, max_size=4), _RESULTS | _JUNK)
def test_messages_with_any_invalid_field_never_raise(messages, result):
    logged: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: logged.append(handler.format(record))  # type: ignore[method-assign]
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        asyncio.run(_play(messages, result))
    finally:
        root.removeHandler(handler)

    assert not logged, logged[0]


async def _play(messages: list[dict[str, Any]], result: Any) -> None:
    backend = InspectorBackend(_RUNTIME, Found("node", "20.0.0"), Config())
    seen: list[events.Event] = []
    backend._sink = seen.append
    peer = _Peer(result)
    backend._open(peer)
    for message in messages:
        peer.say(json.dumps(message))
        for _ in range(30):
            await asyncio.sleep(0)
    await backend.dispose()
