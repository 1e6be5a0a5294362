"""A program that records each call of its own hooks behaves as without a debugger."""

from __future__ import annotations

from harness.reports import place, printed, texts


def test_no_hook_of_a_program_runs_because_it_is_looked_at(dbg, sample):
    p = sample("hooks")
    report = dbg.data("start", p.name, "-b", p.at("one"))
    assert "plain" in texts(report)["hooked"]
    for _ in range(3):
        dbg.data("locals", "--all")
        dbg.data("context")
        dbg.data("next")
    dbg.data("backtrace", "--locals")
    filters = str(dbg.data("catch", "list"))
    if "raised" in filters:
        dbg.data("catch", "raised")
        assert place(dbg.data("continue")) == p.at("raised")
        dbg.data("context")
        dbg.data("catch", "off")
    dbg.data("break", p.at("return"))
    assert place(dbg.data("continue")) == p.at("return")
    dbg.data("backtrace", "--locals")
    dbg.data("step")
    dbg.data("finish")

    assert "calls []" in printed(dbg.data("continue"))
