"""The table of a probe: bounded, whatever the number of hits."""

from __future__ import annotations

import pytest

from freezeframe.model.probes import ProbeRow
from freezeframe.questions.probe_table import ProbeTable


def test_first_and_last_rows_are_kept_without_overlap_and_extremes_name_their_hit():
    table = ProbeTable(["n", "name"])
    for start in range(0, 100, 7):
        numbers = range(start, min(start + 7, 100))
        table.add([[str((n * 37) % 101 - 50) for n in numbers], ["x" for _ in numbers]])

    assert table.hits == 100
    assert [row.hit for row in (*table.first, *table.last)] == [*range(1, 11), *range(96, 101)]
    assert table.first[0] == ProbeRow(1, ("-50", "x"))
    n, name = table.columns
    assert (n.distinct, n.least, n.greatest) == (100, ("-50", 1), ("50", 31))
    assert (name.distinct, name.least, name.frequent) == (1, None, ())


def test_few_hits_are_all_among_the_first_and_values_without_order_have_no_extremes():
    table = ProbeTable(["x"])
    table.add([["1", "nan", "1"]])
    table.add([["2"]])
    assert [row.cells for row in table.first] == [("1",), ("nan",), ("1",), ("2",)]
    assert table.last == ()
    [column] = table.columns
    assert (column.least, column.greatest) == (None, None)
    assert column.frequent == (("1", 2), ("nan", 1), ("2", 1))


def test_different_values_are_counted_up_to_a_limit():
    table = ProbeTable(["x"])
    table.add([[str(n) for n in range(10_001)]])
    assert table.columns[0].distinct is None
    assert table.columns[0].greatest == ("10000", 10_001)


def test_rows_of_different_length_are_refused():
    with pytest.raises(ValueError, match="different length"):
        ProbeTable(["a", "b"]).add([["1"], ["1", "2"]])
