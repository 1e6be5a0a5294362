"""Another user who calls every port and socket of every debugger gets nothing and breaks nothing.

What each debugger is reached by: lldb-dap, codelldb, gdb and pdb by pipes; rdbg and ocamldebug by
sockets in folders of the owner's; delve, debugpy, Xdebug and the JVM connect to a port of ours,
which drops other users. `test_node_port.py` is about node.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import debugpy
import pytest

import fake_adapter
from adapters import _matrix as rows
from adapters._matrix import Debugger
from harness import intruder, programs, users, waits
from harness.client import Dbg
from harness.reports import place
from harness.requirements import need

pytestmark = pytest.mark.skipif(not users.is_root(), reason="only root can be two users")

#: by how they are reached: a port of this machine, or not
PORTS = (*rows.GO, *rows.JAVA, rows.PHP[0])
OTHERS = (rows.NATIVE[0], rows.CODELLDB[0], *rows.RUBY)


#: an adapter that serves whoever connects first
SERVE = """
import socket, subprocess, sys
port, script = sys.argv[1:]
server = socket.create_server(("127.0.0.1", int(port)))
first, _ = server.accept()
subprocess.run([sys.executable, "fake_adapter.py", script], stdin=first, stdout=first)
"""


@contextmanager
def another_user(*protocols: str) -> Iterator[dict[str, Any]]:
    """Another user is at work; what came of it is in the dictionary afterwards."""
    words = [users.interpreter() or "", "-c", Path(intruder.__file__).read_text()]
    process = subprocess.Popen(
        [*words, str(users.OWNER), *protocols],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **users.as_user(users.STRANGER),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    told: dict[str, Any] = {}
    try:
        yield told
    finally:
        out, _ = process.communicate(timeout=30)
        told.update(json.loads(out))


def debug(dbg: Dbg, project: Path, row: Debugger) -> None:
    """Start a program; it must come to its breakpoint."""
    row.prepare(dbg)
    hand_over(dbg)
    # What a debugger keeps at home is not the daemon's.
    dbg.env["HOME"] = str(project)
    (project / row.id).mkdir()
    program = row.install("loop", project / row.id)
    users.give(project, users.OWNER)
    where = {"cwd": project / row.id}
    report = dbg.data("start", program.name, "-b", program.at("loop"), **where)
    assert place(report) == program.at("loop"), row
    dbg("stop", **where)


def hand_over(dbg: Dbg) -> None:
    """Let the owner have what is in its home, and a copy of what root keeps from run to run."""
    for kept in (dbg.home / "cache").glob("*"):
        if kept.is_symlink():
            source = kept.resolve()
            kept.unlink()
            shutil.copytree(source, kept)
    users.give(dbg.home, users.OWNER)


def test_the_other_user_of_these_tests_gets_into_a_debugger_that_is_open():
    need("gdbserver", "apt-get install gdbserver")
    words = ["gdbserver", "--once", "127.0.0.1:0", shutil.which("true") or ""]
    with another_user("gdb") as told:
        server = subprocess.Popen(
            words, cwd="/", stderr=subprocess.PIPE, **users.as_user(users.OWNER)
        )
        assert server.stderr is not None
        line = b"gdbserver is there"
        while line and b"Remote debugging from host" not in line:
            line = server.stderr.readline()
    server.kill()
    server.communicate()
    assert told["got"], told


def test_another_user_gets_nothing_from_debuggers_that_have_a_port(dbg, project):
    with another_user() as told:
        for row in PORTS:
            debug(dbg, project, row)
    assert told["got"] == []
    # Xdebug's is open for a moment only.
    assert len([each for each in told["tried"] if "127.0.0.1" in each]) >= len(PORTS[:-1])


def test_another_user_gets_nothing_from_debuggers_that_have_none(dbg, project):
    with another_user() as told:
        for row in OTHERS:
            debug(dbg, project, row)
    assert told["got"] == []
    assert not [each for each in told["tried"] if "127.0.0.1" in each]


def test_another_user_gets_nothing_from_a_python_program_that_is_attached_to(dbg, project):
    # It is next to the Python that runs the tests, which may be root's alone.
    dbg.configure(f"[adapters.debugpy]\npath = {str(Path(debugpy.__file__).parent)!r}\n")
    program = programs.install("endless.py", project)
    words = [users.interpreter() or "", program.name]
    assert len(attached_to(dbg, project, program, words)["tried"]) >= 2


def test_another_user_gets_nothing_from_a_python_program_and_its_child(dbg, project):
    """Each process of the program calls a port of the daemon's."""
    dbg.configure(f"[adapters.debugpy]\npath = {str(Path(debugpy.__file__).parent)!r}\n")
    parent, child = (programs.install(name, project) for name in ("spawns.py", "child.py"))
    users.give(project, users.OWNER)
    python = users.interpreter() or ""
    dbg.env["PATH"] = f"{Path(python).parent}:{dbg.env['PATH']}"
    with another_user() as told:
        report = dbg.data("start", parent.name, "-b", child.at("child"))
        assert place(report) == child.at("child")
        dbg("stop", "--all")
    assert told["got"] == []
    assert [each for each in told["tried"] if "127.0.0.1" in each]


def test_another_user_gets_nothing_from_a_go_program_that_is_attached_to(dbg, project):
    [row] = rows.GO
    row.prepare(dbg)
    # What a debugger keeps at home is not the daemon's.
    dbg.env["HOME"] = str(project)
    program = row.install("endless", project)
    # delve has no port: it calls one of the daemon's.
    assert attached_to(dbg, project, program, row.command(program))["tried"]


def test_another_user_gets_nothing_from_a_ruby_program_that_is_attached_to(dbg, project):
    [row] = rows.RUBY[:1]
    row.prepare(dbg)
    dbg.env["HOME"] = str(project)
    program = programs.install("endless.rb", project)
    # Its socket is in a folder of the owner's.
    told = attached_to(dbg, project, program, ["ruby", "-r", "debug/open_nonstop", program.name])
    assert not [each for each in told["tried"] if "127.0.0.1" in each]


def test_an_adapter_with_a_port_is_not_shared_with_another_user(dbg, project):
    """Whoever is there first has it: the owner, or nobody goes on with it."""
    script = {"stops": [{"reason": "entry", "line": 1}]}
    command = [users.interpreter(), str(project / "serve.py"), "{port}", json.dumps(script)]
    (project / "fake_adapter.py").write_text(Path(fake_adapter.__file__).read_text())
    (project / "serve.py").write_text(SERVE)
    (project / "oak.tree").write_text("root\n")
    dbg.configure(
        f"[adapters.tree]\npatterns = ['*.tree']\ncommand = {json.dumps(command)}\n"
        "transport = 'listen'\n"
    )
    users.give(project, users.OWNER)
    with another_user("DAP", "silent") as told:
        answer = dbg("start", "oak.tree")
        dbg("stop")
    assert told["tried"]
    if "another user has connected" not in answer.err:
        assert "stopped: entry" in answer.out, answer
        assert told["got"] == []


def attached_to(
    dbg: Dbg, project: Path, program: programs.Program, words: list[str]
) -> dict[str, Any]:
    """Attach to a program of the owner's; return what the other user has done meanwhile."""
    users.give(project, users.OWNER)
    process = subprocess.Popen(words, cwd=project, **users.as_user(users.OWNER))
    waits.wait_for_file(project / "spinning.txt", "spinning")
    try:
        with another_user() as told:
            report = dbg.data("attach", process.pid, "-b", program.at("turn"))
            assert place(report) == program.at("turn")
            dbg.data("detach")
        assert told["got"] == []
        assert process.poll() is None
        return told
    finally:
        process.kill()
        process.wait()
