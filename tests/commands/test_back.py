"""Time travel at a live stop: the past of the program, walked in a trace of its second run."""

from __future__ import annotations

from test_why import CART, DIFFERENT, write

from harness.reports import place, texts


def described(report) -> str:
    return report["stop"]["description"]


def test_the_past_of_a_stop_is_walked_both_ways_until_the_present_is_reached(dbg):
    write(dbg, CART)
    dbg("start", "app.py", "-b", "app.py:13")

    back = dbg.data("back", "2")
    assert (place(back), texts(back)["prices"]) == ("app.py:12", "[0, 0]")
    assert "the program itself is at app.py:13" in described(back)
    inside = dbg.data("reverse-step", "2")  # the head of the loop, then into price(2)
    assert (place(inside), texts(inside)["n"], texts(inside)["p"]) == ("app.py:7", "2", "0")
    assert dbg.data("print", "n + p")["value"]["text"] == "2"
    stack = dbg.data("backtrace")["stacks"][0]["frames"]
    assert [frame["line"] for frame in stack] == [7, 12, 16]
    assert texts(dbg.data("frame", "1"))["prices"] == "[0]"
    assert place(dbg.data("context")) == "app.py:7"
    assert dbg.data("why", "p", "--frame", "0")["links"][0]["line"] == 4
    for command in (("set", "p", "3"), ("eval", "p"), ("jump", "5"), ("trace", "price")):
        assert "the past" in dbg.error(*command)["message"]

    dbg("frame", "0")
    assert place(dbg.data("finish")) == "app.py:11"
    dbg("break", "app.py:6", "-c", "n > 10")
    hit = dbg.data("continue")
    assert (place(hit), hit["stop"]["reason"]) == ("app.py:6", "breakpoint")
    assert place(dbg.data("reverse-finish")) == "app.py:12"
    assert place(dbg.data("reverse-continue")) == "app.py:1"
    assert "first recorded step" in dbg.error("back")["message"]
    again = dbg.data("present")
    assert (place(again), texts(again)["prices"]) == ("app.py:13", "[0, 0, -5]")
    dbg.data("back")
    present = dbg.data("next")
    assert (place(present), present["notes"][0]) == ("app.py:13", "this is the present again")
    dbg.data("set", "prices[0]", "9")
    assert place(dbg.data("next")) == "app.py:14"


RAISES = """\
def half(n):
    m = n // 2
    return m

print([1][half(8)])
"""


def test_the_past_of_an_exception_begins_in_what_its_line_called(dbg):
    write(dbg, RAISES)
    dbg("start", "app.py")

    inside = dbg.data("reverse-step")

    assert (place(inside), texts(inside)["m"]) == ("app.py:3", "4")
    assert [hit["cells"][0] for hit in dbg.data("hits", "half", "--run", "app-trace")["hits"]] == [
        "8"
    ]
    assert place(dbg.data("back", "2")) == "app.py:5"
    assert dbg.data("continue")["stop"]["reason"] == "exception"


def test_a_second_run_that_differed_is_said_where_its_past_is_shown(dbg):
    write(dbg, DIFFERENT)
    dbg("start", "app.py", "-b", "app.py:8")

    notes = " ".join(dbg.data("back")["notes"])

    assert "the second run differed (runs was 1, then 2" in notes


def test_the_trace_of_a_question_is_a_run_that_hits_replay_and_export_work_on(dbg):
    write(dbg, CART)
    dbg("start", "app.py", "-b", "app.py:13")
    dbg("why", "prices")

    hits = dbg.data("hits", "price", "--run", "app-trace")
    assert [hit["cells"][0] for hit in hits["hits"]] == ["1", "2", "12"]
    assert dbg.error("hits", "app.py:4")["code"] == "not-found"  # the session's own run
    page = dbg.data("export", "app-trace", "app.html")
    assert page["size"] == (dbg.project / "app.html").stat().st_size
    dbg("stop")
    first = dbg.data("replay", "app-trace")
    assert (place(first), described(first)) == ("app.py:1", "step 1 of 23")
    dbg("break", "app.py:6")
    hit = dbg.data("continue")
    assert (place(hit), texts(hit)["p"], texts(hit)["n"]) == ("app.py:6", "0", "12")
    assert place(dbg.data("next")) == "app.py:7"
    assert place(dbg.data("next")) == "app.py:11"
    assert place(dbg.data("back", "2")) == "app.py:11"
    assert place(dbg.data("reverse-step", "2")) == "app.py:5"
