"""Children of Python programs: followed, stopped in, and ending as they do without a debugger."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.reports import place, printed, texts

METHODS = ["fork", "spawn", "forkserver"]


@pytest.fixture
def spawns(program):
    """The parent, with the child beside it."""
    return program("spawns.py"), program("child.py")


def test_a_program_with_children_ends_as_it_does_without_a_debugger(dbg, spawns):
    parent, _ = spawns

    report = dbg.data("start", parent.name)

    assert report["state"] == "terminated"
    assert report["exit"]["code"] == 5
    assert printed(dbg.data("output", "--all"), "stdout") == (
        "from child: child 4\nfrom child: child 6\ncodes 5\n"
    )


def test_a_breakpoint_in_a_child_is_hit_and_the_tree_is_shown(dbg, spawns):
    parent, child = spawns

    report = dbg.data("start", parent.name, "-b", child.at("child"))

    assert place(report) == child.at("child")
    assert texts(report)["number"] == "2"
    assert "/" in report["session"]
    sessions = {each["name"]: each for each in dbg.data("sessions")["sessions"]}
    assert sessions[report["session"]]["parent"] in sessions
    assert sessions[report["session"]]["state"] == "stopped"

    second = dbg.data("continue")
    assert place(second) == child.at("child")
    assert texts(second)["number"] == "3"
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("continue")
    assert dbg.data("await")["state"] == "terminated"


def test_a_program_whose_children_are_ignored_ends_as_well(dbg, spawns):
    parent, child = spawns

    report = dbg.data("start", parent.name, "--child", "ignore", "-b", child.at("child"))

    assert report["state"] == "terminated"
    assert report["exit"]["code"] == 5


@pytest.mark.parametrize("method", METHODS)
def test_workers_of_multiprocessing_end_and_their_parent_too(dbg, program, method):
    p = program("pools.py")

    report = dbg.data("start", p.name, method)

    assert report["state"] == "terminated", report
    assert report["exit"]["code"] == 0
    assert "square 49 exit 0" in printed(dbg.data("output", "--all"))


@pytest.mark.parametrize("method", METHODS)
def test_a_breakpoint_in_a_worker_is_hit(dbg, program, method):
    p = program("pools.py")

    report = dbg.data("start", p.name, method, "-b", p.at("worker"))

    assert place(report) == p.at("worker")
    assert texts(report)["number"] == "7"
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("continue")
    assert dbg.data("await")["exit"]["code"] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_forked_child_is_stopped_in_and_its_parent_hears_its_code(dbg, program):
    p = program("forks.py")

    report = dbg.data("start", p.name, "-b", p.at("child"))

    assert place(report) == p.at("child")
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("continue")
    assert dbg.data("await")["exit"]["code"] == 5


def test_stop_ends_the_whole_tree(dbg, spawns):
    parent, child = spawns
    dbg.data("start", parent.name, "-b", child.at("child"))

    dbg.data("stop")

    assert dbg.data("sessions")["sessions"] == []


def test_a_child_is_shown_with_its_own_command(dbg, spawns):
    parent, child = spawns

    report = dbg.data("start", parent.name, "-b", child.at("child"))

    sessions = {each["name"]: each for each in dbg.data("sessions")["sessions"]}
    command = sessions[report["session"]]["command"]
    assert command[0].endswith(child.name)
    assert command[1:] == ["2"]


def test_the_machinery_of_multiprocessing_is_named_as_such(dbg, program):
    p = program("pools.py")

    report = dbg.data("start", p.name, "forkserver", "-b", p.at("worker"))

    sessions = {each["name"]: each["command"] for each in dbg.data("sessions")["sessions"]}
    assert ["multiprocessing", "forkserver"] in sessions.values()
    assert sessions[report["session"]] == ["multiprocessing", "worker"]


def older() -> str | None:
    """Return a Python that debugpy does not run in, if there is one on this machine."""
    names = ("python3.7", "python3.6", "python2.7")
    found = [str(each) for each in Path.home().glob(".pyenv/versions/*/bin/python*")]
    paths = [*found, *(shutil.which(name) or "" for name in names)]
    return next((each for each in paths if each.endswith(names)), None)


@pytest.mark.skipif(older() is None, reason="needs Python 3.7, 3.6 or 2.7")
def test_a_child_of_a_python_that_cannot_be_followed_runs_as_it_does_alone(dbg, write_program):
    write_program(
        "old.py",
        "import sys\nprint(sys.version_info[:2], sys.argv, sys.flags.optimize)\nsys.exit(3)\n",
    )
    p = write_program(
        "starts.py",
        "import subprocess, sys\n"
        "for words in (['-O', 'old.py', 'a'], ['-m', 'old', 'b'],\n"
        "              ['-c', 'import sys; print(sys.argv, sorted(globals()))', 'c']):\n"
        "    print(subprocess.call([sys.argv[1], *words]), flush=True)\n",
    )
    alone = subprocess.run(
        [sys.executable, p.name, str(older())], cwd=p.path.parent, capture_output=True, text=True
    )

    report = dbg.data("start", p.name, "--", str(older()))

    assert report["exit"]["code"] == 0
    assert printed(dbg.data("output", "--all"), "stderr") == alone.stderr == ""
    assert printed(dbg.data("output", "--all"), "stdout") == alone.stdout
