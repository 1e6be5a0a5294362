"""Reports of sanitizers, and the operands of a crash, from texts."""

from __future__ import annotations

import pytest

from freezeframe.model.values import Value
from freezeframe.questions.crash_operands import faulting_expression, operands
from freezeframe.questions.sanitizer_reports import sanitizer_report

_FREED = """\
starting
=================================================================
==77==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000018 at pc 0x5581 bp 0x7ffe
READ of size 8 at 0x602000000018 thread T0
    #0 0x5581 in std::vector<int>::end() /usr/include/c++/12/bits/stl_vector.h:839
    #1 0x5582 in last /shop/cache.cpp:5:38
    #2 0x5583 in main /shop/cache.cpp:9
    #3 0x7f01 in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58

0x602000000018 is located 8 bytes inside of 24-byte region [0x602000000010,0x602000000028)
freed by thread T0 here:
    #0 0x7f02 in operator delete(void*) ../../../../src/libsanitizer/asan/asan_new_delete.cpp:164
    #1 0x5584 in drop /shop/cache.cpp:4

previously allocated by thread T0 here:
    #1 0x5585 in main /shop/cache.cpp:7

SUMMARY: AddressSanitizer: heap-use-after-free /shop/cache.cpp:5 in last
Shadow bytes around the buggy address:
"""
_RACE = """\
==================
WARNING: ThreadSanitizer: data race (pid=9)
  Write of size 4 at 0x5570 by thread T2:
    #0 bump() /shop/race.cpp:4 (race+0x12f0)

  Previous write of size 4 at 0x5570 by thread T1:
    #0 bump() /shop/race.cpp:4 (race+0x12f0)

  Location is global 'counter' of size 4 at 0x5570 (race+0x4014)

SUMMARY: ThreadSanitizer: data race /shop/race.cpp:4 in bump()
"""
_OVERFLOW = """\
/shop/add.c:3:39: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented
    #0 0x5581 in add /shop/add.c:3
    #1 0x5582 in main /shop/add.c:4
"""


def _is_user(path: str) -> bool:
    return path.startswith("/shop/")


def test_a_report_is_its_kind_and_the_users_frames_of_access_free_and_allocation():
    report = sanitizer_report(_FREED, _is_user)

    assert report is not None
    assert (report.tool, report.kind) == ("AddressSanitizer", "heap-use-after-free")
    assert [(each.title, [frame.line for frame in each.frames]) for each in report.stacks] == [
        ("READ of size 8 thread T0", [5, 9]),
        ("freed by thread T0", [4]),
        ("previously allocated by thread T0", [7]),
    ]
    assert report.facts == ("is located 8 bytes inside of 24-byte region",)


def test_a_race_names_both_accesses_and_the_variable():
    report = sanitizer_report(_RACE, _is_user)

    assert report is not None
    assert report.kind == "data race"
    assert [each.title for each in report.stacks] == [
        "Write of size 4 by thread T2",
        "Previous write of size 4 by thread T1",
    ]
    assert report.facts == ("Location is global 'counter' of size 4",)


def test_undefined_behaviour_is_its_message_and_output_without_a_report_is_none():
    report = sanitizer_report(_OVERFLOW, _is_user)

    assert report is not None
    assert report.kind.startswith("signed integer overflow: 2147483647 + 1")
    assert [frame.function for frame in report.stacks[0].frames] == ["add", "main"]
    assert sanitizer_report("error: no\n#0 nothing\n", _is_user) is None


@pytest.mark.parametrize(
    ("statement", "message", "notes", "expression"),
    [
        ("return hit->next->v;", "SIGSEGV: no memory", ("hit is NULL",), "hit"),
        ("return items[at].price", "index out of range [4] with length 3", (), "at"),
        ("row.user.name", "Cannot read properties of undefined (reading 'name')", (), "row.user"),
        ("o.items.size()", 'invoke because "o.items" is null', (), "o.items"),
        ("return sum / count;", "SIGFPE: integer divide by zero", (), "count"),
        ("run();", "SIGABRT", (), None),
    ],
)
def test_the_expression_that_failed_is_found_in_statement_and_message(
    statement, message, notes, expression
):
    assert faulting_expression(statement, message, notes) == expression


def test_the_operands_are_index_and_length_or_the_divisor():
    values = {
        "rows": Value("rows", "[1, 2]", "list", count=2),
        "at": Value("at", "4"),
        "n": Value("n", "0"),
    }

    assert operands("x = rows[at]", values, "index out of range") == ("at = 4", "rows has 2 items")
    assert operands("y = 10 / n", values, "ZeroDivisionError: division by zero") == ("n = 0",)
    assert operands("y = 10 / n", values, "SIGSEGV") == ()
