"""Collect the values of a probe: first and last rows, distinct values, extremes. Pure."""

from __future__ import annotations

import math
from array import array
from collections import Counter, deque
from collections.abc import Sequence

from freezeframe.model.probes import ProbeColumn, ProbeRow

#: rows that are kept from the beginning, and from the end
_FIRST, _LAST = 10, 5
#: different values of an expression that are counted
_MOST_VALUES = 10_000
_FREQUENT = 6


class ProbeTable:
    """The rows of a probe, as they arrive. Memory does not grow with the number of hits."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self.hits = 0
        self._first: list[ProbeRow] = []
        self._last: deque[ProbeRow] = deque(maxlen=_LAST)
        self._columns = [_Column(expression) for expression in expressions]

    def add(self, columns: Sequence[Sequence[str] | Sequence[int]]) -> None:
        """Add hits: for each expression its texts or its integers, of equal number. Raises
        ValueError if not.
        """
        if len(columns) != len(self._columns) or len({len(each) for each in columns}) > 1:
            raise ValueError("rows of different length")
        count = len(columns[0]) if columns else 0
        taken = min(count, _FIRST - len(self._first))
        for index in range(taken):
            self._first.append(_row(self.hits + index + 1, columns, index))
        for index in range(max(taken, count - _LAST), count):
            self._last.append(_row(self.hits + index + 1, columns, index))
        for column, values in zip(self._columns, columns, strict=True):
            column.add(values, self.hits)
        self.hits += count

    @property
    def first(self) -> tuple[ProbeRow, ...]:
        return tuple(self._first)

    @property
    def last(self) -> tuple[ProbeRow, ...]:
        return tuple(self._last)

    @property
    def columns(self) -> tuple[ProbeColumn, ...]:
        return tuple(column.summary() for column in self._columns)


def _row(hit: int, columns: Sequence[Sequence[str] | Sequence[int]], index: int) -> ProbeRow:
    return ProbeRow(hit, tuple(str(values[index]) for values in columns))


class _Column:
    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._counts: Counter[str] | None = Counter()
        self._is_numeric = True
        self._least: tuple[float, str, int] | None = None
        self._greatest: tuple[float, str, int] | None = None

    def add(self, values: Sequence[str] | Sequence[int], before: int) -> None:
        if self._counts is not None:
            self._counts.update(map(str, values))
            if len(self._counts) > _MOST_VALUES:
                self._counts = None
        if not self._is_numeric or not values:
            return
        try:
            numbers = _numbers(values)
        except ValueError:
            self._is_numeric = False
            return
        least, greatest = min(numbers), max(numbers)
        if self._least is None or least < self._least[0]:
            index = numbers.index(least)
            self._least = least, str(values[index]), before + index + 1
        if self._greatest is None or greatest > self._greatest[0]:
            index = numbers.index(greatest)
            self._greatest = greatest, str(values[index]), before + index + 1

    def summary(self) -> ProbeColumn:
        counts = self._counts
        frequent = counts.most_common(_FREQUENT) if counts is not None else []
        least, greatest = (self._least, self._greatest) if self._is_numeric else (None, None)
        return ProbeColumn(
            self._expression,
            None if counts is None else len(counts),
            tuple(frequent) if len(frequent) > 1 and frequent[0][1] > 1 else (),
            least[1:] if least is not None else None,
            greatest[1:] if greatest is not None else None,
        )


def _numbers(values: Sequence[str] | Sequence[int]) -> Sequence[float]:
    """Return values as numbers. Raises ValueError for texts of others, and without an order."""
    if isinstance(values, array):
        return values
    numbers = [float(value) for value in values]
    if math.isnan(sum(numbers)) or math.isnan(numbers[0]):
        raise ValueError("not a number")
    return numbers
