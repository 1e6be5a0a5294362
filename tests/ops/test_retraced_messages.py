"""Whether a second run ended with the message of the first one."""

from __future__ import annotations

import pytest

from freezeframe.ops._retrace import _is_same_text


@pytest.mark.parametrize(
    ("second", "first", "same"),
    [
        ("KeyError: 3", "KeyError: 3", True),
        ("KeyError: 3", "KeyError: 4", False),
        ("TypeError: <A at 0x7f01>", "TypeError: <A at 0x7f02>", True),
        ("AssertionError: 'a\x00b'\n  c", "AssertionError: 'a\\x00b'\n  c", True),
        ("AssertionError: 'a\x00b'", "AssertionError: 'a\\0c'", False),
        (f"E: {'lists differ ' * 20}…", f"E: {'lists differ ' * 30}", True),
    ],
)
def test_messages_are_compared_without_addresses_and_escapes(
    second: str, first: str, same: bool
) -> None:
    assert _is_same_text(second, first) is same
