"""Tables and other containers of libraries, by the interface that their elements have."""

from __future__ import annotations

import pytest

from harness.reports import texts

#: what is used of polars: tables whose contents are in an object of its own extension
POLARS = """\
class PySeries:
    def __init__(self, name, rows): self.rows, self.label = rows, name
    def name(self): return self.label
    def len(self): return len(self.rows)
    def slice(self, start, count): return PySeries(self.label, self.rows[start:start + count])
    def to_list(self): return list(self.rows)
class PyDataFrame:
    def __init__(self, columns): self.series = columns
    def height(self): return self.series[0].len()
    def columns(self): return [each.name() for each in self.series]
    def get_columns(self): return self.series
class Series:
    def __init__(self, inner): self._s = inner
    def __len__(self): return self._s.len()
    def __getitem__(self, at): return self._s.rows[at]
class DataFrame:
    def __init__(self, **columns):
        self._df = PyDataFrame([PySeries(*each) for each in columns.items()])
    columns = property(lambda self: self._df.columns())
    def __len__(self): return self._df.height()
    def __getitem__(self, name): return [Series(s) for s in self._df.series if s.label == name][0]
    def row(self, at, *, named): return {s.label: s.rows[at] for s in self._df.series}
for kind in (DataFrame, Series):
    kind.__module__ = "polars.frame"
"""
PROGRAM = """\
from table import DataFrame
frame = DataFrame(a=[10, 11, 12, 13], b=["x", "y", "z", "w"])
column = frame["a"]
class Lazy:
    def __len__(self): return 100
    def __getitem__(self, at): return at * 2
lazy = Lazy()
class Cells:  # what is used of pandas: a row that is taken alone has one type
    def __init__(self, *columns): self.columns = columns
    def __getitem__(self, at):
        if isinstance(at, tuple): return self.columns[at[1]]
        if isinstance(at, slice): return Mixed(*(each[at] for each in self.columns))
        return [float(each[at]) for each in self.columns]
class Mixed:
    columns = ("n", "rate")
    def __init__(self, n, rate): self.iloc, self.index = Cells(n, rate), n
    def __len__(self): return len(self.index)
mixed = Mixed([5, 6, 7, 8], [0.5] * 4)
text = "abcdef"
frame._df.series[0].rows[2] = 99  # @before
print(len(frame))
"""


@pytest.mark.parametrize("adapter", ["debugpy", "pdb"])
def test_a_page_of_a_table_has_its_rows(dbg, write_program, adapter):
    write_program("table.py", POLARS)
    p = write_program("tables.py", PROGRAM)

    report = dbg.data("start", p.name, "-b", p.at("before"), "--adapter", adapter)

    assert texts(report)["frame"] == "DataFrame(4 rows × 2 columns: a, b)"
    assert texts(report)["column"] == "Series(4 elements, name='a')"

    def page(expression):
        value = dbg.data("print", expression, "--range", "2:4")["value"]
        return value["count"], [(child["name"], child["text"]) for child in value["children"]]

    assert page("frame") == (4, [("2", "{'a': 12, 'b': 'z'}"), ("3", "{'a': 13, 'b': 'w'}")])
    assert page("column") == (4, [("2", "12"), ("3", "13")])
    assert page("mixed")[1] == [("7", "{'n': 7, 'rate': 0.5}"), ("8", "{'n': 8, 'rate': 0.5}")]
    assert page("lazy") == (100, [("2", "4"), ("3", "6")])
    assert dbg.data("print", "text", "--range", "2:4")["value"]["text"] == "'cd'"
    if adapter == "debugpy":
        assert "* frame['a'][2] = 99 (was 12)" in dbg("next").out
