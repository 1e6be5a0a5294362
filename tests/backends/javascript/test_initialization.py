"""Variables that are not initialised yet, read from the text of a function or a module.

A `|` is where the program is. What Node 22 says at each offset of a program was compared with this
by hand: it has no value for such a variable where Node 20 has `undefined`.
"""

from __future__ import annotations

import pytest

from freezeframe.backends.javascript.initialization import at_line, guarded, uninitialized


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("const a = |1; let b; class C {} var d; function e() {}", "a b C"),
        ("const a = 1; |let b, c = 2; const d = 3", "b c d"),
        ("const a = 1, b = |f(a), c = 2\nconst d = 1", "b c d"),
        # Statements that end with their line.
        ("const a = 1\nlet b = a\n|f()\nconst c = b\n+ 1", "c"),
        ("const a = x\n  .map(|f)\n  .filter(g)\nconst b = `${a}`", "a b"),
        ("const {a, b: [c, ...d], e = 1, ...f} = |g()", "a c d e f"),
        # Scopes around the offset; a declaration further in hides one of the same name.
        ("(x) { { let a = x; |f(a) } const a = 2, b = 3 }", "b"),
        ("(x) { const a = 2; { |f(); let a = x } }", "a"),
        ("async (x) => { const y = await |x; const z = y }", "y z"),
        ("x => { |f(); const y = () => { const inner = 1 } }", "y"),
        # Variables of loops, and those of their bodies, which begin anew in every pass.
        ("for (const x of |xs) { const y = x }", "x"),
        ("for (const x of xs) { |const y = x; }", "y"),
        ("for (const x in xs) |f(x)\nconst z = 1", "z"),
        ("for (let i = 0, n = |f(); i < n; i++) {}", "n"),
        ("for (let i = 0; i < 3; |i++) {}", ""),
        ("for (;;) { const x = 1 }\n|f()\nconst x = 2", "x"),
        ("try { f() } catch (e) { |g(e); const h = e } const e = 1", "h"),
        # Words that only look like declarations.
        ("const o = { let: 1, const: 2 }; |o.let; o.class; const p = class Named {}", "p"),
        ("const r = /const x = 1/.test('let y'); |f(r) // let z", ""),
    ],
)
def test_uninitialized_variables_at_a_position(code, expected):
    offset = code.index("|")

    assert uninitialized(code.replace("|", ""), offset) == frozenset(expected.split())


def test_code_that_reads_no_such_variable_stays_as_it_is():
    assert guarded("a + o.b", {"b"}) == "a + o.b"
    assert guarded("a + b", {"b", "c"}) == "a + b\n;let b"


def test_the_variable_of_a_loop_cannot_be_read_where_the_loop_begins():
    text = (
        "function f(s) {\n  for (const a of s) g(a);\n  for await (let [b, c] of s) g(b);\n"
        "  for (let i = 0; i < 2; i++) g(i);\n  for (const { d: e } of s) g(e);\n}\n"
    )

    names = [at_line(text, line, 0) for line in (1, 2, 3, 4)]

    # Which names of a pattern with renamed fields are variables is not read.
    assert names == [{"a"}, {"b", "c"}, {"i"}, frozenset()]
