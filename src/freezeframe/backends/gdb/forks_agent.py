# mypy: ignore-errors
"""Runs inside gdb: detaches processes that the program forks.

gdb holds a new process stopped while its parent runs on, so no step is interrupted. The process
gets SIGSTOP and is detached, so that another gdb can attach before it runs a line.
"""

import os
import signal
import time

import gdb

#: how long a process may take to stop
_STOP_S = 1.0


def freezeframe_detach(number, hold=True):
    """Detach a new process; return whether it is stopped and waits for a debugger.

    A process that shares its parent's memory (vfork, posix_spawn) runs on: a breakpoint in it would
    be one in the parent. So does any process without *hold*.
    """
    new = next(each for each in gdb.inferiors() if each.num == number)
    others = [each for each in gdb.inferiors() if each.num != number and each.pid]
    hold = hold and all(each.progspace != new.progspace for each in others)
    pid = new.pid
    if hold:
        os.kill(pid, signal.SIGSTOP)
    gdb.execute(f"detach inferiors {number}", to_string=True)
    gdb.execute(f"remove-inferiors {number}", to_string=True)
    return hold and _freezeframe_is_stopped(pid)


def _freezeframe_is_stopped(pid):
    """Whether a signal stopped a process; this takes a moment."""
    end = time.monotonic() + _STOP_S
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
