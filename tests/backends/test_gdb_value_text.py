"""Shortening of values that gdb prints."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.console.debuggers.gdb_mi.value_nodes import nodes_of
from freezeframe.backends.gdb.value_text import tidy

CPP = {
    "std::vector of length 3, capacity 4 = {1, 2, 3}": "{1, 2, 3}",
    "std::vector of length 0, capacity 0": "{}",
    "std::vector of length 2, capacity 2 = {std::vector of length 0, capacity 0, "
    "std::vector of length 1, capacity 1 = {4}}": "{{}, {4}}",
    'std::map with 2 elements = {["ann"] = 30, ["b, ob"] = 41}': '{["ann"] = 30, ["b, ob"] = 41}',
    "std::map with 2 elements = {[0] = 5, [1] = 6}": "{[0] = 5, [1] = 6}",
    "std::set with 2 elements = {[0] = 5, [1] = 6}": "{5, 6}",
    'std::tuple containing = {[0] = 1, [1] = "x"}': '{1, "x"}',
    "std::optional<int> = {[contained value] = 8}": "optional(8)",
    "std::optional<int> [no contained value]": "nullopt",
    "std::variant<int, double> [index 0] = {5}": "variant(5)",
    "std::unique_ptr<Account> = {get() = 0x559f94}": "0x559f94",
    "std::shared_ptr<std::vector<int, std::allocator<int> >> (use count 1, weak count 0) = "
    "{get() = 0x55}": "0x55",
    "{<Shape> = {_vptr.Shape = 0x55 <vtable for Square+16>}, width = 4}": "{width = 4}",
    "{<Base> = {a = 1}, b = 2}": "{a = 1, b = 2}",
    "{_M_elems = {1, 2}}": "{1, 2}",
    "std::atomic<int> = { 5 }": "5",
    "{<std::__atomic_base<int>> = {_M_i = 5}, <No data fields>}": "5",
    "(Square &) @0x5555: {width = 4}": "{width = 4}",
    "{p = (Square *) 0x5555, q = @0x77: 5}": "{p = 0x5555, q = 5}",
}
RUST = {
    "core::option::Option<alloc::string::String>::None": "None",
    "core::option::Option<i32>::Some(8)": "Some(8)",
    "core::option::Option<core::option::Option<bool>>::Some(core::option::Option<bool>::None)": (
        "Some(None)"
    ),
    "shop::Shape::Rect{width: 2, height: 3}": "Rect{width: 2, height: 3}",
    'shop::Item {name: "a::b", price: 2}': 'Item {name: "a::b", price: 2}',
    "Vec(size=3) = {1, 2, 3}": "[1, 2, 3]",
    "Vec(size=0)": "[]",
    "&mut [i32](size=2) = {2, 3}": "[2, 3]",
    'HashMap(size=1) = {["ann"] = 30}': '{"ann": 30}',
    "Rc(strong=1, weak=0) = {value = 12, strong = 1, weak = 0}": "Rc(12)",
    "RefCell(borrow=1) = {value = 13, borrow = 1}": "RefCell(13, borrow = 1)",
    "228 '\\xe4'": "'ä'",
    "(16, 122 'z', true)": "(16, 'z', true)",
    "shop::main::{closure_env#0} {by: 1}": "closure {by: 1}",
    "Mutex = {value = 14}": "Mutex(14)",
    "Mutex = {value = 14, poisoned = true}": "Mutex(14, poisoned = true)",
    "Cell = {value = 9}": "Cell(9)",
    "Rc(strong=1, weak=0) = {value = [1, 2], strong = 1}": "Rc([1, 2])",
    "shop::Wrap (Vec(size=2) = {1, 2})": "Wrap([1, 2])",
    'core::option::Option<alloc::rc::Rc<str>>::Some(Rc(strong=1, weak=0) = {value = "in", '
    "strong = 1, weak = 0})": 'Some(Rc("in"))',
}
UNTOUCHED = (
    "5",
    '"{not a group, <at> all"',
    "0x55 \"abc\", '\\000' <repeats 10 times>",
    "122 'z'",
    "{int (int)} 0x401136 <bump>",
    "<optimized out>",
    "{x = 1, y = {z = 2}}",
    "{broken",
)


@pytest.mark.parametrize(("text", "short"), CPP.items())
def test_values_of_the_standard_library_lose_text_that_repeats_the_type(text, short):
    assert tidy(text) == short


@pytest.mark.parametrize(("text", "short"), RUST.items())
def test_values_of_rust_lose_the_paths_of_their_types(text, short):
    assert tidy(text, rust=True) == short


@pytest.mark.parametrize("text", UNTOUCHED)
def test_short_text_is_left_unchanged(text):
    assert tidy(text) == text


@given(st.text(alphabet="{}()[]<>=,:\"'\\ ab1*&_"), st.booleans())
def test_no_text_raises(text, rust):
    assert isinstance(tidy(text, rust=rust), str)


@given(st.text())
def test_the_contents_of_a_string_are_never_changed(held):
    quoted = '"' + held.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert quoted in tidy(f"{{name = {quoted}, n = 1}}")


def test_the_agent_s_answer_is_decoded_to_trees():
    nodes = [["p", "struct p", "", "p", None, [["x", "int", "1", "p.x", None, None]]], None]
    packed = base64.b64encode(json.dumps(nodes).encode()).decode()

    tree, nothing = nodes_of(f"output of a printer\n{packed}\n")

    assert nothing is None
    assert tree is not None
    [child] = tree.children
    assert (child.name, child.text, child.expression) == ("x", "1", "p.x")


def test_template_arguments_are_not_items():
    lock = "std::sync::poison::mutex::Mutex<alloc::vec::Vec<i32, alloc::alloc::Global>>"
    held = f"{lock} {{inner: 0, data: Vec(size=2) = {{1, 2}}}}"
    text = f"Arc(strong=1, weak=0) = {{value = {held}, strong = 1}}"

    assert tidy(text, rust=True) == "Arc(Mutex {inner: 0, data: [1, 2]})"
