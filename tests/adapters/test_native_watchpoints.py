"""Watchpoints that meet: on one address, with a breakpoint, on reads beside writes."""

from __future__ import annotations

from harness.reports import place

ACCESSES = r"""
#include <stdio.h>

int level = 1, seen;

static void touch(int i) {
    level = i;
    seen += level;  // @read
    printf("%d\n", seen);
}

int main(void) {
    for (int i = 10; i < 13; i++)
        touch(i);  // @call
    return 0;
}
"""


def test_watchpoints_on_one_address_each_tell_their_own_accesses(dbg, native):
    p = native(ACCESSES, name="accesses")
    dbg.data("start", p.name, "-b", p.at("call"))
    dbg.data("watch", "level")
    dbg.data("watch", "level", "--read")
    dbg.data("breakpoint", "remove", "--all")

    stops = [dbg.data("continue")["stop"] for _ in range(4)]

    seen = [(stop["watch"]["id"], stop["watch"]["old"], stop["watch"]["new"]) for stop in stops]
    assert seen == [(1, "1", "10"), (2, None, "10"), (1, "10", "11"), (2, None, "11")]
    dbg.data("watch", "remove", "1")
    assert dbg.data("continue")["stop"]["watch"]["new"] == "12"
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_watchpoint_and_a_breakpoint_at_one_place_are_both_told_and_counted(dbg, native):
    p = native(ACCESSES, name="accesses")
    dbg.data("start", p.name, "-b", p.at("read"))
    dbg.data("watch", "level")

    watched, hit = [], 0
    while (stop := (report := dbg.data("continue")).get("stop")) is not None:
        assert place(report) == p.at("read")
        watched += [stop["watch"]["new"]] if stop["watch"] else []
        hit += len(stop["breakpoints"])

    assert (watched, hit) == (["11", "12"], 2)
    assert dbg.data("breakpoint", "list")["breakpoints"][0]["hits"] == 3


def test_a_breakpoint_between_two_watchpoints_hides_neither(dbg, native):
    p = native(ACCESSES, name="accesses")
    dbg.data("start", p.name, "-b", p.at("call"))
    dbg.data("watch", "level")
    dbg.data("breakpoint", "add", p.at("read"))
    dbg.data("watch", "level")
    dbg.data("breakpoint", "disable", "1")

    watched, hit = [], 0
    while (stop := dbg.data("continue").get("stop")) is not None:
        if stop["watch"] is not None:
            watched.append([stop["watch"]["id"], *(each["id"] for each in stop["watch"]["also"])])
        hit += len(stop["breakpoints"])

    assert (watched, hit) == ([[1, 2]] * 3, 3)


def test_a_read_watchpoint_does_not_hide_the_breakpoint_after_a_write(dbg, native):
    p = native(ACCESSES, name="accesses")
    dbg.data("start", p.name, "-b", p.at("call"))
    dbg.data("watch", "level", "--read")
    dbg.data("breakpoint", "add", p.at("read"))
    dbg.data("breakpoint", "disable", "1")

    stops = [dbg.data("continue")["stop"] for _ in range(4)]

    reads = [stop["watch"] and (stop["watch"]["old"], stop["watch"]["new"]) for stop in stops]
    assert reads == [None, (None, "10"), None, (None, "11")]
    assert [len(stop["breakpoints"]) for stop in stops] == [1, 0, 1, 0]
