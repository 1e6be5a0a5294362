"""The inspector connection matches answers to requests and distinguishes workers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freezeframe.backends.inspector.connection import (
    InspectorAnswer,
    InspectorBroken,
    InspectorConnection,
    InspectorEvent,
)


def wrapped(session: str, message: dict[str, Any]) -> str:
    """A message of a worker, wrapped by its parent."""
    params = {"sessionId": session, "message": json.dumps(message)}
    return json.dumps({"method": "NodeWorker.receivedMessageFromWorker", "params": params})


def test_answers_are_matched_to_requests_in_any_order():
    connection = InspectorConnection()
    first, _ = connection.request((), "A.one", {})
    second, _ = connection.request((), "A.two", {"n": 1})

    [late] = connection.receive(json.dumps({"id": second, "result": {"x": 2}}))
    [early] = connection.receive(json.dumps({"id": first, "result": {}}))

    assert isinstance(late, InspectorAnswer)
    assert isinstance(early, InspectorAnswer)
    assert (late.request.method, late.result) == ("A.two", {"x": 2})
    assert early.request.method == "A.one"
    assert not connection.pending


def test_a_refusal_has_the_inspector_s_message():
    connection = InspectorConnection()
    id, _ = connection.request((), "A.no", {})

    [answer] = connection.receive(
        json.dumps({"id": id, "error": {"code": -32000, "message": "not so", "data": "x"}})
    )

    assert isinstance(answer, InspectorAnswer)
    assert answer.error == "not so: x"


def test_messages_to_a_worker_are_wrapped_for_its_parents():
    connection = InspectorConnection()
    id, text = connection.request(("1", "7"), "Runtime.enable", {})

    outer = json.loads(text)
    assert outer["method"] == "NodeWorker.sendMessageToWorker"
    assert outer["params"]["sessionId"] == "1"
    inner = json.loads(outer["params"]["message"])
    assert inner["params"]["sessionId"] == "7"
    assert json.loads(inner["params"]["message"])["id"] == id

    params = {"callFrames": [], "reason": "other"}
    message = {"method": "Debugger.paused", "params": params}
    [event] = connection.receive(wrapped("1", json.loads(wrapped("7", message))))
    assert event == InspectorEvent(("1", "7"), "Debugger.paused", params)
    [answer] = connection.receive(wrapped("1", json.loads(wrapped("7", {"id": id, "result": {}}))))
    assert isinstance(answer, InspectorAnswer)
    assert answer.request.path == ("1", "7")


def test_only_a_refused_wrapping_is_an_answer():
    connection = InspectorConnection()
    id, text = connection.request(("9",), "Runtime.enable", {})
    outer = json.loads(text)["id"]

    assert connection.receive(json.dumps({"id": outer, "result": {}})) == []
    assert id in connection.pending
    [answer] = connection.receive(
        json.dumps({"id": outer, "error": {"code": 1, "message": "no such session"}})
    )

    assert isinstance(answer, InspectorAnswer)
    assert answer.request.id == id
    assert answer.error == "no such session"


def test_requests_of_an_ended_worker_and_of_its_workers_are_abandoned():
    connection = InspectorConnection()
    main, _ = connection.request((), "A.main", {})
    connection.request(("1",), "A.worker", {})
    connection.request(("1", "2"), "A.below", {})

    lost = connection.abandon_below(("1",))

    assert [each.method for each in lost] == ["A.worker", "A.below"]
    assert list(connection.pending) == [main]
    assert [each.method for each in connection.end()] == ["A.main"]


def test_unexpected_answers_are_counted_and_invalid_json_breaks_the_connection():
    connection = InspectorConnection()

    assert connection.receive(json.dumps({"id": 99, "result": {}})) == []
    assert connection.ignored == 1
    [broken] = connection.receive("{")
    assert isinstance(broken, InspectorBroken)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "3", '{"method":5}', '{"id":[]}', '{"id":true}', '{"id":1,"error":3}']
)
def test_an_invalid_message_never_raises(text):
    connection = InspectorConnection()
    connection.request((), "Runtime.evaluate", {})

    for incoming in connection.receive(text):
        assert isinstance(incoming, InspectorBroken | InspectorAnswer)


def test_an_answer_of_the_wrong_shape_is_a_refusal():
    connection = InspectorConnection()
    id, _ = connection.request((), "Debugger.setBreakpoint", {})

    message = {"breakpointId": "1", "actualLocation": {"scriptId": 3, "lineNumber": "1"}}
    [answer] = connection.receive(json.dumps({"id": id, "result": message}))

    assert isinstance(answer, InspectorAnswer)
    assert answer.error is not None
    assert "Debugger.setBreakpoint" in answer.error
