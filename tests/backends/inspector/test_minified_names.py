"""Names of minified code: expressions in those of the source."""

from __future__ import annotations

import pytest

from freezeframe.backends.inspector.minified_names import minify
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
def test_only_source_names_are_translated_to_running_names(written, runs):
    assert minify(written, NAMES) == runs


def test_a_minified_name_is_refused_and_the_source_name_is_suggested():
    with pytest.raises(EvaluationFailed, match="`n` is the minified name of `price`"):
        minify("n + 1", NAMES)
