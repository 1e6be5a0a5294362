"""A late pattern does what a pattern of `re` does, and nothing before it is used."""

from __future__ import annotations

import re

import pytest

from freezeframe.model import late_regex


@pytest.mark.parametrize("make", [re.compile, late_regex.compile], ids=["standard", "ours"])
def test_a_late_pattern_answers_as_a_compiled_one(make):
    pattern = make(r"(?P<letter>[a-z])\d", re.IGNORECASE)

    assert pattern.fullmatch("A1")["letter"] == "A"
    assert pattern.match("1a") is None
    assert pattern.search("1a1").span() == (1, 3)
    assert pattern.sub("x", "a1 b2") == "x x"
    assert pattern.findall("a1 b2") == ["a", "b"]
    assert [found[0] for found in pattern.finditer("a1 b2")] == ["a1", "b2"]
    assert pattern.pattern == r"(?P<letter>[a-z])\d"
    assert make(rb"\d").split(b"a1b") == [b"a", b"b"]


def test_a_late_pattern_is_compiled_at_its_first_use():
    pattern = late_regex.compile("(")

    with pytest.raises(re.error):
        pattern.match("")
