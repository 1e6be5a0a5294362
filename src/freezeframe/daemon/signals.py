"""Signals to the daemon and its supervisor, with their senders.

A debuggee is a child of the daemon, or of the supervisor when its own parent has exited. A program
that signals its parent must not end every session of every workspace, so a signal from a descendant
is ignored. Linux only: elsewhere the sender of a signal is not known.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Collection

#: signals whose default ends or stops the process, without those of faults in the daemon's code
_NAMES = (
    *("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM"),
    *("SIGPROF", "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGXCPU"),
)
HANDLED = frozenset(getattr(signal, name) for name in _NAMES if hasattr(signal, name))

#: called with the signal and the pid of its sender, 0 when the kernel sent it
OnSignal = Callable[[int, int], None]


def knows_senders() -> bool:
    return sys.platform == "linux" and os.path.isdir("/proc/self")


def hold_back() -> None:
    """Block all of HANDLED until `receive` takes them; a child process must unblock them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)


def receive(on_signal: OnSignal) -> None:
    """Start a thread that calls *on_signal* for each signal of HANDLED."""

    def loop() -> None:
        assert sys.platform == "linux"
        while True:
            info = signal.sigwaitinfo(HANDLED)
            on_signal(info.si_signo, info.si_pid)

    threading.Thread(target=loop, name="signals", daemon=True).start()


def is_descendant(pid: int, ancestors: Collection[int]) -> bool:
    """Return whether one of *ancestors* started *pid*, directly or not; False if it has exited."""
    while pid > 1:
        pid = _parent(pid)
        if pid in ancestors:
            return True
    return False


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def describe(number: int, sender: int) -> str:
    """Return `SIGTERM from process 12 (bash)`."""
    name = signal.Signals(number).name
    if not sender:
        return name
    try:
        with open(f"/proc/{sender}/comm", encoding="utf-8", errors="replace") as file:
            return f"{name} from process {sender} ({file.read().strip()})"
    except OSError:
        return f"{name} from process {sender}"
