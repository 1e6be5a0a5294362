"""`diff`, `replay`, `export`, `import`, `events` through the real client."""

from __future__ import annotations

import json

import pytest

from harness import reports

CARTS = """\
import sys


def discount(price, percent):
    cut = price * percent / 100
    return price - cut  # @cut


def total(prices, percent):
    whole = 0
    for price in prices:
        whole += discount(price, percent if price != {special} else 0)  # @add
    return whole  # @whole


found = total([10, 20, 30, 40], 10)
print(found)
sys.exit(0 if found == 90 else 1)
"""


def walked(dbg, *args):
    report = dbg.data("start", *args)
    while report["state"] == "stopped":
        report = dbg.data("continue")
    return report


@pytest.fixture
def good_and_bad(dbg, write_program):
    """A run that passes, and one that fails at its third price."""
    p = write_program("cart.py", CARTS.format(special=-1))
    dbg.data("break", p.at("cut"))
    dbg.data("break", p.at("whole"))
    assert walked(dbg, p.name)["exit"]["code"] == 0
    dbg("save", "good")
    p.path.write_text(CARTS.format(special=30))
    assert walked(dbg, p.name)["exit"]["code"] == 1
    dbg("save", "bad")
    return p


def test_the_first_divergence_is_the_cause(dbg, good_and_bad):
    p = good_and_bad

    answer = dbg("diff", "good", "bad")

    assert f"first divergence: {p.at('cut')} in discount, hit 3: 2 values differ" in answer.out
    assert "percent: 10 → 0" in answer.out
    assert "equal up to there: 2 stops" in answer.out
    assert "dbg replay bad --stop 3" in answer.out
    assert len(answer.out) < 700
    rest = dbg.data("diff", "good", "bad", "--all")
    assert [d["kind"] for d in rest["divergences"]] == ["values", "values", "output", "end"]


def test_lines_are_matched_through_an_edit_of_the_source(dbg, write_program):
    p = write_program("cart.py", CARTS.format(special=-1))
    walked(dbg, p.name, "-b", p.at("cut"))
    dbg("breakpoint", "remove", "--all")
    p.path.write_text('"""Longer."""\nimport os\n' + CARTS.format(special=20))
    walked(dbg, p.name, "-b", f"{p.name}:{p.line('cut') + 2}")

    answer = dbg.data("diff", "1", "2")

    assert answer["edited"] == ["cart.py"]
    first = answer["divergences"][0]
    assert (first["kind"], first["hit"]) == ("values", 2)
    assert first["place"] == f"cart.py:{p.line('cut') + 2}"
    assert {d["path"] for d in first["differences"]} == {"percent", "cut"}


def test_a_run_is_replayed_with_the_source_it_had(dbg, good_and_bad):
    p = good_and_bad
    p.path.write_text("# all gone\n")

    answer = dbg("replay", "bad", "--stop", "3")

    assert "recorded stop 3 of 5" in answer.out
    assert "return price - cut" in answer.out
    assert "as it was then; the file has changed since" in answer.out
    assert "percent = 0" in answer.out


def test_a_replay_shows_what_changed_and_refuses_what_cannot_be(dbg, good_and_bad):
    dbg("replay", "good")
    second = dbg.data("next")
    assert reports.changed(second) == {"price", "cut"}
    assert reports.printed(dbg.data("output", "--all")) == ""

    assert dbg.error("set", "price", "3")["code"] == "unsupported"
    assert dbg.error("pause")["code"] == "unsupported"
    assert dbg.error("print", "discount(1, 2)")["code"] == "usage"
    assert "there are price, percent, cut" in dbg.error("print", "nothing")["message"]
    assert dbg.data("print", "price - cut")["value"]["text"] == "18.0"


def test_a_replay_goes_on_to_breakpoints_and_to_its_end(dbg, good_and_bad):
    p = good_and_bad
    dbg("replay", "good")
    dbg("breakpoint", "remove", "--all")

    there = dbg.data("until", p.at("whole"))
    assert reports.place(there) == p.at("whole")
    end = dbg.data("continue")
    assert end["exit"]["code"] == 0
    assert reports.printed(end) == "90.0\n"
    assert reports.place(dbg.data("restart")) == p.at("cut")


def test_a_replay_is_not_recorded_itself(dbg, good_and_bad):
    dbg("replay", "good")
    dbg("next")

    assert len(dbg.data("sessions", "--all")["recorded"]) == 2


def test_what_is_exported_can_be_imported_and_is_the_same(dbg, good_and_bad, project):
    dbg("export", "bad", "bad.jsonl")

    answer = dbg.data("import", "bad.jsonl")

    assert answer["run"]["label"] == "bad-2"
    assert dbg.data("diff", "bad", "bad-2")["divergences"] == []
    again = dbg("export", "bad-2").out.splitlines()
    before = (project / "bad.jsonl").read_text().splitlines()
    assert again[1:] == before[1:]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no json\n", 1),
        ('{"kind":"stop"}\n', 1),
        ('{"kind":"run","freezeframe":99}\n', 1),
        (
            '{"kind":"run","freezeframe":1,"name":"x","program":"y"}\n{"kind":"stop","thread":"a"}',
            2,
        ),
        ('{"kind":"run","freezeframe":1,"args":[1]}\n', 1),
        ('{"kind":"run","freezeframe":1}\n{"kind":"stop","number":1,"reason":"magic"}', 2),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_its_line(dbg, project, text, line):
    (project / "x.jsonl").write_text(text)

    error = dbg.error("import", "x.jsonl")

    assert error["code"] == "usage"
    assert f"line {line} is not a line of a recording" in error["message"]
    assert dbg.data("sessions", "--all")["recorded"] == []


def test_a_file_that_is_there_is_not_written_over(dbg, good_and_bad, project):
    (project / "x.html").write_text("mine")

    error = dbg.error("export", "good", "x.html")
    assert "already exists" in error["message"]
    assert error["next"] == "dbg export good x.html --force"
    assert (project / "x.html").read_text() == "mine"
    assert dbg.data("export", "good", "x.html", "--force")["format"] == "html"


def test_every_line_of_an_export_is_json_that_says_its_kind(dbg, good_and_bad):
    kinds = [json.loads(line)["kind"] for line in dbg("export", "good").out.splitlines()]

    assert kinds[0] == "run"
    assert kinds.count("stop") == 5
    assert "source" in kinds


def test_hits_of_two_runs_are_held_against_each_other(dbg, good_and_bad):
    p = good_and_bad

    answer = dbg("hit-diff", p.at("cut"), "good:3", "bad:3")

    assert "percent: 10 → 0" in answer.out
    assert "equal: price" in answer.out
    assert dbg.error("hit-diff", p.at("cut"), "1", "9")["code"] == "not-found"
    assert dbg.error("hit-diff", p.at("cut"), "1", "x", code=2)["code"] == "usage"


def test_a_trend_is_a_sparkline_with_its_ends(dbg, good_and_bad):
    p = good_and_bad

    answer = dbg("hit-trend", p.at("cut"), "price", "--run", "good")

    assert "▁▃▆█" in answer.out or "▁▃▅█" in answer.out
    assert "first 10, last 40, min 10 (hit 1), max 40 (hit 4)" in answer.out
    assert "only rises" in answer.out


def test_a_label_moves_to_the_run_that_was_given_it_last(dbg, good_and_bad):
    answer = dbg("save", "good", "--run", "bad")

    assert "the label was taken from run 1" in answer.out
    assert dbg.error("save", "12", code=2)["code"] == "usage"
    assert dbg.error("replay", "gone")["message"].startswith("there is no recorded run gone")


def test_events_tell_what_happened_and_can_be_waited_for(dbg, program):
    p = program("loop.py")
    dbg("start", p.name, "-b", p.at("loop"))

    seen = dbg.data("events")
    kinds = [e["kind"] for e in seen["events"]]
    assert (kinds[0], kinds[-1]) == ("start", "stop")
    waiting = dbg.start_background(
        "--json", "events", "--wait", "--kind", "stop", "--since", str(seen["end"])
    )
    dbg("continue")
    news = waiting.wait().data()
    assert [e["kind"] for e in news["events"]] == ["stop"]
    assert p.at("loop") in news["events"][0]["text"]
    nothing = dbg.data(
        "events", "--wait", "--timeout", "0.1", "--since", str(news["end"]), "--kind", "exit"
    )
    assert nothing["events"] == []
    assert [e["kind"] for e in dbg.data("events", "--tail", "1")["events"]] == ["stop"]
