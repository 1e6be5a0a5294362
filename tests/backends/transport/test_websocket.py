"""The WebSocket client: frames in any chunks, masks, pings, ends, and an invalid server."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.async_tests import on_loop, until
from freezeframe.backends.transport import websocket
from freezeframe.backends.transport.websocket import BadFrame, WebSocketFrames
from freezeframe.errors import DebuggerError, DebuggerTimeout

TEXT, BINARY, CONTINUATION, CLOSE, PING, PONG = 1, 2, 0, 8, 9, 10


def frame(opcode: int, payload: bytes, *, final: bool = True) -> bytes:
    """A frame as a server sends it: without a mask."""
    head = bytes([(0x80 if final else 0) | opcode])
    size = len(payload)
    if size < 126:
        return head + bytes([size]) + payload
    if size < 1 << 16:
        return head + bytes([126]) + size.to_bytes(2, "big") + payload
    return head + bytes([127]) + size.to_bytes(8, "big") + payload


def in_pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in itertools.pairwise(places)]


@given(st.lists(st.text(max_size=300)), st.lists(st.integers(0, 10_000)))
def test_messages_are_complete_for_any_chunks_of_bytes(messages, cuts):
    frames = WebSocketFrames()
    data = b"".join(frame(TEXT, text.encode()) for text in messages)

    arrived = [text for piece in in_pieces(data, cuts) for text in frames.receive(piece)]

    assert arrived == messages


@given(st.text(min_size=1, max_size=200), st.lists(st.integers(0, 1000), max_size=6))
def test_a_message_in_several_frames_is_one_message(text, cuts):
    first, *rest = in_pieces(text.encode(), cuts)
    sent = [frame(TEXT, first, final=not rest)]
    for index, part in enumerate(rest, 1):
        sent.append(frame(PING, b"still there?"))  # control frames may come between
        sent.append(frame(CONTINUATION, part, final=index == len(rest)))
    frames = WebSocketFrames()

    assert frames.receive(b"".join(sent)) == [text]
    assert frames.replies.count(bytes([0x80 | PONG])) >= len(rest)


@given(st.text(max_size=70_000))
def test_what_is_sent_is_masked_and_can_be_read_back(text):
    data = WebSocketFrames(mask=lambda: b"\x01\x02\x03\x04").encode(text)

    assert data[0] == 0x81
    assert data[1] & 0x80, "a client must mask"
    assert WebSocketFrames().receive(data) == [text]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 3_000_000])
def test_every_length_has_its_form(size):
    text = "x" * size

    assert WebSocketFrames().receive(frame(TEXT, text.encode())) == [text]
    assert WebSocketFrames().receive(WebSocketFrames().encode(text)) == [text]


def test_a_ping_is_answered_with_its_payload():
    frames = WebSocketFrames(mask=lambda: bytes(4))

    assert frames.receive(frame(PING, b"hello")) == []

    assert bytes(frames.replies) == bytes([0x80 | PONG, 0x80 | 5]) + bytes(4) + b"hello"


def test_nothing_is_read_after_a_close_frame():
    frames = WebSocketFrames(mask=lambda: bytes(4))

    arrived = frames.receive(frame(TEXT, b"last") + frame(CLOSE, b"\x03\xe8") + frame(TEXT, b"no"))

    assert arrived == ["last"]
    assert frames.closed
    assert bytes(frames.replies) == bytes([0x80 | CLOSE, 0x82]) + bytes(4) + b"\x03\xe8"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(bytes([0xC1, 0]), id="an extension nobody agreed on"),
        pytest.param(bytes([0x83, 0]), id="an unknown kind"),
        pytest.param(bytes([0x89, 126, 0, 200]) + bytes(200), id="a ping that is too long"),
        pytest.param(bytes([0x09, 0]), id="a ping in pieces"),
        pytest.param(frame(CONTINUATION, b"x"), id="the end of nothing"),
        pytest.param(frame(TEXT, b"a", final=False) + frame(TEXT, b"b"), id="two beginnings"),
        pytest.param(bytes([0x81, 127]) + (1 << 62).to_bytes(8, "big"), id="an endless frame"),
    ],
)
def test_a_server_that_violates_the_protocol_is_rejected(wrong):
    with pytest.raises(BadFrame):
        WebSocketFrames().receive(wrong)


# --- on a real socket -----------------------------------------------------------------------------


class Server:
    """A WebSocket server on loopback, as far as these tests need one."""

    def __init__(self, accept: bool = True, early: bytes = b"", silent: bool = False) -> None:
        self._accept, self._early, self._silent = accept, early, silent
        self.heard: list[str] = []
        self.requests: list[str] = []
        self.writer: asyncio.StreamWriter | None = None
        self.gone = False

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        if self.writer is not None:
            self.writer.close()
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(head)
        if self._silent:
            return
        if not self._accept:
            body = json.dumps([{"webSocketDebuggerUrl": "ws://x/y"}]).encode()
            size = f"Content-Length: {len(body)}"
            writer.write(f"HTTP/1.1 200 OK\r\n{size}\r\n\r\n".encode() + body)
            return
        key = next(line for line in head.split("\r\n") if "Key:" in line).split()[1]
        proof = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        answer = base64.b64encode(proof).decode()
        lines = ["HTTP/1.1 101 Switching Protocols", f"Sec-WebSocket-Accept: {answer}", "", ""]
        writer.write("\r\n".join(lines).encode() + self._early)
        frames = WebSocketFrames()
        while data := await reader.read(65536):
            self.heard += frames.receive(data)
        self.gone = True


@on_loop
async def test_messages_go_both_ways_and_early_ones_are_not_lost() -> None:
    async with Server(early=frame(TEXT, b"early")) as server:
        socket = await websocket.connect("127.0.0.1", server.port, "/id", timeout_s=5)
        got: list[str] = []
        ends: list[str | None] = []
        socket.open(got.append, ends.append)
        socket.send("to you")
        await until(lambda: server.heard == ["to you"])
        assert server.writer is not None
        server.writer.write(frame(TEXT, "später ✓".encode()))
        await until(lambda: got == ["early", "später ✓"])
        assert "GET /id HTTP/1.1" in server.requests[0]
        server.writer.close()
        await until(lambda: ends == [None])
        socket.close()
        socket.close()


@on_loop
async def test_closing_sends_a_close_frame_and_nothing_follows() -> None:
    async with Server() as server:
        socket = await websocket.connect("127.0.0.1", server.port, "/", timeout_s=5)
        ends: list[str | None] = []
        socket.open(lambda text: None, ends.append)
        socket.close()
        await until(lambda: server.gone)
        assert ends == []


@on_loop
async def test_garbage_ends_the_connection_with_the_reason() -> None:
    async with Server(early=bytes([0xFF, 0xFF, 0xFF])) as server:
        socket = await websocket.connect("127.0.0.1", server.port, "/", timeout_s=5)
        ends: list[str | None] = []
        socket.open(lambda text: None, ends.append)
        await until(lambda: bool(ends))
        assert "extension" in str(ends[0])


@on_loop
async def test_a_server_of_another_protocol_is_reported() -> None:
    async with Server(accept=False) as server:
        with pytest.raises(DebuggerError, match="does not speak WebSocket") as caught:
            await websocket.connect("127.0.0.1", server.port, "/x", timeout_s=5)
        assert caught.value.error_code == "connect"
        listed = await websocket.fetch_json("127.0.0.1", server.port, "/json/list", timeout_s=5)
        assert listed == [{"webSocketDebuggerUrl": "ws://x/y"}]


@on_loop
async def test_a_silent_server_times_out() -> None:
    async with Server(silent=True) as server:
        with pytest.raises(DebuggerTimeout):
            await websocket.connect("127.0.0.1", server.port, "/", timeout_s=0.2)
