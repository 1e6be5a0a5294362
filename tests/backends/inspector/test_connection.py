"""The books of an inspector connection: answers to their requests, workers told apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freezeframe.backends.inspector.connection import Answer, Broken, Connection, Event


def wrapped(session: str, message: dict[str, Any]) -> str:
    """A message of a worker, as its parent hands it on."""
    params = {"sessionId": session, "message": json.dumps(message)}
    return json.dumps({"method": "NodeWorker.receivedMessageFromWorker", "params": params})


def test_answers_find_their_requests_whatever_their_order():
    connection = Connection()
    first, _ = connection.request((), "A.one", {})
    second, _ = connection.request((), "A.two", {"n": 1})

    [late] = connection.receive(json.dumps({"id": second, "result": {"x": 2}}))
    [early] = connection.receive(json.dumps({"id": first, "result": {}}))

    assert isinstance(late, Answer)
    assert isinstance(early, Answer)
    assert (late.request.method, late.result) == ("A.two", {"x": 2})
    assert early.request.method == "A.one"
    assert not connection.pending


def test_a_refusal_is_told_in_the_inspector_s_words():
    connection = Connection()
    id, _ = connection.request((), "A.no", {})

    [answer] = connection.receive(
        json.dumps({"id": id, "error": {"code": -32000, "message": "not so", "data": "x"}})
    )

    assert isinstance(answer, Answer)
    assert answer.error == "not so: x"


def test_a_worker_is_spoken_to_through_its_parents():
    connection = Connection()
    id, text = connection.request(("1", "7"), "Runtime.enable", {})

    outer = json.loads(text)
    assert outer["method"] == "NodeWorker.sendMessageToWorker"
    assert outer["params"]["sessionId"] == "1"
    inner = json.loads(outer["params"]["message"])
    assert inner["params"]["sessionId"] == "7"
    assert json.loads(inner["params"]["message"])["id"] == id

    params = {"callFrames": [], "reason": "other"}
    told = {"method": "Debugger.paused", "params": params}
    [event] = connection.receive(wrapped("1", json.loads(wrapped("7", told))))
    assert event == Event(("1", "7"), "Debugger.paused", params)
    [answer] = connection.receive(wrapped("1", json.loads(wrapped("7", {"id": id, "result": {}}))))
    assert isinstance(answer, Answer)
    assert answer.request.path == ("1", "7")


def test_that_a_message_was_handed_on_is_no_answer_but_that_it_was_not_is_one():
    connection = Connection()
    id, text = connection.request(("9",), "Runtime.enable", {})
    outer = json.loads(text)["id"]

    assert connection.receive(json.dumps({"id": outer, "result": {}})) == []
    assert id in connection.pending
    [answer] = connection.receive(
        json.dumps({"id": outer, "error": {"code": 1, "message": "no such session"}})
    )

    assert isinstance(answer, Answer)
    assert answer.request.id == id
    assert answer.error == "no such session"


def test_a_worker_that_is_gone_takes_its_own_requests_and_those_below_it():
    connection = Connection()
    main, _ = connection.request((), "A.main", {})
    connection.request(("1",), "A.worker", {})
    connection.request(("1", "2"), "A.below", {})

    lost = connection.abandon_below(("1",))

    assert [each.method for each in lost] == ["A.worker", "A.below"]
    assert list(connection.pending) == [main]
    assert [each.method for each in connection.end()] == ["A.main"]


def test_what_nobody_waits_for_is_counted_and_what_is_no_json_breaks_the_line():
    connection = Connection()

    assert connection.receive(json.dumps({"id": 99, "result": {}})) == []
    assert connection.ignored == 1
    [broken] = connection.receive("{")
    assert isinstance(broken, Broken)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "3", '{"method":5}', '{"id":[]}', '{"id":true}', '{"id":1,"error":3}']
)
def test_a_message_that_is_none_is_never_an_error_of_ours(text):
    connection = Connection()
    connection.request((), "Runtime.evaluate", {})

    for incoming in connection.receive(text):
        assert isinstance(incoming, Broken | Answer)


def test_an_answer_that_is_not_the_protocol_s_is_a_refusal():
    connection = Connection()
    id, _ = connection.request((), "Debugger.setBreakpoint", {})

    told = {"breakpointId": "1", "actualLocation": {"scriptId": 3, "lineNumber": "1"}}
    [answer] = connection.receive(json.dumps({"id": id, "result": told}))

    assert isinstance(answer, Answer)
    assert answer.error is not None
    assert "Debugger.setBreakpoint" in answer.error
