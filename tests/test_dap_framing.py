from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.dap_framing import MAX_LENGTH, Framer, ProtocolError, encode

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
messages = st.lists(st.dictionaries(st.text(), values, max_size=4), max_size=5)
noise = st.sampled_from(["", "DEBUGGER: Session start\n", "no newline", "a: b\r\n", "\n\n", "é…\n"])


def read_all(framer: Framer) -> list[dict[str, Any]]:
    found = []
    while (message := framer.next_message()) is not None:
        found.append(message)
    return found


def feed(framer: Framer, *pieces: bytes) -> list[dict[str, Any]]:
    found = []
    for piece in pieces:
        framer.feed(piece)
        found += read_all(framer)
    return found


@given(messages=messages, junk=noise, sizes=st.lists(st.integers(1, 40), min_size=1))
def test_any_chunking_gives_the_same_messages_and_the_same_noise(
    messages: list[dict[str, Any]], junk: str, sizes: list[int]
) -> None:
    data = b"".join(junk.encode() + encode(message) for message in messages)
    pieces = []
    at = turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        pieces.append(data[at : at + size])
        at, turn = at + size, turn + 1
    framer = Framer()
    assert feed(framer, *pieces) == messages
    assert framer.noise == junk * len(messages)
    assert not framer.partial


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"CONTENT-LENGTH : 2 \n\n",
        b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: x; charset=utf-8\r\nX-Other: 1\r\n\r\n",
    ],
)
def test_headers_are_read_in_every_spelling_that_adapters_use(header: bytes) -> None:
    framer = Framer()
    assert feed(framer, header + b"{}" + header + b"{}") == [{}, {}]
    assert framer.noise == ""


def test_text_between_messages_is_kept_as_noise_and_loses_no_message() -> None:
    framer = Framer()
    found = feed(framer, b"out 1 input\n", encode({"a": 1}), b"printed", encode({"b": 2}))
    assert found == [{"a": 1}, {"b": 2}]
    assert framer.noise == "out 1 input\nprinted"


def test_endless_noise_keeps_memory_bounded_and_a_later_message_is_found() -> None:
    framer = Framer()
    for _ in range(200):
        assert feed(framer, b"x" * 10_000) == []
    assert len(framer.noise) <= 20_000
    assert feed(framer, encode({"a": 1})) == [{"a": 1}]


def test_a_large_message_in_small_pieces_is_not_quadratic() -> None:
    message = {"text": "x" * 4_000_000}
    data = encode(message)
    framer = Framer()
    pieces = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    assert feed(framer, *pieces) == [message]


@pytest.mark.parametrize(
    ("data", "quoted"),
    [
        (b"Content-Length: abc\r\n\r\n", "abc"),
        (b"Content-Length: -1\r\n\r\n", "-1"),
        (b"Content-Length: %d\r\n\r\n" % (MAX_LENGTH + 1), str(MAX_LENGTH + 1)),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", "999"),
        (b"Content-Length: 9\r\n\r\n<garbage>", "<garbage>"),
        (b"Content-Length: 2\r\n\r\n[]", "[]"),
        (b"Content-Length: 40000\r\n\r\n" + b"[" * 40000, "[[["),
    ],
)
def test_what_is_not_the_protocol_is_refused_with_a_quotation(data: bytes, quoted: str) -> None:
    framer = Framer()
    framer.feed(encode({"before": 1}) + data)
    assert framer.next_message() == {"before": 1}
    with pytest.raises(ProtocolError) as caught:
        framer.next_message()
    assert quoted in caught.value.message
    assert len(caught.value.message) < 400
    with pytest.raises(ProtocolError):
        framer.next_message()


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    body = b'{"output": "caf\xe9"}'
    assert feed(Framer(), b"Content-Length: %d\r\n\r\n%b" % (len(body), body)) == [
        {"output": "caf�"}
    ]


def test_a_file_name_with_lone_surrogates_survives_the_wire() -> None:
    message = {"path": b"/tmp/caf\xe9".decode("utf-8", "surrogateescape")}
    data = encode(message)
    assert data.isascii()
    assert feed(Framer(), data) == [message]


def test_a_message_is_encoded_with_its_length_in_bytes() -> None:
    header, _, body = encode({"a": "é"}).partition(b"\r\n\r\n")
    assert header == b"Content-Length: %d" % len(body)
    assert json.loads(body) == {"a": "é"}
