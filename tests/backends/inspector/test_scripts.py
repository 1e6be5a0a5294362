"""Scripts: statements that V8 locates by their ends."""

from __future__ import annotations

import pytest

from freezeframe.backends.inspector.scripts import return_before


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("function f(a){const r=a;return r}", "return r"),
        ("function f(a){return{k:[a,(1)]}}", "return{k:[a,(1)]}"),
        ("function f(a){return a.map(x=>{g(x)})}", "return a.map(x=>{g(x)})"),
        ("function f(a){if(a)return;g(a)}", None),
        ("function f(a){g(a)}", None),
        ("function f(a){o.return(a)}", None),
        ("function f(a){returned}", None),
    ],
)
def test_a_return_without_a_semicolon_is_found_from_the_brace_that_ends_it(text, found):
    start = return_before(text, len(text) - 1)

    assert (None if start is None else text[start:-1]) == found
