"""`probe`: what passes at a line, without stopping."""

from __future__ import annotations

import pytest

from harness.interpreters import interpreters
from harness.reports import place

PRICES = """\
import os, threading
cfg = {"rate": 3}
class Item:
    def __init__(self, n):
        self.n = n
    def __repr__(self):
        print("repr was called")
        return "?"
def price(n, item):
    p = n * cfg["rate"]
    if n > 3:
        extra = 20
        p -= extra
    return p  # @return
def later(n):
    return n  # @later
workers = [threading.Thread(target=price, args=(n, Item(n))) for n in range(3)]
for worker in workers:
    worker.start()
    worker.join()
for n in range(3, 5000):
    price(n, Item(n))
print("ended")
if os.environ.get("RAISE"):
    raise KeyError("end")
"""
_ENDS = sorted({interpreters()[0], interpreters()[-1]}, key=str)


@pytest.mark.parametrize("interpreter", _ENDS, ids=str)
def test_every_hit_of_a_line_is_recorded_at_its_moment_in_all_threads(
    dbg, write_program, interpreter
):
    p = write_program("prices.py", PRICES)
    command = ("--", interpreter.path, p.name)

    words = ("p", "item", "extra", "cfg['rate'] + n")
    report = dbg.data("probe", p.at("return"), *words, *command)

    assert report["hits"] == 5000
    assert [row["cells"] for row in report["first"]][:2] == [
        ["0", "Item(n=0)", "<NameError: name 'extra' is not defined>", "3"],
        ["3", "Item(n=1)", "<NameError: name 'extra' is not defined>", "4"],
    ]
    assert report["last"][-1] == {"hit": 5000, "cells": ["14977", "Item(n=4999)", "20", "5002"]}
    prices = report["columns"][0]
    assert (prices["least"], prices["greatest"]) == (["-8", 5], ["14977", 5000])
    assert report["exit"]["code"] == 0
    assert dbg.data("sessions")["sessions"] == [], "no session is left behind"

    report = dbg.data("probe", p.at("return"), "p", "--until", "p < 0", *command)
    assert (report["hits"], report["found"]) == (5, {"hit": 5, "cells": ["-8"]})
    assert report["exit"] is None, "the program was ended there"
    report = dbg.data("probe", p.at("return"), "extra", "--until", "n == 2", *command)
    assert report["found"]["hit"] == 3, "a value that raises hides no condition that holds"
    report = dbg.data("probe", p.at("return"), "p", "--until", "extra > 20", *command)
    assert (report["hits"], report["found"]) == (5000, None)
    [note] = report["notes"]
    assert note.startswith("extra > 20 could not be evaluated at 4 hits: NameError")
    report = dbg.data("probe", p.at("return"), "p", "--until", "p < -100", *command)
    assert (report["hits"], report["found"], report["exit"]["code"]) == (5000, None, 0)


def test_a_probe_without_a_command_runs_what_was_started_last_and_leaves_its_session(
    dbg, write_program
):
    p = write_program("prices.py", PRICES)
    started = dbg.data("start", p.name, "-b", p.at("return"), "--env", "RAISE=1")

    report = dbg.data("probe", p.at("return"), "n")

    assert (report["hits"], report["exit"]["code"]) == (5000, 1)
    assert report["exception"] == "KeyError: 'end'"
    assert place(dbg.data("context")) == place(started)

    report = dbg.data("probe", p.at("later"))
    assert report["hits"] == 0
    assert report["notes"] == [
        f"line {p.line('later')} has no code in the functions of prices.py that were called"
    ]


def test_programs_of_other_languages_are_probed_by_a_logpoint(dbg, program):
    p = program("loop.js")

    report = dbg.data("probe", p.at("loop"), "total", "--", "node", p.name)

    assert [row["cells"] for row in report["first"]] == [["0"], ["6"], ["11"]]
    assert report["exit"]["code"] == 3
    assert "recorded by a logpoint" in report["notes"][-1]


def test_what_is_no_expression_or_no_line_is_refused_with_a_next_step(dbg, write_program):
    p = write_program("prices.py", PRICES)
    assert dbg.error("probe", p.at("return"), "p +", "--", p.name)["code"] == "usage"
    assert dbg.error("probe", "prices.py:999", "p", "--", p.name)["code"] == "not-found"
    assert dbg.error("probe", p.at("return"), "p")["code"] == "no-session"
