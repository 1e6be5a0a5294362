"""`crash`: what a program failed with, on which operands, and where the bad value came from."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

from harness.requirements import give_up, need

_PRICES = """\
def pick(rows, n):
    at = n * 2  # @made
    return rows[at]  # @fails
def total(rows):
    found = 0
    for n in range(4):
        found += pick(rows, n)  # @call
    return found
total([3, 4, 5])
"""
_LIST = """\
#include <stdio.h>
#include <stdlib.h>
struct node { int v; struct node *next; };
static int after(struct node *hit) {
    return hit->next->v;  // @fails
}
int main(void) {
    struct node a = {1, NULL};
    return after(a.next);
}
"""
_BUFFER = """\
#include <stdlib.h>
static int *make(int n) {
    return malloc(n * sizeof(int));  // @made
}
static int sum(int *p, int n) {
    int total = 0;
    for (int i = 0; i <= n; i++)
        total += p[i];  // @fails
    return total;
}
int main(void) {
    return sum(make(5), 5);
}
"""


def test_an_exception_has_its_operands_its_frames_and_the_chain_of_the_bad_value(
    dbg, write_program
):
    p = write_program("prices.py", _PRICES)
    dbg("break", p.at("call"))

    answer = dbg.data("crash", p.name)

    assert (answer["how"], answer["left"]) == ("crashed", "stopped")
    failure = answer["failure"]
    assert (failure["type"], failure["message"]) == ("IndexError", "list index out of range")
    assert answer["operands"] == ["at = 4", "rows has 3 items"]
    assert [frame["function"] for frame in failure["frames"]] == ["<module>", "total", "pick"]
    links = failure["origin"]["links"]
    assert (links[0]["line"], links[0]["new"]) == (p.line("made"), "4")
    assert "passed 3 stops before the crash" in answer["notes"]
    assert dbg.data("print", "at")["value"]["text"] == "4", "the program is stopped there"


def test_a_fatal_signal_in_python_has_the_frames_of_its_fault_handler(dbg, write_program):
    write_program("poke.py", "import ctypes\ndef poke(at):\n    ctypes.string_at(at)\npoke(16)\n")

    answer = dbg.data("crash", "poke.py")

    assert answer["exit"]["signal"] == "SIGSEGV"
    assert answer["failure"]["message"] == "Segmentation fault"
    assert [(each["function"], each["line"]) for each in answer["failure"]["frames"]] == [
        ("<module>", 4),
        ("poke", 3),
    ]
    assert dbg.data("sessions")["sessions"] == []


def test_a_program_that_does_not_crash_is_told_as_it_ended(dbg, write_program):
    write_program("ends.py", "print('done')\nraise SystemExit(3)\n")

    told = dbg("crash", "ends.py").out

    assert told.startswith("ends does not crash: it exited: code 3"), told
    assert dbg.data("sessions")["sessions"] == []


def test_a_sanitizer_is_read_from_its_head_with_the_frames_alive(dbg, write_program, project):
    need("gcc", "apt-get install gcc")
    p = write_program("buffer.c", _BUFFER)
    command = ["gcc", "-g", "-fsanitize=address", p.name, "-o", "buffer"]
    if subprocess.run(command, cwd=project).returncode:
        give_up("gcc has no AddressSanitizer: apt-get install libasan8")

    answer = dbg.data("crash", "./buffer")

    report = answer["sanitizer"]
    assert (report["tool"], report["kind"]) == ("AddressSanitizer", "heap-buffer-overflow")
    lines = [each["frames"][0]["line"] for each in report["stacks"]]
    assert lines == [p.line("fails"), p.line("made")]
    inner = answer["failure"]["frames"][-1]
    assert {value["name"]: value["text"] for value in inner["values"]}["i"] == "5"


def test_a_core_file_is_opened_with_its_program_and_the_bad_pointer_is_named(
    dbg, write_program, project
):
    need("gcc", "apt-get install gcc")
    p = write_program("list.c", _LIST)
    subprocess.run(["gcc", "-g", "-O0", p.name, "-o", "list"], cwd=project, check=True)
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    subprocess.run(
        ["./list"],
        cwd=project,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, unlimited),
    )
    cores = [each.name for each in Path(project).glob("core*")]
    if not cores:
        give_up("this system writes no core files into the directory of a program")

    answer = dbg.data("crash", cores[0])

    assert (answer["left"], answer["failure"]["type"]) == ("core", "SIGSEGV")
    assert "hit is NULL" in answer["notes"]
    assert answer["failure"]["frames"][-1]["line"] == p.line("fails")
