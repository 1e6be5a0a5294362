"""Some children of a value, which the user asked for; the module `_freezeframe_pages`.

Runs inside the debuggee. The methods of the value may run here: it may be an array, a table or a
view, whose elements nothing else knows.
"""

from __future__ import annotations

import itertools
import sys
import types
from collections import deque
from typing import Any

_STRINGS = (str, bytes, bytearray)
_BUILTIN = (list, tuple, dict, set, frozenset, deque, range, types.MappingProxyType)
_text: Any = sys.modules["_freezeframe_text"]


class Page:
    """Some children of a value, under the real names; *expression* yields the value."""

    def __init__(self, expression: str, value: Any, start: int, end: int) -> None:
        self.expression, self.value, self.start, self.end = expression, value, start, end

    def is_text(self) -> bool:
        """Return whether the page is a part of a text, which has no children."""
        return issubclass(type(self.value), _STRINGS)

    def shown(self) -> Any:
        """Return the value whose text is shown."""
        return self.value[self.start : self.end] if self.is_text() else self.value


def page(expression: str, value: Any, start: int, end: int) -> Page:
    """Return the page of *value* from *start* to *end*.

    Raises TypeError for a value without elements, and for an iterator: reading its items would use
    them up.
    """
    kind = type(value)
    if hasattr(kind, "__next__"):
        raise TypeError(f"to look into a {kind.__name__} would use it up")
    if not hasattr(kind, "__len__") and not hasattr(kind, "__iter__") and not _text.fields(value):
        raise TypeError(f"{kind.__name__} has no elements")
    return Page(expression, value, start, end)


def turned(page: Page) -> list[tuple[str, Any, str | None]]:
    """Return the children on a page. The user requested them, so the value's methods may run: it
    may be an array, a table, a view."""
    value, start, end = page.value, page.start, page.end
    kind = type(value)
    found = _text.children(value, start, end)
    if issubclass(kind, _BUILTIN):
        return list(found or ())
    if hasattr(value, "iloc"):
        return _rows(value, start, end)
    if hasattr(value, "row") and hasattr(value, "columns") and hasattr(kind, "__len__"):
        rows = range(start, min(end, len(value)))  # a table of polars
        return [(str(i), value.row(i, named=True), f".row({i}, named=True)") for i in rows]
    if hasattr(value, "keys") and hasattr(value, "items"):
        pairs = itertools.islice(value.items(), start, end)
        return [(_text.show(key, 200), each, None) for key, each in pairs]
    if hasattr(kind, "__getitem__") and hasattr(kind, "__len__"):
        try:
            last = min(end, len(value))
            return [(str(i), value[i], f"[{i}]") for i in range(start, last)]
        except (KeyError, IndexError, TypeError):
            pass  # its keys are not numbers
    if hasattr(kind, "__iter__"):
        some = enumerate(itertools.islice(value, start, end), start)
        return [(str(i), each, None) for i, each in some]
    return list(found or ())


def _rows(table: Any, start: int, end: int) -> list[tuple[str, Any, str | None]]:
    """Return the rows of a table, or the elements of a column, by their labels."""
    some = table.iloc[start:end]
    columns = getattr(table, "columns", None)
    if columns is None:
        rows = [some.iloc[at] for at in range(len(some.index))]
    else:
        # By columns: all cells of a row taken alone have one type, and an integer becomes a float.
        cells = [list(some.iloc[:, at]) for at in range(len(columns))]
        rows = [dict(zip(columns, row)) for row in zip(*cells)]  # noqa: B905 - 3.8
    return [
        (_text.show(label, 200, may_run_code=True), row, f".iloc[{start + at}]")
        for at, (label, row) in enumerate(zip(some.index, rows))  # noqa: B905 - 3.8
    ]


def length(value: Any) -> int | None:
    known: int | None = _text.count(value)
    if known is not None:
        return known
    try:
        return len(value)
    except Exception:
        found = _text.children(value, 0, sys.maxsize)
        return None if found is None else len(found)
