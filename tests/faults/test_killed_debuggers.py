"""A debugger that dies is reported as lost, and leaves no program behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from freezeframe.ops._context import MARGIN_S
from harness import waits
from harness.client import Dbg
from harness.requirements import give_up, need

PROGRAM = """
#include <unistd.h>
int main(void) {
    for (int n = 0;; n++) usleep(10000);
}
"""


@pytest.fixture
def endless(dbg: Dbg, project: Path) -> str:
    need("gcc", "apt-get install gcc")
    (project / "endless.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "endless.c", "-o", "endless"], cwd=project, check=True)
    found = dbg("adapters").out
    for name in ("lldb-dap", "gdb-mi"):
        if f"{name}  " not in found:
            give_up(f"there is no {name}")
    return "./endless"


def adapters(dbg: Dbg, name: str = "lldb-dap") -> list[int]:
    return [pid for pid, command in dbg.processes().items() if name in command.split(" ")[0]]


def kill(dbg: Dbg, name: str = "lldb-dap") -> None:
    for pid in waits.wait_until(lambda: adapters(dbg, name), "the debugger runs"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def programs(dbg: Dbg) -> list[int]:
    return [pid for pid, command in dbg.processes().items() if command.endswith("endless")]


@pytest.mark.parametrize(("debugger", "binary"), [("lldb-dap", "lldb-dap"), ("gdb-mi", "gdb")])
def test_a_debugger_that_is_killed_while_the_program_stands_is_told_as_killed(
    dbg, endless, debugger, binary
):
    stop = dbg("start", endless, "--adapter", debugger, "-b", "endless.c:4")
    assert "endless.c:4" in stop.out, stop
    kill(dbg, binary)
    waits.wait_until(lambda: "lost" in dbg("status").out, "the loss is told")
    assert f"lost: {debugger} was killed by SIGKILL." in dbg("status").out
    waits.wait_until(lambda: not programs(dbg), "the program is gone too")
    assert "endless.c:4" in dbg("restart").out


def test_a_program_that_kills_its_parent_the_debugger_is_told_as_lost_not_as_exited(
    dbg, endless, project
):
    (project / "parent.c").write_text(
        "#include <signal.h>\n#include <unistd.h>\n"
        "int main(void) {\n    kill(getppid(), SIGTERM);\n    pause();\n}\n"
    )
    subprocess.run(["gcc", "-g", "parent.c", "-o", "parent"], cwd=project, check=True)
    for debugger, reason in (("lldb-dap", "it lost the program"), ("gdb-mi", "gdb-mi ended")):
        assert "parent.c:4" in dbg("start", "./parent", "--adapter", debugger, "-b", "main").out
        assert f"ended: the debugger was lost: {reason}" in dbg("continue").out


@pytest.mark.parametrize(("debugger", "binary"), [("lldb-dap", "lldb-dap"), ("gdb-mi", "gdb")])
def test_a_debugger_that_stands_still_is_waited_for_no_longer_than_was_asked_for(
    dbg, endless, debugger, binary
):
    dbg("start", endless, "--adapter", debugger, "-b", "endless.c:4")
    [adapter] = adapters(dbg, binary)
    os.kill(adapter, signal.SIGSTOP)
    began = time.monotonic()
    told = dbg("continue", "--timeout", "1")
    # Below the time that is added to inspect a stop: there is none.
    assert time.monotonic() - began < 1 + MARGIN_S, told
    assert f"{debugger} did not answer within 1 s." in told.err
    # Whether the program still is where it was, nobody knows.
    told = dbg("print", "n")
    assert f"{debugger} has not answered `continue --timeout 1` yet." in told.err
    os.kill(adapter, signal.SIGCONT)
    # What was requested then is not lost.
    waits.wait_until(lambda: "running" in dbg("status").out, "it goes on")


def test_a_debugger_that_is_killed_while_it_starts_leaves_no_program(dbg, endless):
    for wanted in (adapters, programs, adapters, programs):
        starting = dbg.start_background(
            "start", endless, "--adapter", "lldb-dap", "-b", "endless.c:4"
        )
        waits.wait_until(
            lambda wanted=wanted: wanted(dbg),
            "it has come so far",
        )
        kill(dbg)
        told = starting.wait()
        assert "exited" not in told.out, told
        waits.wait_until(lambda: not programs(dbg), "the program is gone too")
        dbg("stop")


def test_a_debugger_that_does_not_come_up_is_waited_for_no_longer_than_was_asked_for(
    dbg, endless, project
):
    real = dbg.data("adapters", "lldb-dap")["adapters"][0]["path"]
    slow = project / "bin" / "lldb-dap"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\n[ -n "$*" ] || kill -STOP $$\nexec {real} "$@"\n')
    slow.chmod(0o755)
    dbg.env["PATH"] = f"{slow.parent}{os.pathsep}{dbg.env['PATH']}"
    began = time.monotonic()
    told = dbg("start", endless, "--adapter", "lldb-dap", "-b", "endless.c:4", "--timeout", "1")
    assert time.monotonic() - began < 20, told
    assert "lldb-dap did not start the program within 1 s; it continues." in told.err
    [adapter] = [pid for pid, command in dbg.processes().items() if str(slow) in command]
    os.kill(adapter, signal.SIGCONT)
    assert "endless.c:4" in dbg("await").out
