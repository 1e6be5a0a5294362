"""`dbg test`: the failing test at the moment of its failure, in one call."""

from __future__ import annotations

from freezeframe.render.budget import tokens

#: plugins of the environment of this test are not those of the project
WITH_PYTEST = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
PRICE = """\
def price(n, cfg):
    p = n * cfg["rate"]
    if n > 10:
        p = p - cfg["discount"]
    return checked(p)

def checked(p):
    if p < -100:
        raise ValueError(p)
    return p
"""
TESTS = """\
import pytest
from price import price

CFG = {"rate": 0, "discount": 5}

def test_rate():
    assert price(1, CFG) == 0

@pytest.mark.parametrize("n", [5, 12])
def test_never_negative(n):
    prices = [price(n, CFG), 3]
    assert min(prices) >= 0

def test_checked():
    print("half way")
    price(20, {"rate": -7, "discount": 0})

@pytest.fixture
def shop():
    raise KeyError("shop")

def test_shop(shop):
    pass

@pytest.mark.skip
def test_later():
    pass
"""
CASES = """\
import unittest
from price import price

class PriceTest(unittest.TestCase):
    def setUp(self):
        self.cfg = {"rate": 2, "discount": 5}

    def test_a(self):
        self.assertEqual(price(3, self.cfg), 6)

    def test_b(self):
        for n in (1, 12):
            with self.subTest(n=n):
                self.assertEqual(price(n, self.cfg), 2 * n)
"""


def write(dbg, **files: str) -> None:
    for name, text in files.items():
        (dbg.project / f"{name}.py").write_text(text)


def test_a_failing_pytest_test_is_described_in_one_call_and_continue_goes_to_the_next(dbg):
    write(dbg, price=PRICE, test_price=TESTS)
    first = dbg("test", env=WITH_PYTEST)
    lines = first.out.splitlines()
    assert lines[0] == "failed: test_price.py::test_never_negative[12]  (test 3 of 6; 2 passed)"
    assert lines[1:5] == [
        "AssertionError: assert -5 >= 0",
        "  where -5 = min([-5, 3])",
        "  test_price.py:12 in test_never_negative: assert min(prices) >= 0",
        "    prices = [-5, 3], n = 12",
    ]
    assert lines[5] == "min(prices) = -5 came from"
    assert lines[6].startswith("  price.py:4 in price  p = p - cfg['discount']  0 → -5")
    assert "next: dbg why 'min(prices)', dbg trace price or dbg continue" in first.out
    assert tokens(first.out) < 600
    # The frames are alive.
    assert dbg("print", "prices[0] + n").out.startswith("prices[0] + n = 7")

    raised = dbg("continue").out
    assert raised.startswith(
        "failed: test_price.py::test_checked  (test 4 of 6; 2 passed, 2 failed)"
    )
    assert "ValueError: -140" in raised
    assert "  price.py:5 in price: return checked(p)\n    p = -140\n" in raised
    assert "| half way" in raised

    fixture = dbg("continue").out
    assert fixture.startswith("error in the setup of test_price.py::test_shop")
    end = dbg("continue").out
    assert end.startswith("done: 2 passed, 2 failed, 1 with errors, 1 skipped")
    assert "test_price.py::test_never_negative[12]" in end


def test_all_describes_every_failure_and_json_holds_the_facts(dbg):
    write(dbg, price=PRICE, test_price=TESTS)
    data = dbg.data("test", "--all", env=WITH_PYTEST)
    assert [each["test"]["id"].partition("::")[2] for each in data["failures"]] == [
        "test_never_negative[12]",
        "test_checked",
        "test_shop",
    ]
    assert data["state"] == "terminated"
    assert data["counts"]["failed"] == 2
    inner = data["failures"][1]["frames"][-1]
    assert (inner["function"], inner["line"]) == ("checked", 9)
    passed = dbg("test", "test_rate", "test_never_negative[5]", env=WITH_PYTEST).out
    assert passed.startswith("passed: 2 tests")


def test_what_keeps_tests_from_running_is_said(dbg):
    write(dbg, price=PRICE, test_price=TESTS)
    near = dbg("test", "tst_rate", env=WITH_PYTEST)
    assert near.err.endswith("next: dbg test test_rate\n")
    write(dbg, test_wrong="import nothing_here\n", test_bad="def (\n")
    loading = dbg("test", "test_wrong.py", env=WITH_PYTEST).out
    assert loading.startswith("error while loading test_wrong.py")
    assert "ModuleNotFoundError: No module named 'nothing_here'" in loading
    write(
        dbg,
        test_order="SEEN = []\n"
        "def test_a():\n    SEEN.append(1)\n"
        "def test_b():\n    assert SEEN == []\n",
    )
    order = dbg("test", "test_order.py", env=WITH_PYTEST).out
    assert order.startswith("failed: test_order.py::test_b  (test 2 of 2; 1 passed)")
    assert "run a second time, alone, the test passed" in order
    syntax = dbg("test", "test_bad.py", env=WITH_PYTEST).out
    assert "1 with errors" in syntax
    assert "SyntaxError" in syntax


def test_unittest_runs_without_pytest_and_names_subtests(dbg):
    write(dbg, price=PRICE, test_price=CASES)
    found = dbg("test").out
    assert found.startswith("failed: test_price.PriceTest.test_b (n=12)  (test 2 of 2; 1 passed)")
    assert "AssertionError: 19 != 24\n" in found
    assert "    n = 12, self.cfg = {'rate': 2, 'discount': 5}\n" in found
    assert ", unittest (test_price.py uses unittest)\n" in found
    assert dbg("continue").out.startswith("done: 1 passed, 1 failed")
    assert dbg("test", "PriceTest.test_a").out.startswith("passed: 1 test")
