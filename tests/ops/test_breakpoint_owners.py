"""Whose breakpoints are: those of `start` end with their session, others are the workspace's."""

from __future__ import annotations

from harness.reports import place


def test_breakpoints_given_to_start_end_with_their_session(dbg, program):
    p = program("loop.py")
    dbg.data("break", p.at("last"))
    report = dbg.data("start", p.name, "-b", p.at("loop"))
    assert place(report) == p.at("loop")

    report = dbg.data("start", p.name)

    assert place(report) == p.at("last")
    left = dbg.data("breakpoint", "list")["breakpoints"]
    assert [each["location"].rpartition("/")[2] for each in left] == [p.at("last")]


def test_breakpoints_given_to_start_stay_for_a_restart(dbg, program):
    p = program("loop.py")
    dbg.data("start", p.name, "-b", p.at("last"))
    assert dbg.data("continue")["state"] == "terminated"

    assert place(dbg.data("restart")) == p.at("last")


def test_one_that_is_set_again_belongs_to_the_workspace(dbg, program):
    p = program("loop.py")
    dbg.data("start", p.name, "-b", p.at("last"))
    dbg.data("break", p.at("last"))

    assert place(dbg.data("start", p.name)) == p.at("last")


def test_one_given_to_start_stops_no_other_session_until_it_is_set_again(dbg, program):
    p = program("loop.py")
    dbg.data("start", p.name, "--name", "one", "-b", p.at("loop"))
    report = dbg.data("-s", "two", "start", p.name, "-b", p.at("first"))
    assert place(report) == p.at("first")
    dbg.data("break", p.at("last"))
    assert place(dbg.data("-s", "two", "continue")) == p.at("last")

    dbg.data("-s", "three", "start", p.name, "-b", p.at("first"))
    dbg.data("break", p.at("loop"))

    assert place(dbg.data("-s", "three", "continue")) == p.at("loop")
