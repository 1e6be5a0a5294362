"""Chains in traces of programs that were stepped: parts by path, references, arms, closures."""

from __future__ import annotations

from textwrap import dedent

from freezeframe.model.questions import Explanation
from freezeframe.model.trace import Trace, TracedFrame, TracedStep, TracedValue, Write
from freezeframe.questions.any_source import AnySource
from freezeframe.questions.called_names import name_calls
from freezeframe.questions.own_functions import OwnFunctions
from freezeframe.questions.provenance import explain

#: function, the step that called it, arguments, what it returned
Call = tuple[str, int | None, dict[str, str], str | None]


class _Program:
    """One source file, and a trace of it: frame, line, and what the line wrote."""

    def __init__(self, name: str, text: str, calls: list[Call]) -> None:
        self.path = f"/p/{name}"
        self._lines = dedent(text).strip("\n").splitlines()
        self.trace = Trace()
        for number, (function, caller, arguments, returned) in enumerate(calls, 1):
            frame = TracedFrame(number, function, self.path, 0, caller=caller)
            frame.arguments = tuple((name, TracedValue(v)) for name, v in arguments.items())
            frame.returned = TracedValue(returned) if returned is not None else None
            self.trace.frames[number] = frame

    def lines(self, path: str) -> list[str]:
        return self._lines

    def step(self, frame: int, mark: str, **written: str) -> None:
        line = next(at for at, text in enumerate(self._lines, 1) if mark in text)
        owner = self.trace.frames[frame]
        owner.first_line = owner.first_line or line
        writes = tuple(
            Write(name.replace("__", "."), TracedValue(text)) for name, text in written.items()
        )
        self.trace.steps.append(TracedStep(len(self.trace.steps) + 1, frame, line, writes))

    def why(self, expression: str, expected: str | None = None) -> Explanation:
        name_calls(self.trace, lambda path: AnySource(self._lines, path))
        last = self.trace.steps[-1]
        return explain(
            self.trace, last.frame, last.number, expression, self, depth=6, expected=expected
        )


def test_a_part_is_followed_through_a_nested_function_and_an_export_of_another_name():
    p = _Program(
        "args.js",
        """
        module.exports = function (args) {
            var argv = {};
            function setKey (obj, key, value) {
                obj[key] = value;
            }
            setKey(argv, 'z', isNumber(args[1]) ? Number(args[1]) : args[1]);
            argv.seen = true;
            return argv;
        };
        it('parses', () => {
            const got = parse(['-z', '1e7']);
            assert.deepEqual(got, { z: 1e7, seen: true });
        });
        """,
        [
            ("<anonymous>", None, {}, None),
            ("module.exports", 1, {"args": "['-z', '1e7']"}, "{z: '1e7', seen: true}"),
            ("setKey", 3, {"obj": "{}", "key": "'z'", "value": "'1e7'"}, "undefined"),
        ],
    )
    p.step(1, "const got", got="{z: '1e7', seen: true}")
    p.step(2, "var argv", argv="{}")
    p.step(2, "setKey(argv", argv="{z: '1e7'}", argv__z="'1e7'")
    p.step(3, "obj[key] = value", obj="{z: '1e7'}", obj__z="'1e7'")
    p.step(2, "argv.seen", argv="{z: '1e7', seen: true}", argv__seen="true")
    p.step(2, "return argv")
    p.step(1, "assert.deepEqual")
    found = p.why("got", "{z: 10000000, seen: true}")
    assert (found.part, found.part_value) == ("got[z]", "'1e7'")
    assert [(each.function, each.line) for each in found.links][:1] == [("module.exports", 6)]


def test_a_variable_passed_by_reference_leads_to_the_arm_that_made_the_value():
    p = _Program(
        "units.rs",
        """
        fn add(sec: u64, out: &mut Duration) {
            *out = Duration::new(sec, 0);
        }
        fn parse_unit(n: u64, out: &mut Duration) -> Result<(), Error> {
            let (sec, nsec) = match unit {
                Unit::Hour => (n * 3600, 0),
                Unit::Day => (n * 84600, 0),
            };
            add(sec, out);
            Ok(())
        }
        fn parse(n: u64) -> Duration {
            let mut out = Duration::ZERO;
            parse_unit(n, &mut out)?;
            return out;
        }
        """,
        [
            ("parse", None, {"n": "1"}, None),
            ("parse_unit", 2, {"n": "1", "out": "0x7f00 -> 0ns"}, "Ok(())"),
            ("add", 6, {"sec": "84600", "out": "0x7f00 -> 0ns"}, None),
        ],
    )
    p.step(1, "let mut out", out="0ns")
    p.step(1, "parse_unit(n, &mut", out="84600s")
    p.step(2, "let (sec")
    p.step(2, "Unit::Day")
    p.step(2, "let (sec", sec="84600", nsec="0")
    p.step(2, "add(sec, out);", out="0x7f00 -> 84600s")
    p.step(3, "*out =", out="0x7f00 -> 84600s")
    p.step(2, "Ok(())")
    p.step(1, "return out")
    found = p.why("out")
    assert [(each.function, each.line, each.new) for each in found.links][:2] == [
        ("add", 2, "0x7f00 -> 84600s"),
        ("parse_unit", 7, "84600"),
    ]


def test_arguments_of_a_loop_on_one_line_are_one_link_without_a_round():
    p = _Program(
        "cart.js",
        """
        function add(name, price, qty) {
            const total = price * qty;
            return total;
        }
        function build(lines) {
            for (const [name, price, qty] of lines) add(name, price, qty);
        }
        """,
        [
            ("build", None, {"lines": "[['pen', 2, 3], ['ink', 5, 1]]"}, None),
            ("add", 1, {"name": "'ink'", "price": "5", "qty": "1"}, "5"),
        ],
    )
    p.step(1, "for (const")
    p.step(2, "const total", total="5")
    p.step(2, "return total")
    found = p.why("total")
    assert [(each.line, each.iteration) for each in found.links] == [(2, None), (6, None)]
    assert found.ends == ("how price, qty were passed to add is not known",)


def test_the_clause_that_decided_a_branch_is_shown_as_the_source_has_it():
    p = _Program(
        "limit.js",
        """
        function make(index, limit) {
            let made = null;
            if (
                index >= 0 && (limit !== null && index < limit)
            ) {
                made = 'list';
            } else {
                made = 'object';
            }
            return made;
        }
        """,
        [("make", None, {"index": "20", "limit": "20"}, None)],
    )
    p.step(1, "let made", made="null")
    p.step(1, "if (")
    p.step(1, "made = 'object'", made="'object'")
    p.step(1, "return made")
    [link] = p.why("made").links
    [condition] = link.conditions
    assert (condition.text, condition.taken, condition.line) == ("index < limit", False, 3)


def test_calls_of_libraries_are_stepped_over_and_those_of_the_workspace_are_not(tmp_path):
    (tmp_path / "cart.go").write_text(
        "func (c *Cart) Total(rate int) int {\n}\nvar table = []struct{ run func(int) }{}\n"
    )
    own = OwnFunctions([str(tmp_path)])
    into = ["x := c.Total(3)", "tc.run(4)", "visit(c)", "each(func(x int) bool {"]
    over = ["s := strings.Split(a, b)", "n := len(items)", "x = append(x, 3)", "n += 1"]
    assert [text for text in into if not own.may_be_called(text, "/p/a.go")] == []
    assert [text for text in over if own.may_be_called(text, "/p/a.go")] == []


def test_a_branch_that_would_have_written_the_value_again_is_named():
    p = _Program(
        "runs.js",
        """
        function longest(words) {
            let count = 0;
            for (const word of words) {
                count += 1;
                if (word === '') {
                    count = 0;
                }
            }
            const result = count;
            if (result > 10) {
                return 10;
            }
            return result;
        }
        const got = longest([' ', 'a']);
        check(got);
        """,
        [("<anonymous>", None, {}, None), ("longest", 1, {"words": "[' ', 'a']"}, "2")],
    )
    p.step(1, "const got", got="2")
    p.step(2, "let count", count="0")
    for word, count in (("' '", "1"), ("'a'", "2")):
        p.step(2, "for (const", word=word)
        p.step(2, "count += 1", count=count)
        p.step(2, "if (word ===")
    p.step(2, "for (const")
    p.step(2, "const result", result="2")
    p.step(2, "if (result")
    p.step(2, "return result")
    p.step(1, "check(got)")
    links = p.why("got").links[:2]
    assert [(each.line, each.new) for each in links] == [(4, "2"), (2, "0")]
    [condition] = [each for each in links[0].conditions if each.decisive]
    assert (condition.line, condition.text, condition.taken) == (5, "word === ''", False)
    assert [(each.expression, each.value) for each in condition.reads] == [("word", "'a'")]


def test_a_comparison_is_not_taken_for_the_call_of_a_constructor():
    p = _Program(
        "ast.rs",
        """
        #[derive(PartialEq)]
        struct Shown(String);
        fn check() {
            assert_eq!(Shown(text(doc)), Shown(expected));
        }
        fn text(doc: &Doc) -> String {
            let made = doc.name;
            made
        }
        """,
        [
            ("ast::check", None, {"doc": "Doc", "expected": '"b"'}, None),
            ("ast::text", 1, {"doc": "Doc"}, '"a"'),
            ("ast::{impl#1}::eq", 1, {}, "false"),
        ],
    )
    p.step(1, "assert_eq!")
    p.step(2, "let made", made='"a"')
    p.step(2, "    made")
    p.step(3, "PartialEq")
    p.trace.steps.append(TracedStep(5, 1, p.trace.steps[0].line))
    name_calls(p.trace, lambda path: AnySource(p.lines(path), path))
    assert p.trace.frames[3].called_as == ""
