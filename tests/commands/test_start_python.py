"""What is typed first for a program of Python."""

from __future__ import annotations

import zipapp

from harness.reports import printed

TESTS = """\
def add(a, b):
    return a + b  # @add


def test_sum():
    assert add(1, 2) == 4  # @assert
"""
APP = """\
import sys

if __name__ == "__main__":
    print(sys.argv[1:], sys.flags.optimize, sys.flags.dev_mode)  # @print
"""


def stopped_at(report) -> int:
    return report["stop"]["frame"]["line"]


def test_the_natural_ways_to_a_test_lead_there(dbg, write_program):
    p = write_program("test_a.py", TESTS)
    at = p.at("add")

    for words in (
        ("pytest", "-q", "test_a.py::test_sum", "-b", at),
        ("python", "-m", "pytest", "-x", "-s", "-b", at),
        ("python", "--", "-m", "pytest", "test_a.py"),
        ("test_a.py::test_sum", "-b", at),
        ("-m", "pytest", "--adapter", "pdb", "-b", at, "--", "-q"),
        ("pytest -q test_a.py", "-b", at),
    ):
        report = (
            dbg.data("start", *words, "--name", "t")
            if "--" not in words
            else (dbg.data("start", "--name", "t", "-b", at, *words))
        )
        assert stopped_at(report) == p.line("add"), words
        if words[0] == "pytest":
            # Neither the runner nor the script that an installer wrote for it is the user's own.
            [stack] = dbg.data("backtrace", "--all")["stacks"]
            frames = stack["frames"]
            own = {frame["path"] for frame in frames if not frame.get("library")}
            assert own == {str(p.path)}


def test_options_of_the_interpreter_and_archives_are_programs(dbg, write_program, project):
    write_program("app.py", APP)
    folder = project / "z"
    folder.mkdir()
    (folder / "__main__.py").write_text(APP)
    zipapp.create_archive(folder, project / "app.pyz")
    tool = project / "tool"
    tool.write_text(f"#!/usr/bin/env -S python3 -O\n{APP}")
    tool.chmod(0o755)

    for words, output in (
        (("python", "-O", "app.py", "-e", "x"), "['-e', 'x'] 1 False"),
        (("python", "-X", "dev", "app.py", "--no-record", "--zip"), "['--zip'] 0 True"),
        (("app.pyz", "a", "--verbose"), "['a', '--verbose'] 0 False"),
        (("./tool",), "[] 1 False"),
    ):
        told = dbg.data("start", *words)
        assert told["state"] == "terminated", words
        assert output in printed(told), words


def test_restart_after_stop_starts_it_again_as_it_was_started(dbg, write_program):
    p = write_program("app.py", APP)
    write_program("other.py", "print('other')\n")
    dbg.data("start", "other.py")  # an ended session is the current one after `stop`
    dbg.data("start", "python", "-O", "app.py", "x", "-b", p.at("print"))
    dbg.data("stop")

    report = dbg.data("restart")

    assert stopped_at(report) == p.line("print")
    assert "['x'] 1 False" in printed(dbg.data("continue"))
    dbg.data("stop")
    # The breakpoints of one session are none of another's.
    assert printed(dbg.data("restart", "-s", "other")) == "other\n"
    assert dbg.data("breakpoint", "list")["breakpoints"] == []


def test_programs_in_a_loop_of_a_shell_are_stopped_in(dbg, write_program, project):
    p = write_program("test_a.py", TESTS)
    script = project / "all.sh"
    script.write_text('#!/bin/sh\nfor f in "$@"; do python -m pytest -q $f; done\nexit 7\n')
    script.chmod(0o755)

    report = dbg.data("start", "./all.sh", "test_a.py", "-b", p.at("add"))
    assert (stopped_at(report), report["session"]) == (p.line("add"), "all.sh/1")

    report = dbg.data("continue")
    assert report["stop"]["exception"]["mode"] == "test-failing"

    assert dbg.data("continue")["exit"]["code"] == 7
