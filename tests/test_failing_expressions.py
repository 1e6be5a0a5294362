"""Which expression of a failing statement is explained."""

from __future__ import annotations

import pytest

from freezeframe.questions.failing_expressions import failing_expression


@pytest.mark.parametrize(
    ("statement", "error", "text", "compared"),
    [
        ("assert total(cart) == 3", "", "total(cart)", "3"),
        ("assert 3 == total(cart)", "", "total(cart)", "3"),
        ("assert expected == got", "", "got", "expected"),
        ("assert min(prices) >= 0", "", "min(prices)", None),
        ("assert not errors", "", "errors", None),
        ("assert 'x' in names(cart)", "", "names(cart)", None),
        ("self.assertEqual(got, 3)", "", "got", "3"),
        ("self.assertTrue(cart.ok)", "", "cart.ok", None),
        ("self.assertEqual(\n    [1],\n    got,\n)", "", "got", "[1]"),
        ("assert_frame_equal(result, expected)", "", "result", "expected"),
        ("x = a.b.c.d", "AttributeError: 'NoneType' object has no attribute 'd'", "a.b.c", None),
        ("x = table[key]", "KeyError: 3", "(key, table)", None),
        ("x = table['rate']", "KeyError: 'rate'", "table", None),
        ("x = (a + b) / len(items)", "ZeroDivisionError: division by zero", "len(items)", None),
        ("if n > 3:\n    raise ValueError(n)", "ValueError: 4", "n", None),
        ("load(text)", "ValueError: bad", "text", None),
        ("import json\njson.loads(text)", "ValueError: bad", "text", None),
        ("def g():\n  while n > 3:\n    n = f(n)\n  if up:\n    raise E", "E: no", "n > 3", None),
        (
            "def g():\n  for n in m:\n    if f(n):\n      return\n  raise E(m)",
            "E: no",
            "f(n)",
            None,
        ),
        ("def g(self):\n  if self.strict:\n    raise E(text)", "E: no", "text", None),
        ("def g(on):\n  m = f()\n  if not m:\n    raise E(on)", "E: no", "m", None),
        ("try:\n    f()\nexcept A as e:\n    raise B", "B: no", "e", None),
        ("with raises(A):\n    load(text)", "Failed: DID NOT RAISE A", "load(text)", None),
        ("with raises(A):\n    rows[-9]", "Failed: DID NOT RAISE A", "rows[-9]", None),
        ("self.assertRaises(A, f, x)", "", "self.assertRaises(A, f, x)", None),
    ],
)
def test_the_wrong_value_of_a_failing_statement_is_found(statement, error, text, compared):
    source = f"def test():\n    pass\n{statement}\n"
    type, _, message = error.partition(": ")
    is_last = "raise " in statement or statement.startswith("import")
    line = source.count("\n") if is_last else 3
    found = failing_expression(source, line, type or "AssertionError", message)
    assert found is not None
    assert (found.text, found.compared) == (text, compared)


@pytest.mark.parametrize("statement", ["assert False", "x = a[i][j]", "def (", "pytest.fail('no')"])
def test_where_the_statement_does_not_say_nothing_is_explained(statement):
    assert failing_expression(f"{statement}\n", 1, "KeyError", "1") is None
