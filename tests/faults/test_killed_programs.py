"""A program that is killed while stopped is reported as killed, and its debugger ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from freezeframe.backends.transport.exit_status import WatchedProcess
from harness import waits
from harness.client import Dbg
from harness.requirements import give_up, need

C = """#include <pthread.h>
#include <unistd.h>
void *work(void *p) { for (;;) usleep(10000); }
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, work, 0);
    for (int n = 0;; n++)
        usleep(10000);
}
"""


def workers(dbg: Dbg) -> list[str]:
    words = ("gdb", "lldb-", "held")
    return [line for line in dbg.processes().values() if any(word in line for word in words)]


@pytest.mark.parametrize("debugger", ["gdb-mi", "lldb-dap"])
def test_a_program_that_is_killed_while_it_stands_is_told_as_killed(
    dbg: Dbg, project: Path, debugger: str
):
    need("gcc", "apt-get install gcc")
    (project / "held.c").write_text(C)
    command = ["gcc", "-g", "-pthread", "held.c", "-o", "held"]
    subprocess.run(command, cwd=project, check=True)
    stop = dbg("start", "./held", "--adapter", debugger, "-b", "held.c:8")
    if "debugger-missing" in stop.err:
        give_up(f"there is no {debugger}")
    assert "held.c:8" in stop.out, stop
    os.kill(dbg.data("status")["sessions"][0]["pid"], signal.SIGKILL)
    # LLDB reaps it first, and reports its status a moment later.
    waits.wait_until(lambda: "stopped" not in dbg("status").out, "the end is told")
    assert "killed by SIGKILL" in dbg("status").out
    assert "was ended by SIGKILL" in dbg("print", "n").err
    waits.wait_until(lambda: not workers(dbg), "the debugger is gone too")


def test_a_status_is_known_of_a_process_that_somebody_else_waits_for():
    for ending, wanted in (("kill -9 $$", -signal.SIGKILL), ("exit 3", 3)):
        parent = subprocess.Popen(
            ["sh", "-c", f"sh -c 'echo $$; read go; {ending}'; echo waited; read end"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert parent.stdin is not None
        assert parent.stdout is not None
        watched = WatchedProcess(int(parent.stdout.readline()))
        assert not watched.is_child
        assert watched.returncode() is None
        parent.stdin.write("\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "waited\n"
        # Kernels before 6.15 keep no status for others.
        assert watched.returncode() in (wanted, None)
        watched.close()
        parent.stdin.close()
        assert parent.wait(10) is not None
        parent.stdout.close()


def test_a_zombie_tells_its_status():
    child = subprocess.Popen(["sh", "-c", "read go; exit 3"], stdin=subprocess.PIPE)
    watched = WatchedProcess(child.pid)
    assert watched.is_child
    assert watched.returncode() is None
    assert child.stdin is not None
    child.stdin.close()
    waits.wait_until(lambda: watched.returncode() == 3, "it has ended")
    assert child.wait() == 3
    watched.close()
