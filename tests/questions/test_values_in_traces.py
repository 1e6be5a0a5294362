"""Parts of values by their texts, and which operand wrote a character."""

from __future__ import annotations

import pytest

from freezeframe.questions.literals import method_result, operated
from freezeframe.questions.text_spans import covering, first_offset, known_text, spans
from freezeframe.questions.value_parts import first_difference, parts_of, truth, with_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[1, 'a, b', (2, 3)]", {"[0]": "1", "[1]": "'a, b'", "[2]": "(2, 3)"}),
        ("{'a': [1, 2], 'b:c': 3}", {"['a']": "[1, 2]", "['b:c']": "3"}),
        ("Point(x=1, y=Other(z=2))", {".x": "1", ".y": "Other(z=2)"}),
        ("[]", {}),
        ("[1, 2, … +3 more]", {"[0]": "1", "[1]": "2"}),
        ("{1, 2}", None),
        ("[1, 2", None),
        ("12", None),
        ("''", None),
    ],
)
def test_the_parts_of_a_value_are_read_from_its_text(text, parts):
    assert parts_of(text) == parts


def test_the_path_to_the_first_part_that_differs_is_found():
    assert first_difference("[0, 0, -5]", "[0, 0, 0]") == ("[2]",)
    assert first_difference("{'a': P(x=1, y=2)}", "{'a': P(x=1, y=3)}") == ("['a']", ".y")
    assert first_difference("[1, 2]", "[1]") == ("[1]",)
    assert first_difference("[1]", "[1, 2]") == ()
    assert first_difference("3", "4") == ()


def test_parts_that_were_written_are_put_into_a_text():
    assert with_parts("[1]", {"[0]": "1", "[1]": "2"}) == "[1, 2]"
    assert with_parts("{}", {"['a']": "1"}) == "{'a': 1}"
    assert with_parts("P(x=1)", {".x": "2"}) == "P(x=2)"
    assert with_parts("[1]", {".x": "2"}) is None


def test_the_operand_that_wrote_a_character_is_found_by_the_texts_around_it():
    found = spans("a=1;b=22;", ["a=", "1", ";", None, ";"])

    assert found == [(0, 2), (2, 3), (3, 4), (4, 8), (8, 9)]
    assert covering(found, 6) == [3]
    assert covering(spans("ab", ["", "ab"]), 0) == [1, 0]
    assert spans("xy", ["a", "b"]) == [None, None]


def test_strings_are_compared_as_far_as_they_were_recorded():
    assert first_offset("'abc'", "'abd'") == 2
    assert first_offset("'abc'", "'ab'") == 2
    assert first_offset("'abc'", "'abc'") is None
    assert first_offset("'ab…", "'abc'") is None
    assert known_text("'ab\\n…+10 chars…") == ("ab\n", False)


def test_results_follow_only_from_values_that_are_known_whole():
    assert operated("min", ["[0, -5]"]) == "-5"
    assert operated(">", ["12", "10"]) == "True"
    assert operated("+", ["1", "'a'"]) is None
    assert operated("min", ["[0, …]"]) is None
    assert operated("is", ["[]", "[]"]) is None
    assert method_result("strip", "' a '") == "'a'"
    assert (truth("[]"), truth("'x'"), truth("<Foo object>")) == (False, True, None)
