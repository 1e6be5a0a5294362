"""Names of minified code: expressions in those of the source."""

from __future__ import annotations

import pytest

from freezeframe.backends.inspector.names import minify
from freezeframe.errors import EvaluationFailed

NAMES = {"n": "price", "e": "item"}


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("price * 2", "n * 2"),
        ("item.price + price", "e.price + n"),
        ("f(...item)", "f(...e)"),
        ("a ? item : price", "a ? e : n"),
        ("({price: price, item: 1})", "({price: n, item: 1})"),
        ("'price' + price", "'price' + n"),
        ("x.n + 2", "x.n + 2"),
    ],
)
def test_names_of_the_source_become_those_that_run_and_nothing_else_does(written, runs):
    assert minify(written, NAMES) == runs


def test_a_name_that_only_the_minified_code_has_is_refused_with_the_source_s():
    with pytest.raises(EvaluationFailed, match="`n` is the minified name of `price`"):
        minify("n + 1", NAMES)
