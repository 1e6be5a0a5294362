"""Assertions of GoogleTest that fail: the program stops where they do."""

from __future__ import annotations

import subprocess

from harness.compilers import CPP
from harness.reports import shown, texts
from harness.requirements import give_up

TESTS = """\
#include <gtest/gtest.h>
#include <stdexcept>
static int twice(int n) { return n * 2; }
TEST(Cart, Passes) { EXPECT_EQ(twice(2), 4); SUCCEED() << "fine"; }
TEST(Cart, Skips) { GTEST_SKIP() << "not now"; }
TEST(Cart, Fails) {
  int got = twice(2);
  EXPECT_EQ(got, 5) << "a word";  // @expect
  ASSERT_TRUE(got == 6);  // @assert
}
TEST(Late, Throws) {
  throw std::runtime_error("no stock");  // @throw
}
"""


def test_a_failing_assertion_stops_with_its_words_and_only_that(dbg, write_program, project):
    p = write_program("cart_test.cpp", TESTS)
    command = (CPP.compiler or "g++", "-g", "-O0", p.name, "-o", "cart_test", "-pthread")
    made = subprocess.run(
        (*command, "-lgtest", "-lgtest_main"), cwd=project, capture_output=True, text=True
    )
    if made.returncode != 0 and "gtest/gtest.h" in made.stderr:
        give_up("there is no GoogleTest: apt install libgtest-dev")
    assert made.returncode == 0, made.stderr

    report = dbg.data("start", "./cart_test", "--gtest_filter=Cart.*")
    told = report["stop"]["exception"]
    assert (shown(report), texts(report)["got"]) == (p.at("expect"), "4")
    assert (told["type"], told["message"].split("\n")[0]) == (
        *("failure", "Expected equality of these values:"),
    )
    assert told["message"].endswith("a word")

    assert shown(dbg.data("continue")) == p.at("assert")
    assert dbg.data("continue")["exit"]["code"] == 1

    answer = dbg("test", "./cart_test", "Late.Throws").out
    assert "no stock" in answer
    assert "next: dbg catch throw" in answer
    dbg.data("catch", "throw")
    assert shown(dbg.data("restart")) == p.at("throw")
