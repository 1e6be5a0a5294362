"""What is recorded, for every debugger: the same questions have the same answers."""

from __future__ import annotations

from harness import reports


def hits(dbg, *words):
    return dbg.data("hits", *words)


def test_every_round_of_a_loop_is_a_hit_and_two_runs_do_not_diverge(dbg, sample, debugger):
    p = sample("loop")
    for label in ("one", "other"):
        dbg("start", p.name, "-b", p.at("loop"))
        dbg("batch", "continue", "next", "continue", "continue")
        dbg("save", label)

    asked = map(debugger.says, ("total", "amount", "total + amount"))
    table = hits(dbg, p.at("loop"), *asked)

    assert [hit["cells"] for hit in table["hits"]] == [
        ["0", "6", "6"],
        ["6", "5", "11"],
        ["11", "8", "19"],
    ]
    assert [hit["number"] for hit in table["hits"]] == [1, 2, 3]
    assert table["run"]["exit"]["code"] == 3
    narrowed = debugger.says("total > 0 && amount < 8")
    few = hits(dbg, p.at("loop"), debugger.says("total"), "--where", narrowed)
    assert [hit["cells"] for hit in few["hits"]] == [["6"]]
    answer = dbg.data("diff", "one", "other")
    assert answer["divergences"] == []
    assert answer["equal_stops"] == answer["a"]["stops"] == 4


def test_a_recursion_is_recorded_by_its_name_and_by_its_line(dbg, sample, debugger):
    p = sample("recursion")
    dbg("start", p.name, "-b", "down")
    dbg("batch", *["continue"] * 9)
    dbg("breakpoint", "remove", "--all")
    dbg("continue")

    table = hits(dbg, "down", debugger.says("depth"))

    assert [hit["cells"] for hit in table["hits"]] == [[str(9 - n)] for n in range(10)]
    place = table["hits"][0]["place"]
    assert place.startswith(p.file("bottom"))
    by_line = [hit["stop"] for hit in hits(dbg, place)["hits"]]
    assert by_line == [hit["stop"] for hit in table["hits"] if hit["place"] == place]
    trend = dbg.data("hit-trend", "down", debugger.says("depth"))
    assert trend["points"] == [float(9 - n) for n in range(10)]


def test_a_recorded_run_is_walked_like_a_live_one(dbg, sample, debugger):
    p = sample("loop")
    first = dbg.data("start", p.name, "-b", p.at("loop"))
    live = [first, dbg.data("continue"), dbg.data("next")]
    stack = dbg.data("backtrace")["stacks"][0]
    dbg("stop")

    seen = [dbg.data("replay"), dbg.data("next"), dbg.data("next")]

    assert [reports.place(each) for each in seen] == [reports.place(each) for each in live]
    assert [reports.texts(each)["total"] for each in seen] == ["0", "6", "11"]
    assert reports.functions(dbg.data("backtrace")["stacks"][0]) == reports.functions(stack)
    assert dbg.data("print", debugger.says("total - amount"))["value"]["text"] == "6"
    assert reports.place(dbg.data("back")) == reports.place(live[1])
    assert dbg.error("back", "5")["message"] == "this is the first recorded stop."
    assert dbg.data("locals")
