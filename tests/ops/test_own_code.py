"""Which paths are the project's own."""

from __future__ import annotations

import pytest

from freezeframe.ops._launch_args import is_below


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/shop/main.c", True),
        ("/a/shop", True),
        ("/a/shop-lib/main.c", False),
        ("/a/shopping.c", False),
        ("/b/tests/t.c", True),
        ("/c", False),
    ],
)
def test_a_directory_owns_what_is_in_it_and_not_what_begins_alike(path, expected):
    assert is_below(path, ("/a/shop", "/b/tests/")) is expected


def test_the_root_directory_owns_everything():
    assert is_below("/c/x.c", ("/",))
