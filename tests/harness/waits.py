"""Waiting for facts. The only place in the tests where time passes on purpose.

Every wait is for a condition, ends as soon as the condition holds, and fails with what was
waited for when it does not come true in time.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: generous: a loaded machine is slow, and only a failing test ever waits this long
PATIENCE_S = 20.0
_LOOK_EVERY_S = 0.01


def wait_until(
    condition: Callable[[], T], what: str | Callable[[], str], *, timeout_s: float = PATIENCE_S
) -> T:
    """Return the first true value of *condition*, or fail when there is none in time."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            described = what() if callable(what) else what
            raise AssertionError(f"not within {timeout_s:g} s: {described}")
        time.sleep(_LOOK_EVERY_S)


def wait_for_file(path: Path, text: str = "", *, timeout_s: float = PATIENCE_S) -> str:
    """Return the content of *path* once it exists and holds *text*."""

    def content() -> str | None:
        try:
            found = path.read_text(errors="replace")
        except FileNotFoundError:
            return None
        # A file that is to hold nothing in particular is there as soon as it is there.
        return (found or " ") if text in found else None

    return wait_until(content, f"{path.name} holds {text!r}", timeout_s=timeout_s)


def wait_for_exit(pid: int, *, timeout_s: float = PATIENCE_S) -> None:
    """Return when the process *pid* is gone; a zombie that was not reaped counts as gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # not Linux, or a kernel before 5.3
        wait_until(lambda: not alive(pid), f"process {pid} is gone", timeout_s=timeout_s)
        return
    try:
        ready, _, _ = select.select([descriptor], [], [], timeout_s)
        assert ready, f"not within {timeout_s:g} s: process {pid} is gone ({command_of(pid)})"
    finally:
        os.close(descriptor)


def alive(pid: int) -> bool:
    """Whether *pid* is a process that still runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return state_of(pid) != "Z"


def state_of(pid: int) -> str:
    """Return the one-letter state of a process (`R`, `S`, `T`, `Z`), empty when it is gone."""
    try:
        # The name before the state may hold spaces and brackets.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def has_socket(pid: int) -> bool:
    """Whether a process has a socket open; False when it is gone. True where there is no /proc."""
    folder = Path(f"/proc/{pid}/fd")
    if not Path("/proc/self/fd").exists():
        return True
    try:
        return any(os.readlink(entry).startswith("socket:") for entry in folder.iterdir())
    except OSError:  # gone, or a descriptor was closed while we looked
        return False


def command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "?"
    return b" ".join(words).decode(errors="replace").strip()


def processes_with(variable: str, value: str) -> dict[int, str]:
    """Return pid and command of every living process whose environment has *variable*=*value*.

    A process inherits its environment whatever becomes of its parent, its group and its session,
    so nothing that a test started can hide. Empty where there is no /proc.
    """
    marker = f"{variable}={value}".encode()
    found: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue  # gone meanwhile, or not ours
        pid = int(entry.name)
        if marker in environment.split(b"\0") and state_of(pid) not in ("Z", "X", ""):
            found[pid] = command_of(pid)
    return found


def files_below(folder: Path) -> list[Path]:
    """Return the files below *folder*, in order; what goes away meanwhile is not among them.

    A daemon at work takes its sessions' folders away, which `Path.rglob` does not forgive.
    """
    return sorted(Path(where, name) for where, _, names in os.walk(folder) for name in names)


def free_port() -> int:
    """Return a port of this machine that no process listens at."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])
