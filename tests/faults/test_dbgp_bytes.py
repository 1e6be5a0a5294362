"""Whatever PHP's debugger, or another sender, sends: bounded, linear, reported."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.console.debuggers.xdebug import dbgp
from freezeframe.errors import DebuggerLost


def packet(document: bytes) -> bytes:
    return b"%d\0%b\0" % (len(document), document)


@given(st.lists(st.one_of(st.binary(max_size=60), st.binary(max_size=60).map(packet))))
def test_bytes_are_documents_or_the_end_of_the_connection(pieces):
    codec = dbgp.DbgpCodec()
    codec.encode(1, "status")
    try:
        for piece in pieces:
            codec.feed(piece)
    except DebuggerLost:
        pass


@pytest.mark.parametrize("data", [b"9" * 40, b"x\0", b"99999999999\0", b"-5\0", b"70000000\0"])
def test_a_length_that_is_none_ends_the_connection(data):
    with pytest.raises(DebuggerLost):
        dbgp.DbgpCodec().feed(data)


def test_a_document_that_comes_in_small_pieces_costs_what_it_is_long():
    def cost(size: int) -> float:
        codec, began = dbgp.DbgpCodec(), time.process_time()
        data = packet(b"<init>" + b" " * size + b"</init>")
        for at in range(0, len(data), 256):
            codec.feed(data[at : at + 256])
        return time.process_time() - began

    # Four times the size cost sixteen times the time.
    assert cost(4_000_000) < 10 * max(cost(1_000_000), 0.01)


def test_entities_do_not_grow():
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><response transaction_id="1">&a;</response>'
    assert dbgp.DbgpCodec().feed(packet(bomb)) == []
