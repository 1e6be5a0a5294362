"""A test that fails stops where it does, under pytest and unittest; the run ends as a plain one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.interpreters import interpreters
from harness.reports import place, printed, texts

#: any Python finds the pytest that runs this test
WITH_PYTEST = {
    "PYTHONPATH": str(Path(pytest.__file__).parent.parent),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}

PYTEST = """\
import pytest, sys, unittest
def total(cart):
    return sum(cart)
def test_raises():
    with pytest.raises(ZeroDivisionError):
        1 / 0
    try:
        {}["caught"]
    except KeyError:
        pass
def test_assert():
    cart = [1, 1]
    got = total(cart)
    assert got == 3  # @assert
@pytest.mark.xfail
def test_expected():
    assert 1 == 2
def test_skipped():
    pytest.skip("not now")
@pytest.fixture
def broken():
    raise KeyError("fixture")  # @fixture
def test_fixture(broken):
    pass
class Case(unittest.TestCase):
    def test_subtests(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertEqual(n, 1)  # @subtest
def test_exit():
    sys.exit(4)  # @exit
def test_untraced():
    assert sys.gettrace() is None
"""

UNITTEST = """\
import asyncio, unittest
class Cart(unittest.TestCase):
    def test_a_raises(self):
        with self.assertRaises(ZeroDivisionError):
            1 / 0
    def test_b_assert(self):
        got = 2
        self.assertEqual(got, 3)  # @assert
    @unittest.expectedFailure
    def test_c_expected(self):
        self.fail("expected")
    def test_d_skipped(self):
        self.skipTest("not now")
    def test_e_subtests(self):
        for n in (1, 2):
            with self.subTest(n=n):
                assert n == 1, "odd"  # @subtest
class Class(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("class")  # @class
    def test_never(self):
        pass
class Tasks(unittest.IsolatedAsyncioTestCase):
    async def test_task(self):
        await asyncio.sleep(0)
        raise ValueError("task")  # @task
"""


_ENDS = sorted({interpreters()[0], interpreters()[-1]}, key=str)


def failure(report):
    """Return the report of the exception that made a test fail."""
    told = report["stop"]["exception"]
    assert told["mode"] == "test-failing"
    return told["type"], told["message"]


@pytest.mark.parametrize("interpreter", _ENDS, ids=str)
def test_a_failing_test_of_pytest_stops_with_the_values_that_it_compared(
    dbg, write_program, interpreter
):
    p = write_program("test_cart.py", PYTEST)
    words = ("-q", "-p", "no:cacheprovider", p.name)

    start = ("start", "--interpreter", interpreter.path, "-m", "pytest")
    report = dbg.data(*start, *words, env=WITH_PYTEST)
    assert (place(report), failure(report)) == (
        p.at("assert"),
        ("AssertionError", "assert 2 == 3"),
    )
    assert texts(report) == {"cart": "[1, 1]", "got": "2"}
    assert dbg.data("eval", "total(cart + [1])")["value"]["text"] == "3"
    report = dbg.data("continue")
    assert (place(report), failure(report)) == (p.at("fixture"), ("KeyError", "'fixture'"))
    report = dbg.data("continue")
    assert failure(report) == ("AssertionError", "2 != 1")
    assert texts(report)["n"] == "2"
    report = dbg.data("continue")
    assert (place(report), failure(report)) == (p.at("exit"), ("SystemExit", "4"))
    ended = dbg.data("continue")

    assert ended["exit"]["code"] == 1
    output = dbg.data("output", "--all")
    assert printed(output) == printed(output, "stdout")
    summary = printed(output).splitlines()[-1]
    plain = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=p.path.parent,
        env={**os.environ, **WITH_PYTEST},
        capture_output=True,
        text=True,
    )
    assert plain.returncode == 1
    assert summary.rpartition(" in ")[0] == plain.stdout.splitlines()[-1].rpartition(" in ")[0]


def test_a_module_that_pytest_cannot_import_stops_at_the_import(dbg, write_program):
    p = write_program("test_import.py", "import nothing_there  # @import\n")

    report = dbg.data("start", "-m", "pytest", "-q", p.name, env=WITH_PYTEST)

    assert failure(report) == ("ModuleNotFoundError", "No module named 'nothing_there'")
    assert place(report) == p.at("import")
    assert dbg.data("continue")["exit"]["code"] == 2


def test_failing_tests_do_not_stop_when_nothing_is_to_be_caught(dbg, write_program):
    p = write_program("test_cart.py", PYTEST)
    dbg.data("catch", "off")

    report = dbg.data("start", "-m", "pytest", "-q", p.name, env=WITH_PYTEST)

    assert report["exit"]["code"] == 1


@pytest.mark.parametrize("interpreter", interpreters(), ids=str)
def test_a_failing_test_of_unittest_stops_where_it_fails(dbg, write_program, interpreter):
    p = write_program("test_cart.py", UNITTEST)

    report = dbg.data("start", "--interpreter", interpreter.path, "-m", "unittest", "test_cart")
    assert failure(report) == ("AssertionError", "2 != 3")
    assert texts(report)["got"] == "2"
    report = dbg.data("continue")
    assert (place(report), failure(report)) == (p.at("subtest"), ("AssertionError", "odd"))
    report = dbg.data("continue")
    assert (place(report), failure(report)) == (p.at("class"), ("OSError", "class"))
    report = dbg.data("continue")
    assert (place(report), failure(report)) == (p.at("task"), ("ValueError", "task"))
    ended = dbg.data("continue")

    assert ended["exit"]["code"] == 1
    said = printed(dbg.data("output", "--all"), "stderr")
    plain = subprocess.run(
        [interpreter.path, "-m", "unittest", "test_cart"],
        cwd=p.path.parent,
        capture_output=True,
        text=True,
    )
    assert [line for line in said.splitlines() if not line.startswith("Ran ")] == [
        line for line in plain.stderr.splitlines() if not line.startswith("Ran ")
    ]


def test_a_failing_test_stops_where_it_fails_under_pdb(dbg, write_program):
    p = write_program("test_cart.py", PYTEST.replace("sys.gettrace() is None", "True"))

    report = dbg.data("start", "--adapter", "pdb", "-m", "pytest", "-q", p.name, env=WITH_PYTEST)
    assert (place(report), failure(report)) == (
        p.at("assert"),
        ("AssertionError", "assert 2 == 3"),
    )
    assert texts(report) == {"cart": "[1, 1]", "got": "2"}
    report = dbg.data("continue")
    assert (place(report), failure(report)) == (p.at("fixture"), ("KeyError", "'fixture'"))
    assert failure(dbg.data("continue")) == ("AssertionError", "2 != 1")
    assert failure(dbg.data("continue")) == ("SystemExit", "4")
    assert dbg.data("continue")["exit"]["code"] == 1

    p = write_program("test_unit.py", UNITTEST)
    report = dbg.data("start", "--adapter", "pdb", "-m", "unittest", "test_unit")
    assert failure(report) == ("AssertionError", "2 != 3")
    assert texts(report)["got"] == "2"


DOCTESTS = """\
def area(w, h):
    \'\'\'
    >>> side = 3
    >>> area(side, 3)  # @mismatch
    10
    >>> area(side, None)
    0
    \'\'\'
    return w * h  # @raises
if __name__ == "__main__":
    import doctest
    doctest.testmod()
"""


@pytest.mark.parametrize(
    ("words", "adapter"),
    [
        (("shapes.py",), "pdb"),
        (("-m", "doctest", "shapes.py"), "debugpy"),
        (("-m", "pytest", "shapes.py"), "debugpy"),
    ],
)
def test_a_failing_doctest_stops_at_its_example(dbg, write_program, words, adapter):
    p = write_program("shapes.py", DOCTESTS)
    options = ("--", "--doctest-modules", "--doctest-continue-on-failure")

    words = (*words, "--adapter", adapter, *(options if "pytest" in words else ()))
    stop = dbg.data("start", *words, env=WITH_PYTEST)

    assert place(stop) == p.at("mismatch")
    assert "got 9, expected 10" in stop["stop"]["exception"]["message"]
    assert dbg.data("print", "area(side, 2)")["value"]["text"] == "6"
    stop = dbg.data("continue")
    assert place(stop) == p.at("raises")
    assert stop["stop"]["exception"]["type"].endswith("TypeError")
    assert dbg.data("continue")["state"] == "terminated"
