from hypothesis import given
from hypothesis import strategies as st

from freezeframe.session.output import OutputRing

pieces = st.lists(
    st.tuples(st.sampled_from(["stdout", "stderr"]), st.text(max_size=30)), max_size=60
)


def text_of(output):
    return "".join(chunk.text for chunk in output.chunks)


def filled(printed, max_events=1000, max_bytes=1_000_000):
    ring = OutputRing(max_events, max_bytes)
    for stream, text in printed:
        ring.append(stream, text)
    return ring


@given(pieces)
def test_everything_printed_can_be_read_in_order(printed):
    ring = filled(printed)
    assert text_of(ring.read()) == "".join(text for _, text in printed)
    assert ring.read().dropped == 0


@given(pieces, st.integers(0, 2000))
def test_reading_from_a_cursor_goes_on_where_the_last_reader_stopped(printed, cursor):
    whole = "".join(text for _, text in printed)
    ring = filled(printed)
    cursor = min(cursor, len(whole))
    assert text_of(ring.read(cursor)) == whole[cursor:]


@given(pieces, st.integers(1, 5), st.integers(8, 60))
def test_kept_and_dropped_add_up_to_what_was_printed(printed, max_events, max_bytes):
    whole = "".join(text for _, text in printed)
    found = filled(printed, max_events, max_bytes).read(0)
    assert found.dropped + len(text_of(found)) == len(whole)
    assert whole.endswith(text_of(found))


@given(pieces, st.integers(1, 5), st.integers(8, 60))
def test_the_ring_never_holds_more_than_its_bounds(printed, max_events, max_bytes):
    ring = filled(printed, max_events, max_bytes)
    assert len(text_of(ring.read()).encode("utf-8", "replace")) <= max_bytes


@given(pieces, st.integers(0, 10))
def test_a_tail_has_that_many_lines_and_counts_the_rest(printed, lines):
    ring = filled(printed)
    whole = text_of(ring.read())
    found = ring.read(tail_lines=lines)
    assert whole.endswith(text_of(found))
    assert found.skipped == len(whole) - len(text_of(found))
    assert len(text_of(found).splitlines()) <= max(lines, 0) + len(found.chunks)


def test_what_was_taken_as_new_is_not_new_again():
    ring = filled([("stdout", "one\n")])
    assert text_of(ring.take_new()) == "one\n"
    ring.append("stdout", "two\n")
    assert text_of(ring.take_new()) == "two\n"
    assert ring.take_new().chunks == ()
    assert text_of(ring.read()) == "one\ntwo\n"


def test_a_piece_larger_than_the_ring_keeps_its_end():
    ring = OutputRing(10, 1000)
    ring.append("stdout", "a" * 5000 + "end")
    found = ring.read(0)
    assert text_of(found).endswith("end")
    assert found.dropped + len(text_of(found)) == 5003


def test_one_stream_can_be_read_alone():
    ring = filled([("stdout", "a"), ("stderr", "b"), ("stdout", "c")])
    assert text_of(ring.read(streams=frozenset({"stderr"}))) == "b"


def test_clearing_keeps_cursors_valid():
    ring = filled([("stdout", "abc")])
    ring.clear()
    ring.append("stdout", "def")
    assert text_of(ring.read(3)) == "def"
    assert ring.read(0).dropped == 3
