"""Reading JavaScript as far as a debugger must: functions, their parameters, what is caught."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from freezeframe.backends.javascript import js_scanner

CODE = """
const re = /[/"]{(/g, s = `a ${ f({x: `${1}`}) } {`;
exports.parse = async (x, y) => { return x };
const obj = { go(a) { return 1 }, run: function (b) {}, get k() { return 2 }, 'a-b': () => 3 };
Foo.prototype.bar = function () { if (a) { b() } };
class B extends (class {}) {
  static x = 1; #hidden(q) { }
  static async make() { try { foo() } catch {} }
  field = () => { this.x }
  [Symbol.iterator]() { return 1 }
}
export default function () { }
const one = x => x + 1, two = async y => { };
function* letters() { yield 'a' }
"""


def names(text: str) -> list[str]:
    return [each.name for each in js_scanner.functions(text)]


def test_functions_are_found_by_their_usual_names():
    assert [name for name in names(CODE) if name] == [
        "exports.parse",
        "obj.go",
        "obj.run",
        "obj.k",
        "obj.a-b",
        "Foo.bar",
        "B.#hidden",
        "B.make",
        "B.field",
        "one",
        "two",
        "letters",
    ]


@pytest.mark.parametrize(
    ("requested", "body"),
    [
        ("parse", "return x }"),
        ("obj.go", "return 1 }"),
        ("go", "return 1 }"),
        ("Foo.prototype.bar", "if (a)"),
        ("B.hidden", "}"),
        ("B.make", "try"),
        ("one", "x + 1"),
        ("letters", "yield"),
    ],
)
def test_a_body_begins_where_a_breakpoint_belongs(requested, body):
    [found] = [each for each in js_scanner.functions(CODE) if js_scanner.is_called(each, requested)]

    assert CODE[found.body :].lstrip().startswith(body)


def test_a_name_does_not_match_a_longer_one():
    assert not [each for each in js_scanner.functions(CODE) if js_scanner.is_called(each, "ake")]
    assert not [each for each in js_scanner.functions(CODE) if js_scanner.is_called(each, "A.make")]


def test_calls_and_keywords_are_not_functions():
    code = "class A { m() { if (x) { y() } for (;;) { z() } } }\nswitch (b) {}\nrun(1)\n{ }"

    assert names(code) == ["A.m"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("(a, b = 3, {c, d: [e, ...f]} = {c: 1}, ...rest) {", ["a", "b", "c", "e", "f", "rest"]),
        ("() => 1", []),
        ("x => x", ["x"]),
        ("async (x, y) => x", ["x", "y"]),
        ("(a = ')', b = `(${c})`, /* d */ e) {", ["a", "b", "e"]),
        ("({a: {b: {c = 1}}, [k]: d}) {", ["c", "d"]),
        ("([, second], {}) {", ["second"]),
        ("class {}", None),
    ],
)
def test_parameters_are_the_names_they_bind(code, expected):
    assert js_scanner.parameters(code, 0) == expected


def test_code_in_a_try_with_a_catch_is_caught():
    code = "function f() { try { a() } finally { b() } try { c() } catch (e) { d() } e() }"

    caught = {name: js_scanner.is_caught(code, code.index(f"{name}()"), 0) for name in "abcde"}

    assert caught == {"a": False, "b": False, "c": True, "d": False, "e": False}


@pytest.mark.parametrize(
    ("code", "awaited"),
    [
        ("await load(1)", True),
        ("x = await this.api.load(1)", True),
        ("load(1)", False),
        ("await load(1).catch(f)", False),
        ("await Promise.all([load(1)])", False),
        ("return load(1)", False),
    ],
)
def test_a_call_is_awaited_when_nothing_else_is_done_with_it(code, awaited):
    assert js_scanner.is_awaited(code, code.index("load")) is awaited


@pytest.mark.parametrize(
    ("code", "guard"),
    [
        ("{if(n<1)return-1;go(n)}", "if(n<1)"),
        ("{if(n<1)return;if(n<2)return{a:1};go(n)}", "if(n<1)"),
        ("{x();if(a)if(b)return`;${y};`;go()}", "if(a)"),
        ("{if(a){x();y()}else return 3;go()}", "if(a)"),
        ("{if(a)return 3; go()}", None),
        ("{if(a){return 3}go()}", None),
        ("{for(;;)return 3;go()}", None),
        ("{if(a)return;else b();go()}", None),
        ("{b();go()}", None),
    ],
)
def test_a_statement_with_the_position_of_a_return_is_reached_from_the_if_before(code, guard):
    found = js_scanner.behind_return(code, code.index("go("))

    assert (found and code[found.guard :].startswith(guard)) == (guard and True)
    # Code far before it, in a bundle, makes no difference.
    far = "a();" * 20_000
    later = js_scanner.behind_return(far + code, len(far) + code.index("go("))
    assert (later and later.guard - len(far)) == (found and found.guard)


@example("=>::")
@given(st.text(alphabet="(){}[]`'\"/\\$;=>.,:*abc \n#!", max_size=200))
def test_any_text_can_be_scanned(text):
    for each in js_scanner.functions(text):
        assert 0 <= each.start <= each.body <= len(text)
    js_scanner.parameters(text, 0)
    js_scanner.is_caught(text, len(text), 0)
    js_scanner.behind_return(f"{text};go()", len(text) + 1)
