"""The next step of an answer works when typed: a cut value, a waiting program, a failed run."""

from __future__ import annotations

import shlex
import shutil

import pytest

PYTHON = """\
class Order:
    def __init__(self):
        self.items = ["item %d" % i for i in range(200)]
        self.status = {"code": ["refused " + "by the bank"] + ["later"] * 900}
        self.rest = ["rest %d" % i for i in range(200)]
def check(order):
    return order.status
check(Order())
"""
NODE = """\
class Order {
  items = Array.from({ length: 200 }, (_, i) => `item ${i}`);
  status = { code: ['refused by the bank', ...Array(900).fill('later')] };
  rest = Array.from({ length: 200 }, (_, i) => `rest ${i}`);
}
function check(order) {
  return order.status;
}
check(new Order());
"""
CPP = """\
#include <string>
#include <vector>
struct Status { std::vector<std::string> code; };
struct Order { std::vector<int> items, more; Status status; std::vector<int> rest; };
static int check(const Order &order) {
  int seen = 0;
  return order.rest.size() + seen;
}
int main() {
  std::vector<int> many(200, 1234567);
  return check({many, many, {{"refused by the bank", "later"}}, many}) == 0;
}
"""


@pytest.mark.parametrize(
    ("name", "text"), [("order.py", PYTHON), ("order.js", NODE), ("order.cpp", CPP)]
)
def test_a_cut_value_names_the_way_in(dbg, project, name, text):
    if name.endswith(".cpp") and not (shutil.which("gdb") and shutil.which("g++")):
        pytest.skip("needs gdb and g++")
    (project / name).write_text(text)
    said = dbg("start", name, "-b", f"{name}:7").out
    assert "refused by the bank" not in said

    for _ in range(4):
        [way] = [line for line in said.splitlines() if line.startswith(("cut: ", "next: "))]
        typed = shlex.split(way.partition(": ")[2].partition(" or ")[0])
        assert typed[:2] == ["dbg", "print"]
        said = dbg(*typed[1:]).out
        if "refused by the bank" in said:
            return
    pytest.fail(f"no way to the value: {said}")


def test_a_program_that_waits_for_input_and_a_run_that_failed_say_what_to_do(dbg, project):
    (project / "ask.py").write_text("import helper\nhelper.check(input('who? '))\n")
    (project / "helper.py").write_text(
        "import sys, traceback\ndef check(name):\n    try:\n        {}[name]\n"
        "    except KeyError:\n        traceback.print_exc()\n        sys.exit(1)\n"
    )
    bound = ("-b", "helper.py:3 if name != 'Ada'")
    waiting = dbg("start", "ask.py", *bound, "--timeout", "2", "--", "-b", "helper.py:4")
    assert "next: dbg input TEXT or dbg pause" in waiting.out
    assert "`-b helper.py:4` comes after `--`" in waiting.out

    dbg("input", "Ada")
    ended = dbg("await")
    assert "exited: code 1" in ended.out
    assert "next: dbg break helper.py:4" in ended.out
    assert "next: dbg restart" in dbg("break", "helper.py:4").out


def test_an_option_that_the_command_refused_is_hinted_before_it_and_no_program_is_read_from_stdin(
    dbg, project
):
    (project / "takes.py").write_text("import argparse\nargparse.ArgumentParser().parse_args()\n")

    told = dbg("start", "-m", "takes", "-t", "60").out
    assert "| takes.py: error: unrecognized arguments: -t 60\n" in told
    assert "next: dbg start -t 60 -m takes\n" in told
    assert "exited: code 0" in dbg("start", "-t", "60", "-m", "takes").out

    refused = dbg.error("start", "-")
    assert "write it to a file" in refused["message"]


def test_a_breakpoint_in_another_language_is_no_matter_of_this_program(dbg, project):
    (project / "page.js").write_text("console.log(1)\nconsole.log(2)\n")
    (project / "app.py").write_text("print(1)\n")
    dbg("break", "page.js:1")

    assert "page.js" not in dbg("start", "app.py").out
    assert "page.js:2" in dbg("start", "app.py", "-b", "page.js:2").out


def test_a_misspelt_function_is_looked_for_in_the_user_s_code_not_in_the_runner_s(dbg, project):
    (project / "shop.py").write_text("def total(n):\n    return n\n")
    (project / "test_shop.py").write_text(
        "import shop, unittest\nclass T(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(shop.total(1), 1)\n"
    )

    ended = dbg("start", "-m", "unittest", "-b", "totl", "--", "test_shop")

    assert "next: dbg break total\n" in ended.out
