"""Lines made harmless, elided and counted."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.render.formatting import (
    LEAST_LINE,
    around_difference,
    clip,
    commands,
    escape_control,
    file_line,
    one_line,
    relative,
    seconds,
    size,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=400)


@given(ANY_TEXT, st.integers(0, 200), st.booleans())
def test_a_clipped_line_fits_and_has_no_control_characters(text, limit, tail):
    line = clip(text, limit, tail=tail)

    assert size(line) <= max(limit, LEAST_LINE)
    assert len(line.encode()) == size(line)
    assert line.isprintable() or not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202e]", line)
    assert len(line.splitlines()) <= 1


@given(ANY_TEXT, st.integers(LEAST_LINE, 200))
def test_what_a_clipped_line_shows_and_leaves_out_is_the_whole(text, limit):
    line = clip(text, limit)
    whole = one_line(text)

    if line == whole:
        return
    first, count, last = re.fullmatch(r"(.*)…\+([\d,]+) chars…(.*)", line, re.DOTALL).groups()
    assert whole.startswith(first)
    assert whole.endswith(last)
    left_out = int(count.replace(",", ""))
    assert any(
        one_line(text[:i]) == first and one_line(text[i + left_out :]) == last
        for i in range(len(text) - left_out + 1)
    )


@given(ANY_TEXT, ANY_TEXT, st.integers(0, 100))
def test_texts_that_differ_look_different(text, other, limit):
    shown, shown_other = around_difference(text, other, limit)

    if one_line(text) != one_line(other):
        assert shown != shown_other


def test_a_difference_far_inside_is_found():
    text = "x" * 3000 + "A" + "y" * 3000
    other = "x" * 3000 + "B" + "y" * 3000

    shown, shown_other = around_difference(text, other, 60)

    assert "xA" in shown
    assert "xB" in shown_other
    assert max(size(shown), size(shown_other)) <= 100


def test_newlines_and_tabs_survive_where_lines_are_whole():
    assert escape_control("a\tb\nc\x1b\x9b\ud800") == "a\tb\nc\\x1b\\x9b\\ud800"


@pytest.mark.parametrize(
    ("path", "cwd", "shown"),
    [
        ("/p/app.py", "/p", "app.py"),
        ("/p/app.py", "/p/", "app.py"),
        ("/p/app.py", "/", "p/app.py"),
        ("/pp/app.py", "/p", "/pp/app.py"),
        ("/p", "/p", "/p"),
        ("/p/app.py", None, "/p/app.py"),
        ("C:\\w\\app.py", "C:\\w", "app.py"),
    ],
)
def test_paths_below_the_directory_are_relative(path, cwd, shown):
    assert relative(path, cwd) == shown


def test_a_place_that_is_not_known_says_so():
    assert file_line(None, None, None) == "unknown location"
    assert file_line(None, 3, None) == "line 3"
    assert file_line("/p/a.py", None, "/p") == "a.py"


@pytest.mark.parametrize(
    ("span_s", "words"),
    [(0.25, "0.2 s"), (2, "2 s"), (30, "30 s"), (300, "5 min"), (9000, "2 h"), (400_000, "5 days")],
)
def test_a_span_of_time_is_shown_in_its_unit(span_s, words):
    assert seconds(span_s) == words


@pytest.mark.parametrize(
    ("next", "words"),
    [
        ((), ""),
        (("await",), "dbg await"),
        (("await", "pause"), "dbg await or dbg pause"),
        (("a", "b", "dbg c"), "dbg a, dbg b or dbg c"),
    ],
)
def test_next_steps_can_be_run_as_they_stand(next, words):
    assert commands(next) == words


def test_a_text_that_a_debugger_has_shortened_is_shortened_once_and_counted_in_full():
    text = "'" + "x" * 60 + "…+1,000,000 chars…" + "y" * 60 + "'"

    shown = clip(text, 60)

    assert shown.count("chars…") == 1
    # 122 characters were there, and a million more: what is not shown is what is counted.
    kept = len(shown) - len("…+1,000,074 chars…")
    assert f"…+{1_000_000 + 122 - kept:,} chars…" in shown
