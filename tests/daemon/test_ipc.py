from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.daemon import ipc


# What an operating system passes to programs: any bytes but NUL.
def text(raw: bytes) -> str:
    return raw.replace(b"\0", b"").decode("utf-8", "surrogateescape")


words = st.binary(max_size=20).map(text)
names = st.binary(max_size=20).map(lambda raw: text(raw.replace(b"=", b"")) or "NAME")
requests = st.builds(
    ipc.ClientRequest,
    argv=st.lists(words).map(tuple),
    cwd=words,
    env=st.dictionaries(names, words),
    stdin_tty=st.booleans(),
    stdout_tty=st.booleans(),
    stderr_tty=st.booleans(),
    columns=st.integers(0, 100_000),
    version=st.sampled_from(["0.1.0", "12.0.0rc1"]),
)


@given(requests)
def test_a_request_is_read_as_it_was_sent(request: ipc.ClientRequest) -> None:
    data = ipc.encode_request(request)
    protocol, length = ipc.decode_head(data[: ipc.HEAD_BYTES])
    assert protocol == ipc.PROTOCOL
    assert length == len(data) - ipc.HEAD_BYTES
    assert ipc.decode_request(data[ipc.HEAD_BYTES :]) == request


@given(st.binary())
def test_a_body_is_understood_or_refused_and_nothing_else(body: bytes) -> None:
    try:
        assert isinstance(ipc.decode_request(body), ipc.ClientRequest)
    except ipc.Malformed:
        pass


@given(st.binary(max_size=12))
def test_a_head_is_understood_or_refused_and_nothing_else(head: bytes) -> None:
    try:
        _, length = ipc.decode_head(head)
        assert length <= ipc.MAX_REQUEST_BYTES
    except ipc.Malformed:
        pass


def test_a_request_larger_than_the_bound_is_refused() -> None:
    with pytest.raises(ipc.Malformed):
        ipc.decode_head(b"F\x01" + (ipc.MAX_REQUEST_BYTES + 1).to_bytes(4, "big"))


@given(
    st.integers(0, 4).flatmap(lambda n: st.binary(min_size=n, max_size=n + 3)), st.integers(1, 9)
)
def test_output_is_cut_into_frames_without_loss(piece: bytes, times: int) -> None:
    data = piece * (times * ipc.MAX_FRAME_BYTES // 3)
    frames = ipc.output_frames(ipc.OUT, data)
    assert b"".join(frame[ipc.FRAME_HEAD_BYTES :] for frame in frames) == data
    for frame in frames:
        assert int.from_bytes(frame[1:5], "big") == len(frame) - ipc.FRAME_HEAD_BYTES
        assert len(frame) <= ipc.FRAME_HEAD_BYTES + ipc.MAX_FRAME_BYTES


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_written(text: str) -> None:
    assert isinstance(ipc.text_bytes(text), bytes)


def test_a_name_that_is_not_utf_8_is_written_as_it_was() -> None:
    assert ipc.text_bytes(b"caf\xe9".decode("utf-8", "surrogateescape")) == b"caf\xe9"
