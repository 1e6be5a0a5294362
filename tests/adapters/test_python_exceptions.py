"""Exceptions of Python programs: reported as Python does, and stopped at by type."""

from __future__ import annotations

import pytest

from freezeframe.backends.dap.adapters.debugpy import exceptions
from harness.reports import place, shown

CHAINED = """\
def low(x):
    return 1 / x


def middle(x):
    try:
        return low(x)
    except ZeroDivisionError as error:
        raise KeyError("middle") from error


def top():
    try:
        middle(0)
    except KeyError:
        raise RuntimeError("top")  # @top


top()
"""

MANY = """\
class Broken(Exception):
    pass


class Worse(Broken):
    pass


def quiet(kind):
    try:
        raise kind("told")  # @raise
    except Exception as error:
        return error


for kind in (KeyError, Worse, TypeError, ValueError):
    quiet(kind)
[][3]  # @uncaught
"""


def test_a_chained_exception_names_its_causes_and_the_stack_is_the_program_s(dbg, write_program):
    p = write_program("chained.py", CHAINED)

    report = dbg.data("start", p.name)

    assert place(report) == p.at("top")
    error = report["stop"]["exception"]
    assert (error["type"], error["message"]) == ("RuntimeError", "top")
    assert [each["words"] for each in error["links"]] == [
        "KeyError: 'middle'",
        "ZeroDivisionError: division by zero",
    ]
    assert [line["function"] for line in error["traceback"]] == ["<module>", "top"]
    stack = dbg.data("backtrace")["stacks"][0]
    assert [frame["function"] for frame in stack["frames"]] == ["top", "<module>"]
    assert stack["more"] == 0


def stops(dbg, *first):
    """Every stop until the program ends, as (location, type of the exception)."""
    seen = []
    report = dbg.data("start", *first)
    while report["state"] == "stopped":
        seen.append((place(report), report["stop"]["exception"]["type"]))
        report = dbg.data("continue")
    return seen


DEEP = """\
import copy, threading
nested = [threading.Lock()]
for _ in range(40):
    nested = [nested]
copied = copy.deepcopy(nested)  # @copied
"""


def test_the_user_s_frame_is_selected_below_many_of_a_library(dbg, write_program):
    p = write_program("deep.py", DEEP)

    report = dbg.data("start", p.name)

    assert "cannot pickle" in report["stop"]["exception"]["message"]
    assert shown(report) == p.at("copied")


def test_a_type_behind_a_filter_narrows_it_with_the_program_s_own_types(dbg, write_program):
    p = write_program("many.py", MANY)
    dbg.data("catch", "raised", "Broken", "ValueError")

    seen = stops(dbg, p.name)

    raised, uncaught = p.at("raise"), p.at("uncaught")
    assert seen == [(raised, "Worse"), (raised, "ValueError"), (uncaught, "IndexError")]


def test_uncaught_exceptions_of_other_types_do_not_stop(dbg, write_program):
    p = write_program("many.py", MANY)
    dbg.data("catch", "uncaught", "LookupError")
    assert stops(dbg, p.name) == [(p.at("uncaught"), "IndexError")]

    dbg.data("catch", "uncaught", "ValueError")
    assert stops(dbg, p.name) == []


def test_a_filter_is_widened_again_while_the_program_stands(dbg, write_program):
    p = write_program("many.py", MANY)
    dbg.data("catch", "raised", "KeyError")
    dbg.data("start", p.name)

    listed = {each["name"]: each for each in dbg.data("catch", "list")["filters"]}
    assert listed["raised"]["condition"] == "KeyError"
    assert listed["uncaught"]["on"]
    dbg.data("catch", "raised")

    assert dbg.data("continue")["stop"]["exception"]["type"] == "Worse"


@pytest.mark.parametrize("note", ["", "       (note: full exception trace is shown but …)"])
def test_what_pydevd_adds_to_a_type_is_not_shown(note):
    body = {"exceptionId": "KeyError" + note, "description": "'k'", "breakMode": "userUnhandled"}

    assert exceptions.read(body).type == "KeyError"


def test_a_frame_that_raised_what_it_had_caught_is_shown_at_both_lines(dbg, write_program):
    write_program(
        "retry.py",
        "def flaky():\n    return {}['k']\n"
        "def retry():\n    for n in range(2):\n        try:\n            return flaky()\n"
        "        except KeyError as error:\n            last = error\n    raise last\nretry()\n",
    )

    told = dbg("start", "retry.py").out

    assert "retry.py:9 in retry: raise last\n  retry.py:6 in retry: return flaky()\n" in told
    assert [dbg.data("frame", at)["frame"]["line"] for at in ("1", "2")] == [6, 9]
