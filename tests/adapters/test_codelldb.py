"""What CodeLLDB does in its own way, beyond the contract."""

from __future__ import annotations

import pytest

from harness.reports import frame_of, printed, shown

PROGRAM = """\
#include <cstdio>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

int counter = 0;

struct cell { int tag; union { int whole; float real; }; };

static void bump(int by) {
    counter += by;  // @write
    std::printf("bump %d\\n", by);  // @written
}

int main() {
    int *nothing = nullptr, notes = 7;
    cell cells{3, {4}};
    std::vector<std::string> names{"ada", "bob"};
    std::unordered_map<int, std::string> words{{7, "seven"}};
    for (int i = 1; i < 4; i++) {
        bump(i);  // @call
    }
    for (int i = 0; i < 2; i++) {
        try {
            if (i == 0) {
                throw std::logic_error("first");
            }
            throw std::out_of_range("second");  // @second
        } catch (const std::exception &) {
        }
    }
    return nothing == nullptr ? 0 : 1;
}
"""


@pytest.fixture
def started(dbg, native):
    """The program above, at the first call of `bump`."""
    p = native(PROGRAM)
    dbg.data("start", p.name, "-b", p.at("call"))
    dbg.data("breakpoint", "remove", "--all")
    return p


def test_an_exception_is_caught_by_its_type(dbg, started):
    dbg.data("catch", "throw", "std::out_of_range")

    report = dbg.data("continue")

    assert report["stop"]["reason"] == "exception"
    assert shown(report) == started.at("second")
    assert report["stop"]["exception"]["type"] == "std::out_of_range"
    assert report["stop"]["exception"]["message"] == "second"
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_watchpoint_heeds_its_condition_and_tells_the_line_that_wrote(dbg, started):
    dbg.data("watch", "counter", "--condition", "counter > 2")

    report = dbg.data("continue")

    seen = report["stop"]["watch"]
    assert dbg.data("print", "counter")["value"]["text"] == "3"
    assert (seen["line"] or frame_of(report)["line"]) == started.line("write")


def test_a_breakpoint_where_a_watchpoint_stops_is_told_and_counted(dbg, started):
    dbg.data("watch", "counter")
    dbg.data("break", started.at("written"), "--if", "by != 2")

    stops = [dbg.data("continue")["stop"] for _ in range(3)]

    ids = [each["id"] for each in dbg.data("breakpoint", "list")["breakpoints"]]
    assert [stop["watch"]["new"] for stop in stops] == ["1", "3", "6"]
    assert [stop["breakpoints"] for stop in stops] == [ids, [], ids]


def test_a_condition_that_fails_beside_a_logpoint_stops_and_says_why(dbg, started):
    dbg.data("break", started.at("written"), "-c", "no_such_name == 1")
    dbg.data("break", started.at("written"), "--log", "{{by}} is {by}")

    answer = dbg("continue").out

    assert "breakpoint 2 fails: there is no variable no_such_name" in answer
    assert "log| {by} is 1" in answer


def test_containers_and_unnamed_members_are_readable(dbg, started):
    assert dbg.data("print", "names[1]")["value"]["text"] == '"bob"'
    listed = dbg("locals").out
    assert "seven" in listed
    assert "cells = cell(tag=3, whole=4, real=" in listed


def test_a_pointer_to_nothing_is_an_address(dbg, started):
    assert dbg.data("print", "nothing")["value"]["text"] == "0x0"
    assert dbg.data("print", "notes")["value"]["text"] == "7"


def test_what_a_command_prints_is_its_answer_and_nothing_else(dbg, started):
    assert "lldb version" in dbg.data("raw", "version")["text"]

    assert printed(dbg.data("output", "--all"), "console", "log") == ""


def test_a_debug_server_is_refused_by_name(dbg, started):
    error = dbg.error("attach", "127.0.0.1:1")

    assert error["code"] == "unsupported"
