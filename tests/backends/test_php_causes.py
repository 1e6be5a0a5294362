"""Which variable a `throw` passes on as the previous exception."""

from __future__ import annotations

import pytest

from freezeframe.backends.php import causes


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ('throw new RuntimeException("failed", 1, $e);', ("$e", 2)),
        ("throw new RuntimeException(previous: $e, message: 'x');", ("$e", -1)),
        ('throw new \\App\\Wrapped(sprintf("%s", $id), $e);', ("$e", 1)),
        ("throw new RuntimeException($e->getMessage());", None),
        ("throw new RuntimeException('x' . $e);", None),
        ("throw $e;", None),
        ("throw new Odd;", None),
        ("return new RuntimeException('a', 1, $e);", None),
        ("if ($a) throw new A($e); else throw new B($f);", None),
    ],
)
def test_the_variable_is_an_argument_by_itself(statement, expected):
    assert causes.find(f"<?php\n// throw new No($e);\n{statement}\n", 3) == expected


def test_a_call_over_several_lines_is_read_to_its_end():
    text = "<?php\nthrow new A(\n    'text',\n    4,\n    $e,\n);\n"
    assert causes.find(text, 2) == ("$e", 2)
