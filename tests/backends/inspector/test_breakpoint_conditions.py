"""Logpoints and conditions as they are handed to V8."""

from __future__ import annotations

import pytest

from freezeframe.backends.backend import BreakpointRequest
from freezeframe.backends.inspector.breakpoint_conditions import codes, log_parts, program
from freezeframe.model.locations import Location

PLACE = Location(file="/a.js", line=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n is {n}", ["n is ", ("n",)]),
        ("{a}{b}", [("a",), ("b",)]),
        ("{{x}} {y}", ["{x} ", ("y",)]),
        ("{ f({a: '}'}) }!", [("f({a: '}'})",), "!"]),
        ("{n} lone } stays", [("n",), " lone } stays"]),
        ("plain", ["plain"]),
        ("", []),
    ],
)
def test_a_message_is_split_into_text_and_code(text, expected):
    assert log_parts(text) == expected


@pytest.mark.parametrize("text", ["{", "n {n", "{}", "{ }"])
def test_unbalanced_braces_are_reported(text):
    with pytest.raises(ValueError, match="braces"):
        log_parts(text)


def test_a_plain_breakpoint_needs_no_code():
    assert program([BreakpointRequest(1, PLACE), BreakpointRequest(2, PLACE)]) is None


def test_the_user_s_expressions_are_listed_to_be_checked():
    request = BreakpointRequest(1, PLACE, condition="a > 1", log="{b} and {c}")

    assert codes(request) == ["a > 1", "b", "c"]
