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


def _exits(source: AnySource, line: int) -> list[tuple[int, str, bool]]:
    statement = source.statement(line)
    assert statement is not None
    return [
        (each.header.first, each.header.value.text if each.header.value else "", each.in_body)
        for each in source.exits(statement)
    ]


def _others(source: AnySource, line: int, target: str) -> list[int]:
    statement = source.statement(line)
    assert statement is not None
    return [each.first for each in source.other_writes(statement, target)]


def test_branches_before_a_statement_that_leave_its_block_are_its_exits():
    source = _source("""
        int f(int n, int m) {
            if (n < 0) return -1;
            if (n > 9 &&
                m > 9) {
                log(n);
                return 9;
            } else if (n == 5) {
                return 5;
            }
            if (m)
            {
                n++;
            }
            else
            {
                throw bad(m);
            }
            for (int i = 0; i < n; i++) {
                if (i == m) {
                    return i;
                }
                if (i == 3) {
                    break;
                }
            }
            if (n == 7) {
                if (m == 7) {
                    return 7;
                }
            }
            switch (m) {
            case 1:
                if (n == 1) {
                    break;
                }
                n = 2;
            case 2:
                n = 3;
            }
            return n;
        }
        """)
    before = [(10, "m", False), (3, "n > 9 && m > 9", True), (2, "n < 0", True)]
    assert _exits(source, 40) == [(19, "i == m", True), *before]
    assert _exits(source, 38) == [(19, "i == m", True), *before], "of another arm: not evaluated"
    assert _exits(source, 36)[0] == (33, "n == 1", True)
    assert _exits(source, 8) == [(2, "n < 0", True)], "the conditions of its own `if` are none"
    ruby = _source(
        """
        def f(rows)
          return nil if rows.empty?
          raise "no row if empty" unless rows.any?
          unless rows.all?
            return 1
          end
          return 2 if rows.one? { |each| each if each }
          rows.first
        end
        """,
        "/p/a.rb",
    )
    assert _exits(ruby, 8) == [
        (4, "!(rows.all?)", True),
        (3, "!(rows.any?)", True),
        (2, "rows.empty?", True),
    ]


def test_other_assignments_of_a_target_in_its_function_are_found_without_declarations():
    source = _source("""
        int f(int n) {
            int total = 0;
            int other = total;
            if (n > 3 &&
                n < 9)
            {
                total = 5;
                // total = 6;
                //total = 7;
            }
            for (int i = 0; i < n; i++) {
                int total = 8;
                total += i;
            }
            return total;
        }

        int g(int total) {
            total = 1;
            return total;
        }
        """)
    assert _others(source, 2, "total") == [7, 13]
    written = source.statement(7)
    assert written is not None
    [branch] = source.branches(written)
    assert (branch.header.first, branch.header.last, branch.taken) == (4, 5, True)
    assert 7 in range(branch.header.last + 1, branch.header.body_end + 1)
    go = _source("func f() {\n\tx := 0\n\tif y {\n\t\tx := 1\n\t}\n\tx, z = 2, 3\n}", "/p/a.go")
    assert _others(go, 2, "x") == [6]
    php = _source(
        "function f($a) {\n    $t = 0;\n    if ($a) {\n        $t = 1;\n    }\n}", "/p/a.php"
    )
    assert _others(php, 2, "$t") == [4]


def test_a_condition_is_read_whole_and_in_the_sense_in_which_its_body_is_executed():
    def condition(text: str, path: str) -> str:
        found = _source(text, path).statement(1)
        assert found is not None
        assert found.value is not None
        return found.value.text

    assert condition("if (a || b) && c {", "/p/a.go") == "(a || b) && c"
    assert condition("if (a) *p = 1;", "/p/a.c") == "a"
    assert condition("unless n > 3", "/p/a.rb") == "!(n > 3)"
    case = _source("x = 1 if y\ncase k\nwhen 1\n  a = 1\nelse\n  a = 2\nend", "/p/a.rb")
    written = case.statement(6)
    assert written is not None
    assert case.branches(written) == ()


def test_parameters_whose_types_have_braces_are_read():
    go = _source("package p\n\nfunc (s *S) f(t *T, a interface{}, b any) {\n\tx()\n}\n", "/p/a.go")
    assert [each.name for each in go.parameters(4)] == ["t", "a", "b"]
    js = _source("// f\nfunction f({a, b}, options = {}) {\n  g();\n}", "/p/a.js")
    assert [each.name for each in js.parameters(3)] == ["_", "options"]


def test_the_arm_of_a_switch_is_a_branch_on_its_subject():
    def chosen(text: str, line: int, path: str) -> list[tuple[str, str | None]]:
        source = _source(text, path)
        statement = source.statement(line)
        assert statement is not None
        return [
            (each.header.text, each.header.value and each.header.value.text)
            for each in source.branches(statement)
        ]

    go = "func f() {\n\tswitch v := t.Kind.(type) {\n\tdefault:\n\t\tn = 2\n\t}\n}"
    assert chosen(go, 4, "/p/a.go") == [("t.Kind is default", "t.Kind")]
    bare = "func f() {\n\tswitch {\n\tcase a > limit(b):\n\t\tn = 1\n\t}\n}"
    assert chosen(bare, 4, "/p/a.go") == [("a > limit(b)", "a > limit(b)")]
    rust = "fn f() {\n  let n = match kind(y) {\n    A | B => {\n      g()\n    }\n  };\n}"
    assert chosen(rust, 4, "/p/a.rs") == [("kind(y) is A | B", "kind(y)")]
    js = "function f() {\n  switch (x.kind) {\n    case 'a':\n    case 'b':\n      n = 1;\n  }\n}"
    assert chosen(js, 5, "/p/a.js") == [("x.kind is 'b'", "x.kind")]


def test_texts_in_backticks_keep_what_they_say():
    node = any_expression("Get(json, `fav.[0]`)")
    assert node.form is Form.CALL
    assert node.operands[2].text == "'fav.[0]'"


def test_a_choice_among_the_arguments_of_a_call_leaves_it_a_call():
    node = any_expression("push(keys, text(obj[key], on ? encoder : null, options.sort))")
    inner = node.operands[2]
    assert (inner.form, inner.operands[0].text) == (Form.CALL, "text")
    assert [each.text for each in inner.operands[1:]] == [
        "obj[key]",
        "on ? encoder : null",
        "options.sort",
    ]
