"""What ocamldebug prints, and what is made of expressions that it cannot take."""

from __future__ import annotations

import pytest

from freezeframe.backends.console.debuggers.ocamldebug import (
    expressions,
    marshal_format,
    stop_parser,
    value_parser,
)
from freezeframe.errors import EvaluationFailed

_VALUES = {
    "i": expressions.constant("int", "7"),
    "f": expressions.constant("float", "2.5"),
    "s": expressions.constant("string", '"a\\"b\\n"'),
    "(!r).name": expressions.constant("string", '"bob"'),
    "c": expressions.constant("color", "Shop.Red"),
    "l.(0)": expressions.constant("int", "-3"),
    "h": expressions.constant("(string, int) Hashtbl.t", "<abstr>"),
}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("i = 7 && not (i > 8)", "true"),
        ("false && i / 0 = 1", "false"),
        ("i + 2 * 3 - 1", "12"),
        ("-i mod 4", "-3"),
        ("l.(0) / 2", "-1"),
        ("0x1F land i", "7"),
        ("4611686018427387903 + 1", "-4611686018427387904"),
        ("f *. 2.", "5."),
        ('!r.name ^ "!" = "bob!"', "true"),
        ('s = "a\\"b\\n"', "true"),
        ("c = Red", "true"),
        ("c <> Green 2", "true"),
    ],
)
def test_operators_are_worked_out_as_ocaml_does(expression, text):
    tree = expressions.parse(expression)

    assert {lookup.text for lookup in expressions.lookups(tree)} <= set(_VALUES)
    assert expressions.evaluate_tree(tree, _VALUES).text == text


@pytest.mark.parametrize(
    "expression",
    ["i +", "f x", "let x = 1 in x", "a b", "i; i", "i.(j)", "fun x -> x", "(i", "i #1"],
)
def test_what_the_debugger_would_die_of_is_never_sent(expression):
    with pytest.raises(EvaluationFailed):
        expressions.parse(expression)


@pytest.mark.parametrize("expression", ["i = 7.", "i + 2.5", "h = h", "i && true", "f / 2."])
def test_what_does_not_fit_is_an_error_and_no_guess(expression):
    with pytest.raises(EvaluationFailed):
        expressions.evaluate_tree(expressions.parse(expression), _VALUES)


def test_a_value_is_read_with_its_type_and_parts():
    value = value_parser.read('p:\n  (string * int) list =\n  [("a;b", 1);\n   ("c", 2)]')

    assert (value.name, value.type, value.count) == ("p", "(string * int) list", 2)
    assert value.text == '[("a;b", 1); ("c", 2)]'
    assert [(part.name, part.text, part.access) for part in value_parser.split(value.text)] == [
        ("0", '("a;b", 1)', ".(0)"),
        ("1", '("c", 2)', ".(1)"),
    ]
    assert [part.access for part in value_parser.split('("a;b", 1)')] == [".(1)", ".(2)"]
    record = value_parser.split('{Shop.name = "x"; pos = {x = 1; y = 2}}')
    assert [(part.name, part.text) for part in record] == [
        ("name", '"x"'),
        ("pos", "{x = 1; y = 2}"),
    ]
    assert [part.text for part in value_parser.split("Node (Leaf, 1, Leaf)")] == [
        "Leaf",
        "1",
        "Leaf",
    ]
    assert (
        value_parser.split('"{a = 1}"')
        == value_parser.split("-5")
        == value_parser.split("(-5)")
        == []
    )


def test_an_error_message_is_not_a_value():
    with pytest.raises(EvaluationFailed, match="Unbound identifier x"):
        value_parser.read("Unbound identifier x\n")


def test_a_stop_is_read_from_the_debuggers_own_lines():
    text = (
        "Interrupted.\nTime: 20 - pc: 0:122820 - module A\nBreakpoints: 1 3\n"
        "\x1a\x1aMa.ml:301:387:before\n(ocd) Time: 63\nProgram end.\n"
        'Uncaught exception: Bad ("why",\n  -5)\n\x1a\x1aH\n'
    )

    there, end = stop_parser.parse_stops(text)

    assert (there.time, there.address, there.breakpoints) == (20, 122820, {1, 3})
    assert there.interrupted
    assert not there.ended
    assert (end.time, end.address, end.ended, end.interrupted) == (63, None, True, False)
    info = stop_parser.exception(end.uncaught or "")
    assert (info.type, info.message) == ("Bad", '("why", -5)')
    assert stop_parser.exception('Failure "a \\"b\\""').message == 'a "b"'


def test_marshalled_values_are_read_with_what_they_share():
    # let s = "aa" in ((s, 300), s, [1; 2], 1.5), as OCaml 4.13 writes it
    data = bytes.fromhex(
        "8495a6be00000018000000060000001300000012c0a022616101012c0401a041a042400c000000000000f83f"
    )

    root = marshal_format.read(b"xx" + data, 2)

    assert isinstance(root, marshal_format.Block)
    first, again, numbers, real = root.fields
    assert isinstance(first, marshal_format.Block)
    assert isinstance(numbers, marshal_format.Block)
    assert first.fields == [b"aa", 300]
    assert again is first.fields[0]
    assert numbers.fields[0] == 1
    assert real == 1.5
    with pytest.raises(marshal_format.UnreadableValue):
        marshal_format.read(b"\x7fELF" + bytes(40), 0)
