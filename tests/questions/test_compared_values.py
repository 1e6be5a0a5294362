"""Which values of two runs count as different."""

from __future__ import annotations

import pytest

from freezeframe.model.line_map import LineMap
from freezeframe.questions.compared_values import is_same_text, is_volatile
from freezeframe.questions.paired_frames import align


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("<Cart at 0x7f12ab>", "<Cart at 0x7f99cd>", True),
        ("{'a', 'b'}", "{'b', 'a'}", True),
        ("frozenset({1, 2})", "frozenset({2, 1})", True),
        ("{'a', 'b'}", "{'b', 'c'}", False),
        ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", False),
        ("'/tmp/pytest-of-x/pytest-3/t0'", "'/tmp/pytest-of-x/pytest-4/t0'", True),
        ("[1, 2]", "[2, 1]", False),
    ],
)
def test_addresses_temporary_folders_and_the_order_of_sets_do_not_count(a, b, same):
    assert is_same_text(a, b) is same


def test_times_and_ids_look_volatile():
    assert is_volatile("1763400000.25", "1763400011.75")
    assert is_volatile("datetime.datetime(2026, 1, 1)", "datetime.datetime(2026, 1, 2)")
    assert not is_volatile("3", "4")


def test_steps_are_aligned_around_what_only_one_run_executed():
    assert align([1, 2, 3, 4, 9], [1, 2, 7, 8, 9]) == [0, 1, None, None, 4]
    assert align([1, 2], [1, 2, 2]) == [0, 1, None]


def test_a_line_that_only_the_new_text_has_is_new():
    lines = LineMap({"a.py": "x = 1\ny = 2\n"}, {"a.py": "x = 1\nprint(x)\ny = 2\n"})

    assert lines.is_new("a.py", 2)
    assert lines.translate("a.py", 2) == 3
