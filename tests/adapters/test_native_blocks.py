"""What blocks, lines and frames of a native program mean: reported once, and for the right one."""

from __future__ import annotations

import re
import subprocess

from harness.reports import frame_of, functions, place, printed, texts, values

BLOCKS = r"""
#include <stdio.h>
#include <string.h>

static int shadowed(int x) {
    int y = 1;
    {
        int x = 20;
        y += x;  // @inner
    }
    y += x;  // @outer
    return y;
}

static int innermost(int n) {
    int twice = n * 2;  // @innermost
    return twice;
}

static int middle(int n) {
    int got = innermost(n + 1);
    return got + 1;
}

static int outermost(int n) {
    int got = middle(n + 1);  // @caller
    return got + 100;
}

struct row { int width, height; };

int main(void) {
    char name[16];
    innermost(4);
    int sum = 0;  // @after
    memset(name, 'z', sizeof name);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "row%d", i);
        sum += i; { int twice = i * 2; sum += twice; }  // @block
        printf("%s %d\n", name, sum);  // @log
    }
    struct row rows[3] = {{1, 2}, {3, 4}, {5, 6}};
    printf("%d %d\n", shadowed(5), rows[1].width);  // @rows
    printf("%d\n", outermost(1));
    return 0;
}
"""


def test_a_line_with_a_block_stops_and_counts_once_each_time_it_is_run(dbg, native):
    p = native(BLOCKS)
    dbg.data("break", p.at("log"), "--log", "{name} {sum}")
    seen, logged = [], ""
    report = dbg.data("start", p.name, "-b", p.at("block"))
    while report["state"] == "stopped":
        seen.append(texts(report)["i"])
        report = dbg.data("continue")
        logged += printed(report, "log")

    assert seen == ["0", "1", "2"]
    # What lies behind the end of a text is not part of it.
    assert logged.split("\n") == ['"row0" 0', '"row1" 3', '"row2" 9', ""]


def test_a_variable_is_not_taken_for_another_one_of_its_name(dbg, native):
    p = native(BLOCKS)
    dbg.data("start", p.name, "-b", p.at("inner"))
    inside = dbg.data("locals")
    dbg.data("break", p.at("outer"))
    outside = values(dbg.data("continue"))

    listed = [value["name"] for scope in inside["scopes"] for value in scope["values"]]
    assert listed.count("x") == 1
    assert texts(inside)["x"] == "20"
    assert (outside["x"]["text"], outside["x"]["changed"]) == ("5", False)
    assert (outside["y"]["text"], outside["y"]["changed"]) == ("21", True)


def test_finish_finishes_the_frame_that_is_selected(dbg, native):
    p = native(BLOCKS)
    dbg.data("start", p.name, "-b", p.at("innermost"), "-b", p.at("after"))
    # A breakpoint where a function returns to hides no value.
    back = dbg.data("finish")
    hits = [each["hits"] for each in dbg.data("breakpoint", "list")["breakpoints"]]
    dbg.data("continue")
    dbg.data("up")

    report = dbg.data("finish")

    assert (place(back), back["returned"]["text"], hits) == (p.at("after"), "8", [1, 1])
    assert (report["returned"]["text"], frame_of(report)["function"]) == ("7", "outermost")


def test_a_range_shows_what_is_in_each_element(dbg, native):
    p = native(BLOCKS)
    dbg.data("start", p.name, "-b", p.at("rows"))

    out = dbg("print", "rows", "--range", "1:3").out

    assert "width=3, height=4" in out
    assert "width=5, height=6" in out


def test_instructions_of_another_function_are_not_where_the_program_stands(dbg, native):
    p = native(BLOCKS)
    dbg.data("start", p.name, "-b", p.at("rows"))

    shown = dbg.data("disassemble", "innermost")["instructions"]

    assert shown[-1]["text"].split()[0] in ("ret", "retq")
    assert not any(each["current"] for each in shown)


def test_a_function_without_debug_information_is_the_user_s_own(dbg, native, project):
    plain = project / "plain.c"
    plain.write_text("int twice(int x); int plain(int x) { return twice(x) + 1; }\n")
    subprocess.run(["gcc", "-c", "plain.c", "-o", "plain.o"], cwd=project, check=True)
    p = native(
        "int plain(int x);\nint twice(int x) { return x * 2; }  // @twice\n"
        "int main(void) { return plain(1) - 3; }\n",
        str(project / "plain.o"),
    )
    dbg.data("start", p.name, "-b", p.at("twice"))

    [stack] = dbg.data("backtrace")["stacks"]

    own = [frame["function"] for frame in stack["frames"] if not frame["library"]]
    assert own == ["twice", "plain", "main"]


def test_a_program_without_debug_information_is_said_to_have_none(dbg, native):
    p = native("int main(void) { return 0; }\n", "-g0")

    assert "has no debug information" in dbg("start", p.name, "-b", "main").out


ONE_LINE = r"""
static int add(int a, int b) { return a + b; } // @add
static int last(int code) { { int copy = code; return copy; } } // @last

static int fill(int n) {
    int sized[n], fixed[2] = {8, 9};
    for (int i = 0; i < n; i++) sized[i] = i * 2;
    return sized[n - 1] + fixed[0]; // @filled
}

int main(void) {
    int dirty[64];
    for (int i = 0; i < 64; i++) dirty[i] = 77;
    int sum = add(dirty[0] - 76, 10); // @call
    return last(sum + add(2, 20) == 33 && fill(3) == 12 ? 0 : 1);
}
"""


def test_the_arguments_of_a_function_on_one_line_are_told_right_or_not_at_all(dbg, native):
    p = native(ONE_LINE)
    report = dbg.data("start", p.name, "-b", p.at("add"), "-b", p.at("call"))
    assert place(report) == p.at("call")
    stepped = texts(dbg.data("step"))
    assert {stepped["a"], stepped["b"]} in ({"1", "10"}, {"<not initialised yet>"})
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("finish")
    dbg.data("break", "add")

    again = dbg.data("continue")

    assert (place(again), texts(again)) == (p.at("add"), {"a": "2", "b": "20"})
    dbg.data("break", p.at("filled"))
    filled = dbg("continue").out
    # gcc writes an expression for the length, which LLDB cannot evaluate.
    assert re.search(r"sized = (.*\(0, 2, 4\)|<array of unknown length>)$", filled, re.MULTILINE)
    assert re.search(r"fixed = .*\(8, 9\)", filled)
    assert dbg.data("print", "sized[2]")["value"]["text"] == "4"
    dbg.data("break", p.at("last"))  # the line has a block of its own, and a second location
    assert texts(dbg.data("continue"))["code"] == "0"
    dbg("print", "add(1, 2)")  # a breakpoint is in it: the program stays where it is all the same
    assert functions(dbg.data("backtrace")["stacks"][0])[:2] == ["last", "main"]
    assert dbg.data("continue")["exit"]["code"] == 0
