"""C++ through LLDB's prompt: what its own structures show, and what it does not do by itself."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from harness import programs
from harness.reports import frame_of, place, texts

STEPS = r"""
#include <stdexcept>
#include <thread>

struct pair { int left, right; pair *next; };

struct Broken : std::runtime_error { using std::runtime_error::runtime_error; };
struct Other : std::logic_error { using std::logic_error::logic_error; };

static int sum_of(int count) {
    int sum = 0;
    for (int turn = 0; turn < count; turn++) {
        sum += turn;  // @add
        sum += 1;  // @more
    }
    return sum;  // @sum
}

static void fails(bool first) {
    if (first) throw Other("of another kind");
    throw Broken("of this kind");  // @throw
}

int main() {
    pair second = {3, 4, nullptr}, first = {1, 2, &second};
    pair *pointer = &first;
    int sum = sum_of(3);  // @call
    for (int turn = 0; turn < 2; turn++) {
        try { fails(turn == 0); } catch (std::exception &) { sum += pointer->left; }
    }
    return sum == 8 ? 0 : 1;  // @end
}
"""


@pytest.fixture
def steps(native):
    return native(STEPS)


def test_a_step_that_ends_on_a_breakpoint_has_come_to_it_once(dbg, steps):
    dbg.data("start", steps.name, "-b", steps.at("add"), "-b", steps.at("more"))

    stepped = dbg.data("next")
    assert (stepped["stop"]["reason"], stepped["stop"]["breakpoints"]) == ("breakpoint", [2])
    # It goes on by a step, and by running, and does not report the same location again.
    assert frame_of(dbg.data("next"))["line"] == steps.line("add") - 1
    dbg.data("continue")
    assert dbg.data("next")["stop"]["breakpoints"] == [2]
    again = dbg.data("continue")
    assert (again["stop"]["breakpoints"], texts(again)["turn"]) == ([1], "2")


def test_a_watchpoint_tells_the_line_that_wrote_and_ends_with_its_function(dbg, steps):
    dbg.data("start", steps.name, "-b", steps.at("add"))
    dbg.data("watch", "sum", "--condition", "sum == 6")
    dbg.data("breakpoint", "remove", "--all")

    wrote, left = dbg.data("continue")["stop"]["watch"], dbg.data("continue")

    assert (wrote["new"], wrote["line"]) == ("6", steps.line("more"))
    assert left["stop"]["watch"]["ended"]
    assert place(left) == steps.at("call")
    assert dbg.data("watch", "list")["watchpoints"] == []


def test_exceptions_are_caught_by_type_and_pointers_show_their_members(dbg, steps):
    dbg.data("catch", "throw", "Broken")

    stop = dbg.data("start", steps.name)["stop"]

    assert stop["exception"]["type"] == "Broken"
    assert stop["exception"]["message"] == "of this kind"
    dbg.data("catch", "off")
    dbg.data("until", steps.at("end"))
    shown = dbg.data("print", "pointer", "--depth", "2")["value"]
    members = {each["name"]: each["text"] for each in shown["children"]}
    assert (members["left"], members["right"]) == ("1", "2")


def test_code_that_is_loaded_later_is_broken_at(dbg, native, project):
    plug = programs.write(
        "plug.cpp", 'extern "C" int plug(int n) {\n    return n + 1;\n}\n', project
    )
    compiler = shutil.which("g++") or "c++"
    subprocess.run(
        [compiler, "-g", "-shared", "-fPIC", "-o", "plug.so", plug.source], cwd=project, check=True
    )
    host = native(
        "#include <dlfcn.h>\n"
        "int main() {\n"
        '    auto plug = (int (*)(int))dlsym(dlopen("./plug.so", RTLD_NOW), "plug");\n'
        "    return plug(4);\n}\n",
        "-ldl",
    )

    early = dbg.data("start", host.name, "-b", "plug.cpp:2", "-b", "app.cpp:4")

    assert place(early) == "app.cpp:4"
    assert dbg.data("breakpoint", "list")["breakpoints"][0]["state"] == "bound"
    assert place(dbg.data("continue")) == "plug.cpp:2"
    assert dbg.data("continue")["exit"]["code"] == 5


def test_what_is_optimised_is_said_by_frame_and_by_member(dbg, native):
    split = """
#include <cstdio>
struct acc { long sum, n; };
__attribute__((noinline)) static long note(long v) { return std::printf("%ld\\n", v); }
__attribute__((noinline)) static long run(int k) {
    acc a = {0, 0};
    for (int i = 0; i < k; i++) { a.sum += i; a.n++; note(a.sum); }
    return note(a.sum);
}
int main(int argc, char **argv) { return (int)run(argc + 3); }
"""
    p = native(split, "-O2", name="split")
    dbg.data("start", p.name, "-b", "note")
    dbg.data("up")

    told = dbg("context").out
    assert "in run(k=4) [optimized]" in told, told
    assert "n=<optimized out>" in told, told
