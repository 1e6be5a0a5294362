"""Expressions over recorded values: read, answered, refused. Nothing runs."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.errors import UsageError
from freezeframe.history import expressions, recorded_values
from freezeframe.history.recorded_values import NotRecorded

#: as debuggers of several languages give them
VALUES = {
    "n": ["n", "3", "int"],
    "big": ["big", "0x1f", "unsigned"],
    "price": ["price", "2.50", "float"],
    "letter": ["letter", "97 'a'", "char"],
    "name": ["name", "'pen'", "str"],
    "pointed": ["pointed", '0x5581aa10 "pen"', "char *"],
    "nothing": ["nothing", "None", "NoneType"],
    "yes": ["yes", "true", "bool"],
    "row": ["row", "{'n': 1, 'tags': ['a', 'b']}", "dict"],
    "rows": ["rows", "[{'n': 1}, {'n': 2}]", "list", 2],
    "cart": ["cart", "Cart(rows=[1, 2], total=-7, kind=Kind.BIG)", "Cart"],
    "js": ["js", "{name: 'pen', price: 2}", "Object"],
    "point": ["point", "", "Point", None, 1, [["x", "4", "int"], ["y", "-2", "int"]]],
    "items": ["items", "", "int[2]", 2, 1, [["[0]", "10", "int"], ["[1]", "20", "int"]]],
    "ptr": ["ptr", "0x7ffe1000", "P *", None, 1, [["*ptr", "", "P", None, 1, [["x", "9", "int"]]]]],
}


def find(name):
    if name not in VALUES:
        raise NotRecorded(name)
    return recorded_values.read(VALUES[name])


def answer(text):
    return expressions.compile(text)(find)


@pytest.mark.parametrize(
    "text",
    [
        "n == 3",
        "n > 2 and n < 4",
        "1 < n < 5",
        "n > 2 && !(n == 4) || false",
        "not n == 4",
        "big == 31",
        "price * 2 == 5",
        "n + 1 == 4",
        "-n == -3",
        "n % 2 == 1",
        "n // 2 == 1",
        "letter == 97",
        "name == 'pen'",
        'name == "pen"',
        "pointed == 'pen'",
        "nothing is None",
        "nothing == null",
        "n is not None",
        "yes",
        "yes == true",
        "row['n'] == 1",
        "row.n == 1",
        "row['tags'][1] == 'b'",
        "'a' in row.tags",
        "'c' not in row.tags",
        "rows[1].n == 2",
        "len(rows) == 2",
        "cart.total == -7",
        "len(cart.rows) == 2",
        "cart.kind == 'Kind.BIG'",
        "js.price == 2",
        "point.x == 4 and point.y < 0",
        "items[1] == 20",
        "items[-1] == 20",
        "len(items) == 2",
        "ptr->x == 9",
        "max(n, 10) == 10",
        "abs(cart.total) == 7",
        "name != 'ink'",
        "name < 'q'",
    ],
)
def test_what_is_true_of_recorded_values(text):
    assert recorded_values.is_true(answer(text)) is True


@pytest.mark.parametrize(
    "text",
    ["missing > 3", "row['no']", "rows[7]", "point.z", "name > 3", "n / 0", "len(n)", "yes.x"],
)
def test_what_was_not_recorded_is_missing_and_never_false(text):
    with pytest.raises(NotRecorded):
        answer(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n >",
        "n = 3",
        "(n",
        "n n",
        "__import__('os')",
        "open('x')",
        "n.__class__()",
        "lambda: 3",
        "[x for x in rows]",
        "(" * 200 + "n",
        "-" * 500 + "n",
        "n; n",
        "'open",
    ],
)
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(UsageError) as refused:
        answer(text)
    assert refused.value.next


@pytest.mark.parametrize("link", [" and ", "+", "*", ".", "[0]", " not ", " < "])
def test_a_chain_is_refused_where_it_is_too_long(link):
    with contextlib.suppress(UsageError, NotRecorded):
        expressions.compile("n" + f"{link}n" * 190)(lambda name: 1)
    with pytest.raises(UsageError) as wrong:
        expressions.compile("n" + f"{link}n" * 100_000)
    assert len(str(wrong.value)) < 1000


def test_an_assignment_is_refused_with_the_operator_for_equality():
    with pytest.raises(UsageError, match="equality is written =="):
        expressions.compile("n = 3")


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_refused(text):
    try:
        made = expressions.compile(text)
    except UsageError:
        return
    try:
        made(find)
    except NotRecorded:
        pass


@given(st.text(max_size=80))
def test_any_text_of_a_debugger_can_be_read(text):
    recorded_values.read(["x", text])


@given(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_back(whole, broken):
    assert recorded_values.read(["x", str(whole)]) == whole
    assert recorded_values.read(["x", repr(broken)]) == broken


def test_a_text_that_would_run_code_is_only_text():
    assert recorded_values.text(
        recorded_values.read(["x", "Evil(__import__('os').system('true'))"])
    ).startswith("Evil")
    assert isinstance(recorded_values.read(["x", "(lambda: 1)()"]), recorded_values.OpaqueValue)
