"""What GDB's own DAP server does only with our help, beyond the contract."""

from __future__ import annotations

import subprocess

import pytest

from harness import waits
from harness.reports import frame_of, printed, shown, unreadable

PROGRAM = """\
#include <cstdio>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

int counter = 0;

static int bump(int by) {
    counter += by;  // @write
    return counter;
}

int main(int argc, char **) {
    std::vector<std::string> names{"ada", "bob"};
    int *nothing = nullptr;
    for (int i = 1; i < 4; i++) {
        bump(i);  // @call
    }
    try {
        throw std::logic_error("first");  // @throw
    } catch (const std::exception &) {
    }
    while (argc > 1) {
        counter++;
        usleep(1000);  // @sleeping
    }
    *nothing = 1;  // @crash
    return 0;
}
"""


@pytest.fixture
def program(native):
    return native(PROGRAM)


def test_a_watchpoint_heeds_its_condition_and_tells_the_line_that_wrote(dbg, program):
    dbg.data("start", program.name, "-b", program.at("call"))
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("watch", "counter", "--condition", "counter > 2")

    report = dbg.data("continue")

    seen = report["stop"]["watch"]
    assert report["stop"]["reason"] == "watchpoint"
    assert dbg.data("print", "counter")["value"]["text"] == "3"
    assert (seen["line"] or frame_of(report)["line"]) == program.line("write")


def test_a_throw_is_an_exception_told_by_its_type(dbg, program):
    dbg.data("catch", "throw", "std::logic_error")

    report = dbg.data("start", program.name)

    assert report["stop"]["reason"] == "exception"
    assert shown(report) == program.at("throw")
    exception = report["stop"]["exception"]
    assert (exception["type"], exception["message"]) == ("std::logic_error", "first")
    # An exception of another type does not stop it.
    dbg.data("catch", "throw", "out_of_range")
    assert shown(dbg.data("restart")) == program.at("crash")


def test_a_crash_names_its_signal_and_so_does_the_end(dbg, program):
    report = dbg.data("start", program.name)

    assert report["stop"]["reason"] == "signal"
    assert report["stop"]["description"] == "SIGSEGV: no memory at address 0x0"
    assert frame_of(report)["line"] == program.line("crash")
    assert dbg.data("continue")["exit"]["signal"] == "SIGSEGV"


def test_a_core_file_shows_the_moment_of_death(dbg, program, project):
    dbg.data("start", program.name)
    dbg.data("raw", f"gcore {project / 'saved.core'}")
    dbg.data("stop")

    report = dbg.data("core", program.name, "saved.core")

    assert frame_of(report)["line"] == program.line("crash")
    assert "ada" in dbg("locals").out
    assert dbg.error("continue")["code"] == "unsupported"


def test_a_process_goes_on_when_it_was_joined_and_when_it_was_left(dbg, program):
    with subprocess.Popen([program.path, "forever"], stdin=subprocess.DEVNULL) as process:
        try:
            joined = dbg.data("attach", process.pid, "--timeout", 1)
            assert joined["state"] == "running"
            waits.wait_until(lambda: waits.state_of(process.pid) in "RS", "it runs")
            assert dbg.data("pause")["state"] == "stopped"
            dbg.data("detach")
            waits.wait_until(lambda: waits.state_of(process.pid) in "RS", "it runs on")
        finally:
            process.kill()


def test_what_gdb_says_itself_is_not_the_program_s_output(dbg, program):
    report = dbg.data("start", program.name, "-b", program.at("crash"))

    assert printed(report) == ""


ALIASES = """\
#include <cstring>
#include <list>
#include <utility>

struct Base {
    int x = 2;
    virtual ~Base() = default;
};
struct Derived : virtual Base {
    int z = 4;
};
struct Empty {};

static int look(int by, const Base &base, Base *pointer, Derived &unmade) {
    Empty empty;
    std::pair<int, int> both{8, 9};
    std::list<int> linked{4, 5};
    return by + base.x + pointer->x;  // @look
}

int main() {
    Derived made;
    alignas(Derived) unsigned char raw[sizeof(Derived)];
    std::memset(raw, 0x5a, sizeof raw);
    return look(7, made, &made, reinterpret_cast<Derived &>(raw)) == 0;
}
"""


def test_values_are_shown_as_gdb_itself_shows_them(dbg, native):
    p = native(ALIASES)
    told = dbg("start", p.name, "-b", p.at("look")).out

    # What a reference leads to, the real type behind a pointer, and no tables of the compiler's.
    assert unreadable(told, {"base": r"x=2", "pointer": r"Derived\(.*z=4"}) == []
    assert "  empty = {}\n" in told
    assert "  both = pair(first=8, second=9)\n" in told
    assert "  linked = list(4, 5)\n" in told
    assert "_vptr" not in told
    # What cannot be read takes nothing from the others.
    assert "  unmade = <cannot be shown: " in told
    first = dbg.data("backtrace")["stacks"][0]["frames"][0]
    assert first["arguments"].startswith("by=7, pointer=0x")


def test_out_of_main_is_to_the_end_and_without_variables_there_are_none(dbg, native):
    p = native("int main() {\n    return 3;  // @alone\n}\n")
    dbg.data("start", p.name, "-b", p.at("alone"))

    assert "no locals in main" in dbg("locals").out
    assert "no arguments in main" in dbg("args").out
    assert dbg.data("finish")["exit"]["code"] == 3


OPTIMISED = """\
#include <cstdio>

__attribute__((noinline)) static int note(int v) {
    std::printf("%d\\n", v);  // @note
    return v;
}

int main(int argc, char **) { return note(argc + 3) - 4; }
"""


def test_frames_of_optimised_code_say_so(dbg, native):
    p = native(OPTIMISED, "-O2")
    dbg.data("start", p.name, "-b", p.at("note"))

    stack = dbg("backtrace").out
    assert stack.count("[optimized]") == 2, stack


BLOCKED = """\
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

std::mutex first, second;

static void one(int amount) {
    first.lock();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    second.lock();  // @one
    std::printf("%d\\n", amount);
}

static int pick(int *from, int i) {
    return from[i];  // @beyond
}

int main(int argc, char **) {
    if (argc == 1) {
        int *some = static_cast<int *>(std::malloc(4 * sizeof(int)));
        return pick(some, 4);
    }
    std::thread other(one, 5);
    second.lock();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    first.lock();  // @main
    other.join();
}
"""


def test_a_sanitizer_s_report_stops_and_a_deadlock_names_the_holders(dbg, native):
    p = native(BLOCKED, "-fsanitize=address", "-pthread")
    report = dbg.data("start", p.name)
    assert report["stop"]["exception"]["type"] == "AddressSanitizer"
    assert report["stop"]["exception"]["message"].startswith("heap-buffer-overflow")
    assert shown(report) == p.at("beyond")

    dbg.data("start", "--no-wait", p.name, "--", "hang")
    waits.wait_until(
        lambda: "held by thread 1" in dbg("await", "--timeout", 1).out, "a deadlock", timeout_s=60
    )
    dbg.data("pause")
    stacks = dbg("backtrace", "--all-threads").out
    assert "held by thread 1" in stacks
    assert "held by thread 2" in stacks
