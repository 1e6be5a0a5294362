from __future__ import annotations

from typing import Any

import pytest

from freezeframe.backends.dap.messages import DapEvent, DapRequest, DapResponse, error_text, parse


def refused(message: str | None = None, **body: Any) -> DapResponse:
    return DapResponse(3, "launch", False, message, body)


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (refused("no such file"), "no such file"),
        (refused(error={"id": 1, "format": "no such file"}), "no such file"),
        (
            refused("Failed to launch", error={"format": "Failed to launch: {why}",
                                               "variables": {"why": "{x}"}}),
            "Failed to launch: {x}",
        ),
        (refused("notStopped", error={"format": "it is running"}), "it is running"),
        (refused("Unable to attach.", error={"format": "no permission"}),
         "Unable to attach: no permission"),
        (refused(error={"format": "{a} and {missing}", "variables": {"a": 1}}), "1 and {missing}"),
        (refused("\x1b[31;1mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07"), "red link"),
        (refused(None, error="what"), "`launch` was refused without a reason"),
        (refused(""), "`launch` was refused without a reason"),
    ],
)  # fmt: skip
def test_an_adapters_error_is_reported_with_its_message(response: DapResponse, text: str) -> None:
    assert error_text(response) == text


@pytest.mark.parametrize(
    ("message", "parsed"),
    [
        ({"seq": 0, "type": "event", "event": "initialized"}, DapEvent("initialized")),
        ({"type": "event", "event": "x", "body": None}, DapEvent("x")),
        ({"seq": 0, "type": "response", "request_seq": 2, "command": "next", "success": True},
         DapResponse(2, "next", True)),
        ({"seq": 7, "type": "request", "command": "runInTerminal", "arguments": {"args": []}},
         DapRequest(7, "runInTerminal", {"args": [], "cwd": ""})),
        ({"type": "response", "success": True}, None),
        ({"type": "hello"}, None),
        ({}, None),
        ({"type": "event", "event": 3}, None),
    ],
)  # fmt: skip
def test_messages_are_read_leniently(message: dict[str, Any], parsed: object) -> None:
    assert parse(message) == parsed


def test_every_message_describes_itself() -> None:
    assert DapRequest(7, "next").describe() == "request 7 `next`"
    assert DapEvent("stopped").describe() == "event `stopped`"
    assert refused("no").describe() == "response to 3 `launch` (failure: no)"
