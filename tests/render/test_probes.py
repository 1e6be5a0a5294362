"""The text of a probe's table."""

from __future__ import annotations

from freezeframe.model.probes import ProbeColumn, ProbeReport, ProbeRow
from freezeframe.model.stops import Exit

from .samples import shown


def test_a_probe_shows_its_rows_aligned_and_what_lies_between():
    report = ProbeReport(
        "price.py:18",
        "/w/price.py",
        18,
        1200,
        (ProbeColumn("p", None, (), ("-5", 12), ("30", 3)), ProbeColumn("kind", 1)),
        (ProbeRow(1, ("3", "'a'")),),
        (ProbeRow(1200, ("-5", "'a'")),),
        until="p < -9",
        exit=Exit(0),
        notes=("recorded by a logpoint",),
    )
    assert shown(report).splitlines() == [
        "/w/price.py:18  1200 hits",
        "p < -9 was true at no hit",
        " hit   p   kind",
        " 1     3   'a'",
        " … 1198 more",
        " 1200  -5  'a'",
        "p: over 10,000 different values, min -5 (hit 12), max 30 (hit 3)",
        "kind: always the same",
        "the program exited: code 0",
        "note: recorded by a logpoint",
    ]


def test_no_hit_is_said_with_its_reason():
    report = ProbeReport("a.py:3", "/w/a.py", 3, 0, (), notes=("a.py was not loaded",))
    assert shown(report).startswith("/w/a.py:3  no hit\nnote: a.py was not loaded\n")
