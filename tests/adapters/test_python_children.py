"""Children of Python programs: followed, stopped in, and ending as they do without a debugger."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.interpreters import interpreters
from harness.reports import place, printed, texts
from harness.waits import wait_for_file

METHODS = ["fork", "spawn", "forkserver"]
ENDS = sorted({interpreters()[0], interpreters()[-1]}, key=str)


@pytest.fixture
def spawns(program):
    """The parent, with the child beside it."""
    return program("spawns.py"), program("child.py")


def assert_secret(dbg):
    """Assert that no command line, which all users can read, holds what opens the port."""
    lines = list(dbg.processes().values())
    files = {Path(found) for line in lines for found in re.findall(r"@(/\S+/token)\b", line)}
    [file] = files
    assert file.stat().st_mode & 0o077 == 0
    assert sum(str(file) in line for line in lines) >= 2  # the parent and its child
    token = file.read_text()
    assert len(token) == 32
    assert not [line for line in lines if token in line]


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
    assert_secret(dbg)

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
    # It was passed in the children: nothing may imply that no one came there.
    assert "breakpoints were not set in child processes: --child follow" in report["notes"]


@pytest.mark.parametrize(
    "python", sorted({interpreters()[0], interpreters()[-1]}, key=str), ids=str
)
def test_a_fork_that_is_not_followed_runs_as_without_a_debugger(dbg, write_program, python):
    p = write_program(
        "forks.py",
        "import os, pty\ndef twice(x):\n    return 2 * x  # @twice\n"
        "def forked(pid):\n    if pid == 0:\n        twice(1)\n        1 / 0\n"
        "    return os.waitpid(pid, 0)[1] >> 8\n"
        "ended = [forked(os.fork()), forked(pty.fork()[0])]\nprint(ended)  # @ended\n",
    )
    runtime = ("--interpreter", python.path)

    points = ("-b", "twice", "-b", p.at("twice"), "-b", p.at("ended"))
    report = dbg.data("start", p.name, "--child", "ignore", *runtime, *points)

    assert place(report) == p.at("ended")
    assert texts(report)["ended"] == "[1, 1]"


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
    assert_secret(dbg)
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


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
@pytest.mark.parametrize("python", ENDS, ids=str)
def test_a_function_called_in_a_forked_child_stops(dbg, write_program, python):
    p = write_program(
        "forks.py",
        "import os\ndef twice(x):\n    return 2 * x\n"
        "pid = os.fork()\nif pid == 0:\n    os._exit(twice(2))\n"
        "print(os.waitpid(pid, 0)[1] >> 8, twice(3))\n",
    )

    report = dbg.data("start", p.name, "-b", "twice", "--interpreter", python.path)

    assert (report["session"], texts(report)["x"]) == ("forks/1", "2")
    parent = dbg.data("continue")
    assert (parent["session"], texts(parent)["x"]) == ("forks", "3")
    assert printed(dbg.data("continue")) == "4 6\n"


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
        "    print(subprocess.call([sys.argv[1], *words]), flush=True)\n"
        "print(subprocess.call(sys.argv[1] + ' old.py d', shell=True), flush=True)\n",
    )
    alone = subprocess.run(
        [sys.executable, p.name, str(older())], cwd=p.path.parent, capture_output=True, text=True
    )

    report = dbg.data("start", p.name, "--", str(older()))

    assert report["exit"]["code"] == 0
    assert printed(dbg.data("output", "--all"), "stderr") == alone.stderr == ""
    assert printed(dbg.data("output", "--all"), "stdout") == alone.stdout
    name, number = Path(str(older())).name, str(older())[-3:]
    commands = (f"{name} -O old.py a", f"{name} -m old b", f"{name} -c c")
    assert report["notes"] == [
        f"a child process was not followed: {command} (debugpy does not run in Python {number})"
        for command in commands
    ] + ["1 more child process was not followed"]


#: ways to start a Python that do not name one first, or that name no file
WAYS = {
    "a script": "subprocess.call(['./tool', 'a'])",
    "a shell": "subprocess.call('./tool b; exit 7', shell=True)",
    "os.system": "os.system(f'{sys.executable} tool c')",
    "env": "subprocess.call(['/usr/bin/env', 'A=1', sys.executable, 'tool', 'd'], env={})",
    "stdin": "subprocess.call([sys.executable, '-', 'e'], stdin=open('tool'))",
    "exec": "os.spawnv(os.P_WAIT, './tool', ['./tool', 'f'])",
    "a script called like Python": "subprocess.call(['./mypython', 'g'])",
}


@pytest.fixture
def starter(write_program):
    """A program that starts a Python script in each of the ways, and the module that this uses."""
    helper = write_program("helper.py", "def work(n):\n    return n * 2  # @work\n")
    tool = write_program(
        "tool",
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "from helper import work\n"
        "print(sys.argv, work(3), 'sitecustomize' in sys.modules, flush=True)\n"
        "print([each for each in sys.path if 'agent' in each or 'debugpy' in each])\n"
        "print([name for name in os.environ if 'PYTHONPATH' in name or 'CHILD' in name])\n"
        "sys.exit(4)\n",
    )
    tool.path.chmod(0o755)
    shutil.copy(tool.path, tool.path.with_name("mypython"))
    lines = [f"print({name!r}, {way}, flush=True)" for name, way in WAYS.items()]
    text = "\n".join(["import os, subprocess, sys", *lines, "print(os.environ.get('PYTHONPATH'))"])
    return write_program("starter.py", text + "\n"), helper


@pytest.mark.skipif(sys.platform == "win32", reason="no scripts and shells there")
def test_children_of_scripts_shells_and_env_are_followed_and_see_nothing_of_it(dbg, starter):
    p, helper = starter
    alone = subprocess.run(
        [sys.executable, p.name], cwd=p.path.parent, capture_output=True, text=True
    )
    assert alone.returncode == 0, alone.stderr

    report = dbg.data("start", p.name, "-b", helper.at("work"))
    for _ in WAYS:
        assert place(report) == helper.at("work"), report
        assert texts(report)["n"] == "3"
        report = dbg.data("continue")

    assert report["state"] == "terminated", report
    assert report["exit"]["code"] == 0
    assert printed(dbg.data("output", "--all"), "stderr") == alone.stderr == ""
    assert printed(dbg.data("output", "--all"), "stdout") == alone.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no shell there")
def test_a_real_sitecustomize_is_imported_as_well(dbg, write_program, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.own = __file__\n")
    p = write_program(
        "customized.py",
        "import subprocess, sys\n"
        f"env = {{'PYTHONPATH': {str(own)!r}}}\n"
        "code = 'import os, sitecustomize; print(own, os.environ[\"PYTHONPATH\"])'\n"
        "subprocess.call(f\"{sys.executable} -c '{code}'\", shell=True, env=env)\n",
    )

    report = dbg.data("start", p.name)

    assert report["exit"]["code"] == 0
    output = dbg.data("output", "--all")
    assert printed(output, "stdout") == f"{own / 'sitecustomize.py'} {own}\n", output


@pytest.mark.skipif(sys.platform == "win32", reason="no shell there")
def test_a_shell_that_outlives_the_debugger_starts_plain_programs(dbg, write_program, tmp_path):
    mark, go = tmp_path / "ended", tmp_path / "go"
    p = write_program(
        "outlives.py",
        "import os, subprocess, sys\n"
        f"os.mkfifo({str(go)!r})\n"
        f"later = 'read _ < {go}; ' + sys.executable + ' -c \"print(6 * 7)\" > {mark}.new 2>&1'\n"
        f"shell = subprocess.Popen(f'{{later}}; mv {mark}.new {mark}', shell=True)\n"
        "print('started')  # @here\n"
        "shell.wait()\n",
    )
    dbg.data("start", p.name, "-b", p.at("here"))

    dbg.data("detach")
    go.write_text("\n")

    assert wait_for_file(mark) == "42\n"
