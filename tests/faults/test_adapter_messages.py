"""Whatever an adapter sends, the callers get only the types of the protocol."""

from __future__ import annotations

import json
import os
import types as pytypes
from functools import cache
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freezeframe.backends.backend import Launch
from freezeframe.backends.dap import adapters, translate, types
from freezeframe.backends.dap.adapters import _lldb, debugpy
from freezeframe.backends.dap.connection import DapAnswer, DapBroken, DapConnection
from freezeframe.backends.dap.messages import DapEvent, DapRequest
from freezeframe.backends.dap.output_events import OutputClassifier
from freezeframe.dap_framing import encode

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([1 << 64, 1 << 70, -(1 << 65), 1.5, 2.0, 1e300, "", "x", "3", "\0", "/a\0b"]),
    st.sampled_from(["0x10", "-1", "0xzz", "\ud800", "len()", "SIGSEGV", "(return) x", "@x"]),
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@cache
def like(hint: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a type of the protocol, with junk in any place."""
    return st.one_of(JUNK, valid(hint, depth), valid(hint, depth))


@cache
def valid(hint: Any, depth: int) -> st.SearchStrategy[Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return valid(inner[0], depth)
    if hint is Any or depth > 3:
        return JUNK
    if hint in (str, int, bool, type(None)) or origin is Literal:
        return {str: st.text(max_size=4), int: st.integers(), bool: st.booleans()}.get(
            hint, st.sampled_from(inner) if inner else st.none()
        )
    if origin is pytypes.UnionType:
        return st.one_of([valid(each, depth) for each in inner])
    if origin is list:
        return st.lists(like(inner[0], depth + 1), max_size=3)
    if origin is dict:
        return st.dictionaries(st.text(max_size=3), like(inner[1], depth + 1), max_size=2)
    hints = get_type_hints(hint, include_extras=True)
    return st.fixed_dictionaries(
        {}, optional={name: like(each, depth + 1) for name, each in hints.items()}
    )


def named(suffix: str) -> dict[str, Any]:
    found = {name: kind for name, kind in vars(types).items() if name.endswith(suffix)}
    return {name[0].lower() + name[1 : -len(suffix)]: kind for name, kind in found.items()}


EVENTS, RESPONSES = named("EventBody"), named("ResponseBody")
RESPONSES["initialize"] = types.Capabilities
REQUESTS = {
    name: kind
    for name, kind in named("RequestArguments").items()
    if name in ("runInTerminal", "startDebugging")
}
KINDS = [
    *(("event", name, kind) for name, kind in EVENTS.items()),
    *(("response", name, kind) for name, kind in RESPONSES.items()),
    *(("request", name, kind) for name, kind in REQUESTS.items()),
]


def receive(kind: str, name: str, body: Any) -> dict[str, Any] | None:
    """Return the body as handlers see it; None where the message is an error or left out."""
    connection = DapConnection()
    message: dict[str, Any] = {"seq": 1, "type": kind, kind: name, "command": name}
    message["arguments" if kind == "request" else "body"] = body
    if kind == "response":
        message |= {"request_seq": connection.request(name)[0], "success": True}
    (found,) = connection.receive(encode(message)) or [None]
    if isinstance(found, DapAnswer):
        return found.response.body if found.response.success else None
    if isinstance(found, DapRequest):
        return found.arguments if found.problem is None else None
    assert found is None or isinstance(found, DapEvent)
    return found.body if found is not None else None


def conforms(value: object, hint: Any, depth: int = 0) -> bool:
    """Whether a value is of a type of the protocol, written anew and without mercy."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return conforms(value, inner[0], depth)
    if hint is Any:
        return True
    if hint is str or origin is Literal:
        return isinstance(value, str)
    if hint is bool:
        return isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 1 << 64
    if hint is type(None):
        return value is None
    if origin is pytypes.UnionType:
        return any(conforms(value, each, depth) for each in inner)
    if origin is list:
        return isinstance(value, list) and all(conforms(each, inner[0], depth) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            conforms(each, inner[1], depth) for each in value.values()
        )
    if not isinstance(value, dict):
        return False
    hints = get_type_hints(hint, include_extras=True)
    return all(
        conforms(value[name], each, depth + 1)
        if name in value
        else get_origin(each) is NotRequired or name == "threadId"
        for name, each in hints.items()
    )


READERS = {
    "stackFrames": lambda each, adapter: translate.frame(each, adapter, TARGET),
    "scopes": lambda each, adapter: translate.scope(each),
    "variables": translate.value,
    "breakpoints": lambda each, adapter: translate.bound_one(1, each),
}
TARGET = Launch("/x", (), "/", {})


def read(kind: str, name: str, body: dict[str, Any], adapter: Any) -> None:
    """Hand a body to all who read such bodies."""
    for field, reader in READERS.items():
        for each in body.get(field) or ():
            reader(each, adapter)
            if field == "variables":
                adapter.values.hides(each)
                adapter.values.is_anonymous_member(each)
                _lldb.absent(each, TARGET)
            if field == "stackFrames":
                debugpy.exceptions.is_none(each)
    match kind, name:
        case "event", "stopped":
            translate.stopped(body, {})
            adapter.stops.read(body)
        case "event", "output":
            list(OutputClassifier(adapter).classify(body))
        case "event", _:
            debugpy.backend.is_replaced(body)
        case "response", "initialize":
            translate.features(body, adapter)
            translate.filters(body)
        case "response", "exceptionInfo":
            translate.exception(body, adapter)
        case "response", "evaluate" | "setVariable" | "setExpression":
            translate.value(body, adapter, "x")
        case "response", "disassemble":
            translate.instructions(body["instructions"], "0x10")


MADE = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), like(kind[2])))


def test_no_field_has_another_type_than_the_protocol_s_and_no_reader_fails():
    @settings(max_examples=200)
    @given(MADE)
    def check(made: Any) -> None:
        (kind, name, shape), body = made
        found = receive(kind, name, body)
        if found is None:
            return
        assert conforms(found, shape), found
        for adapter in adapters.known().values():
            read(kind, name, found, adapter)

    # "path": 3 was opened, and so the daemon's own descriptor 3 was taken and closed.
    before = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else []
    check()
    assert before == (sorted(os.listdir("/proc/self/fd")) if before else [])


def test_every_kind_of_message_survives_nothing_but_junk():
    for kind, name, shape in KINDS:
        for junk in (None, 3, "x", [], [[]], {"x": 1}):
            body = dict.fromkeys(get_type_hints(shape), junk)
            for whole in (junk, body, {**body, "stackFrames": [body], "variables": [junk, body]}):
                found = receive(kind, name, whole)
                assert found is None or conforms(found, shape), (kind, name, whole)


@given(body=st.dictionaries(st.sampled_from(["connect", "pid", "host", "port", "name"]), JUNK))
def test_what_an_adapter_says_of_a_child_has_its_types_too(body):
    for adapter in adapters.known().values():
        name = adapter.children.event
        if name is not None:
            found = receive("event", name, body) or {}
            offer = adapter.children.read_offer(found)
            if offer is not None:
                assert offer.pid is None or offer.pid > 1
                assert isinstance(offer.port, int | None)
                assert isinstance(offer.host, str | None)


@given(st.binary(max_size=300))
def test_bytes_are_a_message_or_noise_or_the_end_of_the_connection(data):
    connection = DapConnection()
    for found in connection.receive(data + b"\n"):
        assert isinstance(found, DapBroken | DapEvent | DapRequest)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a":' * 100_000, "NaN", '{"x": ' + "9" * 5000 + "}"]
)
def test_json_that_no_one_should_read_ends_the_connection(text):
    data = text.encode()
    (found,) = DapConnection().receive(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
    assert isinstance(found, DapBroken)


def test_a_message_of_more_than_64_mb_is_refused_by_its_header():
    (found,) = DapConnection().receive(b"Content-Length: %d\r\n\r\n" % ((64 << 20) + 1))
    assert isinstance(found, DapBroken)
    assert json.dumps(str(found.error))
