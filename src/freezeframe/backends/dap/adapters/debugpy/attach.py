"""Attach to a running Python process: the checks before it, and the injector's command line.

Reads only files of the process table; `inject_agent.py` does the work.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys

from freezeframe.backends.backend import Attach
from freezeframe.backends.dap.adapters._descriptor import Endpoint, Spawn
from freezeframe.errors import DebuggerError, LaunchFailed, NotFound

_PYTHON = re.compile(r"python[\d.]*[a-z]*")
_YAMA = "/proc/sys/kernel/yama/ptrace_scope"


def injector(target: Attach, package: str, cache: str, endpoint: Endpoint) -> Spawn:
    """Return the process that loads debugpy from *package* into the target.

    *cache* is a directory for its bytecode, or empty. Raises the obstacle, where it is known before
    the process is touched.
    """
    assert target.pid is not None
    check(target.pid)
    argv = (
        interpreter(target.pid),
        "-I",
        "-S",
        os.path.join(os.path.dirname(__file__), "inject_agent.py"),
        package,
        cache,
        f"{endpoint.host}:{endpoint.port}",
        str(target.pid),
        str(int(target.follow_children)),
    )
    # The secret must not be where every user can read it.
    secret = f"{endpoint.token}@{endpoint.token_file}\n"
    return Spawn(argv, "/", target.env, role="injector", input=secret)


def interpreter(pid: int) -> str:
    """Return the interpreter that the process runs, as it was called: its venv's, if it has one."""
    for path in (_called_as(pid), _read_link(pid, "exe")):
        if path is not None and os.access(path, os.X_OK):
            return path
    # The process is in a container with other files, or its interpreter was replaced: from outside,
    # any interpreter will do.
    return sys.executable


def _called_as(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            argv0 = os.fsdecode(file.read().partition(b"\0")[0])
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = (pair.partition(b"=") for pair in file.read().split(b"\0"))
            path = next((os.fsdecode(value) for name, _, value in pairs if name == b"PATH"), None)
    except OSError:
        return None
    if os.sep in argv0:
        found = os.path.join(_read_link(pid, "cwd") or "/", argv0)
    else:
        found = shutil.which(argv0, path=path) or ""
    # Only if it is the interpreter that runs: the first argument can be anything.
    real = _read_link(pid, "exe")
    return found if found and real and os.path.realpath(found) == real else None


def _read_link(pid: int, name: str) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return None


# --- checks -------------------------------------------------------------------------------------


def check(pid: int) -> None:
    """Raise NotFound or LaunchFailed when Freezeframe cannot attach to the process. Linux only."""
    if sys.platform != "linux" or not os.path.isdir("/proc/self"):
        return
    facts = _facts(pid)
    if facts is None:
        raise NotFound(f"there is no process {pid}.", next="ps")
    state = facts.get("State", "")[:1]
    if state == "Z":
        raise NotFound(f"process {pid} has ended; its parent has not reaped it.", next="ps")
    uid = os.geteuid()
    owner = int(facts.get("Uid", "0").split()[0])
    if uid not in (0, owner):
        raise LaunchFailed(
            f"process {pid} belongs to user {owner}, and you are user {uid}.",
            next=f"sudo dbg attach {pid}",
        )
    if not _runs_python(pid):
        name = os.path.basename(_read_link(pid, "exe") or facts.get("Name", "another program"))
        raise LaunchFailed(
            f"process {pid} runs {name}, which has no Python in it.",
            next="dbg attach PID --adapter NAME",
        )
    if state == "T":
        raise LaunchFailed(
            f"process {pid} is stopped by a signal, so nothing can run in it.",
            next=f"kill -CONT {pid}",
        )
    _check_yama(uid)


def _check_yama(uid: int, path: str = _YAMA) -> None:
    try:
        with open(path) as file:
            scope = int(file.read())
    except (OSError, ValueError):
        return
    if scope == 0 or (uid == 0 and scope < 3):
        return
    fix = "sudo sysctl kernel.yama.ptrace_scope=0" if scope < 3 else "dbg start PROGRAM"
    raise LaunchFailed(
        f"the system forbids attaching to a running process (kernel.yama.ptrace_scope is {scope}).",
        next=fix,
    )


def _facts(pid: int) -> dict[str, str] | None:
    try:
        with open(f"/proc/{pid}/status") as file:
            pairs = (line.partition(":") for line in file)
            return {name: value.strip() for name, _, value in pairs}
    except OSError:
        return None


def _runs_python(pid: int) -> bool:
    executable = _read_link(pid, "exe")
    if executable is None:
        return True  # not readable for us; the next step reports more
    if _PYTHON.fullmatch(os.path.basename(executable.removesuffix(" (deleted)"))):
        return True
    try:
        with open(f"/proc/{pid}/maps") as file:
            return any("libpython" in line for line in file)
    except OSError:
        return True


def failure(output: str) -> DebuggerError | None:
    """Return the error that the injector reported in its last line."""
    try:
        answer = json.loads(output.strip().splitlines()[-1])
        return LaunchFailed(str(answer["message"]), next=answer["next"])
    except (IndexError, KeyError, TypeError, ValueError):
        return None
