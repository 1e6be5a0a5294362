"""Where two runs part: known causes, found; noise, not mistaken for one."""

from __future__ import annotations

import json

from freezeframe.history.divergence import ComparedRun, LineMap, compare
from freezeframe.history.queries import HitRow
from freezeframe.model.runs import Run
from freezeframe.model.stops import Exit

SOURCE = "def f(n):\n    x = n\n    y = x\n    return y\n"


def row(number, line, reason="breakpoint", file="a.py", function="f", **values):
    raw = [["locals", "Locals", 0, [[name, str(v), "int"] for name, v in values.items()]]]
    return HitRow(
        number, number, number / 10, 1, "main", reason, file, line, function, json.dumps(raw)
    )


ENDED = Exit(0)


def side(*stops, source=SOURCE, exit=ENDED, breakpoints=(), output=None, number=1):
    run = Run(number, "a", "a.py", exit=exit, breakpoints=breakpoints, stops=len(stops))
    return ComparedRun(run, stops, {"a.py": source}, output or {})


def test_equal_runs_have_no_divergence():
    stops = [row(1, 2, n=1), row(2, 3, n=1), row(3, 2, n=2)]

    found = compare(side(*stops), side(*stops))

    assert found.divergences == []
    assert found.equal_stops == 3


def test_the_first_value_that_differs_is_found_with_its_hit():
    a = side(row(1, 2, n=1, k=0), row(2, 2, n=2, k=0), row(3, 2, n=3, k=0))
    b = side(row(1, 2, n=1, k=0), row(2, 2, n=5, k=0), row(3, 2, n=3, k=0))

    found = compare(a, b)

    (only,) = found.divergences
    assert (only.kind, only.place, only.hit) == ("values", "a.py:2", 2)
    assert [(d.path, d.a, d.b) for d in only.differences] == [("n", "2", "5")]
    assert only.equal == ("k",)
    assert found.equal_stops == 1
    assert found.last_equal == "a.py:2, hit 1"


def test_a_line_that_only_one_run_stepped_to_is_reported():
    a = side(row(1, 2, n=1), row(2, 3, "step", n=1), row(3, 2, n=2))
    b = side(row(1, 2, n=1), row(2, 4, "step", n=1), row(3, 2, n=2))

    found = compare(a, b)

    assert not found.divergences
    assert "a.py:3" in found.only_a


def test_a_breakpoint_that_only_one_run_reached_is_a_divergence():
    a = side(row(1, 2), row(2, 3), breakpoints=("a.py:2", "a.py:3"))
    b = side(row(1, 2), breakpoints=("a.py:2", "a.py:3"))

    (only,) = compare(a, b).divergences

    assert (only.kind, only.place, only.a_stop, only.b_stop) == ("missing", "a.py:3", 2, None)


def test_a_breakpoint_that_only_one_run_had_means_nothing():
    a = side(row(1, 2), row(2, 3), breakpoints=("a.py:2", "a.py:3"))
    b = side(row(1, 2), breakpoints=("a.py:2",))

    found = compare(a, b)

    assert found.divergences == []
    assert found.only_a == ("a.py:3",)


def test_an_exception_counts_wherever_it_comes():
    a = side(row(1, 2))
    b = side(row(1, 2), row(2, 2, "exception"), exit=Exit(1))

    kinds = [d.kind for d in compare(a, b).divergences]

    assert kinds == ["missing", "end"]


def test_addresses_that_differ_from_run_to_run_are_no_difference():
    a = side(row(1, 2, p="0x7ffe12345678", o="<Cart object at 0x7f0000001111>"))
    b = side(row(1, 2, p="0x7ffd87654321", o="<Cart object at 0x7f0000002222>"))

    assert compare(a, b).divergences == []


def test_lines_are_followed_through_an_edit():
    edited = "import os\n\n\ndef f(n):\n    x = n\n    y = x + 0\n    return y\n"
    lines = LineMap({"a.py": SOURCE}, {"a.py": edited})

    assert [lines.translate("a.py", n) for n in (1, 2, 3, 4)] == [4, 5, 6, 7]
    a = side(row(1, 2, n=1), row(2, 3, n=1), breakpoints=("a.py:2", "a.py:3"))
    b = side(row(1, 5, n=1), row(2, 6, n=2), source=edited, breakpoints=("a.py:5", "a.py:6"))
    found = compare(a, b)
    assert found.edited == ("a.py",)
    assert [(d.kind, d.place) for d in found.divergences] == [("values", "a.py:6")]


def test_a_line_that_is_gone_is_not_matched_to_another():
    lines = LineMap({"a.py": "a = 1\nb = 2\nc = 3\n"}, {"a.py": "a = 1\nc = 3\n"})

    assert lines.translate("a.py", 2) == -2
    assert lines.translate("a.py", 3) == 2
    assert lines.translate("other.py", 2) == 2


def test_what_was_printed_is_compared_where_both_ended():
    a = side(row(1, 2), output={"stdout": "x\ny\n"})
    b = side(row(1, 2), output={"stdout": "x\nz\n"})

    (only,) = compare(a, b).divergences

    assert (only.kind, only.place) == ("output", "stdout")
    assert [(d.path, d.a, d.b) for d in only.differences] == [("line 2", "y", "z")]
    killed = side(row(1, 2), output={"stdout": "x\n"}, exit=Exit(how="killed"))
    assert compare(a, killed).divergences == []
