"""What the output of a failed run says, for each kind of runner."""

from __future__ import annotations

import pytest

from freezeframe.ops._failure_texts import failure_of, wilson

_PYTEST = """\
F                                                                        [100%]
=================================== FAILURES ===================================
_________________________________ test_total ___________________________________

    def test_total():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_cart.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 3 == 4
1 failed in 0.03s
"""
_UNITTEST = """\
F
======================================================================
FAIL: test_total (test_cart.Totals.test_total)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/p/test_cart.py", line 8, in test_total
    self.assertEqual(3, 4)
  File "/usr/lib/python3.11/unittest/case.py", line 873, in assertEqual
    assertion_func(first, second, msg=msg)
AssertionError: 3 != 4

----------------------------------------------------------------------
Ran 1 test in 0.000s
"""
_GO = """\
--- FAIL: TestTotal (0.00s)
    cart_test.go:9: got 3, want 4
FAIL
exit status 1
"""
_PANIC = """\
panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.pick(...)
\t/p/main.go:12
main.main()
\t/p/main.go:20 +0x1d
exit status 2
"""
_RUST = """\
running 1 test
thread 'tests::total' (12) panicked at src/lib.rs:10:9:
assertion `left == right` failed
  left: 3
 right: 4
"""
_NODE = """\
/p/cart.js:7
AssertionError [ERR_ASSERTION]: 3 == 4
    at total (/p/cart.js:7:10)
    at node:internal/main/run_main_module:28:49
"""


@pytest.mark.parametrize(
    ("output", "location", "message", "test"),
    [
        (_PYTEST, "tests/test_cart.py:5", "assert 3 == 4", "tests/test_cart.py::test_total"),
        (
            _UNITTEST, "test_cart.py:8", "AssertionError: 3 != 4",
            "test_total (test_cart.Totals.test_total)",
        ),
        (_GO, "cart_test.go:9", "got 3, want 4", "TestTotal"),
        (_PANIC, "main.go:12", "panic: runtime error: index out of range [3] with length 3", None),
        (_RUST, "src/lib.rs:10", "assertion `left == right` failed", "tests::total"),
        (_NODE, "cart.js:7", "AssertionError [ERR_ASSERTION]: 3 == 4", None),
        ("all is well\nbut not here\n", None, "but not here", None),
    ],
    ids=["pytest", "unittest", "go", "panic", "rust", "node", "other"],
)  # fmt: skip
def test_a_failure_is_read_from_the_output(output, location, message, test):
    found = failure_of(output, 1, "/p", 10)

    assert (found.location, found.message, found.test) == (location, message, test)


def test_a_run_without_output_is_described_by_how_it_ended():
    assert failure_of("", -11, "/p", 10).message == "killed by SIGSEGV"
    assert failure_of("", None, "/p", 10).message == "did not end within 10 s"
    assert failure_of("", 3, "/p", 10).message == "exited with code 3, without output"


def test_numbers_do_not_distinguish_failures():
    one, other = (failure_of(f"ValueError: got {n} at 0x{n}f", 1, "/p", 1) for n in (3, 4))

    assert one.group == other.group


def test_the_interval_of_a_failure_rate_is_wilsons():
    low, high = wilson(1, 200)
    assert (round(low, 4), round(high, 4)) == (0.0009, 0.0278)
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(0, 100)[0] == 0.0
