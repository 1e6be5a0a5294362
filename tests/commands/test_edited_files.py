"""Files that are edited while a program runs: breakpoints belong to the text that was loaded."""

from __future__ import annotations

import textwrap

import pytest

from harness.interpreters import interpreters

_LOOP = """\
import time


def work(n):
    total = n
    total += 1
    total += 2
    return total


for i in range(1000):
    work(i)
"""
_NEWER = "import time\n# a\n# line\n# more\n" + _LOOP.removeprefix("import time\n")


@pytest.mark.parametrize("python", [interpreters()[0], interpreters()[-1], "pdb"], ids=str)
def test_a_breakpoint_is_one_of_the_loaded_text(dbg, write_program, python):
    path = write_program("app.py", _LOOP).path
    how = ("--adapter", "pdb") if python == "pdb" else ("--interpreter", python.path)
    started = dbg.data("start", "app.py", "-b", "app.py:6", *how)
    assert started["stop"]["frame"]["line"] == 6

    path.write_text(_NEWER)
    added = dbg.data("break", "app.py:8")
    assert added["breakpoint"]["line"] == 8
    assert "changed after the program loaded it" in added["breakpoint"]["message"]
    assert added.get("source") is None, "the text of the line is not what runs there"

    for line, breakpoint in ((8, 2), (6, 1), (8, 2)):
        stop = dbg.data("continue")["stop"]
        assert (stop["frame"]["line"], stop["breakpoints"]) == (line, [breakpoint])

    again = dbg.data("restart")
    assert "breakpoint 1 moved with its line to app.py:9" in again["notes"]


def test_a_file_whose_lines_stay_is_no_edit_of_its_code(dbg, write_program):
    path = write_program("app.py", _LOOP).path
    dbg.data("start", "app.py", "-b", "app.py:6")

    path.write_text(_LOOP + "# the end\n")

    added = dbg.data("break", "app.py:8")
    assert added["breakpoint"].get("message") is None
    assert added["source"] == "return total"


def test_a_breakpoint_follows_its_line_into_a_child_that_loads_the_new_text(dbg, write_program):
    text = "def handle():\n    answer = 1\n    return answer\n\n\nhandle()\n"
    path = write_program("app.py", text).path
    write_program(
        "serve.py",
        textwrap.dedent(
            """\
            import subprocess
            import sys

            for _ in range(3):
                subprocess.run([sys.executable, "app.py"], check=True)
            """
        ),
    )
    first = dbg.data("start", "serve.py", "-b", "app.py:2")
    assert first["stop"]["frame"]["line"] == 2

    path.write_text("import os\n\n\n" + text)
    assert dbg.data("continue")["stop"]["frame"]["line"] == 5

    path.write_text(text.replace("answer = 1", "answer = 2"))
    shown = dbg("continue").out
    assert "app.py:2 in handle" in shown
    assert "breakpoint 1 was set at `answer = 1`; an edit has put another line there" in shown


def test_node_says_that_the_file_was_changed_after_the_program_started(dbg, write_program):
    text = "function work(n) {\n  let t = n\n  t += 1\n  return t\n}\n"
    path = write_program("app.js", text + "for (let i = 0; i < 99; i++) work(i)\n").path
    dbg.data("start", "app.js", "-b", "app.js:3")
    path.write_text("// a line\n" + path.read_text())

    added = dbg.data("break", "app.js:4")

    assert "the file was changed after the program started" in added["breakpoint"]["message"]
    assert dbg.data("continue")["stop"]["frame"]["line"] == 4
    assert dbg.data("continue")["stop"]["frame"]["line"] == 3


def test_a_file_written_while_another_program_is_stopped_is_not_said_to_be_changed(
    dbg, write_program
):
    write_program("first.py", _LOOP)
    assert dbg.data("start", "first.py", "-b", "first.py:5")["stop"] is not None
    write_program("second.py", _LOOP)

    started = dbg.data("start", "second.py", "--name", "second", "-b", "second.py:5")

    assert started["stop"]["frame"]["line"] == 5
    assert started["breakpoints"] == []
