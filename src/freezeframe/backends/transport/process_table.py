"""Find processes of this machine that can be attached to: by id, by name, or by waiting for one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

from freezeframe import windows
from freezeframe.errors import DebuggerTimeout, NotFound, UsageError

#: How often the process table is read while waiting for a process: no system notifies an ordinary
#: user of a new process.
_LOOK_S = 0.02


def command_line(pid: int) -> list[str]:
    """Return the command line of a process; empty where it may not be read.

    Raises NotFound when there is no such process.
    """
    if sys.platform == "win32":
        return _program_of_windows(pid)
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [word.decode("utf-8", "replace") for word in file.read().split(b"\0") if word]
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            raise NotFound(f"there is no process {pid}.", next="ps") from None
    except OSError:
        return []
    result = subprocess.run(
        ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise NotFound(f"there is no process {pid}.", next="ps")
    return result.stdout.split()


def _program_of_windows(pid: int) -> list[str]:
    """Return what Windows shows of a command line to others: the program."""
    found = windows.program(pid)
    if found is None and all(row.pid != pid for row in windows.processes()):
        raise NotFound(f"there is no process {pid}.", next="tasklist")
    return [found] if found else []


def executable(pid: int) -> str | None:
    """Return the executable of a process, where it may be read."""
    if sys.platform == "win32":
        return windows.program(pid)
    if os.path.isdir("/proc/self"):
        return _link(pid, "exe")
    result = subprocess.run(
        ["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    path = result.stdout.strip()
    return path if os.path.isabs(path) else None


def script(pid: int, argv: list[str]) -> str | None:
    """Return the script that a runtime was started with, by the process's directory."""
    directory = _link(pid, "cwd") or "/"
    for word in argv[1:]:
        path = os.path.join(directory, word)
        if not word.startswith("-") and os.path.exists(path):
            return os.path.normpath(path)
    return None


def _link(pid: int, name: str) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return None


def listener(port: int) -> tuple[int, str] | None:
    """Return the pid and program name of the process that listens on a TCP port, if visible."""
    sockets = {socket for socket, each in _listening() if each == port}
    if not sockets:
        return None
    for pid in _pids():
        if _sockets_of(pid) & sockets:
            return pid, os.path.basename(executable(pid) or "")
    return None


def ports(pid: int) -> set[int]:
    """Return the TCP ports that a process listens on, as far as they are visible."""
    sockets = _sockets_of(pid)
    return {port for socket, port in _listening() if socket in sockets}


def listens(pid: int, port: int) -> bool | None:
    """Return whether a process itself listens on a TCP port; None where the system does not say."""
    return port in ports(pid) if os.path.isdir("/proc/self/fd") else None


async def wait_for_port(pid: int, before: set[int], timeout_s: float) -> int | None:
    """Return a port that a process begins to listen on; None if it opens none in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and os.path.exists(f"/proc/{pid}"):
        new = ports(pid) - before
        if new:
            return min(new)
        await asyncio.sleep(_LOOK_S)
    return None


def environment_contains(pid: int, text: str) -> bool:
    """Return whether *text* is in the initial environment of a process, where that may be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return text.encode() in file.read()
    except OSError:
        return False


def _listening() -> list[tuple[str, int]]:
    """Return the inode link and the port of every listening TCP socket."""
    found = []
    listening = "0A"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as file:
                rows = [line.split() for line in file][1:]
        except OSError:
            continue
        found += [
            (f"socket:[{row[9]}]", int(row[1].rpartition(":")[2], 16))
            for row in rows
            if row[3] == listening
        ]
    return found


def _sockets_of(pid: int) -> set[str]:
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return set()
    return {link for each in descriptors if (link := _link(pid, f"fd/{each}")) is not None}


def traced_by(tracer: int) -> str | None:
    """Return the executable of a process that *tracer* traces."""
    for pid in _pids():
        if _status(pid).get("TracerPid", "").strip() == str(tracer):
            return executable(pid)
    return None


def _status(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/status") as file:
            return dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
    except OSError:
        return {}


def hindrance(pid: int) -> tuple[str, str] | None:
    """Return why a process cannot be traced from here, and a command that allows it; None if it
    can."""
    status = _status(pid)
    tracer = status.get("TracerPid", "0").strip()
    if tracer != "0":
        name = os.path.basename(executable(int(tracer)) or "another debugger")
        return f"{name} (pid {tracer}) debugs it already", f"kill {tracer}"
    owner = int((status.get("Uid", "").split() or ["-1"])[0])
    if status and os.getuid() not in (0, owner):
        return f"it belongs to user {owner}", f"sudo dbg attach {pid}"
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            scope = int(file.read())
    except (OSError, ValueError):
        scope = 0
    rights = _status(os.getpid()).get("CapEff")
    return restriction(scope, rights is None or bool(int(rights, 16) >> _SYS_PTRACE & 1))


#: the bit of CAP_SYS_PTRACE, the right to trace any process
_SYS_PTRACE = 19
#: who may trace what, by the value of Yama's ptrace_scope
_SCOPES = {
    1: "lets a process be traced by its parent only",
    2: "lets only administrators trace",
    3: "lets nobody trace until it is rebooted",
}


def restriction(scope: int, may_trace: bool) -> tuple[str, str] | None:
    """Return what the system forbids and the fix; *may_trace* is the right to trace any process."""
    if scope in _SCOPES and (scope == 3 or not may_trace):
        why = f"this system {_SCOPES[scope]} (kernel.yama.ptrace_scope is {scope})"
        if scope == 3:
            return why, "dbg start PROGRAM"
        return why, "sudo sysctl kernel.yama.ptrace_scope=0"
    if os.getuid() == 0 and not may_trace:
        return (
            "this container does not have the right to trace (CAP_SYS_PTRACE)",
            "docker run --cap-add=SYS_PTRACE …",
        )
    return None


def find(name: str) -> list[int]:
    """Return the pids of processes that run a program or script of that name, oldest first."""
    found = []
    for pid in _pids():
        if pid == os.getpid():
            continue
        try:
            argv = command_line(pid)
        except NotFound:
            continue
        # A script comes after its interpreter, possibly after options of the interpreter.
        script = next((word for word in argv[1:] if not word.startswith("-")), "")
        if name in (os.path.basename(word) for word in (*argv[:1], script)):
            found.append(pid)
    return found


def one(name: str) -> int:
    """Return the only process of that name. Raises NotFound, or UsageError if there are several."""
    found = find(name)
    if not found:
        raise NotFound(f"no process runs {name}.", next=f"dbg attach --wait-for {name}")
    if len(found) > 1:
        shown = ", ".join(map(str, found[:8]))
        raise UsageError(
            f"{len(found)} processes run {name}: {shown}.", next=f"dbg attach {found[-1]}"
        )
    return found[0]


async def wait_for(name: str, timeout_s: float) -> int:
    """Return the pid of the next process of that name to start; running ones do not count.

    Raises DebuggerTimeout.
    """
    before = set(find(name))
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        new = [pid for pid in find(name) if pid not in before]
        if new:
            return new[0]
        await asyncio.sleep(_LOOK_S)
    raise DebuggerTimeout(
        f"no process named {name} started within {timeout_s:g} s.",
        next=f"dbg attach --wait-for {name} --timeout 300",
    )


def _pids() -> list[int]:
    if sys.platform == "win32":
        return sorted(row.pid for row in windows.processes())
    try:
        return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    except OSError:
        result = subprocess.run(
            ["ps", "-A", "-o", "pid="], capture_output=True, text=True, check=False
        )
        return sorted(int(word) for word in result.stdout.split())
