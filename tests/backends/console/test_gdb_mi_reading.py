"""Parsing of gdb output, without a gdb."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from freezeframe.backends.breakpoint_hits import HitCondition, read_log
from freezeframe.backends.console.debuggers.gdb_mi import frame_names, launch, stop_records
from freezeframe.backends.console.debuggers.gdb_mi.breakpoints import bound
from freezeframe.backends.console.debuggers.gdb_mi.warnings import Warnings
from freezeframe.backends.gdb import libc
from freezeframe.model.stops import Exit, StopReason


def test_an_exit_is_read_in_octal_and_by_signal():
    assert stop_records.ended({"reason": "exited", "exit-code": "0101"}) == Exit(code=65)
    assert stop_records.ended({"reason": "exited-normally"}) == Exit(code=0)
    signalled = {"reason": "exited-signalled", "signal-name": "SIGSEGV"}
    assert stop_records.ended(signalled) == Exit(signal="SIGSEGV")
    assert stop_records.ended({"reason": "breakpoint-hit"}) is None
    assert stop_records.ended({}) is None


@pytest.mark.parametrize(
    ("fields", "kind", "description"),
    [
        (
            {"reason": "signal-received", "signal-name": "SIGSEGV", "signal-meaning": "Fault"},
            StopReason.SIGNAL,
            "SIGSEGV",
        ),
        ({"reason": "access-watchpoint-trigger"}, StopReason.WATCHPOINT, None),
        ({"reason": "fork"}, StopReason.OTHER, "the program forked"),
        ({"reason": "end-stepping-range"}, StopReason.STEP, None),
        ({}, StopReason.OTHER, None),
    ],
)
def test_a_stop_has_a_reason_and_a_description(fields, kind, description):
    assert stop_records.kind(fields) is kind
    assert stop_records.describe(fields) == description


def test_conditions_that_failed_are_read_of_every_version():
    old = "Error in testing breakpoint condition:\nCannot access memory at address 0x0\n"
    new = "Error in testing condition for breakpoint 3:\nNo symbol here.\n"
    assert stop_records.failed_conditions(old) == {"": "Cannot access memory at address 0x0"}
    assert stop_records.failed_conditions(new) == {"3": "No symbol here"}


@pytest.mark.parametrize(
    ("fields", "numbers", "values"),
    [
        (
            {
                "reason": "watchpoint-trigger",
                "wpt": {"number": "2"},
                "value": {"old": "1", "new": "2"},
            },
            ["2"],
            [("1", "2")],
        ),
        ({"hw-rwpt": {"number": "3"}, "value": {"value": "7"}}, ["3"], [(None, "7")]),
        ({"hw-awpt": {"number": "4"}, "value": {"new": "7"}}, ["4"], [(None, "7")]),
        (
            {
                "wpt": [{"number": "2"}, {"number": "3"}],
                "value": [{"old": "1", "new": "2"}, {"old": "1", "new": "2"}],
            },
            ["2", "3"],
            [("1", "2"), ("1", "2")],
        ),
        ({"reason": "watchpoint-scope", "wpnum": "5"}, ["5"], []),
        ({"reason": "breakpoint-hit", "bkptno": "1"}, [], []),
    ],
)
def test_what_a_watchpoint_saw_is_read(fields, numbers, values):
    assert stop_records.watch_numbers(fields) == numbers
    assert stop_records.watch_values(fields) == values


def test_names_lose_what_compilers_add():
    assert frame_names.function_name("core::f::h0123456789abcdef") == "core::f"
    assert frame_names.function_name("shop::hash") == "shop::hash"
    assert frame_names.function_name("total_of(std::vector<int, A<int> >&) const") == "total_of"


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
def test_library_frames_are_distinguished_from_user_frames(path, module, function, library):
    assert frame_names.is_library(path, module, function) is library


def test_code_without_debug_information_in_a_program_with_it_is_a_library():
    assert frame_names.is_library(None, None, "main", debug=True)
    assert not frame_names.is_library("/home/me/a.rs", None, "shop::main", debug=True)


FUNCTIONS = [
    {
        "fullname": "/home/me/shop.rs",
        "symbols": [
            {"name": "shop::main"},
            {"name": "shop::inner::main"},
            {"name": "shop::Point::shift"},
            {"name": "shop::first<i32>"},
            {"name": "shop::first<&str>"},
            {"name": "shop::{impl#0}::speak"},
            {"name": "shop::{impl#1}::speak"},
        ],
    },
    {"fullname": "/rustc/59/library/core/src/a.rs", "symbols": [{"name": "core::first<u8>"}]},
]


@pytest.mark.parametrize(
    ("name", "resolved"),
    [
        ("main", ["shop::main"]),
        ("Point::shift", ["shop::Point::shift"]),
        ("shift", ["shop::Point::shift"]),
        ("first", ["shop::first<i32>", "shop::first<&str>"]),
        ("speak", ["shop::{impl#0}::speak", "shop::{impl#1}::speak"]),
        ("hift", []),
    ],
)
def test_a_name_resolves_to_user_functions_of_that_name(name, resolved):
    assert frame_names.rust_functions(name, FUNCTIONS) == resolved


def test_short_arguments_of_a_frame_are_shown():
    listed = {"args": [{"name": "n", "value": "3"}, {"name": "box", "type": "struct box"}]}
    assert frame_names.arguments(listed, rust=False) == "n=3"
    assert frame_names.arguments({"args": []}, rust=False) is None


def test_hit_counts_and_messages_are_read_or_refused():
    assert HitCondition.parse(" >= 3 ") == (">=", 3)
    assert HitCondition.parse("4") == ("==", 4)
    for wrong in ("often", "% 0", "-1"):
        with pytest.raises(ValueError):
            HitCondition.parse(wrong)
    assert read_log("n is {n}, {{x}}{ a[1] }") == ["n is ", ("n",), ", {x}", ("a[1]",)]
    with pytest.raises(ValueError):
        read_log("{n")


def test_a_breakpoint_is_bound_at_its_first_location():
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
    assert frame_names.source_path({"file": file, "fullname": found}) == path


def test_addresses_of_c_library_functions_are_found():
    known = libc.addresses(os.getpid(), ("setvbuf", "qsort"))

    if known is None:
        pytest.skip("this Python runs without glibc")
    own = ctypes.CDLL(None)
    assert known == [
        ctypes.cast(function, ctypes.c_void_p).value for function in (own.setvbuf, own.qsort)
    ]
    assert libc.addresses(os.getpid(), ("setvbuf", "no_such_function")) is None
    assert libc.addresses(0, ("setvbuf",)) is None


def test_the_c_library_that_a_program_will_load_is_known_before_it_does(tmp_path):
    found = libc.of_program(os.path.realpath("/bin/sh"), "setvbuf")

    if found is None:
        pytest.skip("this Python, or the shell, runs without glibc")
    path, offset = found
    assert libc.addresses(os.getpid(), ("setvbuf",)) == [
        next(
            int(row.partition("-")[0], 16) + offset
            for row in Path("/proc/self/maps").read_text().splitlines()
            if row.rstrip().endswith(path)
        )
    ]
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert libc.of_program(str(script), "setvbuf") is None


def test_the_cache_of_symbol_indexes_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setenv("FREEZEFRAME_HOME", str(tmp_path))
    folder = tmp_path / "cache" / "symbols"
    first, _ = launch.keep_indexes()
    assert str(folder) in first
    for age in range(500):
        (folder / f"{age}.gdb-index").touch()
        os.utime(folder / f"{age}.gdb-index", (1000 - age, 1000 - age))

    assert len(launch.keep_indexes()) == 2

    assert {entry.name for entry in folder.iterdir()} == {f"{age}.gdb-index" for age in range(250)}
    # Without a cache gdb reads everything each time.
    monkeypatch.setenv("FREEZEFRAME_HOME", str(folder / "1.gdb-index"))
    assert launch.keep_indexes() == []


def test_important_warnings_are_reported_once_and_noise_is_not():
    warnings = Warnings()

    assert warnings.read("warning: ") is None
    assert warnings.read("Unable to find libthread_db matching inferior's thread") is None
    reported = warnings.read(" library.\n")
    assert reported == "warning: Unable to find libthread_db matching inferior's thread library.\n"
    assert warnings.read(reported) is None
    assert warnings.read("warning: Error disabling address space randomization\n") is None
    assert warnings.read("the core file may not match\n") is None
