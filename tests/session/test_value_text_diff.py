"""Changes inside a value are reported by their paths."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.session.value_text_diff import diff_value_text


@pytest.mark.parametrize(
    ("before", "now", "differences"),
    [
        ("Cart {total: 0, #n: 3}", "Cart {total: 3, #n: 3}", {"x.total": ("0", "3")}),
        ("P(x=1, y='a, b')", "P(x=2, y='a, b')", {"x.x": ("1", "2")}),
        ("{a = 1, p = 0x10}", "{a = 1, p = 0x0}", {"x.p": ("0x10", "0x0")}),
        ("[1, 2]", "[1, 2, 3]", {"x[2]": (None, "3")}),
        ("Counter({'a': 2})", "Counter({'a': 3})", {"x['a']": ("2", "3")}),
        ("D(list, {'a': [1]})", "D(list, {'a': [1, 2]})", {"x['a'][1]": (None, "2")}),
        (
            "M(maps=[{'b': 2}, {'a': 1}])",
            "M(maps=[{'b': 2}, {'a': 5}])",
            {"x.maps[1]['a']": ("1", "5")},
        ),
        ("[1, [2, 5]]", "[1, [2, 6]]", {"x[1][1]": ("5", "6")}),
        ("Map(1) {'a' => 1}", "Map(2) {'a' => 1, 'b' => 2}", {"x['b']": (None, "2")}),
        ("{n = 1; at = (1, 2)}", "{n = 1; at = (1, 3)}", {"x.at[1]": ("2", "3")}),
        ("*T {n: 1, s: nil}", "*T {n: 1, s: []int [4]}", {"x.s": ("nil", "[]int [4]")}),
        (
            '[|{name = "pen"; ready = false}; {name = "ink"; ready = false}|]',
            '[|{name = "pen"; ready = true}; {name = "ink"; ready = false}|]',
            {"x[0].ready": ("false", "true")},
        ),
        (
            "Rc(RefCell(Account {id: 7, names: []}))",
            "Rc(RefCell(Account {id: 10, names: []}))",
            {"x.id": ("7", "10")},
        ),
        ("Pair(Id {n: 1}, Id {n: 2})", "Pair(Id {n: 1}, Id {n: 3})", {"x[1].n": ("2", "3")}),
    ],
)
def test_the_parts_that_differ_are_named(before, now, differences):
    assert {v.name: (v.was, v.text) for v in diff_value_text("x", before, now)} == differences


def test_entries_are_reached_as_a_language_with_sigils_writes_it():
    [part] = diff_value_text("$h", "Cart {log => [{n => 1}]}", "Cart {log => [{n => 2}]}")
    assert part.name == "$h->{log}[0]{n}"


def test_fields_are_joined_as_the_language_writes_it():
    [part] = diff_value_text("$this", "Cart {log: [{n: 1}]}", "Cart {log: [{n: 2}]}", "->")
    assert part.name == "$this->log[0]->n"


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("[1, 2, …+5]", "[1, 3, …+5]"),  # what was cut may have changed too
        ("'a, b'", "'a, c'"),
        ("A {x: 1}", "B {x: 2}"),
        ("{a: 1}", "{b: 1}"),
        ("F({'a'}, [1])", "F({'a'}, [2])"),
        ("[1, 2", "[1, 3"),
        ("<A at 0x1>", "<A at 0x2>"),
        ("", "[1]"),
    ],
)
def test_what_the_texts_do_not_tell_is_not_made_up(before, now):
    assert diff_value_text("x", before, now) == ()


_leaves = st.integers() | st.text("ab,:{}[]'\"\\", max_size=4)
_values = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_values)
def test_a_value_that_is_the_same_has_no_changed_parts(value):
    text = json.dumps(value)
    assert diff_value_text("x", text, text) == ()


@given(st.lists(_values, min_size=2, max_size=4), _leaves, st.data())
def test_one_element_that_changed_is_the_only_part(values, leaf, data):
    index = data.draw(st.integers(0, len(values) - 1))
    changed = [*values[:index], leaf, *values[index + 1 :]]
    parts = diff_value_text("x", json.dumps(values), json.dumps(changed))
    assert {part.name.split("]")[0] + "]" for part in parts} == (
        set() if json.dumps(leaf) == json.dumps(values[index]) else {f"x[{index}]"}
    )
