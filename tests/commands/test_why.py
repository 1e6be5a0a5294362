"""`dbg why`: where a value came from, at any stop of a Python program."""

from __future__ import annotations

from freezeframe.render.budget import tokens

CART = """\
import sys

def price(n, rate):
    p = n * rate
    if n > 10:
        p = p - 5
    return p

def main():
    prices = []
    for n in (1, 2, 12):
        prices.append(price(n, 0))
    print(prices)
    return min(prices)

if main() < 0:
    raise ValueError("negative")
"""
#: what it does depends on how often it was run
DIFFERENT = """\
import os

def main():
    runs = 1 + (len(open("runs").read()) if os.path.exists("runs") else 0)
    with open("runs", "a") as file:
        file.write("x")
    total = runs * 10
    return total  # stop

main()
"""
ONCE = """\
import os

def main():
    if os.path.exists("ran"):
        return
    open("ran", "w").close()
    raise ValueError("first run")

main()
"""


def write(dbg, text: str) -> None:
    (dbg.project / "app.py").write_text(text)


def test_a_value_is_explained_at_a_breakpoint_a_step_a_caller_and_an_exception(dbg):
    write(dbg, CART)
    dbg("start", "app.py", "-b", "app.py:7")
    first = dbg("why", "p").out
    dbg("continue")
    dbg("continue")
    third = dbg("why", "p").out
    caller = dbg("why", "n", "--frame", "main").out
    dbg("breakpoint", "remove", "1")
    dbg("next")
    dbg("next")
    stepped = dbg("why", "prices").out
    dbg("continue")
    raised = dbg("why").out

    assert first.startswith("p = 0 came from\n  app.py:4 in price  p = n * rate  = 0  n = 1")
    lines = third.splitlines()
    assert lines[0] == "p = -5 came from"
    assert lines[1] == "  app.py:6 in price  p = p - 5  0 → -5  taken: n > 10 (n = 12)"
    assert lines[2] == "  :4  p = n * rate  = 0  n = 12, rate = 0"
    assert "the program ran a second time to record this" in lines
    assert tokens(third) <= 400
    assert "  app.py:11 in main  for n in (1, 2, 12)  = 12  round 3 of 3" in caller
    assert stepped.startswith("prices = [0, 0, -5] came from")
    assert "  :6 in price  p = p - 5  0 → -5" in raised


def test_the_facts_of_a_chain_are_in_json(dbg):
    write(dbg, CART)
    dbg("start", "app.py", "-b", "app.py:13")

    found = dbg.data("why", "prices[2]", "--depth", "2")

    assert [(link["line"], link["new"]) for link in found["links"]] == [(6, "-5"), (4, "0")]
    assert found["links"][0]["conditions"][0]["text"] == "n > 10"
    assert found["value"] == "-5"


def test_a_second_run_that_differs_or_never_comes_to_the_stop_is_said(dbg):
    write(dbg, DIFFERENT)
    dbg("start", "app.py", "-b", "app.py:8")
    refused = dbg.error("why", "total +")
    misspelt = dbg.error("why", "len(totl)")
    was_not_run = (dbg.project / "runs").read_text()
    differs = dbg("why", "total").out
    write(dbg, ONCE)
    dbg("start", "app.py")
    missed = dbg.error("why", "os")

    assert refused["message"] == "'total +' is not an expression."
    assert misspelt["message"].endswith("; the nearest name is total.")
    assert misspelt["next"] == "dbg why total"
    assert was_not_run == "x"
    assert "the second run differed (runs was 1, then 2; total was 10, then 20)" in differs
    assert missed["message"].startswith("the program was run a second time and never came to")


def test_what_cannot_be_run_again_is_refused_with_the_reason(dbg, write_program):
    child = write_program("child.py", "x = 1\nprint(x)  # @print\n")
    write_program(
        "parent.py", "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'])\n"
    )
    dbg("start", "parent.py", "-b", child.at("print"))
    refused = dbg.error("why", "x")

    assert refused["code"] == "unsupported"
    assert "this is a child process" in refused["message"]
