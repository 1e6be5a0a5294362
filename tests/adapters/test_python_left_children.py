"""Children of a Python program that come when the debugger has left run as they were to be run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness import programs, waits

PARENT = """
import os, subprocess, sys, time

def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.01)

def hold_back():
    # Its command line is that of a child that is followed already.
    open("begun", "w").close()
    wait_for("left")

with open("child.out", "w") as out:
    wait_for("attached")
    child = [sys.executable, *sys.argv[1:]]
    code = subprocess.call(child, preexec_fn=hold_back, stdout=out, stderr=out)
with open("ended", "w") as file:
    file.write(f"code {code}")
"""


@pytest.mark.parametrize("words", [("child.py", "x"), ("-c", "print('child x')")], ids=str)
def test_a_child_that_comes_after_the_debugger_has_left_runs_by_itself(
    dbg, debugger, project: Path, words: tuple[str, ...]
):
    programs.write("child.py", "import sys\nprint('child', *sys.argv[1:])\n", project)
    parent = programs.write("parent.py", PARENT, project)
    process = subprocess.Popen([*debugger.command(parent), *words], cwd=project)
    try:
        waits.wait_for_file(project / "child.out")
        dbg.data("attach", process.pid)
        (project / "attached").touch()
        waits.wait_for_file(project / "begun")
        dbg.data("detach")
        (project / "left").touch()
        assert waits.wait_for_file(project / "ended", "code") == "code 0"
        assert (project / "child.out").read_text() == "child x\n"
    finally:
        process.kill()
        process.wait()
