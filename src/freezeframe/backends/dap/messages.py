"""What a DAP message is, and what an adapter's error says."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field, replace
from typing import Any

from freezeframe.errors import DebuggerError

from . import validation
from .framing import Message

log = logging.getLogger(__name__)

Body = dict[str, Any]

# Colours and cursor movements (CSI), window titles and links (OSC), and two-byte escapes.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Request:
    """A request: ours, or one that the adapter makes of us."""

    seq: int
    command: str
    arguments: Body = field(default_factory=dict)
    #: why the arguments are none that the protocol knows
    problem: str | None = None

    def describe(self) -> str:
        return f"request {self.seq} `{self.command}`"


@dataclass(frozen=True, slots=True)
class Response:
    request_seq: int
    command: str
    success: bool
    message: str | None = None
    body: Body = field(default_factory=dict)

    def describe(self) -> str:
        outcome = "success" if self.success else f"failure: {error_text(self)}"
        return f"response to {self.request_seq} `{self.command}` ({outcome})"


@dataclass(frozen=True, slots=True)
class Event:
    event: str
    body: Body = field(default_factory=dict)

    def describe(self) -> str:
        return f"event `{self.event}`"


class Refused(DebuggerError):
    """The adapter answered a request with a failure; the message is in its own words."""

    def __init__(self, response: Response) -> None:
        super().__init__(error_text(response))
        self.command = response.command
        self.response = response


def parse(message: Message) -> Request | Response | Event | None:
    """Return what *message* is, or None when it is nothing that the protocol knows.

    Lenient, for adapters are: an absent or null body is an empty one, and `seq` of events and
    responses is not looked at (delve 1.20 sends 0 on everything). The fields of the body of an
    event or a request are of their types; those of a response are checked when it is known what it
    answers.
    """
    kind = message.get("type")
    if kind == "response":
        request_seq = message.get("request_seq")
        if not isinstance(request_seq, int):
            return None
        words = message.get("message")
        command = message.get("command")
        return Response(
            request_seq,
            command if isinstance(command, str) else "",
            message.get("success") is True,
            words if isinstance(words, str) else None,
            _body(message, "body"),
        )
    if kind == "event" and isinstance(message.get("event"), str):
        try:
            body = validation.check_event(message["event"], _body(message, "body"))
        except validation.Invalid as error:
            log.warning("event `%s` is left out: %s", message["event"][:80], error)
            return None
        return Event(message["event"], body)
    if kind == "request" and isinstance(message.get("command"), str):
        seq = message.get("seq")
        seq = seq if isinstance(seq, int) else 0
        try:
            arguments = validation.check_request(message["command"], _body(message, "arguments"))
        except validation.Invalid as error:
            return Request(seq, message["command"], problem=str(error))
        return Request(seq, message["command"], arguments)
    return None


def checked(response: Response, command: str) -> Response:
    """Return the response to *command* with every field of its type.

    A body that is none of that command's is a failure, in our words.
    """
    try:
        check = validation.check_response if response.success else validation.check_error
        body = check(command, response.body)
    except validation.Invalid as error:
        words = f"the debugger's answer to `{command}` is not the protocol's: {error}"
        return replace(response, command=command, success=False, message=words, body={})
    return replace(response, command=command, body=body)


def error_text(response: Response) -> str:
    """Return why the adapter refused, in its own words, without colours; never empty."""
    short = strip_ansi(response.message or "").strip()
    long = _formatted(response.body.get("error")).strip()
    if not long or long in short:
        return short or f"`{response.command}` was refused without a reason"
    # A single word is a code (`notStopped`, `cancelled`); a text that the long one repeats adds
    # nothing.
    if not short or short in long or " " not in short:
        return long
    return f"{short.rstrip('.:')}: {long}"


def strip_ansi(text: str) -> str:
    """Return *text* without terminal escapes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def _formatted(error: object) -> str:
    """Return a structured error's text with its variables in place."""
    if not isinstance(error, dict) or not isinstance(error.get("format"), str):
        return ""
    variables = error.get("variables")
    if not isinstance(variables, dict):
        variables = {}
    # One pass over the text: braces inside of a value are the value's own.
    text = _PLACEHOLDER.sub(lambda match: str(variables.get(match[1], match[0])), error["format"])
    return strip_ansi(text)


def _body(message: Message, key: str) -> Body:
    body = message.get(key)
    return body if isinstance(body, dict) else {}
