"""Programs that use up their stack."""

from __future__ import annotations

import subprocess

import pytest

from harness.interpreters import interpreters
from harness.reports import printed

_DEPTH = """\
import sys

def depth(n):
    try:
        return depth(n + 1)
    except RecursionError:
        return n


for i in range(2):
    print(depth(0) > 100, sys.getrecursionlimit())

def endless(n):
    return endless(n + 1)

endless(0)
"""


def test_a_breakpoint_where_the_stack_has_ended_stops_and_is_gone_on_from(dbg, write_program):
    write_program("depth.py", _DEPTH)

    for command in (("start", "depth.py", "-b", "depth.py:7"), ("continue",)):
        stop = dbg.data(*command)["stop"]
        assert (stop["frame"]["line"], stop["breakpoints"]) == (7, [1])
        assert int(dbg.data("print", "n")["value"]["text"]) > 100

    dbg.data("breakpoint", "remove", "1")
    uncaught = dbg("continue").out
    assert "| True 1000\n" in uncaught, "the program has the limit that it had"
    assert "uncaught exception at depth.py:14 in endless" in uncaught
    assert "exception: RecursionError" in uncaught
    assert "more frames of endless" in uncaught
    assert "while handling" not in uncaught, "the debugger's own errors are not the program's"


@pytest.mark.parametrize("python", interpreters(), ids=str)
def test_a_program_calls_as_deep_as_without_a_debugger(dbg, write_program, python, project):
    write_program(
        "deep.py",
        "import sys\n"
        "def depth(n):\n"
        "    try:\n"
        "        return depth(n + 1)\n"
        "    except RecursionError:\n"
        "        return n\n"
        "print(depth(0), sys.getrecursionlimit())\n"
        "sys.setrecursionlimit(400)\n"
        "print(depth(0), sys.getrecursionlimit())\n",
    )
    for words in (["deep.py"], ["-m", "deep"]):
        alone = subprocess.run(
            [python.path, *words], cwd=project, capture_output=True, text=True, check=True
        )
        assert printed(dbg.data("start", *words, "--interpreter", python.path)) == alone.stdout


@pytest.mark.parametrize("python", interpreters(), ids=str)
def test_a_handler_of_a_recursion_error_is_hit_once_and_ends_as_alone(dbg, write_program, python):
    write_program(
        "caught.py",
        "caught = []\ndef depth(n):\n    try:\n        return depth(n + 1)\n"
        "    except RecursionError:\n        caught.append(n)\n        return n\n"
        "print(depth(0) == caught[0], len(caught))\n",
    )

    dbg.data("start", "caught.py", "-b", "caught.py:6", "--interpreter", python.path)

    assert printed(dbg.data("continue")) == "True 1\n"


def test_pdb_keeps_its_breakpoints_when_the_stack_has_ended(dbg, write_program, debugger):
    write_program("depth.py", _DEPTH)
    words = ("-b", "depth.py:7", "-b", "depth.py:16")

    report = dbg.data("start", "depth.py", "--adapter", "pdb", *words)
    lines = [report["stop"]["frame"]["line"]]
    while lines[-1] != 16:
        lines.append(dbg.data("continue")["stop"]["frame"]["line"])

    assert printed(dbg.data("output", "--all")) == "True 1000\nTrue 1000\n"
    # Once in each round: where the stack is full. On 3.11 there is not always room to see it.
    assert lines == [7, 7, 16] or debugger.interpreter.version == "3.11"


def test_a_frame_is_selected_by_the_name_of_its_function(dbg, write_program):
    write_program(
        "calls.py",
        "def inner(n):\n    return n\ndef outer(n):\n    m = n\n    return inner(m)\nouter(1)\n",
    )
    dbg.data("start", "calls.py", "-b", "calls.py:2")

    assert dbg.data("frame", "outer")["frame"]["index"] == 1
    assert dbg.data("print", "m")["value"]["text"] == "1"
    assert dbg.data("frame", "inner")["frame"]["index"] == 0
    assert dbg.error("frame", "outr")["next"] == "dbg frame outer"

    trail = dbg.data("next", "--count", "3")["trail"]
    assert [(step["line"], len(step["changed"])) for step in trail] == [(2, 0), (5, 0)]
