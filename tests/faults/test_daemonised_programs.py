"""`stop` ends what a program has made into a daemon; what an ended program left stays."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness import waits
from harness.client import Dbg
from harness.requirements import give_up, need

#: forks twice, waits for the one between, and closes every descriptor, as daemon(7) says
PROGRAM = """#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        for (int fd = 0; fd < 1024; fd++) close(fd);
        FILE *file = fopen("daemon.pid", "w");
        fprintf(file, "%d.", getpid());
        fclose(file);
        for (;;) sleep(1);
    }
    waitpid(child, 0, 0);
    while (argc < 2)
        usleep(10000);
    return 0;
}
"""


@pytest.fixture
def made(project: Path) -> Path:
    need("gcc", "apt-get install gcc")
    (project / "made.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "made.c", "-o", "made"], cwd=project, check=True)
    return project / "daemon.pid"


def daemon_of(file: Path) -> int:
    return int(waits.wait_for_file(file, ".").rstrip("."))


@pytest.mark.parametrize("debugger", ["gdb-mi", "lldb-dap"])
def test_stop_ends_the_daemon_that_a_program_has_become(dbg: Dbg, made: Path, debugger: str):
    began = dbg("start", "./made", "--adapter", debugger, "--no-wait")
    if "debugger-missing" in began.err:
        give_up(f"there is no {debugger}")
    daemon = daemon_of(made)
    dbg("stop")
    waits.wait_for_exit(daemon)


@pytest.mark.parametrize("debugger", ["gdb-mi", "lldb-dap"])
def test_what_an_ended_program_left_behind_is_not_ended(dbg: Dbg, made: Path, debugger: str):
    # A process of the same machine and time, but not of the same family.
    stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        assert "exited: code 0" in dbg("start", "./made", "--adapter", debugger, "--", "once").out
        daemon = daemon_of(made)
        dbg("stop")
        assert waits.alive(daemon)
        dbg("start", "./made", "--adapter", debugger, "--no-wait")
        dbg("stop")
        assert waits.alive(daemon)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
