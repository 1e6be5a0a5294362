"""Command lines that no shell has read: quotes of the program's language stay."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.errors import UsageError
from freezeframe.frontends.parser import parse
from freezeframe.frontends.tokenizer import split


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("dbg break 'a b.py:3' -c 'n > 1'", ["break", "a b.py:3", "-c", "n > 1"]),
        ('print m["b c"]', ["print", 'm["b c"]']),
        ("print m['a\\'s']", ["print", "m['a\\'s']"]),
        ('break app.py:3 -c x=="a"', ["break", "app.py:3", "-c", 'x=="a"']),
        ('hits app.py:3 --where="n > 3"', ["hits", "app.py:3", "--where=n > 3"]),
        ("start my\\ app.py", ["start", "my app.py"]),
        ("print &'a", ["print", "&'a"]),
        ('log ""', ["log", ""]),
        ("", []),
    ],
)
def test_quotes_around_a_word_are_taken_off_and_those_within_stay(line, tokens):
    assert split(line) == tokens


@pytest.mark.parametrize(
    ("line", "argument", "value"),
    [
        ('print x == "a b"', "expression", 'x == "a b"'),
        ('print "x + 1"', "expression", "x + 1"),
        ("eval m['k'] = 'two words'", "code", "m['k'] = 'two words'"),
        ('set x = "new"', "assignment", ("x", "=", '"new"')),
        ('input "two words" more', "text", "two words more"),
    ],
)
def test_an_expression_of_several_words_is_taken_as_it_was_written(line, argument, value):
    assert parse(split(line)).kwargs[argument] == value


def test_an_unclosed_quote_is_reported():
    with pytest.raises(UsageError, match="the quote at character 7 has no end"):
        split('print "x')


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12)))
def test_what_a_shell_was_given_comes_out(words):
    words = [word for word in words if word not in ("dbg", "debugger")]

    assert split(shlex.join(words)) == words
