"""Hypotheses: the first difference from the unpatched run, and statements in a copy of a source."""

from __future__ import annotations

import pytest

from freezeframe.model.stops import Exit
from freezeframe.model.trials import Trial
from freezeframe.questions.trials import guarded_source, replaced_function, with_difference

_UNPATCHED = Trial("", "raised", exception="ValueError: -1", output="a\nb\n")


@pytest.mark.parametrize(
    ("trial", "difference"),
    [
        (_UNPATCHED, ""),
        (Trial("x", "ended", Exit(0), output="a\nc\n"), "line 2 of its output is 'c', not 'b'"),
        (
            Trial("x", "ended", Exit(0), output="a\nb\nc\n"),
            "prints 'c' where the unpatched run prints nothing more",
        ),
        (Trial("x", "ended", Exit(0), output="a\n"), "does not print 'b'"),
        (Trial("x", "ended", Exit(0), output="a\nb\n"), "only its end differs"),
        (Trial("x", "refused", problem="no"), ""),
    ],
)
def test_the_first_difference_is_in_the_output_or_at_the_end(trial, difference):
    assert with_difference(trial, _UNPATCHED).difference == difference


def test_durations_and_addresses_are_no_difference():
    one = Trial("", "ended", Exit(0), output="1 passed in 2.26s\n<Cart at 0x7f01>\n")
    other = Trial("x", "ended", Exit(0), output="1 passed in 3.1 s\n<Cart at 0x7f99>\n")

    assert with_difference(other, one).difference == ""


def test_a_python_function_returns_at_the_hit_that_is_meant_and_only_there():
    source = "def f(n):\n    if (n >\n            2):\n        n += 1\n    return n\n"

    changed = guarded_source("f.py", source, 3, 2, "return 'early'")

    assert changed is not None
    names: dict = {}
    exec(changed, names)
    assert [names["f"](n) for n in (1, 2, 3)] == [1, "early", 4]


@pytest.mark.parametrize(
    ("path", "source", "line", "stands"),
    [
        ("a.py", "if a:\n    b()\nelif c:\n    d()\n", 3, False),
        ("a.js", "function f() {\n  let a =\n    3;\n  return a;\n}\n", 3, False),
        ("a.js", "function f() {\n  let a = 3;\n  return a;\n}\n", 3, True),
        ("a.go", "func f() int {\n\treturn 1\n}\n", 2, True),
        ("a.go", "func f() {\n\tg(1,\n\t\t2)\n}\n", 3, False),
        ("a.rs", "fn f() {\n    g();\n}\n", 2, False),
    ],
)
def test_a_statement_stands_only_where_one_may_begin(path, source, line, stands):
    changed = guarded_source(path, source, line, 1, "return 3")

    assert (changed is not None) == stands
    if changed is not None:
        assert changed.splitlines()[: line - 1] == source.splitlines()[: line - 1]


_CLASS = """\
class Cart:
    @property
    def total(self):
        return -1

    def other(self):
        pass
"""


@pytest.mark.parametrize(
    ("new", "shown"),
    [
        ("return 7\n", "    @property\n    def total(self):\n        return 7\n"),
        (
            "def total(self):\n    return 8\n",
            "    @property\n    def total(self):\n        return 8\n",
        ),
        ("@cached\ndef total(self):\n    return 9\n", "Cart:\n    @cached\n    def total(self):\n"),
    ],
)
def test_a_function_is_replaced_by_a_function_or_by_a_body(new, shown):
    changed = replaced_function(_CLASS, "Cart.total", new)

    assert changed is not None
    assert shown in changed
    assert changed.endswith("    def other(self):\n        pass\n")
    assert "-1" not in changed


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("total", "return 7"),
        ("Cart.total", "return ("),
        ("Cart.total", ""),
        ("Cart.total", "def total(self):\n    return 8\nx = 1\n"),
        ("Cart.total", 'return """a\n  b"""\n'),
    ],
)
def test_a_function_that_is_not_there_or_cannot_be_replaced_as_it_is_meant_is_refused(name, new):
    assert replaced_function(_CLASS, name, new) is None
