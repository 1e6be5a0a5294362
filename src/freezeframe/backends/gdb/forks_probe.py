# mypy: ignore-errors
"""Runs inside gdb: lets go of processes that the program forks.

gdb keeps a new process standing beside its parent, which runs on meanwhile: no step is broken off.
It is sent a stop and let go, so that another gdb can join it before it runs a line.
"""

import os
import signal
import time

import gdb

#: how long a process may take to stop
_HEEDS_S = 1.0


def freezeframe_let_go(number, hold=True):
    """Let go of a new process; True where it stands and waits to be joined.

    One that shares its parent's memory (vfork, posix_spawn) runs on: a breakpoint in it would be
    one in the parent. So does any without *hold*.
    """
    new = next(each for each in gdb.inferiors() if each.num == number)
    others = [each for each in gdb.inferiors() if each.num != number and each.pid]
    hold = hold and all(each.progspace != new.progspace for each in others)
    pid = new.pid
    if hold:
        os.kill(pid, signal.SIGSTOP)
    gdb.execute(f"detach inferiors {number}", to_string=True)
    gdb.execute(f"remove-inferiors {number}", to_string=True)
    return hold and _freezeframe_stands(pid)


def _freezeframe_stands(pid):
    """Whether a process was stopped by a signal; it takes a moment until it has heeded it."""
    end = time.monotonic() + _HEEDS_S
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rpartition(") ")[2][:1]
        except OSError:
            return False
        if state in "TXZ":
            return state == "T"
        os.sched_yield()
    return False
