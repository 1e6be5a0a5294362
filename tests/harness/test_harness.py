"""The harness must be able to fail: what it checks after each test is only worth that much."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from harness import hints, programs, waits
from harness.client import MARKER


def living(dbg, *, marked: bool) -> subprocess.Popen[bytes]:
    """Start a process that lives until its standard input ends."""
    env = dbg.env if marked else dict(os.environ)
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=env)


def test_every_program_has_markers_that_stand_once(tmp_path):
    stems = [path.name for path in programs.PROGRAMS.iterdir() if path.name != "__pycache__"]
    assert stems
    for name in stems:
        programs.install(name, tmp_path)


def test_a_marker_is_the_line_it_stands_on(project):
    p = programs.write("app.py", "a = 1\nb = 2  # @b\nc = 3  # two of them @c @d\n", project)

    assert p.line("b") == 2
    assert p.at("c") == p.at("d") == "app.py:3"
    with pytest.raises(KeyError, match="has no @e; it has"):
        p.line("e")


def test_a_wait_for_what_never_comes_says_what_it_was():
    with pytest.raises(AssertionError, match="the sea is calm"):
        waits.wait_until(lambda: False, "the sea is calm", timeout_s=0.05)


def test_a_wait_ends_with_the_process(dbg):
    process = living(dbg, marked=False)
    with pytest.raises(AssertionError, match="is gone"):
        waits.wait_for_exit(process.pid, timeout_s=0.05)

    process.communicate()

    waits.wait_for_exit(process.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")
def test_a_process_that_was_left_is_found_reported_and_ended(dbg):
    process = living(dbg, marked=True)
    other = living(dbg, marked=False)
    waits.wait_until(lambda: process.pid in dbg.processes(), "the process is seen")

    problems = dbg.close(patience_s=0.1)

    assert len(problems) == 1
    assert f"process {process.pid} was left" in problems[0]
    assert process.wait() != 0
    assert other.poll() is None
    other.communicate()


def test_a_traceback_and_a_file_that_was_left_are_reported(dbg):
    (dbg.home / "daemon.log").write_text("Traceback (most recent call last):\n  boom\n")
    (dbg.home / "some.fifo").touch()

    problems = "\n".join(dbg.close())

    assert "a traceback in the log" in problems
    assert "boom" in problems
    assert "some.fifo" in problems
    assert "daemon.log," not in problems


def test_an_environment_of_the_developer_does_not_reach_the_test(dbg):
    assert dbg.env[MARKER] == dbg.id
    assert not [name for name in dbg.env if name.startswith("DBG_")]


@pytest.mark.parametrize(
    ("out", "wrong"),
    [
        ("stopped\nnext: dbg next or dbg locals\n", 0),
        ("next: dbg await, dbg pause or dbg break FILE:LINE -c 'n > 3'\n", 0),
        ("not-found: x\n  next: dbg start PROGRAM  # the same command\n", 0),
        ("  next: make -n\n| next: dbg nonsense\n", 0),
        ("next: dbg locals or dbg nonsense\n", 1),
        ("next: dbg break FILE:LINE --nonsense\n", 1),
        ('{"ok": true, "next": ["nonsense", "dbg next"]}', 1),
        ('{"ok": false, "error": {"next": "dbg print \'x"}}', 1),
    ],
)
def test_a_next_step_that_dbg_does_not_read_is_a_failure(out, wrong):
    assert len([each for each in hints.named(out, "") if hints.problem(each)]) == wrong
