"""Find out why a daemon does not answer, and whether to keep waiting.

A daemon that works on a request sends a keep-alive frame every second (ipc.py). Imported by a
client that has received nothing for some seconds, so imports are few.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping

from freezeframe import paths
from freezeframe.daemon import lifecycle
from freezeframe.errors import DaemonError

#: limit for a running daemon to send anything at all; for a starting one, lifecycle.START_S
SILENCE_S = 30.0


def explain(silent_s: float, env: Mapping[str, str] = os.environ) -> DaemonError | None:
    """Return the error for a daemon that has been silent for *silent_s*; None to keep waiting."""
    lock = _lock(env)
    found = processes(lock)
    if error := stopped(found):
        return error
    if silent_s < SILENCE_S or _age_s(lock) < lifecycle.START_S:
        return None
    return DaemonError(
        f"the daemon has not answered for {silent_s:.0f} s; ending it ends its sessions.",
        next=kill_command(found, lock),
    )


def explain_stopped(env: Mapping[str, str] = os.environ) -> DaemonError | None:
    """Return the error for a stopped daemon; None if the daemon runs or does not exist."""
    return stopped(processes(_lock(env)))


def stopped(pids: list[int]) -> DaemonError | None:
    """Return the error if a signal or a debugger has stopped one of the daemon's processes."""
    states = {pid: _state(pid) for pid in pids}
    if by_signal := [str(pid) for pid, state in states.items() if state == "T"]:
        return DaemonError(
            f"the daemon (pid {', '.join(by_signal)}) is stopped by a signal and cannot answer.",
            next=f"kill -CONT {' '.join(by_signal)}",
        )
    for pid, state in states.items():
        if state == "t":
            return DaemonError(
                f"the daemon (pid {pid}) is stopped by a debugger and cannot answer.",
                next=f"grep TracerPid /proc/{pid}/status",
            )
    return None


def _lock(env: Mapping[str, str]) -> str:
    return os.path.join(paths.runtime_dir(env), lifecycle.DAEMON_LOCK)


def kill_command(pids: list[int], lock: str) -> str:
    """Return the command that kills the daemon's processes, or finds them."""
    return f"kill -9 {' '.join(map(str, pids))}" if pids else f"fuser -v {lock}"


def processes(lock: str) -> list[int]:
    """Return the live processes that hold *lock*: the supervisor and the daemon."""
    if os.path.isdir("/proc/self/fd"):
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return sorted(pid for pid in pids if _is_daemon(pid) and _has_open(pid, lock))
    owner = _owner(lock)
    rows = [line.split(None, 2) for line in _ps("-ax", "-o", "pid=,ppid=,state=")]
    return [
        int(pid)
        for pid, parent, state in (row for row in rows if len(row) == 3)
        if owner is not None and str(owner) in (pid, parent) and not state.startswith("Z")
    ]


def _is_daemon(pid: int) -> bool:
    """Return whether *pid* runs a daemon's command (see __main__.py): clients open the lock too."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            argv = file.read(65536).split(b"\0")[:-1]
    except OSError:
        return False
    if b"daemon" not in argv:
        return False
    after = argv[argv.index(b"daemon") + 1 :]
    return not after or after[0].startswith(b"--")


def _has_open(pid: int, path: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{folder}/{fd}") == path for fd in os.listdir(folder))
    except OSError:  # exited, or another user's
        return False


def _age_s(lock: str) -> float:
    """Return the daemon's age: it writes its pid to the lock file when it starts."""
    try:
        return time.time() - os.stat(lock).st_mtime
    except OSError:
        return 0.0


def _owner(lock: str) -> int | None:
    try:
        with open(lock, "rb") as file:
            text = file.read(20)
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _state(pid: int) -> str:
    """Return the one-letter state of a process; empty when it has exited."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return "".join(_ps("-p", str(pid), "-o", "state="))[:1]


def _ps(*args: str) -> list[str]:
    try:
        done = subprocess.run(["ps", *args], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return []
    return done.stdout.splitlines()
