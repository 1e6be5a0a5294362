"""Which expression of a failing assertion is wrong, and where stepping to it begins."""

from __future__ import annotations

from textwrap import dedent

import pytest

from freezeframe.questions.failing_assertions import failing_assertion, passes_exceptions_on
from freezeframe.questions.recording_start import recording_start


def _lines(text: str) -> list[str]:
    return dedent(text).strip("\n").splitlines()


@pytest.mark.parametrize(
    ("path", "line", "wrong", "compared"),
    [
        ("a.test.js", "assert.strictEqual(f(x), 3);", "f(x)", "3"),
        (
            "a.test.js",
            "assert.deepEqual(parse('a,(b'), { a: [1] });",
            "parse('a,(b')",
            "{ a: [1] }",
        ),
        ("a.test.js", "assert(items.length === 2);", "items.length", "2"),
        ("a.test.js", "assert.ok(cart.isEmpty());", "cart.isEmpty()", None),
        ("a.test.ts", "expect(inc(v, 'major')).toBe(wanted);", "inc(v, 'major')", "wanted"),
        ("a.test.ts", "expect(got).to.deep.equal([1]);", "got", "[1]"),
        ("a.test.ts", "expect(list).not.toContain(x)", "list", "x"),
        ("a_test.go", "assert.Equal(t, 3, total(cart))", "total(cart)", "3"),
        ("a_test.go", "require.NoError(t, err)", "err", None),
        ("a_test.go", 'assert.True(t, cart.Has("x"))', 'cart.Has("x")', None),
        ("a.cc", "EXPECT_EQ(3, cart.total());", "cart.total()", "3"),
        ("a.cc", "ASSERT_TRUE(a == b);", "a", "b"),
        ("a.cc", 'REQUIRE( parse("x") == 4 );', 'parse("x")', "4"),
        ("a.c", "assert(sum(xs, 3) == 6);", "sum(xs, 3)", "6"),
        ("a.rs", 'assert_eq!(parse("1day"), Ok(5));', 'parse("1day")', "Ok(5)"),
        ("a.rs", 'let v = parse("x").unwrap();', 'parse("x")', None),
        ("ATest.java", "assertEquals(3, cart.total());", "cart.total()", "3"),
        ("ATest.java", 'assertEquals("sum", expected, sum);', "sum", "expected"),
        ("ATest.java", "assertThat(sum(1)).isEqualTo(2);", "sum(1)", "2"),
        ("ATest.java", "Assertions.assertNull(cart.owner());", "cart.owner()", None),
    ],
)
def test_the_wrong_side_of_an_assertion_is_the_one_that_was_computed(path, line, wrong, compared):
    found = failing_assertion([line], f"/p/{path}", 1, "")
    assert found is not None
    assert (found.text, found.compared) == (wrong, compared)


def test_a_report_of_go_is_explained_by_the_branch_around_it():
    lines = _lines("""
        func TestTotal(t *testing.T) {
            for _, tc := range tests {
                got, err := total(tc.in)
                if err != nil {
                    t.Fatal(err)
                }
                if !reflect.DeepEqual(got, tc.want) {
                    t.Errorf("total(%v) = %v", tc.in, got)
                }
            }
        }
    """)
    first, second = (failing_assertion(lines, "/p/a_test.go", line, "") for line in (5, 8))
    assert first is not None
    assert second is not None
    assert (first.text, second.text, second.compared) == ("err", "got", "tc.want")


def test_the_message_of_a_runtime_names_what_was_null():
    line = "int n = this.names.get(key).length();"
    message = 'Cannot invoke "String.length()" because "this.name" is null'
    java = failing_assertion([line], "/p/A.java", 1, message)
    script = failing_assertion(
        ["return user.address.city;"],
        "/p/a.js",
        1,
        "Cannot read properties of undefined (reading 'city')",
    )
    assert java is not None
    assert java.text == "this.name"
    assert script is not None
    assert script.text == "user.address"


def test_steps_begin_in_the_round_that_fails_with_what_the_assertion_needs():
    lines = _lines("""
        func TestTotal(t *testing.T) {
            tests := cases()
            for _, tc := range tests {
                log.Print("round")
                cart := newCart(tc.items)
                other := 3
                got := cart.total()
                if got != tc.want {
                    t.Errorf("%v", got)
                }
            }
        }
    """)
    found = recording_start(lines, "/p/a_test.go", 9, "shop.TestTotal", "got")
    assert (found.line, found.repeated, found.reads) == (5, True, ("tc",))
    straight = ["package shop", *lines[:2], *(each[4:] for each in lines[4:8]), "    }", "}"]
    once = recording_start(straight, "/p/a_test.go", 7, "TestTotal")
    assert (once.line, once.repeated) == (4, False)


def test_the_head_of_a_try_says_nothing_about_an_exception_that_left_its_block():
    lines = ["try (Printer p = new Printer(out)) {", "    p.print(total);", "}", "} finally {"]
    assert [passes_exceptions_on(lines, at) for at in (1, 2, 3, 4)] == [True, False, True, True]
    assert not passes_exceptions_on(["retry(policy);"], 1)
