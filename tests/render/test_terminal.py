"""On a terminal: colour and columns, and the same facts as without."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from freezeframe.model.answers import BreakpointList, Chunk, Output, Threads
from freezeframe.model.locations import Source, SourceLine
from freezeframe.model.stops import Breakpoint, BreakpointState, Thread
from freezeframe.model.values import Value
from freezeframe.render import TERMINAL, Style

from .samples import local_scope, report, shown, source

ANSWER = report(
    source=source(),
    scopes=(
        local_scope(
            Value("n", "3"),
            Value("s", "1", changed=True, was="0"),
            Value("x", "'\x1b[31m[bold]red[/bold] :smile:'"),
            Value("long", "'" + "word " * 40 + "'"),
        ),
    ),
    output=Output((Chunk("stderr", "\x1b]0;title\x07oops\n"),)),
)


def without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_colour_changes_no_fact():
    coloured = shown(ANSWER, style=TERMINAL)

    assert without_colour(coloured) == shown(ANSWER)
    assert coloured != shown(ANSWER)


def test_a_narrow_terminal_wraps_by_itself():
    assert without_colour(shown(ANSWER, style=Style(colour=True, width=20))) == shown(ANSWER)


def test_plain_text_has_no_escape_sequence():
    assert "\x1b" not in shown(ANSWER)


def test_only_colours_reach_the_terminal():
    assert "\x1b" not in without_colour(shown(ANSWER, style=TERMINAL))


def test_source_is_highlighted_in_its_own_language():
    coloured = shown(ANSWER, style=TERMINAL)
    unknown = Source("/p/app.unknown", (SourceLine(1, "for i in x:", True),))

    assert re.search(r"\x1b\[[\d;]*m" + "return", coloured)
    assert without_colour(shown(report(source=unknown), style=TERMINAL)) == (
        shown(report(source=unknown))
    )


def test_columns_are_aligned():
    threads = Threads(
        (Thread(1, "MainThread", "stopped", current=True), Thread(12, "W", "running"))
    )

    lines = without_colour(shown(threads, style=TERMINAL)).splitlines()

    assert lines == ["* 1   MainThread  stopped", "  12  W           running"]


def test_a_column_that_is_empty_everywhere_takes_no_room():
    points = BreakpointList(
        (
            Breakpoint(1, "a.py:1", BreakpointState.BOUND, hits=2),
            Breakpoint(2, "long.py:100", BreakpointState.DISABLED),
        )
    )

    lines = without_colour(shown(points, style=TERMINAL)).splitlines()

    assert lines == ["1  a.py:1       2 hits", "2  long.py:100          disabled"]


def test_rich_is_loaded_for_terminals_only():
    code = "import sys, freezeframe.render; print('rich' in sys.modules)"

    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )

    assert found.stdout == "False\n"
