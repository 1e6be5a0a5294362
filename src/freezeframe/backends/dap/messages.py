"""DAP message types, and the text of an adapter's error."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field, replace
from typing import Any

from freezeframe.dap_framing import Message
from freezeframe.errors import DebuggerError

from . import validation

log = logging.getLogger(__name__)

Body = dict[str, Any]

# Colours and cursor movements (CSI), window titles and links (OSC), and two-byte escapes.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class DapRequest:
    """A request: ours, or a reverse request of the adapter."""

    seq: int
    command: str
    arguments: Body = field(default_factory=dict)
    #: why the arguments are invalid
    problem: str | None = None

    def describe(self) -> str:
        return f"request {self.seq} `{self.command}`"


@dataclass(frozen=True, slots=True)
class DapResponse:
    request_seq: int
    command: str
    success: bool
    message: str | None = None
    body: Body = field(default_factory=dict)

    def describe(self) -> str:
        outcome = "success" if self.success else f"failure: {error_text(self)}"
        return f"response to {self.request_seq} `{self.command}` ({outcome})"


@dataclass(frozen=True, slots=True)
class DapEvent:
    event: str
    body: Body = field(default_factory=dict)

    def describe(self) -> str:
        return f"event `{self.event}`"


class ErrorResponse(DebuggerError):
    """The adapter answered a request with a failure; carries the adapter's message."""

    def __init__(self, response: DapResponse) -> None:
        super().__init__(error_text(response))
        self.command = response.command
        self.response = response


def parse(message: Message) -> DapRequest | DapResponse | DapEvent | None:
    """Return the parsed *message*, or None if it is not a DAP message.

    Lenient, because adapters are: an absent or null body counts as empty, and `seq` of events and
    responses is ignored (delve 1.20 sends 0 on everything). The body of an event or a request is
    validated here, that of a response once its request is known (see `checked`).
    """
    kind = message.get("type")
    if kind == "response":
        request_seq = message.get("request_seq")
        if not isinstance(request_seq, int):
            return None
        text = message.get("message")
        command = message.get("command")
        return DapResponse(
            request_seq,
            command if isinstance(command, str) else "",
            message.get("success") is True,
            text if isinstance(text, str) else None,
            _body(message, "body"),
        )
    if kind == "event" and isinstance(message.get("event"), str):
        try:
            body = validation.check_event(message["event"], _body(message, "body"))
        except validation.Invalid as error:
            log.warning("event `%s` is ignored: %s", message["event"][:80], error)
            return None
        return DapEvent(message["event"], body)
    if kind == "request" and isinstance(message.get("command"), str):
        seq = message.get("seq")
        seq = seq if isinstance(seq, int) else 0
        try:
            arguments = validation.check_request(message["command"], _body(message, "arguments"))
        except validation.Invalid as error:
            return DapRequest(seq, message["command"], problem=str(error))
        return DapRequest(seq, message["command"], arguments)
    return None


def checked(response: DapResponse, command: str) -> DapResponse:
    """Return the response to *command* with its body validated.

    An invalid body becomes a failure with a message of ours.
    """
    try:
        check = validation.check_response if response.success else validation.check_error
        body = check(command, response.body)
    except validation.Invalid as error:
        text = f"the debugger's answer to `{command}` is not the protocol's: {error}"
        return replace(response, command=command, success=False, message=text, body={})
    return replace(response, command=command, body=body)


def error_text(response: DapResponse) -> str:
    """Return the adapter's error message without terminal escapes; never empty."""
    short = strip_ansi(response.message or "").strip()
    long = _formatted(response.body.get("error")).strip()
    if not long or long in short:
        return short or f"`{response.command}` was refused without a reason"
    # A single word is a code (`notStopped`, `cancelled`); a text repeated in the long one adds
    # nothing.
    if not short or short in long or " " not in short:
        return long
    return f"{short.rstrip('.:')}: {long}"


def strip_ansi(text: str) -> str:
    """Return *text* without terminal escapes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def _formatted(error: object) -> str:
    """Return the text of a structured error with its variables replaced."""
    if not isinstance(error, dict) or not isinstance(error.get("format"), str):
        return ""
    variables = error.get("variables")
    if not isinstance(variables, dict):
        variables = {}
    # One pass over the text: braces inside of a value are not placeholders.
    text = _PLACEHOLDER.sub(lambda match: str(variables.get(match[1], match[0])), error["format"])
    return strip_ansi(text)


def _body(message: Message, key: str) -> Body:
    body = message.get(key)
    return body if isinstance(body, dict) else {}
