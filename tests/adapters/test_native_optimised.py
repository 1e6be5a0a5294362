"""Optimised code: each frame says that it is, and what the compiler left nowhere has no value."""

from __future__ import annotations

import os

SPLIT = r"""
#include <stdio.h>

struct acc { long sum, n; };

__attribute__((noinline)) static long note(long v) {
    printf("%ld\n", v);  // @note
    return v;
}

__attribute__((noinline)) static long run(int k) {
    struct acc a = {0, 0};
    for (int i = 0; i < k; i++) {
        a.sum += i;
        a.n++;
        note(a.sum);
    }
    return note(a.sum);
}

int main(int argc, char **argv) { return (int)run(argc + 3); }
"""


def test_frames_of_optimised_code_say_so_and_a_lost_member_has_no_value(dbg, native):
    p = native(SPLIT, "-O2", name="split")
    dbg.data("start", p.name, "-b", p.at("note"))
    dbg.data("continue")

    assert "another copy" in dbg("set", "v", "7").out
    stack = dbg("backtrace").out
    assert [line.split()[-1] for line in stack.splitlines() if "split.c:" in line] == [
        "[optimized]",
        "[optimized]",
        "[optimized]",
    ], stack
    dbg.data("up")
    assert "a = acc(sum=1, n=<optimized out>)" in dbg("locals").out
    assert dbg.data("print", "a.n")["value"]["text"] == "<optimized out>"


def test_frames_of_plain_code_are_not_called_optimised(dbg, native):
    p = native(SPLIT, "-O0", name="plain")
    dbg.data("start", p.name, "-b", p.at("note"))

    assert "optimized" not in dbg("backtrace", "--locals").out


def test_a_source_that_is_newer_than_its_program_is_told_once(dbg, native):
    p = native(SPLIT, name="old")
    os.utime(p.path, (1, 1))

    newer = f"note: {p.source.name} is newer than old"
    assert newer in dbg("start", p.name, "-b", p.at("note")).out
    assert newer not in dbg("continue").out
    dbg.data("stop")
    os.utime(p.path)
    assert newer not in dbg("start", p.name, "-b", p.at("note")).out
