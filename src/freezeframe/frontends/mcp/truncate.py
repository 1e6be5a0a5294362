"""Truncate structured answers to a budget.

Long strings and long lists are cut, the deepest first, and the answer says `truncated`. No I/O.
"""

from __future__ import annotations

import json
from typing import Any

#: how much longer data may be than text with the same facts
DATA_PER_TEXT = 4
BYTES_PER_TOKEN = 3
#: steps of (characters of a string, items of a list, levels), each smaller than the one before
_STEPS = ((2000, 100, 12), (500, 50, 10), (200, 25, 8), (120, 12, 7), (80, 6, 6), (60, 3, 5))
_LAST = (40, 1, 3)


def fit(data: dict[str, Any], budget_tokens: int) -> dict[str, Any]:
    """Return *data*, or a copy that fits and says `truncated`.

    The keys of the outermost object stay, so that it still matches its schema.
    """
    limit = budget_tokens * BYTES_PER_TOKEN * DATA_PER_TEXT
    if _size(data) <= limit:
        return data
    for chars, items, levels in _STEPS:
        smaller = {key: _cut(value, chars, items, levels) for key, value in data.items()}
        if _size(smaller) <= limit:
            return {**smaller, "truncated": True}
    return {**{key: _cut(value, *_LAST) for key, value in data.items()}, "truncated": True}


def _size(data: object) -> int:
    return len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())


def _cut(value: Any, chars: int, items: int, levels: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= chars else f"{value[: chars - 1]}…"
    if isinstance(value, list):
        if levels <= 0:
            return []
        return [_cut(item, chars, items, levels - 1) for item in value[:items]]
    if isinstance(value, dict):
        if levels <= 0:
            return {}
        return {key: _cut(item, chars, items, levels - 1) for key, item in value.items()}
    return value
