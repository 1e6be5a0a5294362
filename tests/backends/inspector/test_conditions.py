"""Logpoints and conditions as they are handed to V8."""

from __future__ import annotations

import pytest

from freezeframe.backends.backend import WantedBreakpoint
from freezeframe.backends.inspector.conditions import codes, pieces, program
from freezeframe.model.places import Location

PLACE = Location(file="/a.js", line=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n is {n}", [(False, "n is "), (True, "n")]),
        ("{a}{b}", [(True, "a"), (True, "b")]),
        ("{{x}} {y}", [(False, "{x} "), (True, "y")]),
        ("{ f({a: '}'}) }!", [(True, "f({a: '}'})"), (False, "!")]),
        ("plain", [(False, "plain")]),
        ("", []),
    ],
)
def test_a_message_is_split_into_words_and_code(text, expected):
    assert pieces(text) == expected


@pytest.mark.parametrize("text", ["{", "n {n", "n}", "{}", "{ }"])
def test_braces_that_do_not_match_are_told(text):
    with pytest.raises(ValueError, match="braces"):
        pieces(text)


def test_a_plain_breakpoint_needs_no_code():
    assert program([WantedBreakpoint(1, PLACE), WantedBreakpoint(2, PLACE)]) is None


def test_the_user_s_code_is_told_so_that_it_can_be_checked():
    want = WantedBreakpoint(1, PLACE, condition="a > 1", log="{b} and {c}")

    assert codes(want) == ["a > 1", "b", "c"]
