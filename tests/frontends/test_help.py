"""Help is layered, short, and made from the table."""

from __future__ import annotations

import re

import pytest

from freezeframe.errors import UsageError
from freezeframe.frontends import help
from freezeframe.frontends.reference import reference
from freezeframe.ops._registry import Registry


def test_a_command_page_says_all_that_was_declared(ops: Registry) -> None:
    text = help.page(["b"], ops)
    assert text.splitlines()[0] == "dbg breakpoint add [LOC] [options]"
    assert "Stop the program when it reaches a place." in text
    assert "-c, --condition EXPR  stop only when true" in text
    assert "also: break, b" in text
    assert "example: dbg break app.py:42 -c 'n > 3'" in text
    assert "--json" in text


def test_defaults_choices_repetition_and_needs_are_shown(ops: Registry) -> None:
    start = help.page(["start"], ops)
    assert "-b, --break LOC" in start
    assert "stop here (repeatable)" in start
    assert "--child follow|ignore  child processes (default follow)" in start
    assert re.search(r"-W, --no-wait +do not wait for the stop\n", start)
    assert "[-- ARGS…]" in start
    assert "needs: a stopped program" in help.page(["frame"], ops)
    assert "needs: raw commands" in help.page(["raw"], ops)


def test_a_first_word_lists_what_follows_it(ops: Registry) -> None:
    text = help.page(["breakpoint"], ops)
    assert "breakpoint add [LOC]" in text
    assert "breakpoint remove ID…" in text
    assert "watch list" in help.page(["watch"], ops)


def test_a_group_lists_its_commands(ops: Registry) -> None:
    text = help.page(["inspect"], ops)
    assert "print EXPR" in text
    assert "backtrace" in text


def test_a_spelling_with_two_meanings_shows_both(ops: Registry) -> None:
    text = help.page(["run"], ops)
    assert "dbg continue" in text
    assert "dbg start" in text


def test_an_unknown_page_names_the_nearest(ops: Registry) -> None:
    with pytest.raises(UsageError) as caught:
        help.page(["brek"], ops)
    assert caught.value.next == "dbg help breakpoint add"
    with pytest.raises(UsageError) as caught:
        help.page(["xyzzy"], ops)
    assert caught.value.next == "dbg help"


def test_hidden_operations_are_in_no_list(ops: Registry) -> None:
    assert "version" not in help.overview(ops)
    assert "### dbg version" not in reference(ops)


def test_every_page_fits_its_width(ops: Registry) -> None:
    for text in [help.overview(ops), *(help.command_page(spec) for spec in ops)]:
        assert max(len(line) for line in text.splitlines()) <= help.WIDTH


def test_the_reference_has_every_command_with_its_arguments(ops: Registry) -> None:
    text = reference(ops)
    assert "### dbg breakpoint add" in text
    assert "| `-c, --condition EXPR` | stop only when true |" in text
    assert "| `--child follow\\|ignore` |" in text
    assert text == reference(ops)
