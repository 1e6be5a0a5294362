"""`diff` of two commands, two revisions, two tests, two calls: the divergence that matters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from freezeframe.render.budget import BYTES_PER_TOKEN
from harness.requirements import need
from harness.waits import wait_for_exit, wait_for_file, wait_until

_SHOP = """\
import time

LIMIT = 10
RATES = {"eu": 0.2}


def discount(p, qty):
    stamp = time.time()
    if qty > LIMIT:
        return p * 0.5
    return p


class Cart:
    def __init__(self):
        self.items = []

    def add(self, p, qty):
        self.items.append((discount(p, qty), qty))

    def total(self, region="eu"):
        t = 0
        for p, q in self.items:
            t += p * q
        return t + t * RATES[region]
"""
_TESTS = """\
import unittest

from shop import Cart


class Totals(unittest.TestCase):
    def test_total(self):
        cart = Cart()
        cart.add(10, 2)
        cart.add(4, 20)
        self.assertEqual(cart.total(), 72.0)


if __name__ == "__main__":
    unittest.main()
"""
_READER = """\
import sys


def parse(line):
    key, value = line.split("=")
    return key, int(value)


found = {}
for line in open(sys.argv[1]):
    if line.strip():
        key, value = parse(line)
        found[key] = value
"""


def _git(folder, *arguments):
    command = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(folder), *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_edit_that_broke_a_test_is_found_and_nothing_of_the_worktree_remains(
    dbg, project, write_program
):
    folder = project
    write_program("shop.py", _SHOP)
    write_program("test_cart.py", _TESTS)
    _git(folder, "init", "-q")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "one")
    # The revision's line 3 is line 6 of a working tree that is not committed.
    write_program("shop.py", _SHOP.replace("LIMIT = 10", "# how many\n# of one\n\nLIMIT = 100"))
    before = _git(folder, "status", "--porcelain", "-uno")

    answer = dbg.data("diff", "--against", "HEAD", "--", "python", "test_cart.py")

    first = answer["first"]
    assert (first["kind"], first["line"], first["a_line"]) == ("edit", 6, 3)
    assert (first["a_statement"], first["statement"]) == ("LIMIT = 10", "LIMIT = 100")
    branch = next(each for each in answer["then"] if each["kind"] == "branch")
    assert (branch["function"], branch["statement"], branch["hit"]) == (
        "discount", "if qty > LIMIT", 2,
    )  # fmt: skip
    [difference] = branch["differences"]
    assert (difference["path"], difference["a"], difference["b"]) == ("LIMIT", "10", "100")
    assert (answer["a"]["label"], answer["a"]["how"]) == ("HEAD", "passed")
    assert (answer["b"]["label"], answer["b"]["failed"]) == ("now", True)
    assert "120.0 != 72.0" in answer["b"]["message"]
    assert answer["edited"] == ["shop.py"]
    assert len(_git(folder, "worktree", "list").splitlines()) == 1
    assert _git(folder, "status", "--porcelain", "-uno") == before

    missing = dbg.error("diff", "--against", "nothing", "--", "python", "test_cart.py")
    assert "git knows no revision 'nothing'" in missing["message"]


def test_two_inputs_part_where_one_of_them_raises(dbg, write_program):
    write_program("reader.py", _READER)
    write_program("good.txt", "a=1\n\nb=2\nc=3\n")
    write_program("bad.txt", "x=7\n\nb=2\nc=x\n")

    answer = dbg.data("diff", "python reader.py good.txt", "python reader.py bad.txt")

    first = answer["first"]
    assert (first["kind"], first["line"], first["hit"]) == ("raised", 6, 3)
    [difference] = first["differences"]
    assert (difference["path"], difference["a"], difference["b"]) == ("value", r"'3\n'", r"'x\n'")
    assert first["b_raised"].startswith("ValueError: invalid literal")
    assert not answer["a"]["failed"]
    same = dbg("diff", "python reader.py good.txt", "python reader.py  good.txt")
    assert "no divergence seen" in str(same)


def test_two_calls_of_a_function_part_at_a_branch(dbg, write_program):
    write_program("shop.py", _SHOP + "\nprint(discount(4, 2), discount(4, 20))\n")

    answer = dbg.data("diff", "--calls", "discount", 1, 2, "--", "python", "shop.py")

    first = answer["first"]
    assert (first["kind"], first["statement"]) == ("branch", "if qty > LIMIT")
    assert (first["a_next"]["line"], first["b_next"]["line"]) == (11, 10)
    assert [each["message"] for each in (answer["a"], answer["b"])] == ["4", "2.0"]
    few = dbg.error("diff", "--calls", "discount", 1, 9, "--", "python", "shop.py")
    assert "only 2 calls of discount" in few["message"]


_AVERAGE = """\
def average(values):
    total = count = 0
    for value in values:
        if value < 0:
            count -= 1
            continue
        total += value
        count += 1
    return total / count
"""


def test_two_tests_part_in_the_code_that_they_share_and_not_in_themselves(dbg, write_program):
    """What the passing test added is missing in the other one: the branch is the reason."""
    write_program("average.py", _AVERAGE)
    write_program(
        "test_average.py",
        "import unittest\nfrom average import average\nclass Averages(unittest.TestCase):\n"
        "    def test_plain(self):\n        result = average([1, 2, 3])\n"
        "        self.assertEqual(result, 2)\n"
        "    def test_negative(self):\n        result = average([1, -2, 3])\n"
        "        self.assertEqual(result, 2)\n",
    )
    tests = [f"test_average.Averages.{name}" for name in ("test_plain", "test_negative")]

    answer = dbg.data("diff", "--test", *tests)

    first = answer["first"]
    assert (first["kind"], first["line"], first["hit"]) == ("branch", 4, 2)
    assert first["statement"] == "if value < 0"
    [difference] = first["differences"]
    assert (difference["path"], difference["a"], difference["b"]) == ("value", "2", "-2")
    assert (first["a_next"]["line"], first["b_next"]["line"]) == (7, 5)


_PRICES = {
    "prices.c": """\
#include <stdlib.h>
static int price(int n, int limit) {
    int p = n * 3;
    if (n > limit)
        p = p / 2;
    return p;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]), total = 0;
    for (int i = 0; i < 3; i++)
        total += price(n + i, 10);
    if (total < 70)
        return 3;
    return 0;
}
""",
    "prices.js": """\
function price(n, limit) {
  let p = n * 3;
  if (n > limit) {
    p = p / 2;
  }
  return p;
}
const n = Number(process.argv[2]);
let total = 0;
for (let i = 0; i < 3; i++) {
  total += price(n + i, 10);
}
if (total < 70) {
  throw new Error(`too little: ${total}`);
}
""",
    "prices.go": """\
package main

import (
	"fmt"
	"os"
	"strconv"
)

func price(n, limit int) int {
	p := n * 3
	if n > limit {
		p = p / 2
	}
	return p
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	total := 0
	for i := 0; i < 3; i++ {
		total += price(n+i, 10)
	}
	if total < 70 {
		panic(fmt.Sprint("too little: ", total))
	}
}
""",
}


@pytest.mark.parametrize(
    ("name", "tool", "branch"),
    [
        ("prices.c", "gcc", (4, "if (n > limit)")),
        ("prices.js", "node", (3, "if (n > limit)")),
        ("prices.go", "go", (11, "if n > limit")),
    ],
    ids=["c", "javascript", "go"],
)
def test_programs_of_other_languages_are_stepped_to_the_branch_where_they_part(
    dbg, write_program, name, tool, branch
):
    need(tool, f"install {tool}")
    write_program(name, _PRICES[name])

    answer = dbg.data("diff", f"{name} 8", f"{name} 10")

    first = answer["first"]
    assert (first["kind"], first["line"], first["statement"]) == ("branch", *branch)
    assert first["hit"] == 2
    assert {each["path"]: (each["a"], each["b"]) for each in first["differences"]}["n"] == (
        "9",
        "11",
    )
    assert (answer["a"]["failed"], answer["b"]["failed"]) == (False, True)


_WAITING = """\
import pathlib
import sys
import time

pathlib.Path(sys.argv[1]).write_text("here")
time.sleep(600)
"""


@pytest.mark.parametrize("end", ["timeout", "client", "daemon"])
def test_a_worktree_is_removed_however_the_comparison_ends(
    dbg, project, write_program, tmp_path, end
):
    write_program("waiting.py", _WAITING)
    _git(project, "init", "-q")
    _git(project, "add", "-A")
    _git(project, "commit", "-q", "-m", "one")
    begun = tmp_path / "begun"
    limit = ("-t", "1") if end == "timeout" else ()
    command = ("diff", "--against", "HEAD", *limit, "--", "python", "waiting.py", str(begun))

    client = dbg.start_background(*command)
    wait_for_file(begun, "here")
    assert len(_git(project, "worktree", "list").splitlines()) == 2
    if end == "client":
        client.kill()
    elif end == "daemon":
        pid = int(dbg.data("status")["daemon_pid"])
        os.kill(pid, signal.SIGKILL)
        wait_for_exit(pid)
    if end != "client":
        client.wait()
    dbg("status")

    def worktrees():
        return len(_git(project, "worktree", "list").splitlines())

    wait_until(lambda: worktrees() == 1, "git lists no worktree of ours")
    wait_until(lambda: not [*dbg.home.glob("session-*")], "no scratch directory is left")
    assert "waiting.py" not in " ".join(dbg.processes().values())
    assert _git(project, "status", "--porcelain") == ""


def test_what_both_printed_is_compared(dbg, write_program):
    write_program("said.py", "import sys\nprint('begin')\nprint(sys.argv[1].upper())\n")

    answer = dbg.data("diff", f"{sys.executable} said.py a", f"{sys.executable} said.py b")

    assert answer["output"] == {"line": 2, "a": "A", "b": "B"}
    text = dbg("diff", f"{sys.executable} said.py a", f"{sys.executable} said.py b").out
    assert "output line 2: 'A' in a, 'B' in b" in text


_ENDLESS = """\
import sys


def mix(count):
    x = 0
    for i in range(count):
        x = (x * 31 + i) % 1000003
    return x


def fee(kind):
    if kind == "gold":
        return 0
    return 5


def main(kind):
    mix(400_000)
    fee(kind)
    while True:
        mix(1000)


main(sys.argv[1])
"""


def test_runs_that_never_end_are_traced_where_they_executed_different_lines(dbg, write_program):
    write_program("endless.py", _ENDLESS)
    run = f"{sys.executable} endless.py"

    answer = dbg.data("diff", "-t", 4, f"{run} gold", f"{run} silver")

    first = answer["first"]
    assert (first["kind"], first["function"], first["line"]) == ("branch", "fee", 12)
    assert [each["how"] for each in (answer["a"], answer["b"])] == ["did not end within 4 s"] * 2
    assert answer["notes"][0] == "too long for a whole trace: 1 function executed differently: fee"


def test_no_divergence_is_claimed_where_only_the_time_was_up(dbg, write_program):
    write_program("same.py", "import sys\nwhile True:\n    x = 1\n")
    run = f"{sys.executable} same.py"

    answer = dbg.data("diff", "-t", 2, f"{run} a", f"{run} b")

    assert answer["first"] is None
    assert "both executed the same lines" in answer["notes"]


def test_an_answer_costs_at_most_400_tokens(dbg, write_program):
    long = "x" * 300
    lines = [f"value_{i} = '{long}' + sys.argv[1] + str({i})" for i in range(30)]
    body = "\n".join(["import sys", *lines, f"assert sys.argv[1] != 'bad', value_0 + '{long}'"])
    write_program("long.py", body + "\n")
    run = f"{sys.executable} long.py"

    text = dbg("diff", f"{run} good", f"{run} bad").out

    assert "first divergence" in text
    assert len(text.encode()) <= 400 * BYTES_PER_TOKEN
