"""Users of this machine other than the one who runs the tests, with bounded means.

They are numbers that nobody else has; no account is made. Only root can become one of them: who
runs the tests as somebody else is the ordinary user, and has no second one.
"""

from __future__ import annotations

import contextlib
import encodings.idna  # noqa: F401  (loaded late otherwise, by a user who cannot read it)
import os
import resource
import site
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from .client import REPOSITORY, Dbg

#: tests that run at the same time are different users'
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
#: who owns the sessions, and who is curious about them
OWNER, STRANGER = 61184 + 2 * _WORKER, 61185 + 2 * _WORKER
#: processes and threads that the owner may have, and bytes that one of them may ask for
_MAX_PROCESSES = 300
_MAX_BYTES = 6 << 30


def is_root() -> bool:
    return os.name == "posix" and os.geteuid() == 0


def as_user(uid: int) -> dict[str, Any]:
    """Return the arguments of Popen that make a child *uid*'s, with limits."""
    return {"user": uid, "group": uid, "extra_groups": (), "preexec_fn": _limit}


def _limit() -> None:
    for what, most in ((resource.RLIMIT_NPROC, _MAX_PROCESSES), (resource.RLIMIT_AS, _MAX_BYTES)):
        _, hard = resource.getrlimit(what)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (limit, limit))


@cache
def interpreter() -> str | None:
    """Return a Python that the owner can run; None where root keeps all of them to itself."""
    for path in (sys.executable, f"/usr/bin/python{sysconfig.get_python_version()}"):
        try:
            code = "import sys; sys.exit(sys.version_info < (3, 11))"
            ran = subprocess.run([path, "-c", code], cwd="/", timeout=30, **as_user(OWNER))
        except (OSError, subprocess.SubprocessError):
            continue
        if ran.returncode == 0:
            return path
    return None


class OrdinaryDbg(Dbg):
    """A client and a daemon of the owner's, which live in a folder of its own."""

    def __init__(self, project: Path) -> None:
        super().__init__(project)
        if not is_root():
            self.options = {"preexec_fn": _limit}
            return
        found = interpreter()
        assert found is not None
        self.interpreter = found
        self.options = as_user(OWNER)
        if found != sys.executable:
            # Another Python runs our code with the packages of the one that runs the tests.
            self.env["PYTHONPATH"] = os.pathsep.join(
                [str(REPOSITORY / "src"), *site.getsitepackages()]
            )
            self.env["PATH"] = os.environ.get("PATH", "")
            self.env.pop("VIRTUAL_ENV", None)
        self.env["HOME"] = str(self.home)
        os.chown(self.home, OWNER, OWNER)
        give(project, OWNER)


def give(folder: Path, uid: int) -> None:
    """Make everything below a folder *uid*'s; a daemon may replace its files meanwhile."""
    os.chown(folder, uid, uid, follow_symlinks=False)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(FileNotFoundError):
                os.chown(os.path.join(parent, name), uid, uid, follow_symlinks=False)


def run_as(uid: int, work: Callable[[], bytes], *, timeout_s: float = 60) -> bytes:
    """Return what *work* returns in a process of *uid*'s; what it raises is a failure."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(read)
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            _limit()
            os.write(write, work())
            code = 0
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        told = file.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, told.decode(errors="replace")
    return told
