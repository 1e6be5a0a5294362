"""What is read from gdb's words without a gdb."""

from __future__ import annotations

import pytest

from freezeframe.backends.console.debuggers.gdb_mi import names, stops
from freezeframe.backends.console.debuggers.gdb_mi.marks import bound, read_hits, read_log
from freezeframe.model.stops import Exit, StopReason


def test_an_end_is_read_in_octal_and_by_signal():
    assert stops.ended({"reason": "exited", "exit-code": "0101"}) == Exit(code=65)
    assert stops.ended({"reason": "exited-normally"}) == Exit(code=0)
    signalled = {"reason": "exited-signalled", "signal-name": "SIGSEGV"}
    assert stops.ended(signalled) == Exit(signal="SIGSEGV")
    assert stops.ended({"reason": "breakpoint-hit"}) is None
    assert stops.ended({}) is None


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        (
            {"reason": "signal-received", "signal-name": "SIGSEGV", "signal-meaning": "Fault"},
            StopReason.SIGNAL,
            "SIGSEGV",
        ),
        (
            {
                "reason": "access-watchpoint-trigger",
                "hw-awpt": {"exp": "x"},
                "value": {"old": "1", "new": "2"},
            },
            StopReason.WATCHPOINT,
            "x: 1 → 2",
        ),
        ({"reason": "fork"}, StopReason.OTHER, "the program forked"),
        ({"reason": "end-stepping-range"}, StopReason.STEP, None),
        ({}, StopReason.OTHER, None),
    ],
)
def test_a_stop_has_a_reason_and_words(fields, kind, words):
    assert stops.kind(fields) is kind
    assert stops.describe(fields) == words


def test_conditions_that_failed_are_read_of_every_version():
    old = "Error in testing breakpoint condition:\nCannot access memory at address 0x0\n"
    new = "Error in testing condition for breakpoint 3:\nNo symbol here.\n"
    assert stops.failed_conditions(old) == {"": "Cannot access memory at address 0x0"}
    assert stops.failed_conditions(new) == {"3": "No symbol here"}


@pytest.mark.parametrize(
    "words",
    [
        "thread 'main' panicked at src/main.rs:5:5:\nfive\nnote: run with\n",
        "thread 'main' (42) panicked at src/main.rs:5:5:\nfive\n",
        "thread 'main' panicked at 'five', src/main.rs:5:5\nnote: run with\n",
    ],
)
def test_a_panic_s_message_is_read_of_every_rust(words):
    assert stops.panic_message("earlier\n" + words) == "five"
    assert stops.panic_message("nothing") is None


def test_names_lose_what_compilers_add():
    assert names.function_name("core::f::h0123456789abcdef") == "core::f"
    assert names.function_name("shop::hash") == "shop::hash"


@pytest.mark.parametrize(
    ("path", "module", "function", "library"),
    [
        ("/home/me/a.c", None, "main", False),
        ("/usr/include/c++/12/bits/stl_vector.h", None, "push", True),
        ("./nptl/pthread_kill.c", None, "raise", True),
        ("/rustc/59807616/library/std/src/rt.rs", None, "f", True),
        (None, "/lib/libc.so.6", "raise", True),
        (None, None, "??", False),
        (None, None, "_start", True),
    ],
)
def test_library_frames_are_told_from_the_user_s(path, module, function, library):
    assert names.is_library(path, module, function) is library


def test_hit_counts_and_messages_are_read_or_refused():
    assert read_hits(" >= 3 ") == (">=", 3)
    assert read_hits("4") == ("==", 4)
    for wrong in ("often", "% 0", "-1"):
        with pytest.raises(ValueError):
            read_hits(wrong)
    assert read_log("n is {n}, {{x}}{ a[1] }") == ["n is ", ["n"], ", {x}", ["a[1]"]]
    with pytest.raises(ValueError):
        read_log("{n")


def test_a_breakpoint_is_bound_where_its_first_place_is():
    many = {
        "number": "1",
        "addr": "<MULTIPLE>",
        "locations": [{"addr": "0x10", "fullname": "/a.c", "line": "4"}],
    }
    assert bound(7, many, None).line == 4
    pending = bound(7, {"number": "1", "addr": "<PENDING>"}, "no such file")
    assert (pending.verified, pending.message) == (False, "no such file")


@pytest.mark.parametrize(
    ("file", "found", "path"),
    [
        ("app.c", "/home/me/app.c", "/home/me/app.c"),
        ("src/app.c", "/home/me/src/app.c", "/home/me/src/app.c"),
        ("../src/app.c", "/home/me/src/app.c", "/home/me/src/app.c"),
        ("/home/me/app.c", "/home/you/app.c", "/home/you/app.c"),
        # gdb finds another file of that name in the folder where it is.
        ("./assert/assert.c", "/home/me/assert.c", "assert/assert.c"),
        ("./nptl/pthread_kill.c", "./nptl/./nptl/pthread_kill.c", "nptl/pthread_kill.c"),
        ("/build/glibc/assert.c", "/home/me/assert.c", "/build/glibc/assert.c"),
        (None, "/home/me/app.c", "/home/me/app.c"),
    ],
)
def test_a_source_is_the_file_that_the_compiler_named(file, found, path):
    assert names.place({"file": file, "fullname": found}) == path
