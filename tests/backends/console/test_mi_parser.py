"""MI, read back from what an encoder wrote, and from what real debuggers wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import (
    Async,
    MiPrompt,
    MiReader,
    Result,
    StreamRecord,
    UnparsedLine,
    quote,
    read,
)

PROMPT = "(gdb)"
names = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
fields = st.dictionaries(names, values, max_size=5)


def encode(value: object) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return "[" + ",".join(map(encode, value)) + "]"
    assert isinstance(value, dict)
    return "{" + ",".join(f"{k}={encode(v)}" for k, v in value.items()) + "}"


def written(value: dict[str, object]) -> str:
    return "".join(f",{k}={encode(v)}" for k, v in value.items())


@given(st.integers(0, 10**9) | st.none(), names, fields)
def test_a_result_is_read_as_it_was_written(token, kind, body):
    line = f"{'' if token is None else token}^{kind}{written(body)}"
    assert read(line, PROMPT) == Result(token, kind, body)


@given(st.sampled_from("*=+"), names, fields)
def test_what_happens_is_read_as_it_was_written(mark, kind, body):
    assert read(f"{mark}{kind}{written(body)}", PROMPT) == Async(mark, kind, body)


@given(st.sampled_from(["~console", "@target", "&log"]), texts)
def test_text_is_read_as_it_was_written(stream, text):
    assert read(stream[0] + quote(text), PROMPT) == StreamRecord(stream[1:], text)


@given(st.lists(fields, max_size=4), st.integers(1, 9))
def test_records_do_not_depend_on_how_their_bytes_arrive(bodies, size):
    lines = [f"{i}^done{written(body)}" for i, body in enumerate(bodies)]
    data = "".join(f"{line}\n(gdb) \n" for line in lines).encode()
    reader = MiReader(PROMPT)
    found = []
    for start in range(0, len(data), size):
        found += reader.feed(data[start : start + size])
    assert found == [
        record for i, body in enumerate(bodies) for record in (Result(i, "done", body), MiPrompt())
    ]
    assert not reader.partial


@given(st.text(max_size=40))
def test_nothing_that_can_stand_on_a_line_breaks_the_reader(text):
    read(text, PROMPT)


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(data):
    list(MiReader(PROMPT).feed(data + b"\n"))


def test_a_name_that_stands_twice_is_a_list():
    line = '^done,bkpt={number="1"},bkpt={number="1.1"},bkpt={number="1.2"}'
    record = read(line, PROMPT)
    assert record.fields["bkpt"] == [{"number": "1"}, {"number": "1.1"}, {"number": "1.2"}]
    named = read('^done,stack=[frame={level="0"},frame={level="1"}]', PROMPT)
    assert named.fields["stack"] == [{"level": "0"}, {"level": "1"}]


def test_a_list_that_was_written_as_one_is_not_mixed_with_a_repeated_name():
    record = read('^done,a=["1","2"],a=["3"]', PROMPT)
    assert record.fields["a"] == [["1", "2"], ["3"]]


def test_escaped_bytes_become_characters():
    assert read(r'~"caf\303\251 \t\"x\\y\" \033[0m \377"', PROMPT) == StreamRecord(
        "console", 'café \t"x\\y" \x1b[0m �'
    )


@pytest.mark.parametrize(
    "line",
    ["hello", "^", "12", '^done,a="unfinished', "^done,a=[", '~"a" b', "^done,=", "*stopped,"],
)
def test_what_is_no_record_is_kept_as_it_is(line):
    assert read(line, PROMPT) == UnparsedLine(line)
