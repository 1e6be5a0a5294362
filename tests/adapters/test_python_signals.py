"""Signals that arrive at a stop, and exceptions that leave the function of a step."""

from __future__ import annotations

import pytest

from harness.interpreters import interpreters
from harness.reports import place, printed
from harness.waits import wait_until

LIMITED = """\
import signal, time
class TimedOut(Exception):
    pass
def expire(number, frame):
    raise TimedOut(frame.f_code.co_name)
def work(n):
    n += 1  # @work
    return n
def main():
    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        work(1)
        while True:
            time.sleep(0.01)
    except TimedOut:  # @caught
        print("timed out")
    print(work(2), signal.getsignal(signal.SIGALRM) is expire)
main()
"""


def _has_arrived(dbg) -> bool:
    left = dbg.data("print", "signal.getitimer(signal.ITIMER_REAL)")["value"]["text"]
    return left == "(0.0, 0.0)"


@pytest.mark.parametrize("adapter", ["debugpy", "pdb"])
def test_a_handler_that_raises_waits_until_the_program_resumes(dbg, write_program, adapter):
    p = write_program("limited.py", LIMITED)
    dbg.data("start", "limited.py", "-b", p.at("work"), "--adapter", adapter)

    wait_until(lambda: _has_arrived(dbg), "the time limit")
    assert dbg.data("print", "n")["value"]["text"] == "1"

    again = dbg.data("continue")
    assert (place(again), printed(again)) == (p.at("work"), "timed out\n")
    assert dbg.data("print", "n")["value"]["text"] == "2"
    assert printed(dbg.data("continue")) == "3 True\n"


SEES_DEBUGGER = """\
import signal, sys, time
seen = []
def first(number, frame):
    seen.append(sys.gettrace() is not None or bool(getattr(sys, "monitoring", None)))
def second(number, frame):
    print("second")
for wait in (True, False):
    signal.signal(signal.SIGALRM, first)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    seen = [] if wait else seen  # @stop
    while wait and not seen:
        time.sleep(0.001)
    signal.signal(signal.SIGALRM, second)
time.sleep(0.1)
print(all(seen), sys.gettrace())
"""


def test_a_handler_that_was_held_back_finds_a_debugger_and_no_other_gets_its_signal(
    dbg, write_program
):
    p = write_program("sees.py", SEES_DEBUGGER)
    python = ("--interpreter", interpreters()[0].path)
    dbg.data("start", "sees.py", *python, "-b", p.at("stop"))
    for _ in range(2):
        wait_until(lambda: _has_arrived(dbg), "the time limit")
        ended = dbg.data("continue")

    assert printed(ended) == "True None\n"


def test_a_step_where_an_exception_leaves_the_function_ends_where_it_is_caught(dbg, write_program):
    p = write_program(
        "leaves.py",
        "def fail(n):\n    raise KeyError(n)  # @raised\n"
        "def between(n):\n    fail(n)  # @between\n"
        "try:\n    between(1)  # @outer\nexcept KeyError:  # @caught\n    print('caught')\n",
    )
    passed = [p.at("raised"), p.at("between"), p.at("outer")]
    dbg.data("start", "leaves.py", "-b", p.at("raised"))

    while place(report := dbg.data("next")) in passed:
        passed.remove(place(report))
    assert place(report) == p.at("caught")
