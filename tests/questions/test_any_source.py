"""Statements and expressions of languages without a parser here."""

from __future__ import annotations

from textwrap import dedent

from freezeframe.questions.any_expressions import any_expression
from freezeframe.questions.any_source import AnySource
from freezeframe.questions.expressions import Form, Statement, StatementKind


def _source(text: str, path: str = "/p/a.c") -> AnySource:
    return AnySource(dedent(text).strip("\n").splitlines(), path)


def _written(line: str, path: str = "/p/a.c") -> list[tuple[str, str]]:
    statement = _source(line, path).statement(1)
    assert statement is not None
    return [(each.target.text, each.value.text) for each in statement.writes]


def test_declarations_and_assignments_of_many_languages_name_what_they_write():
    assert _written("int *p = &items[0];") == [("p", "&items[0]")]
    assert _written("const std::vector<int> v = make(3);") == [("v", "make(3)")]
    assert _written("let mut total: i32 = 0;", "/p/a.rs") == [("total", "0")]
    assert _written("c->total = sum;") == [("c.total", "sum")]
    assert _written("@total = total", "/p/a.rb") == [("@total", "total")]
    assert _written("$items[$i]['done'] = true;", "/p/a.php") == [("$items[$i]['done']", "true")]
    assert _written("value, err := parse(line)", "/p/a.go") == [
        ("value", "parse(line)"),
        ("err", "parse(line)"),
    ]
    assert _written("x += y * 2;") == [("x", "x + y * 2")]
    assert _written("n++;") == [("n", "n + 1")]
    assert _written("this.n++\nthis.f(x)", "/p/a.js") == [("this.n", "this.n + 1")]
    assert _written("for _, item := range items {", "/p/a.go") == [("item", "items")]
    assert _written("for (const row of rows) {", "/p/a.js") == [("row", "rows")]
    assert _written("for (const row of rows) sum += row.n;", "/p/a.js") == [
        ("row", "rows"),
        ("sum", "sum + row.n"),
    ]
    assert _written("while (left > 0) { left--; }") == [("left", "left - 1")]
    assert _written("if (a == b) {") == []
    assert _written("f(a, b = 2, c)") == []


def test_expressions_are_read_by_what_they_do_whatever_their_spelling():
    node = any_expression("a->b.c[i + 1]")
    assert (node.form, node.operands[0].text, node.root.name) == (Form.PART, "a.b.c", "a")
    assert any_expression("!done && n > 3").form is Form.LOGIC
    assert any_expression("ok ? left : right").form is Form.CHOICE
    assert any_expression("Vec::with_capacity(n)").form is Form.CALL
    assert [each.text for each in any_expression("@price * rate").operands] == ["@price", "rate"]
    call = any_expression('checkout([]float64{6, n}, "NONE").total + 1').operands[0].operands[0]
    assert (call.form, [each.form for each in call.operands]) == (
        Form.CALL,
        [Form.NAME, Form.OTHER, Form.CONSTANT],
    )
    assert call.operands[1].text == "[]float64{6, n}"
    other = any_expression("Item { name: n, qty: parse(q)? }")
    assert other.form is Form.OTHER
    assert {"n", "q"} <= {each.text for each in other.operands}


def test_a_statement_over_lines_is_one_and_a_block_is_not_part_of_it():
    source = _source("""
        int f(int n) {
            int x = g(n,
                      2);
            if (n > 3) {
                x = 1;
            } else {
                x = 2;
            }
            return x;
        }

        int other;
        """)

    def at(line: int) -> Statement:
        found = source.statement(line)
        assert found is not None
        return found

    assert (at(3).first, at(3).last, at(3).writes[0].target.text) == (2, 3, "x")
    assert at(4).kind is StatementKind.IF
    [taken] = source.branches(at(5))
    [other] = source.branches(at(7))
    assert (taken.header.first, taken.taken, other.header.first, other.taken) == (4, True, 4, False)
    assert at(9).kind is StatementKind.RETURN
    assert [each.name for each in source.parameters(2)] == ["n"]
    assert source.statement(8) is None
