"""Whatever gdb sends, or a program that writes in its place: bounded, linear, answered."""

from __future__ import annotations

import contextlib
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.async_tests import on_loop, until
from freezeframe.backends.console.debuggers.gdb_mi import mi_parser
from freezeframe.backends.console.debuggers.gdb_mi.mi_channel import MiChannel
from freezeframe.backends.gdb import value_text
from freezeframe.config import Timeouts
from freezeframe.errors import DebuggerLost

SYNTAX = st.text(alphabet='12^*=~@&,"{}[]\\ab0\n', max_size=80)


@given(st.lists(st.one_of(st.binary(max_size=40), SYNTAX.map(str.encode))))
def test_bytes_are_records_however_they_are_cut(pieces):
    def records(parts):
        made = mi_parser.MiReader("(gdb)")
        return [each for part in parts for each in made.feed(part)]

    assert records(pieces) == records([b"".join(pieces)])


@pytest.mark.parametrize("opening", ["[", "{a="])
def test_an_answer_that_is_nested_without_an_end_is_an_error_and_an_answer(opening):
    record = mi_parser.read(f"7^done,value={opening * 50_000}")
    assert isinstance(record, mi_parser.Result)
    assert (record.token, record.kind) == (7, "error")
    assert isinstance(mi_parser.read(f"*stopped,value={opening * 50_000}"), mi_parser.UnparsedLine)


def test_a_number_without_an_end_is_no_number():
    assert isinstance(mi_parser.read("9" * 10_000 + "^done"), mi_parser.UnparsedLine)


def test_a_long_line_in_small_pieces_costs_what_it_is_long():
    def cost(size: int) -> float:
        made, began = mi_parser.MiReader("(gdb)"), time.process_time()
        for _ in range(size):
            list(made.feed(b"x" * 256))
        return time.process_time() - began

    assert cost(16_000) < 12 * max(cost(4_000), 0.01)


def test_a_line_beyond_the_limit_is_skipped_to_its_end(monkeypatch):
    monkeypatch.setattr(mi_parser, "MAX_LINE", 100)
    made = mi_parser.MiReader("(gdb)")
    assert list(made.feed(b'~"' + b"x" * 200)) == []
    assert list(made.feed(b'yyy"\n1^done\n')) == [mi_parser.Result(1, "done")]


@pytest.mark.parametrize("text", ["{" * 20_000 + "}" * 20_000, "{a<" * 5_000, "a<" * 5_000])
def test_the_text_of_a_value_is_read_in_time_whatever_it_holds(text):
    began = time.process_time()
    assert isinstance(value_text.tidy(text), str)
    assert time.process_time() - began < 5


@on_loop
async def test_a_flood_of_stops_ends_the_connection(tmp_path):
    gdb = tmp_path / "gdb"
    one = '*running,thread-id="all"\\n*stopped,thread-id="1"\\n'
    gdb.write_text(
        f"#!{sys.executable}\nimport sys\nsys.stdout.write('''(gdb) \\n''')\n"
        f"sys.stdout.write('{one}' * 1500)\n"
        "sys.stdout.write('*stopped,thread-id=\"1\"\\n' * 100_000)\nsys.stdin.read()\n"
    )
    gdb.chmod(0o755)
    lost, notices = [], []
    channel = MiChannel("gdb", Timeouts(), notices.append, lost.append)
    # The flood may come before the first request is answered.
    with contextlib.suppress(DebuggerLost):
        await channel.open([str(gdb)], str(tmp_path), {}, None)
    await until(lambda: lost)
    channel.close()

    assert "reported 1,001 stops after one request to resume" in str(lost[0])
    assert len(notices) == 2 * 1500 + 999
