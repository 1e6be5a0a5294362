"""Nothing of a `try` remains, however it ends: no process, no changed file, no copy of sources."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from harness import waits
from harness.client import Dbg

#: each run but those with n == 1 waits for ever, and so does the child that it forked
_WAITS = """\
import os, signal, sys
n = 1
if n > 1:  # @stop
    if os.fork() == 0:
        os.setsid()
    with open(sys.argv[1], "a") as file:
        print(os.getpid(), file=file)
    signal.pause()
print("end")
"""
_FIX = """\
--- a/waits.py
+++ b/waits.py
@@ -1,3 +1,3 @@
 import os, signal, sys
-n = 1
+n = 2
 if n > 1:  # @stop
"""


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


@pytest.fixture
def stopped(dbg: Dbg, project: Path, write_program, marks: Path) -> dict[str, bytes]:
    """Stop the program; return the contents of the project's files."""
    p = write_program("waits.py", _WAITS)
    (project / "fix.diff").write_text(_FIX)
    dbg("start", p.name, "-b", p.at("stop"), "--", marks)
    return _files(project)


def _files(project: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in waits.files_below(project)}


def _pids(marks: Path) -> list[int]:
    return [int(each) for each in marks.read_text().split()] if marks.exists() else []


def _begin(dbg: Dbg, marks: Path, *hypotheses: str):
    """Start `try` and return when the process and its child wait."""
    client = dbg.start_background("try", *hypotheses, "-t", "80")
    waits.wait_until(lambda: len(_pids(marks)) >= 2, "a hypothesis runs")
    return client


def _no_run_is_left(dbg: Dbg, marks: Path) -> None:
    waits.wait_until(lambda: not set(_pids(marks)) & set(dbg.processes()), "the runs have ended")


def _copies(dbg: Dbg) -> list[Path]:
    return [each for each in waits.files_below(dbg.home) if each.name == "waits.py"]


@pytest.mark.parametrize("hypothesis", [("n = 2",), ("--patch", "fix.diff")], ids=["run", "copy"])
def test_nothing_remains_when_the_client_is_killed(dbg, project, stopped, marks, hypothesis):
    client = _begin(dbg, marks, *hypothesis)
    client.kill()

    _no_run_is_left(dbg, marks)
    waits.wait_until(lambda: not _copies(dbg), "the copies are gone")
    assert _files(project) == stopped
    assert dbg.data("print", "n")["value"]["text"] == "1"


def test_nothing_remains_when_the_time_is_up(dbg, project, stopped, marks):
    answer = dbg.data("try", "n = 2", "--patch", "fix.diff", "-t", "4")

    assert [each["how"] for each in answer["trials"]] == ["ended", "running", "running"]
    assert len(_pids(marks)) == 4
    _no_run_is_left(dbg, marks)
    assert not _copies(dbg)
    assert _files(project) == stopped
    assert dbg.data("print", "n")["value"]["text"] == "1"


def test_nothing_remains_when_the_daemon_is_killed(dbg, project, stopped, marks):
    client = _begin(dbg, marks, "--patch", "fix.diff")
    assert _copies(dbg)
    os.kill(dbg.data("daemon", "status")["daemon_pid"], signal.SIGKILL)
    client.wait()

    # Whoever connects while the daemon dies is told so; then the next one starts.
    waits.wait_until(lambda: dbg("status").code == 0, "the next daemon answers")
    _no_run_is_left(dbg, marks)
    assert not _copies(dbg)
    assert _files(project) == stopped
