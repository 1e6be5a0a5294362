"""`trace`: the life of a call, recorded by stepping, with every debugger."""

from __future__ import annotations

import pytest

from harness.reports import bare


def test_trace_tells_the_life_of_a_call_and_stops_in_its_caller(dbg, sample, debugger):
    p = sample("loop")
    if p.name.endswith((".hs", ".ml")):
        pytest.skip("Haskell's loop is a recursion; ocamldebug 4.13 crashes at its second finish")
    dbg.data("start", p.name, "-b", p.at("main"))
    dbg.data("break", p.at("callee"))

    report = dbg.data("trace", p.at("loop"))

    assert bare(report["function"]) == "total_of"
    rows = {row["line"]: row for row in report["lines"]}
    changes = {each["name"]: each["values"] for each in rows[p.line("loop")]["changes"]}
    assert changes[debugger.says("total")] == ["6", "11", "19"]
    changes = {each["name"]: each["values"] for each in rows[p.line("call")]["changes"]}
    assert changes[debugger.says("amount")] == ["6", "5", "8"]
    assert [row["rounds"] for row in report["lines"] if row["rounds"] is not None] == [3]
    assert report["returned"] in ("19", None)
    assert report["ended"]
    assert not report["raised"]
    assert report["passed"] == [[2, 3]], "a breakpoint inside is counted and passed"
    assert bare(report["now"]["function"]) == "main"
    assert [each["id"] for each in dbg.data("breakpoint", "list")["breakpoints"]] == [1, 2]
    assert dbg.data("breakpoint", "list")["breakpoints"][1]["hits"] == 3
    dbg.data("breakpoint", "remove", "--all")
    assert dbg.data("continue")["state"] == "terminated"


def test_why_steps_a_second_run_to_the_statement_that_made_a_value(dbg, sample, debugger):
    p = sample("loop")
    if p.source.suffix in (".py", ".hs", ".ml", ".pl", ".php"):
        pytest.skip("Python is traced inside; the others are not read by any_source well enough")
    dbg.data("start", p.name, "-b", p.at("last"))

    answer = dbg.data("why", "total")

    first = answer["links"][0]
    assert (answer["value"], first["line"]) == ("19", p.line("loop"))
    assert (first["old"], first["new"]) == ("11", "19")
    assert p.line("callee") in [each["line"] for each in answer["links"]]
    assert len(dbg.data("sessions")["sessions"]) == 1
