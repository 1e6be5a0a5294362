from __future__ import annotations

from typing import Any

from dap_schema import validate
from freezeframe.backends.dap.connection import DapAnswer, DapBroken, DapConnection
from freezeframe.backends.dap.messages import DapEvent, DapRequest
from freezeframe.dap_framing import encode


def response(request_seq: int, command: str = "threads", seq: int = 0, **more: Any) -> bytes:
    return encode(
        {"seq": seq, "type": "response", "request_seq": request_seq, "command": command,
         "success": True, **more}
    )  # fmt: skip


def test_answers_find_their_requests_whatever_the_order_and_the_adapters_seq() -> None:
    connection = DapConnection()
    first, _ = connection.request("threads")
    second, _ = connection.request("scopes", {"frameId": 1})
    found = connection.receive(response(second, "scopes") + response(first))
    assert [item.request.command for item in found if isinstance(item, DapAnswer)] == [
        "scopes",
        "threads",
    ]
    assert not connection.pending


def test_what_arrives_is_given_back_in_wire_order() -> None:
    connection = DapConnection()
    seq, _ = connection.request("continue", {"threadId": 1})
    event = {"seq": 1, "type": "event", "event": "stopped", "body": {"reason": "step"}}
    reverse = {"seq": 2, "type": "request", "command": "runInTerminal", "arguments": {}}
    found = connection.receive(encode(event) + response(seq) + encode(reverse) + encode(event))
    assert [type(item) for item in found] == [DapEvent, DapAnswer, DapRequest, DapEvent]


def test_responses_that_nobody_waits_for_are_counted_and_ignored() -> None:
    connection = DapConnection()
    seq, _ = connection.request("threads")
    connection.abandon(seq)
    assert connection.receive(response(seq) + response(99) + encode({"type": "?"})) == []
    assert connection.ignored == 3


def test_the_end_names_every_request_that_will_never_be_answered() -> None:
    connection = DapConnection()
    connection.request("threads")
    connection.request("pause", {"threadId": 1})
    assert [request.command for request in connection.end()] == ["threads", "pause"]
    assert not connection.pending
    assert connection.receive(response(1)) == []


def test_garbage_ends_the_connection_after_what_came_before_it() -> None:
    connection = DapConnection()
    seq, _ = connection.request("threads")
    found = connection.receive(response(seq) + b"Content-Length: 3\r\n\r\n{]}" + response(seq))
    assert [type(item) for item in found] == [DapAnswer, DapBroken]
    assert connection.receive(response(seq)) == []


def test_what_we_send_is_numbered_without_gaps_and_valid_by_the_schema() -> None:
    seen: list[tuple[str, Any]] = []
    connection = DapConnection(lambda direction, message: seen.append((direction, message)))
    connection.request("threads")
    connection.request("scopes", {"frameId": 3})
    connection.answer(DapRequest(4, "runInTerminal"), {"processId": 12})
    connection.refuse(DapRequest(5, "startDebugging"), "not now")
    assert [message["seq"] for _, message in seen] == [1, 2, 3, 4]
    for direction, message in seen:
        assert direction == "send"
        validate(message)


def test_two_connections_back_to_back_understand_each_other() -> None:
    client, adapter = DapConnection(), DapConnection()
    _, data = client.request("evaluate", {"expression": "1 + 1"})
    (asked,) = adapter.receive(data)
    assert isinstance(asked, DapRequest)
    (answered,) = client.receive(adapter.answer(asked, {"result": "2", "variablesReference": 0}))
    assert isinstance(answered, DapAnswer)
    assert answered.response.body["result"] == "2"
