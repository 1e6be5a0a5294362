"""Calls that may have decided a wrong value, though no write of it leads to them."""

from __future__ import annotations

import pytest
from tests.harness.traced_programs import PYTHONS, Run, traced

from freezeframe.model.questions import Link
from freezeframe.questions.differing_tokens import differing_tokens
from freezeframe.questions.first_texts import differing_part, differing_span

LIBRARY = """
    import contextlib
    import html.parser
    import io

    def target(text, pos):
        while pos < len(text):
            if text[pos] in "<\\\\":
                return None, None
            if text[pos] == ">":
                return text[:pos], pos
            pos += 1
        return None, None

    def link(text):
        href, end = target(text, 0)
        if href is None:
            return None
        return f"<a href={href}>"

    def line(text):
        found = link(text)
        return found if found is not None else text

    class Reader(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.parts = []

        def handle_comment(self, data):
            if data.startswith("!"):
                return
            self.parts.append(data)

        def handle_data(self, data):
            self.parts.append(data)

    def comments(text):
        reader = Reader()
        reader.feed(text)
        return ";".join(reader.parts)

    def number(text):
        if not text.isdigit():
            raise ValueError(text)
        return int(text)

    def port(text, default):
        try:
            return number(text)
        except ValueError:
            return default

    def keep(kept, text):
        kept.append(text)

    def is_even(count):
        return count % 2 == 0

    def label(name, mark):
        return f"{name} ({mark})"

    def show(name):
        print("  " + label(name, "old"), end="")

    def help_of(name):
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            show(name)
        return stream.getvalue()
"""
PROGRAM = """
    from lib import comments, help_of, is_even, keep, line, link, port

    def main():
        shown = line("home\\\\page>")
        read = comments("<!--one--><!--!two-->three")
        listening = port(" 81", 80)
        is_even(3)
        kept = ["older"]
        keep(kept, "fifty")
        absent = link("home\\\\page>")
        shown_help = help_of("")
        raise RuntimeError("end")

    main()
"""


@pytest.fixture(params=PYTHONS, ids=str)
def run(request: pytest.FixtureRequest) -> Run:
    return traced(PROGRAM, str(request.param.path), LIBRARY)


def calls(run: Run, expression: str, expected: str) -> dict[str, Link]:
    found = run.why(expression, expected=expected, calls=6).calls
    return {each.function.rpartition(".")[2]: each for each in found}


def test_the_innermost_call_that_gave_up_is_named_with_the_branch_that_was_taken(run: Run) -> None:
    found = calls(run, "shown", "'<a href=home*page>'")

    assert (found["target"].new, found["target"].note) == (
        "(None, None)",
        "so link returned nothing",
    )
    [condition, *_] = found["target"].conditions
    assert (condition.text, condition.taken) == ("text[pos] in '<\\\\'", True)
    assert "link" not in found


def test_what_is_missing_is_found_in_the_arguments_of_the_call_that_dropped_it(run: Run) -> None:
    found = calls(run, "read", "'one;two;three'")

    assert found["handle_comment"].note == "got two, which is missing"
    assert [(each.expression, each.value) for each in found["handle_comment"].reads][:1] == [
        ("data", "'!two'")
    ]


def test_a_function_that_stores_what_it_gets_did_not_drop_it(run: Run) -> None:
    assert "keep" not in calls(run, "len(kept)", "'fifty'")


def test_an_exception_that_was_handled_is_named_where_it_was_raised(run: Run) -> None:
    found = calls(run, "listening", "81")

    note = found["number"].note or ""
    assert note.endswith("raised ValueError: 81, handled in port")


def test_a_predicate_that_was_false_says_nothing_by_itself(run: Run) -> None:
    assert "is_even" not in calls(run, "shown", "'<a href=home*page>'")


def test_words_that_both_texts_have_are_no_difference() -> None:
    tokens = differing_tokens("'<p>[link](foo)</p>'", "'<p><a href=\"foo\">link</a></p>'")

    assert (tokens.missing, tokens.extra) == (("href",), ("[", "]", "(", ")"))
    assert differing_tokens("'a b'", "'a|b'").missing == ("|",)


def test_a_text_is_followed_from_where_its_wrong_part_was_first_made(run: Run) -> None:
    links = run.why("shown_help", expected="'  (old)'").links

    [first] = [each for each in links if each.note and "the first text" in each.note]
    assert (first.statement, first.new) == ("return f'{name} ({mark})'", "' (old)'")


def test_of_equal_characters_in_a_row_each_may_be_the_one_too_many() -> None:
    span = differing_span("'a:   b'", "'a:  b'")

    assert span is not None
    assert (span.begin, span.end) == (2, 5)
    assert span.offset_in(" b!") is None
    assert (span.offset_in(":   "), differing_span("'ab'", "'abc'")) == (1, None)


def test_a_part_that_a_text_should_have_is_compared_from_its_end() -> None:
    span = differing_part("'Usage\\n   (OLD)'", "'\\n  (OLD'")

    assert span is not None
    assert span.text[span.begin : span.end] == "   "


def test_what_the_chain_shows_is_not_shown_again(run: Run) -> None:
    answer = run.why("absent", expected="'<a href=home*page>'", calls=6)
    shown = {(each.path, each.line, each.step) for each in answer.links}

    assert not any((each.path, each.line, each.step) in shown for each in answer.calls)
