"""The life of a call, from traces made by hand."""

from __future__ import annotations

from textwrap import dedent

from freezeframe.model.calls import CallReport, LineOfCall
from freezeframe.model.trace import Dropped, Outcome, Trace, TracedFrame, TracedStep, Write
from freezeframe.model.trace import TracedValue as V
from freezeframe.questions.call_report import call_report, call_row


class _Source:
    def __init__(self, text: str) -> None:
        self._lines = dedent(text).strip().splitlines()

    def lines(self, path: str) -> list[str]:
        return self._lines


_SHOP = _Source("""
    def price(n, rate):
        p = n * rate
        for part in range(n):
            if part > 3:
                p -= 5
            p += 1
        if p < 0: return 0
        return p


    print(price(2, 3))
    """)


def _report(source: _Source, lines: list[int], writes: dict[int, str] | None = None) -> CallReport:
    """Return the life of a call that executed *lines*; *writes*: by step, `name=new`."""
    frame = TracedFrame(1, "price", "/p/shop.py", lines[0], returned=V("7"))
    steps = []
    for number, line in enumerate(lines, 1):
        name, _, new = (writes or {}).get(number, "").partition("=")
        made = (Write(name, V(new)),) if name else ()
        steps.append(TracedStep(number, 1, line, made))
    return call_report(Trace({1: frame}, steps, Outcome("reached")), frame, source)


def _row(report: CallReport, line: int) -> LineOfCall:
    [row] = [each for each in report.lines if each.line == line]
    return row


def test_the_rounds_of_a_loop_are_one_row_for_each_line_with_the_values_of_all():
    rounds = [3, 4, 6, 3, 4, 6, 3, 4, 5, 6, 3]
    writes = {2: "p=2", 5: "p=3", 8: "p=4", 11: "p=-1", 12: "p=0"}

    report = _report(_SHOP, [1, 2, *rounds, 7, 8], writes)

    assert [row.line for row in report.lines] == [2, 3, 4, 5, 6, 7, 8], "the head of it is left out"
    assert _row(report, 3).rounds == 3
    assert (_row(report, 6).times, _row(report, 6).depth) == (3, 1)
    [change] = _row(report, 6).changes
    assert (change.name, change.values) == ("p", ("3", "4", "0"))
    assert _row(report, 4).taken_in == (3,)
    assert _row(report, 4).not_taken_in == (1, 2)
    assert _row(report, 5).in_rounds == (3,), "the round that was different"
    assert _row(report, 6).in_rounds == ()


def test_a_condition_is_answered_by_the_line_that_came_next_or_not_at_all():
    report = _report(_SHOP, [2, 7])
    assert _row(report, 7).taken_in == (1,), "the call left there"
    report = _report(_SHOP, [2, 7, 8])
    assert _row(report, 7).not_taken_in == (1,)

    open_condition = _Source("""
        int f(int a) {
            if (a > 1 &&
                a < 5) {
                a = 0;
            }
            if (a) a += 1;
            return a;
        }
        """)
    report = _report(open_condition, [2, 3, 4, 6, 7])
    assert not _row(report, 2).taken_in
    assert not _row(report, 2).not_taken_in
    assert not _row(report, 6).taken_in
    assert not _row(report, 6).not_taken_in


def test_a_statement_over_several_lines_is_no_loop():
    source = _Source("""
        def f(a):
            x = g(
                a,
            )
            return x
        """)

    report = _report(source, [2, 3, 2, 5])

    assert [(row.line, row.rounds) for row in report.lines] == [(2, None), (3, None), (5, None)]


def test_nested_loops_and_loops_without_a_head_are_folded():
    source = _Source("""
        fn f() {
            loop {
                let x = next();
                for y in x {
                    use(y);
                }
                if done { break; }
            }
            end()
        }
        """)

    report = _report(source, [3, 4, 5, 4, 5, 4, 7, 3, 4, 5, 4, 7, 9])

    assert [(row.line, row.depth, row.rounds, row.times) for row in report.lines] == [
        (3, 0, 2, 2),
        (4, 1, 3, 5),
        (5, 2, None, 3),
        (7, 1, None, 2),
        (9, 0, None, 1),
    ]


def test_recursion_limits_and_variables_of_the_compiler_are_not_part_of_the_lines():
    frame = TracedFrame(1, "price", "/p/shop.py", 2, arguments=(("n", V("0x7f10 -> 4")),))
    inner = TracedFrame(2, "price", "/p/shop.py", 2, caller=1, raised="ValueError: no")
    steps = [
        TracedStep(1, 1, 2, (Write("iter", V("0x1")), Write("p", V("0x7ffc -> 3")))),
        TracedStep(2, 2, 2),
        TracedStep(3, 1, 4),
    ]
    trace = Trace({1: frame, 2: inner}, steps, Outcome("timeout"), Dropped(limit="steps"))

    report = call_report(trace, frame, _SHOP)

    assert (report.recursive, report.limit, report.steps) == (1, "steps", 2)
    assert [each.value for each in report.arguments] == ["4"]
    assert [(each.name, each.values) for each in _row(report, 2).changes] == [("p", ("3",))]
    row = _row(report, 4)
    assert (row.taken_in, row.not_taken_in) == ((), ()), "not seen to its end"
    site = call_report(trace, inner, _SHOP).called_from
    assert site is not None
    assert (site.line, site.function) == (2, "price")
    row = call_row(trace, inner, 2, _SHOP)
    assert (row.number, row.left_at, row.raised) == (2, 2, "ValueError: no")
