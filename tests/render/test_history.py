"""Hits, trends, differences, events, recorded runs: word for word."""

from __future__ import annotations

import pytest

from freezeframe.model.answers import SessionList
from freezeframe.model.history import (
    Difference,
    Divergence,
    EventList,
    Exported,
    Hit,
    HitDiff,
    HitGroup,
    HitGroups,
    HitTable,
    HitTrend,
    Pruned,
    RunAnswer,
    RunDiff,
    SessionEvent,
)
from freezeframe.model.runs import Run
from freezeframe.model.stops import Exit
from freezeframe.model.values import Value
from freezeframe.render.text.history import sparkline

from .samples import shown, text

RUN = Run(7, "app", "/p/app.py", label="good", debugger="dbg 1", stops=3, exit=Exit(0))
OTHER = Run(8, "app", "/p/app.py", label="bad", debugger="dbg 1", stops=2, exit=Exit(1))


def hit(number, *cells, **facts):
    facts.setdefault("reason", "breakpoint")
    return Hit(number, number, number / 4, facts.pop("thread", 1), cells, **facts)


def test_a_table_lines_up_and_says_once_what_never_changes():
    table = HitTable(
        "app.py:4",
        RUN,
        2,
        ("n", "name"),
        (hit(1, "9", "'pen'"), hit(2, "10", None)),
        matched=2,
        constant=(Value("rate", "0.2"),),
        others=("rows",),
    )

    assert shown(table) == text("""
        app.py:4: 2 hits in run 7 (good, app)
        hit  time     n  name
          1  0.250s   9  'pen'
          2  0.500s  10  -
        also change: rows
        always: rate = 0.2
    """)


def test_a_column_that_is_the_same_for_all_is_left_out_and_others_are_not():
    table = HitTable("f", RUN, 2, (), (hit(1, thread=1), hit(2, thread=2)), matched=2)

    assert "hit  time    thread" in shown(table)


def test_a_filtered_table_says_of_how_many():
    table = HitTable(
        "a.py:4",
        RUN,
        9,
        ("n",),
        (hit(3, "5"),),
        matched=4,
        where="n > 4",
        unanswered=2,
        reason="n",
        asked=("a.py:4", "--where", "n > 4"),
    )

    assert shown(table) == text("""
        a.py:4: 4 of 9 hits in run 7 (good, app) with n > 4
        hit  time    n
          3  0.750s  5
        … 3 more hits (dbg hits a.py:4 --where 'n > 4' --range 1:2)
        left out: 2 hits without n
    """)


def test_a_long_table_fits_its_budget_and_says_what_is_missing():
    hits = tuple(hit(n, "x" * 30) for n in range(200))
    table = HitTable("a.py:4", RUN, 200, ("s",), hits, matched=200)

    small = shown(table, budget_tokens=200)

    assert len(small.encode()) <= 600
    assert "more rows (dbg hits a.py:4 --budget" in small


def test_groups_tell_how_often_and_between_what():
    groups = HitGroups(
        "a.py:4",
        RUN,
        "n % 2",
        (HitGroup("0", 3, 1, 9, ("0 … 8",)), HitGroup("1", 1, 2, 2, ("1",))),
        4,
        more=1,
        columns=("n",),
        asked=("a.py:4", "--group-by", "n % 2"),
    )

    assert shown(groups) == text("""
        a.py:4: 3 values of n % 2 in 4 hits of run 7 (good, app)
        n % 2  hits  share  first  last  n
            0     3  75%        1     9  0 … 8
            1     1  25%        2     2  1
        … 1 more value (dbg hits a.py:4 --group-by 'n % 2')
    """)


def test_a_trend_has_its_line_and_its_ends():
    trend = HitTrend("a.py:4", RUN, "n", (1.0, 3.0, 2.5), (1, 2, 4), skipped=1, instead="None")

    assert shown(trend) == text("""
        n at a.py:4: 3 hits of run 7 (good, app)
        ▁█▆
        first 1, last 2.5, min 1 (hit 1), max 3 (hit 2), mean 2.16667
        rises 1 times, falls 1 times
        left out: 1 hit without a number (None)
    """)


@pytest.mark.parametrize(
    ("points", "line"),
    [
        ([1, 1, 1], "▁▁▁"),
        ([0, 7], "▁█"),
        ([float("nan"), 1, 2], "?▁█"),
        ([], ""),
    ],
)
def test_a_sparkline(points, line):
    assert sparkline([float(p) for p in points]) == line


def test_a_sparkline_of_many_points_is_as_wide_as_it_may_be():
    assert len(sparkline([float(n) for n in range(1000)], 60)) == 60


def test_the_differences_of_two_hits_are_shown():
    diff = HitDiff(
        "a.py:4",
        hit(1),
        hit(5),
        RUN,
        RUN,
        (Difference("n", "1", "5"), Difference("late", None, "3"), Difference("gone", "2", None)),
        ("rate",),
    )

    assert shown(diff) == text("""
        a.py:4: 3 differences, hit 1 → hit 5 of run 7 (good, app)
          n: 1 → 5
          late: only in hit 5: 3
          gone: only in hit 1: 2
        equal: rate
    """)


def divergence(kind="values", **facts):
    facts.setdefault("place", "a.py:4")
    return Divergence(kind, function="f", hit=3, a_stop=3, b_stop=4, **facts)


def test_the_first_divergence_says_where_what_and_what_was_equal():
    diff = RunDiff(
        RUN,
        OTHER,
        (divergence(differences=(Difference("n", "1", "2"),), equal=("rate",)),),
        2,
        "a.py:4, hit 2",
        more=5,
        edited=("a.py",),
        next=("diff good bad --all",),
    )

    assert shown(diff) == text("""
        first divergence: a.py:4 in f, hit 3: 1 value differs
          n: 1 → 2
          the same there: rate
          see: dbg replay good --stop 3 or dbg replay bad --stop 4
        equal up to there: 2 stops, the last at a.py:4, hit 2
        edited between the runs: a.py; lines are matched through the change
        … 5 further divergences (dbg diff good bad --all)
    """)


def test_runs_that_do_not_diverge_say_so():
    assert shown(RunDiff(RUN, OTHER, (), 3)) == text("""
        no divergence between good (3 stops) and bad (2)
        equal: 3 stops
    """)


def test_a_parting_of_ways_shows_both():
    diff = RunDiff(
        RUN,
        OTHER,
        (divergence("path", b_place="a.py:9", a_text="return n", b_text="raise Bad"),),
        0,
    )

    first, *rest = shown(diff).splitlines()

    assert first == "first divergence: good goes to a.py:4 in f, hit 3, bad to a.py:9"
    assert rest[:2] == ["  good: return n", "  bad: raise Bad"]


def test_runs_are_a_table_latest_first():
    listed = shown(SessionList((), recorded=(OTHER, RUN), all=True))

    lines = listed.splitlines()
    assert lines[0] == "recorded:"
    assert lines[1].split()[:4] == ["run", "label", "session", "started"]
    assert "8  bad    app" in lines[2]
    assert "exited: code 1" in lines[2]


def test_nothing_recorded_is_said():
    assert shown(SessionList((), all=True)) == (
        "no sessions and no recorded runs in this workspace\n"
    )


def test_events_end_with_the_cursor_to_go_on_from():
    events = EventList((SessionEvent(4, 0.0, "app", "stop", "breakpoint at a.py:4"),), 5)

    lines = shown(events).splitlines()

    assert lines[0].startswith("4  ")
    assert lines[0].endswith("app  stop  breakpoint at a.py:4")
    assert lines[-1] == "next: dbg events --since 5"


def test_no_event_in_time_says_how_long():
    assert shown(EventList((), 5, waited_s=2.0)).startswith("no events within 2 s\n")


def test_what_was_done_with_a_run():
    assert shown(RunAnswer(RUN, "saved")) == "saved run 7 as good: 3 stops of app\n"
    assert shown(Exported("/p/x.html", "html", RUN, 30_000)) == (
        "wrote x.html: 3 stops of run 7 (good, app) as a page, 30.0 kB\n"
    )
    assert shown(Pruned((), 3, 2_000_000)) == "nothing to remove: 3 runs kept, 2.0 MB\n"
    assert shown(Pruned((RUN,), 3, 20, freed=5)).startswith(
        "removed 1 run, 5 bytes freed; 3 runs kept, 20 bytes\n"
    )


def test_what_a_program_says_moves_no_cursor():
    table = HitTable("a.py:4", RUN, 1, ("s",), (hit(1, "a\x1b[2Jb\nc"),), matched=1)

    assert "\x1b" not in shown(table)
    assert len(shown(table).splitlines()) == 3
