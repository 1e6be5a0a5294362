"""A program that records each call of its own hooks behaves as without a debugger."""

from __future__ import annotations

import pytest

from harness.interpreters import interpreters
from harness.reports import printed, texts


def look_around(dbg, passes):
    """Ask at a stop for everything that is shown unasked, then go on to the next."""
    for _ in range(passes):
        dbg.data("locals", "--all")
        dbg.data("context")
        dbg.data("next")
    dbg.data("backtrace", "--locals")


_OLDEST, _NEWEST = interpreters()[0], interpreters()[-1]


@pytest.mark.parametrize(
    ("adapter", "interpreter"),
    [("debugpy", _OLDEST), ("debugpy", _NEWEST), ("pdb", _NEWEST)],
    ids=str,
)
def test_no_hook_of_a_python_program_runs_because_it_is_looked_at(
    dbg, program, adapter, interpreter
):
    p = program("hooks.py")
    words = ("--adapter", adapter, "--interpreter", interpreter.path)
    report = dbg.data("start", p.name, "-b", p.at("one"), *words)

    shown = texts(report)
    assert shown["plain"] == "Plain(x=1)"
    assert shown["slotted"] == "Slotted(a=5)"
    assert shown["my_repr"] == "MyRepr(q=1)"
    assert shown["my_list"] == "MyList([1, 2])"
    assert shown["my_dict"] == "MyDict({'a': 1})"
    assert shown["my_str"] == "MyStr('hello')"
    assert shown["my_int"] == "MyInt(7)"
    assert shown["my_enum"] == "<MyEnum.A: 1>"
    assert shown["my_error"] == "MyError('boom')"
    assert shown["data"] == "Data(a=Plain(x=1), b=2)"
    assert shown["wrapped"].endswith(", Plain(x=1))")
    paths = {"plain.x": "1", "my_list[1]": "2", "my_dict['a']": "1", "data.a": "Plain(x=1)"}
    for path in paths:
        dbg.data("display", path)
    displayed = dbg.data("context")["displays"]
    assert {each["expression"]: each["value"]["text"] for each in displayed} == paths
    look_around(dbg, 3)
    dbg.data("catch", "raised")
    report = dbg.data("continue")
    assert report["stop"]["exception"]["message"] == "boom"
    dbg.data("catch", "uncaught")
    dbg.data("finish")
    # gc is part of the interpreter.
    assert printed(dbg.data("continue")) in ("calls [] modules []\n", "calls [] modules ['gc']\n")
