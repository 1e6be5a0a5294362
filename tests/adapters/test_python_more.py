"""Python programs that do not keep still: they leave children, replace themselves, are left."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import zipapp
from pathlib import Path

import pytest

from harness import waits
from harness.interpreters import interpreters
from harness.reports import changed, frame_of, place, printed, texts

CHILD = """\
import sys
number = 4  # @before
print('child', number, *sys.argv[1:], flush=True)  # @child
number += 1
number += 1
"""
TWO_CHILDREN = """\
import subprocess, sys
both = [subprocess.Popen([sys.executable, 'child.py', str(i)]) for i in (1, 2)]
print(sum(each.wait() for each in both))
"""


@pytest.fixture
def child(write_program):
    return write_program("child.py", CHILD)


# --- children that outlive, follow and replace ---------------------------------------------------


def test_a_child_that_its_parent_leaves_behind_is_stopped_in_and_runs_to_its_end(
    dbg, write_program, child
):
    parent = write_program(
        "leaves.py",
        "import subprocess, sys\nsubprocess.Popen([sys.executable, 'child.py'])\nprint('gone')\n",
    )

    report = dbg.data("start", parent.name, "-b", child.at("child"))

    assert place(report) == child.at("child")
    assert texts(report)["number"] == "4"
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 0
    assert "child 4\n" in printed(dbg.data("output", "--all"))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_program_that_becomes_a_daemon_is_followed(dbg, write_program):
    p = write_program(
        "daemon.py",
        "import os\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        depth = 2\n"
        "        print('daemon', depth, flush=True)  # @inside\n"
        "    os._exit(0)\n"
        "os._exit(3)\n",
    )

    report = dbg.data("start", p.name, "-b", p.at("inside"))

    assert place(report) == p.at("inside")
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 3
    assert printed(ended) == "daemon 2\n"


@pytest.mark.skipif(sys.platform == "win32", reason="exec starts another process there")
def test_a_program_that_replaces_itself_keeps_breakpoints_of_before_and_after_its_start(
    dbg, write_program
):
    p = write_program(
        "again.py",
        "import os, sys\n"
        "if len(sys.argv) == 1:\n"
        "    print('first', flush=True)  # @first\n"
        "    os.execv(sys.executable, [sys.executable, __file__, 'again'])\n"
        "value = 5\n"
        "print('second', value)  # @second\n"
        "sys.exit(4)\n",
    )
    dbg.data("start", p.name, "-b", p.at("first"))
    dbg.data("break", p.at("second"))

    report = dbg.data("continue")

    assert place(report) == p.at("second")
    assert "/" not in report["session"]
    assert dbg.data("continue")["exit"]["code"] == 4


@pytest.fixture
def two_stopped(dbg, write_program, child):
    """Start a program with two children; the names of both, stopped, the reported one first."""
    parent = write_program("both.py", TWO_CHILDREN)
    first = dbg.data("start", parent.name, "-b", child.at("before"))["session"]

    def stopped() -> list[str]:
        sessions = dbg.data("sessions")["sessions"]
        return [each["name"] for each in sessions if each["state"] == "stopped"]

    waits.wait_until(lambda: len(stopped()) == 2, "both children have stopped")
    return first, next(name for name in stopped() if name != first)


def test_a_step_is_answered_by_its_own_session_though_another_one_stands_too(
    dbg, child, two_stopped
):
    first, second = two_stopped

    stepped = dbg.data("next")

    assert stepped["session"] == first
    assert place(stepped) == child.at("child")
    assert [second in note for note in stepped["notes"]] == [True]
    again = dbg.data("next")
    assert again["session"] == first, "a command goes on where the last answer was"


def test_when_a_child_ends_the_stop_of_another_is_told_again(dbg, child, two_stopped):
    first, second = two_stopped
    dbg.data("-s", second, "next")

    report = dbg.data("-s", first, "continue")

    assert report["session"] == second
    assert place(report) == child.at("child")
    assert any(first in note for note in report["notes"])
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_detached_program_goes_on_starting_children(dbg, write_program, child, project):
    p = write_program(
        "starter.py",
        "import subprocess, sys, time\n"
        "from pathlib import Path\n"
        "Path('ready').touch()\n"
        "while not Path('go').exists():\n"
        "    time.sleep(0.01)\n"
        "done = subprocess.run([sys.executable, 'child.py'], capture_output=True, text=True)\n"
        "Path('said').write_text(done.stdout + done.stderr)\n",
    )
    dbg.data("start", p.name, "--no-wait")
    waits.wait_for_file(project / "ready")

    dbg.data("detach")
    (project / "go").touch()

    assert waits.wait_for_file(project / "said", "child") == "child 4\n"


# --- attached programs --------------------------------------------------------------------------


def test_stop_says_that_a_joined_program_runs_on(dbg, write_program, debugger, project):
    write_program(
        "waits.py",
        "import time\nfrom pathlib import Path\nPath('ready').touch()\n"
        "while not Path('end').exists():\n    time.sleep(0.01)\n",
    )
    living = subprocess.Popen([debugger.interpreter.path, "waits.py"], cwd=project, env=dbg.env)
    try:
        waits.wait_for_file(project / "ready")
        assert dbg.data("attach", living.pid)["state"] == "running"
        answer = dbg("stop")
        assert "keeps running" in answer.out, str(answer)
        assert living.poll() is None
    finally:
        (project / "end").touch()
        assert living.wait(timeout=20) == 0


def test_a_port_where_nobody_listens_is_told_with_a_next_step(dbg):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    error = dbg.error("attach", f"127.0.0.1:{port}")

    assert str(port) in error["message"]
    assert error["next"]


@pytest.mark.own_daemon
def test_a_port_that_speaks_something_else_is_told(dbg):
    dbg.configure("[timeouts]\ninitialize_s = 1\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def greet() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"220 mail.example ready\r\n")
                while connection.recv(4096):
                    pass

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        error = dbg.error("attach", f"127.0.0.1:{port}")
        thread.join(20)

    assert f"127.0.0.1:{port}" in error["message"]
    assert error["next"] == "dbg attach PID"
    assert dbg.data("sessions")["sessions"] == []


# --- what is shown ------------------------------------------------------------------------------


def test_functions_and_classes_that_were_passed_are_shown_but_not_what_a_module_defines(
    dbg, write_program
):
    p = write_program(
        "passes.py",
        "import os\n\n\nclass Kind:\n    pass\n\n\ndef wrap(function, kind, module):\n"
        "    inner = lambda: function\n"
        "    return inner  # @wrap\n\n\n"
        "wrapped = wrap(len, Kind, os)()\n"
        "total = 3\n"
        "print(total)  # @module\n",
    )
    inside = dbg.data("start", p.name, "-b", p.at("wrap"), "-b", p.at("module"))
    assert set(texts(inside)) == {"function", "inner", "kind", "module"}

    at_the_top = set(texts(dbg.data("continue")))
    assert "total" in at_the_top
    assert at_the_top.isdisjoint({"os", "Kind", "wrap"})
    assert "Kind" in dbg("print", "Kind").out


def test_the_parts_of_a_rewritten_assertion_are_not_shown(dbg, program):
    p = program("test_cart.py")
    dbg.data("catch", "userUnhandled")
    env = {
        "PYTHONPATH": str(Path(pytest.__file__).parent.parent),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }

    report = dbg.data("start", "-m", "pytest", "-p", "no:cacheprovider", p.name, env=env)

    assert place(report) == p.at("assert")
    assert not [name for name in texts(report) if name.startswith("@")]
    assert " " not in frame_of(report)["function"]


# --- functions ----------------------------------------------------------------------------------

FUNCTIONS = """\
import json
class Account:
    def add(self, amount):  # @method
        return amount
def add(a, b):  # @function
    return a + b
Account().add(1)
add(2, 3)
json.loads("[]")
print("done")
"""


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("Account.add", "method"),
        ("bank.Account.add", "method"),
        ("bank.add", "function"),
        ("__main__.add", "function"),
        ("__main__!add", "function"),
    ],
)
def test_a_function_is_told_from_others_of_its_name_by_its_qualified_one(
    dbg, write_program, name, where
):
    p = write_program("bank.py", FUNCTIONS)

    report = dbg.data("start", p.name, "-b", name)

    assert place(report) == p.at(where)
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_function_of_a_library_is_stopped_in_by_its_module(dbg, write_program):
    p = write_program("bank.py", FUNCTIONS)

    report = dbg.data("start", p.name, "-b", "json.loads")

    assert frame_of(report)["function"] == "loads"
    assert report["callers"][0]["path"].endswith("bank.py")


def test_of_two_breakpoints_on_one_name_the_one_that_is_meant_is_named(dbg, write_program):
    p = write_program("bank.py", FUNCTIONS)
    every = dbg.data("break", "add")["breakpoint"]["id"]
    one = dbg.data("break", "Account.add")["breakpoint"]["id"]

    assert dbg.data("start", p.name)["stop"]["breakpoints"] == [every, one]
    assert dbg.data("continue")["stop"]["breakpoints"] == [every]


def test_a_function_that_was_never_called_is_told_at_the_end(dbg, write_program):
    p = write_program("bank.py", FUNCTIONS)

    ended = dbg.data("start", p.name, "-b", "Acount")

    assert ended["exit"]["code"] == 0
    assert any("Acount" in note for note in ended["notes"])
    assert ended["next"] == ["break Account"]


def test_a_jump_that_cannot_be_made_is_refused_with_a_next_step(dbg, write_program):
    p = write_program("bank.py", FUNCTIONS)
    dbg.data("start", p.name, "-b", "bank.py:6")

    error = dbg.error("jump", 10)

    assert error["code"] == "bad-jump"
    assert error["next"]


def test_a_program_that_closes_all_descriptors_goes_on_and_the_answer_says_so(dbg, write_program):
    p = write_program(
        "closes.py",
        "import os\n"
        "def work(n):\n"
        "    return n + 1  # @work\n"
        "os.closerange(3, 200)\n"
        "files = [open(f'file{n}', 'w') for n in range(20)]\n"
        "print(work(1), flush=True)\n"
        "for file in files:\n"
        "    file.write('mine')\n"
        "    file.close()\n",
    )

    told = dbg("start", p.name, "-b", p.at("work")).out

    assert "exited: code 0" in told
    assert "err|" not in told
    assert "closed the connection to its debugger" in told
    # pydevd would close its socket by the number that a file of the program's has now.
    assert {file.read_text() for file in p.path.parent.glob("file*")} == {"mine"}


@pytest.mark.parametrize("adapter", ["debugpy", "pdb"])
def test_the_outermost_frame_is_finished_with_the_program(dbg, write_program, adapter):
    p = write_program("ends.py", "def work():\n    pass  # @work\nwork()\nprint('end')  # @end\n")
    python = ("--interpreter", interpreters()[-1].path)
    for way in (("ends.py",), ("-m", "ends")):
        dbg.data("start", "--adapter", adapter, *python, *way, "-b", p.at("work"))
        dbg.data("up")

        ended = dbg.data("finish")

        assert (ended["exit"]["code"], printed(ended)) == (0, "end\n")


def test_what_the_user_sets_is_no_change_of_the_next_step_or_jump(dbg, write_program):
    p = write_program(
        "assigned.py",
        "def work():\n    a = 0\n    b = {}\n    a += 1  # @first\n    return a\nwork()\n",
    )
    for adapter in ("debugpy", "pdb"):
        dbg.data("start", p.name, "-b", p.at("first"), "--adapter", adapter)
        dbg.data("set", "a", "5")
        dbg.data("eval", "b['k'] = 1")
        stepped = dbg.data("next")
        assert (changed(stepped), texts(stepped)["a"]) == ({"a"}, "6")
        assert "(was 5)" in dbg("context").out
        dbg.data("set", "a", "7")
        jumped = dbg.data("jump", p.at("first"))
        assert (changed(jumped), texts(jumped)["a"]) == (set(), "7")


MADE = """\
import dataclasses
@dataclasses.dataclass
class Held:
    n: int
def build(sign):
    text = f"def made(x):\\n    y = x {sign} 2\\n    return y + 1\\n"
    names = {}
    exec(compile(text, "<rules>", "exec"), names)
    exec(f"def other(z):\\n    return z {sign} 3\\n", names)
    return names["made"](5) + names["other"](1)
print(build("*"), Held(1))
"""


@pytest.mark.parametrize("python", interpreters(), ids=str)
def test_code_that_the_program_compiles_has_breakpoints_and_its_text(dbg, write_program, python):
    write_program("makes.py", MADE)
    way = ("start", "makes.py", "--interpreter", python.path)

    told = dbg(*way, "-b", "<rules>:3", "-b", "other").out

    assert "breakpoint 1 at <rules>:3 in made\n   1  def made(x):\n   2      y = x * 2\n" in told
    assert "  x = 5\n  y = 10\n" in told
    told = dbg("continue").out
    assert "at <string>:1 in other\nno source: " in told, "its text is in no variable"
    assert "  z = 1\n" in told
    assert "| 14 Held(n=1)\n" in dbg("continue").out

    told = dbg(*way, "-b", "<string>:2").out
    assert "in __create_fn__\n" in told, "what dataclasses compiles"
    assert "LOAD_" not in told


@pytest.mark.parametrize("python", interpreters(), ids=str)
def test_lines_of_an_archive_have_breakpoints(dbg, write_program, python, project):
    write_program("app/__main__.py", "from pkg import core\ncore.run(2)\n")
    write_program("app/pkg/__init__.py", "")
    write_program("app/pkg/core.py", "def run(n):\n    # twice\n    m = n * 2\n    print(m)\n")
    zipapp.create_archive(project / "app", project / "app.pyz")

    told = dbg("start", "app.pyz", "-b", "core.py:2", "--interpreter", python.path).out

    assert "at app.pyz/pkg/core.py:3 in run\n" in told
    assert "n = 2" in told
    assert "added breakpoint 2 at app.pyz/pkg/core.py:4" in dbg("break", "pkg/core.py:4").out
    assert "m = 4" in dbg("continue").out
