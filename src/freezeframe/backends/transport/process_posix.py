"""POSIX systems: start a program in a session of its own, wait for its exit, signal it.

See `process_windows.py` for the same functions there.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence

from . import process_tree

_PR_SET_PDEATHSIG = 1
# Looked up before any fork: a child must not import or search for symbols.
_prctl: Callable[..., int] | None = (
    ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None
)
# A daemon started in the background of a script ignores SIGINT and SIGQUIT; its programs must not.
_RESET = [
    getattr(signal, name)
    for name in (
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGTERM",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGCHLD",
    )
    if hasattr(signal, name)
]


def start(
    argv: Sequence[str],
    *,
    cwd: str | None,
    env: Mapping[str, str] | None,
    streams: tuple[int, int, int],
    pass_fds: Sequence[int],
    controlling_tty: int | None,
    die_with_parent: bool,
) -> tuple[StartedProcess, process_tree.ProcessTree]:
    """Start a program; see `Process.spawn`. Raises OSError, ValueError, SubprocessError."""
    tag = process_tree.new_tag() if process_tree.CAN_TAG else None
    popen = subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=dict(env) if env is not None else None,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        pass_fds=tuple(pass_fds),
        close_fds=True,
        start_new_session=True,
        preexec_fn=_prepare(os.getpid(), controlling_tty, die_with_parent, tag),
        bufsize=0,
    )
    return StartedProcess(popen), process_tree.ProcessTree(popen.pid, tag)


def pipe(*, reading: bool) -> tuple[int, int]:
    """Return the descriptors of a new pipe: our end, to be read or written, and the other."""
    read, write = os.pipe()
    return (read, write) if reading else (write, read)


def inherited_number(fd: int) -> int:
    """Return how a program knows a descriptor that it was passed."""
    return fd


class StartedProcess:
    """A child process that this class reaps."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self.pid = popen.pid
        #: our ends of the pipes to its streams
        self.ends = tuple(map(_detach, (popen.stdin, popen.stdout, popen.stderr)))
        # Popen must not reap it, nor warn that it was never reaped.
        popen.returncode = 0
        self._loop = asyncio.get_running_loop()
        self._pidfd: int | None = None

    def watch(self, on_exit: Callable[[int], None]) -> None:
        """Call *on_exit* on the loop with the returncode; negative: the signal that ended it."""
        self._on_exit = on_exit
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not Linux, or a kernel before 5.3, or a sandbox
            threading.Thread(
                target=self._wait_in_thread, daemon=True, name=f"wait-{self.pid}"
            ).start()
            return
        self._loop.add_reader(self._pidfd, self._reap)

    def signal(self, number: int, *, group: bool) -> bool:
        """Send a signal to the process or its group; False if it has exited."""
        try:
            if group:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _reap(self) -> None:
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid == 0:
            return
        assert self._pidfd is not None
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = None
        self._on_exit(os.waitstatus_to_exitcode(status))

    def _wait_in_thread(self) -> None:
        try:
            _, status = os.waitpid(self.pid, 0)
        except ChildProcessError:
            status = 0
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits
            self._loop.call_soon_threadsafe(self._on_exit, os.waitstatus_to_exitcode(status))


async def gone(pid: int, *, timeout_s: float | None) -> bool:
    """Return whether a process that is not our child exits within *timeout_s*."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except (AttributeError, OSError):  # not Linux: only the process table can tell
        return not any(entry.pid == pid and not entry.zombie for entry in process_tree.table())
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(pidfd, ended.set)
    try:
        async with asyncio.timeout(timeout_s):
            await ended.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)
    return True


def _prepare(
    parent: int, controlling_tty: int | None, die_with_parent: bool, tag: int | None
) -> Callable[[], None]:
    """Return the function that runs in the child between fork and exec: system calls only, no
    imports."""
    import fcntl
    import termios

    set_tag = None if tag is None else process_tree.tagger(tag)

    def prepare() -> None:
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if set_tag is not None:
            set_tag()
        if controlling_tty is not None:
            fcntl.ioctl(controlling_tty, termios.TIOCSCTTY, 0)
        if die_with_parent and _prctl is not None:
            _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
            if os.getppid() != parent:  # the parent died before prctl took effect
                os._exit(127)

    return prepare


def _detach(pipe: object) -> int | None:
    """Take the descriptor out of Popen's file object, so that Popen does not close it."""
    if pipe is None:
        return None
    fd: int = pipe.fileno()  # type: ignore[attr-defined]
    taken = os.dup(fd)
    pipe.close()  # type: ignore[attr-defined]
    return taken
