"""Whatever gdb sends, or a program that writes in its place: bounded, linear, answered."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.console import reader
from freezeframe.backends.gdb import texts

SYNTAX = st.text(alphabet='12^*=~@&,"{}[]\\ab0\n', max_size=80)


@given(st.lists(st.one_of(st.binary(max_size=40), SYNTAX.map(str.encode))))
def test_bytes_are_records_however_they_are_cut(pieces):
    def records(parts):
        made = reader.Reader("(gdb)")
        return [each for part in parts for each in made.feed(part)]

    assert records(pieces) == records([b"".join(pieces)])


@pytest.mark.parametrize("opening", ["[", "{a="])
def test_an_answer_that_is_nested_without_an_end_is_an_error_and_an_answer(opening):
    record = reader.read(f"7^done,value={opening * 50_000}")
    assert isinstance(record, reader.Result)
    assert (record.token, record.kind) == (7, "error")
    assert isinstance(reader.read(f"*stopped,value={opening * 50_000}"), reader.Stray)


def test_a_number_without_an_end_is_no_number():
    assert isinstance(reader.read("9" * 10_000 + "^done"), reader.Stray)


def test_a_long_line_in_small_pieces_costs_what_it_is_long():
    def cost(size: int) -> float:
        made, began = reader.Reader("(gdb)"), time.process_time()
        for _ in range(size):
            list(made.feed(b"x" * 256))
        return time.process_time() - began

    assert cost(16_000) < 12 * max(cost(4_000), 0.01)


def test_a_line_beyond_the_limit_is_skipped_to_its_end(monkeypatch):
    monkeypatch.setattr(reader, "MAX_LINE", 100)
    made = reader.Reader("(gdb)")
    assert list(made.feed(b'~"' + b"x" * 200)) == []
    assert list(made.feed(b'yyy"\n1^done\n')) == [reader.Result(1, "done")]


@pytest.mark.parametrize("text", ["{" * 20_000 + "}" * 20_000, "{a<" * 5_000, "a<" * 5_000])
def test_the_text_of_a_value_is_read_in_time_whatever_it_holds(text):
    began = time.process_time()
    assert isinstance(texts.tidy(text), str)
    assert time.process_time() - began < 5
