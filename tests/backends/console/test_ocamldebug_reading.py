"""What ocamldebug prints, and what is made of expressions that it cannot take."""

from __future__ import annotations

import pytest

from freezeframe.backends.console.debuggers.ocamldebug import expressions, marshalled, stops, values
from freezeframe.errors import EvaluationFailed

_SEEN = {
    "i": expressions.known("int", "7"),
    "f": expressions.known("float", "2.5"),
    "s": expressions.known("string", '"a\\"b\\n"'),
    "(!r).name": expressions.known("string", '"bob"'),
    "c": expressions.known("color", "Shop.Red"),
    "l.(0)": expressions.known("int", "-3"),
    "h": expressions.known("(string, int) Hashtbl.t", "<abstr>"),
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

    assert {look.text for look in expressions.looks(tree)} <= set(_SEEN)
    assert expressions.work(tree, _SEEN).text == text


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
        expressions.work(expressions.parse(expression), _SEEN)


def test_a_value_is_read_with_its_type_and_parts():
    value = values.read('p:\n  (string * int) list =\n  [("a;b", 1);\n   ("c", 2)]')

    assert (value.name, value.type, value.count) == ("p", "(string * int) list", 2)
    assert value.text == '[("a;b", 1); ("c", 2)]'
    assert [(part.name, part.text, part.access) for part in values.split(value.text)] == [
        ("0", '("a;b", 1)', ".(0)"),
        ("1", '("c", 2)', ".(1)"),
    ]
    assert [part.access for part in values.split('("a;b", 1)')] == [".(1)", ".(2)"]
    record = values.split('{Shop.name = "x"; pos = {x = 1; y = 2}}')
    assert [(part.name, part.text) for part in record] == [
        ("name", '"x"'),
        ("pos", "{x = 1; y = 2}"),
    ]
    assert [part.text for part in values.split("Node (Leaf, 1, Leaf)")] == ["Leaf", "1", "Leaf"]
    assert values.split('"{a = 1}"') == values.split("-5") == values.split("(-5)") == []


def test_a_complaint_is_no_value():
    with pytest.raises(EvaluationFailed, match="Unbound identifier x"):
        values.read("Unbound identifier x\n")


def test_a_stop_is_read_from_the_debuggers_own_lines():
    text = (
        "Interrupted.\nTime: 20 - pc: 0:122820 - module A\nBreakpoints: 1 3\n"
        "\x1a\x1aMa.ml:301:387:before\n(ocd) Time: 63\nProgram end.\n"
        'Uncaught exception: Bad ("why",\n  -5)\n\x1a\x1aH\n'
    )

    there, end = stops.places(text)

    assert (there.time, there.address, there.breakpoints) == (20, 122820, {1, 3})
    assert there.interrupted
    assert not there.ended
    assert (end.time, end.address, end.ended, end.interrupted) == (63, None, True, False)
    info = stops.exception(end.uncaught or "")
    assert (info.type, info.message) == ("Bad", '("why", -5)')
    assert stops.exception('Failure "a \\"b\\""').message == 'a "b"'


def test_marshalled_values_are_read_with_what_they_share():
    # let s = "aa" in ((s, 300), s, [1; 2], 1.5), as OCaml 4.13 writes it
    data = bytes.fromhex(
        "8495a6be00000018000000060000001300000012c0a022616101012c0401a041a042400c000000000000f83f"
    )

    root = marshalled.read(b"xx" + data, 2)

    assert isinstance(root, marshalled.Block)
    first, again, numbers, real = root.fields
    assert isinstance(first, marshalled.Block)
    assert isinstance(numbers, marshalled.Block)
    assert first.fields == [b"aa", 300]
    assert again is first.fields[0]
    assert numbers.fields[0] == 1
    assert real == 1.5
    with pytest.raises(marshalled.Unreadable):
        marshalled.read(b"\x7fELF" + bytes(40), 0)
