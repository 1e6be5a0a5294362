"""Which functions two runs executed differently."""

from __future__ import annotations

from freezeframe.questions.covered_functions import CoveredLines, differing_functions

_TEXT = ("def f(x):", "    if x:", "        return 1", "    return 2", "def g():", "    return 3")


def _run(text=_TEXT, **lines):
    return CoveredLines({("a.py", name): set(each) for name, each in lines.items()}, {"a.py": text})


def test_a_function_with_lines_of_one_run_only_differs():
    assert differing_functions(_run(f={2, 3}, g={6}), _run(f={2, 4}, g={6})) == ("f",)


def test_a_function_that_only_one_run_called_differs():
    assert differing_functions(_run(f={2, 3}), _run(f={2, 3}, g={6})) == ("g",)


def test_lines_are_matched_through_edits_and_an_edited_line_differs():
    moved = ("# a comment", *_TEXT)
    edited = ("# a comment", *_TEXT[:5], "    return 4")

    assert differing_functions(_run(f={2, 3}, g={6}), _run(moved, f={3, 4}, g={7})) == ()
    assert differing_functions(_run(f={2, 3}, g={6}), _run(edited, f={3, 4}, g={7})) == ("g",)
