"""What differs between two recorded sets of variables; what stays the same in one run."""

from __future__ import annotations

import pytest

from freezeframe.history.hit_tables import columns
from freezeframe.history.queries import HitRow
from freezeframe.history.value_diff import differences
from freezeframe.model.history import Difference


@pytest.mark.parametrize(
    "cart",
    [
        "Cart {owner: 'somebody with a long name', rows: [1, %s]}",
        'Cart{owner="somebody with a long name", rows=ArrayList(2) [1, %s]}',
        '*main.Cart {owner: "somebody with a long name", rows: []int [1, %s], more: [...]}',
    ],
)
def test_a_difference_inside_a_text_is_reported_by_its_path(cart):
    one, other = ({"cart": ["cart", cart % number, "Cart"]} for number in (2, 3))

    assert differences(one, other) == ([Difference("cart.rows[1]", "2", "3")], [])


def test_a_pointer_that_moves_within_a_run_is_not_called_the_same():
    rows = [HitRow(n, n, 0.0, 1, "", "breakpoint", "a.c", 1, "f", "") for n in (1, 2)]
    for row, address in zip(rows, ("0x7ffe00001000", "0x7ffe00001004"), strict=True):
        row._values = {"out": ["out", address, "int *"], "n": ["n", str(row.number), "int"]}

    made = columns(rows, ())

    assert (made.names, made.constant, made.others) == (("n",), (), ("out",))
