"""What a chain shows of several statements: the one that made the value, not those around it."""

from __future__ import annotations

import pytest
from tests.harness.traced_programs import PYTHONS, Run, traced

from freezeframe.model.questions import LinkKind

PROGRAM = """
    class Shelf:
        def __init__(self, books):
            self.books = list(books)

        def place(self, number):
            return number + 1

        def __getitem__(self, number):
            return self.books[self.place(number)]

        def __iter__(self):
            return iter(self.books)

    class raises:
        def __enter__(self):
            return self
        def __exit__(self, *error):
            return True

    def title(name):
        return name.capitalize()

    def page(names):
        text = ""
        for name in names:
            text += title(name) + ";"
        return "<p>" + text + "</p>"

    def days(first, rows):
        moved = first.replace("-", "-")
        ordered = sorted(set(rows))
        return moved, ordered

    def main():
        shelf = Shelf(["ant", "bee", "cat"])
        book = shelf[1]
        total = 0
        for number in range(5):
            total += number * 2
        html = page(["ann", "bob", "cid"])
        first = "2020-" + title("may")
        rows = []
        rows.append(total + 3)
        rows.append(total + 1)
        moved, ordered = days(first, rows)
        lowest = ordered[0]
        copied = list(shelf)
        with raises():
            shelf[7]
        with raises():
            shelf[0]
        raise RuntimeError("end")

    main()
"""


@pytest.fixture(params=PYTHONS, ids=str)
def run(request: pytest.FixtureRequest) -> Run:
    return traced(PROGRAM, str(request.param.path))


def test_the_rounds_of_a_sum_are_one_link(run: Run) -> None:
    links = run.why("total").links

    assert [each.statement for each in links].count("total += number * 2") == 1
    assert links[0].iteration is not None
    assert (links[0].old, links[0].new, links[0].iteration.round) == ("12", "20", 5)


def test_a_character_is_followed_into_the_operand_that_it_is_inside_of(run: Run) -> None:
    answer = run.why("html", depth=1, expected="'<p>Ann;BOb;Cid;</p>'")

    [link] = answer.links
    assert (link.statement, link.new) == ("return name.capitalize()", "'Bob'")


def test_an_operator_leads_into_the_method_that_it_called(run: Run) -> None:
    statements = run.statements("book")

    assert "return number + 1" in statements  # the key that chose the element


def test_a_value_that_came_out_as_it_was_is_passed_on(run: Run) -> None:
    statements = run.statements("moved")

    assert "moved = first.replace('-', '-')" not in statements
    assert statements[0] == "first = '2020-' + title('may')"


def test_an_element_is_followed_through_sorted_and_set(run: Run) -> None:
    answer = run.why("lowest")

    first = answer.links[0]
    assert (first.statement, first.new) == ("rows.append(total + 1)", "21")


def test_a_block_that_was_to_raise_may_end_with_any_expression(run: Run) -> None:
    step = run.step_at("with raises():", last=True)
    answer = run.why("shelf[0]", at=step)

    returned = [each for each in answer.links if each.kind is LinkKind.RETURN]
    assert answer.value == "'bee'"
    assert "return number + 1" in [each.statement for each in returned]


OMITTED = """
    class Report:
        def __init__(self):
            self.found = []

        def add(self, kind):
            self.found.append(kind)

    def check(report, name, known):
        if name in known:
            known.remove(name)
        else:
            report.add("UnknownName")

    def parse(text):
        if not text:
            raise ValueError("no text")
        return text

    class Case:
        def assertRaises(self, kind, function, *args):
            try:
                function(*args)
            except kind:
                return
            raise AssertionError("not raised")

    def main():
        report = Report()
        check(report, "a", {"a"})
        found = report.found
        Case().assertRaises(ValueError, parse, "x")

    main()
"""


@pytest.fixture(params=PYTHONS, ids=str)
def omitted(request: pytest.FixtureRequest) -> Run:
    return traced(OMITTED, str(request.param.path))


def test_a_branch_that_kept_what_was_expected_from_being_made_is_named(omitted: Run) -> None:
    main = omitted.step_at('Case().assertRaises(ValueError, parse, "x")')
    answer = omitted.why("found", expected="['UnknownName']", at=main)

    [link] = [each for each in answer.links if each.kind is LinkKind.NOT_EXECUTED]
    assert (link.function, link.statement) == ("check", "if name in known")
    assert "report.add" in (link.note or "")


def test_a_function_that_was_to_raise_leads_to_its_conditions(omitted: Run) -> None:
    step = omitted.step_at('Case().assertRaises(ValueError, parse, "x")')
    answer = omitted.why("Case().assertRaises(ValueError, parse, 'x')", at=step)

    assert [each.statement for each in answer.links][:1] == ["if not text"]


LIBRARY = """
    import contextlib
    import io

    def cut(line):
        return line[2:]

    def write(lines):
        stream = io.StringIO()
        for line in lines:
            stream.write(cut(line))
        stream.write("end")
        return stream.getvalue()

    def rows(names):
        for name in names:
            yield name.upper()

    def pairs(names):
        for name in names:
            yield [name, name * 2]

    def show(key, table):
        value = table.get(key)
        if value:
            return value
        raise SystemExit(1)

    def main():
        listed = list(rows(["a", "b"]))
        second = listed[1]
        take = iter(pairs(["x", "y"])).__next__
        take()
        pair = take()
        text = write(["  one two;", "# three four;", "  five six;"])
        stack = contextlib.ExitStack()
        stack.callback(show, "k", {"k": ""})
        try:
            status = stack.close()
        except SystemExit:
            status = 1
        raise RuntimeError("end")

    main()
"""


@pytest.fixture(params=PYTHONS, ids=str)
def library(request: pytest.FixtureRequest) -> Run:
    return traced(LIBRARY, str(request.param.path))


def test_an_element_of_a_list_of_a_generator_leads_to_its_yield(library: Run) -> None:
    first = library.why("second").links[0]

    assert (first.statement, first.new) == ("yield name.upper()", "'B'")


def test_what_a_library_called_is_followed_where_its_result_is_not_known(library: Run) -> None:
    step = library.step_at("status = stack.close()")
    answer = library.why("stack.close()", at=step)

    raised = [each for each in answer.links if each.kind is LinkKind.RAISED]
    assert [each.statement for each in raised] == ["raise SystemExit(1)"]
    assert raised[0].conditions[0].text == "value"


def test_a_character_of_a_stream_leads_to_the_call_that_wrote_it(library: Run) -> None:
    answer = library.why("text", depth=3, expected="'one two;# three four;five six;end'")

    [link] = [each for each in answer.links if each.function == "cut"]
    assert (link.statement, link.new) == ("return line[2:]", "'three four;'")


def test_a_bound_method_of_a_generator_leads_to_its_yield(library: Run) -> None:
    first = library.why("pair").links[0]

    assert (first.statement, first.new) == ("yield [name, name * 2]", "['y', 'yy']")
