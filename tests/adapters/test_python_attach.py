"""Attach to a running Python program: it is not changed, and continues afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest

from freezeframe.backends.dap.adapters.debugpy import attach
from freezeframe.errors import LaunchFailed
from harness import waits
from harness.reports import frame_of, place

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="apt-get install gdb")

#: writes at each turn what it sees of itself; names that an injected script could trample on
LIVING = """\
import os
import sys
import time

json = codecs = setup = decode = bytes = "mine"
turns = 0


def names():
    own = sorted(name for name in globals() if not name.startswith("__"))
    return [own, json, bytes, sorted(os.environ), len(sys.path), sys.excepthook.__name__]


def tell():
    with open("told.new", "w") as file:
        print(repr([turns, names()]), file=file)
    os.replace("told.new", "told.txt")


while not os.path.exists("stop"):
    turns += 1
    tell()  # @turn
    time.sleep(0.005)
print("the end")
"""


@pytest.fixture
def living(dbg, write_program, project, debugger):
    """A program that runs, started by the interpreter of this row."""
    p = write_program("living.py", LIVING)
    with open(project / "stderr.txt", "w") as stderr:
        process = subprocess.Popen(
            [debugger.interpreter.path, p.name], cwd=project, env=dbg.env, stderr=stderr
        )
    try:
        waits.wait_for_file(project / "told.txt", "]")
        yield p, process
    finally:
        process.kill()
        process.wait()


def told(project, *, after=-1):
    """What the program says of itself at a turn behind *after*."""

    def look():
        try:
            turn, seen = eval((project / "told.txt").read_text())
        except (SyntaxError, ValueError):
            return None
        return (turn, seen) if turn > after else None

    return waits.wait_until(look, "the program goes on")


@needs_gdb
def test_a_program_that_was_joined_and_left_is_as_it_was(dbg, living, project):
    p, process = living
    turn, before = told(project)

    report = dbg.data("attach", process.pid, "-b", p.at("turn"))
    assert place(report) == p.at("turn")
    assert report["session"] == "living"
    assert dbg.data("print", "setup")["value"]["text"] == "'mine'"
    dbg.data("detach")

    _, after = told(project, after=turn + 5)
    assert after == before
    assert (project / "stderr.txt").read_text() == ""
    waits.wait_until(
        lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 1, "the debugger's threads are gone"
    )

    again = dbg.data("attach", process.pid, "--pause")
    assert again["state"] == "stopped"
    dbg.data("detach")
    # A line that is reached for the first time when the debugger has gone.
    (project / "stop").touch()
    assert process.wait(waits.PATIENCE_S) == 0, (project / "stderr.txt").read_text()


@needs_gdb
def test_children_of_a_program_that_is_joined_again_are_followed(
    dbg, write_program, project, debugger
):
    child = write_program("small.py", "print('child')  # @child\n")
    p = write_program(
        "starts.py",
        "import os, subprocess, sys, time\n"
        "open('started', 'w').close()\n"
        "while not os.path.exists('go'):\n"
        "    time.sleep(0.005)\n"
        "subprocess.run([sys.executable, 'small.py'], stdout=subprocess.DEVNULL, check=True)\n"
        "subprocess.run(f'{sys.executable} small.py >&2', shell=True, check=True)\n",
    )
    process = subprocess.Popen([debugger.interpreter.path, p.name], cwd=project, env=dbg.env)
    try:
        waits.wait_for_file(project / "started")
        dbg.data("attach", process.pid)
        dbg.data("detach")

        dbg.data("attach", process.pid)
        dbg.data("break", child.at("child"))
        (project / "go").touch()
        first = dbg.data("await")
        second = dbg.data("continue")

        assert place(first) == place(second) == child.at("child")
        assert first["session"] != second["session"]
    finally:
        process.kill()
        process.wait()


@needs_gdb
def test_the_interpreter_that_joins_is_the_program_s_own(dbg, living, debugger):
    _, process = living

    dbg.data("attach", process.pid)

    tool = dbg.data("tool")
    assert os.path.realpath(tool["interpreter"]) == os.path.realpath(debugger.interpreter.path)


@needs_gdb
def test_sources_that_lie_elsewhere_are_mapped_both_ways(dbg, living, project):
    p, process = living
    (project / "here").mkdir()
    shutil.copy(p.path, project / "here" / p.name)
    line = p.line("turn")
    where = ("-b", f"here/{p.name}:{line}", "--map", f"{project}={project / 'here'}")

    report = dbg.data("attach", str(process.pid), *where)

    assert frame_of(report)["path"] == str(project / "here" / p.name)
    assert [each["hits"] for each in dbg.data("breakpoint", "list")["breakpoints"]] == [1]
    assert dbg.error("attach", "1", "--map", "nowhere", code=2)["code"] == "usage"


@needs_gdb
def test_a_program_that_is_debugged_already_is_not_taken_away(dbg, living):
    _, process = living
    dbg.data("attach", process.pid, "--name", "one")

    error = dbg.error("attach", process.pid, "--name", "two")

    assert "another debugger" in error["message"]
    assert dbg.data("sessions")["sessions"][0]["state"] == "running"


def test_a_process_that_is_stopped_by_a_signal_is_refused_with_the_way_out(dbg, living):
    _, process = living
    process.send_signal(signal.SIGSTOP)
    waits.wait_until(lambda: waits.state_of(process.pid) == "T", "it is stopped")

    error = dbg.error("attach", process.pid)

    assert error["next"] == f"kill -CONT {process.pid}"


def test_without_gdb_the_answer_is_how_to_install_it(dbg, living, project, debugger):
    if debugger.interpreter.version.startswith("3.14"):
        pytest.skip("needs no gdb")
    _, process = living
    bin = project / "bin"
    bin.mkdir()
    (bin / "apt-get").symlink_to("/bin/true")

    error = dbg.error("attach", process.pid, env={"PATH": str(bin)})

    assert "needs gdb" in error["message"]
    assert error["next"] == "sudo apt-get install gdb"
    assert process.poll() is None


def test_a_process_without_python_is_refused_before_it_is_touched(dbg):
    sleeping = subprocess.Popen(["sleep", "100"], env=dbg.env)
    try:
        waits.wait_until(
            lambda: "sleep" in os.readlink(f"/proc/{sleeping.pid}/exe"), "it is sleep by now"
        )
        error = dbg.error("attach", sleeping.pid, "--adapter", "debugpy")
        assert "no Python" in error["message"]
        assert sleeping.poll() is None
    finally:
        sleeping.kill()
        sleeping.wait()


def test_a_process_that_is_not_there_is_said_to_be_so(dbg):
    gone = subprocess.Popen(["true"])
    gone.wait()

    assert dbg.error("attach", gone.pid)["code"] == "not-found"


@pytest.mark.parametrize(
    ("scope", "uid", "next"),
    [
        ("1", 1000, "sudo sysctl kernel.yama.ptrace_scope=0"),
        ("2", 1000, "sudo sysctl kernel.yama.ptrace_scope=0"),
        ("3", 0, "dbg start PROGRAM"),
    ],
)
def test_a_system_that_forbids_joining_is_named_with_the_fix(tmp_path, scope, uid, next):
    file = tmp_path / "ptrace_scope"
    file.write_text(f"{scope}\n")

    with pytest.raises(LaunchFailed, match=f"ptrace_scope is {scope}") as caught:
        attach._check_yama(uid, str(file))

    assert caught.value.next == next


@pytest.mark.parametrize(("scope", "uid"), [("0", 1000), ("1", 0)])
def test_a_system_that_allows_joining_raises_nothing(tmp_path, scope, uid):
    file = tmp_path / "ptrace_scope"
    file.write_text(scope)

    attach._check_yama(uid, str(file))
