"""Start a program, wait for its exit, kill it with everything that it started.

Every program gets its own session (`setsid`), only the descriptors it is given, and default signal
dispositions. A pidfd in the event loop reports its exit, so no asyncio child watcher and no SIGCHLD
handler is needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from freezeframe.errors import DebuggerTimeout, LaunchFailed
from freezeframe.model.stops import Exit

from . import process_tree

#: a new pipe; our end is the attribute of the same name
PIPE = subprocess.PIPE
#: the null device
DEVNULL = subprocess.DEVNULL
#: standard error only: the same file as standard output
STDOUT = subprocess.STDOUT

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


class Process:
    """A program that this process started."""

    pid: int
    argv: tuple[str, ...]
    #: our ends of the requested pipes, until a `take_…` method hands them over
    stdin: int | None
    stdout: int | None
    stderr: int | None
    #: None while the program runs; negative: the signal that ended it
    returncode: int | None

    def __init__(
        self, popen: subprocess.Popen[bytes], argv: tuple[str, ...], tag: int | None = None
    ) -> None:
        """Use `spawn`."""
        self._loop = asyncio.get_running_loop()
        self.pid = popen.pid
        self.argv = argv
        self.stdin = _detach(popen.stdin)
        self.stdout = _detach(popen.stdout)
        self.stderr = _detach(popen.stderr)
        self.returncode = None
        # This class reaps the process: Popen must not, nor warn that it was never reaped.
        popen.returncode = 0
        self._on_exit: list[Callable[[int], None]] = []
        self._ended: asyncio.Event = asyncio.Event()
        self._pidfd: int | None = None
        self._tree = process_tree.ProcessTree(self.pid, tag)
        self.gave(fd for fd in (self.stdin, self.stdout, self.stderr) if fd is not None)
        self._watch()

    @classmethod
    def spawn(
        cls,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int = DEVNULL,
        stdout: int = DEVNULL,
        stderr: int = DEVNULL,
        pass_fds: Sequence[int] = (),
        controlling_tty: int | None = None,
        die_with_parent: bool = True,
    ) -> Process:
        """Start *argv* and return once it runs.

        *stdin*, *stdout*, *stderr* are PIPE, DEVNULL or a descriptor (which stays the caller's).
        *controlling_tty* is the descriptor of a terminal that becomes the program's controlling
        terminal. *die_with_parent*: the kernel kills the program when this process dies (Linux). It
        cannot be undone later, so a program that may be detached is started without it.

        Must be called on the event loop. Raises LaunchFailed.
        """
        if not argv:
            raise LaunchFailed("the command to start is empty.")
        tag = process_tree.new_tag() if process_tree.CAN_TAG else None
        try:
            popen = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env=dict(env) if env is not None else None,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=tuple(pass_fds),
                close_fds=True,
                start_new_session=True,
                preexec_fn=_prepare(os.getpid(), controlling_tty, die_with_parent, tag),
                bufsize=0,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise _launch_failed(error, argv, cwd) from None
        return cls(popen, tuple(argv), tag)

    @property
    def name(self) -> str:
        """The program's name, without its directory."""
        return os.path.basename(self.argv[0])

    def take_stdin(self) -> int:
        """Hand over our end of the standard input; the caller closes it."""
        fd, self.stdin = self.stdin, None
        return _taken(fd, "stdin")

    def take_stdout(self) -> int:
        fd, self.stdout = self.stdout, None
        return _taken(fd, "stdout")

    def take_stderr(self) -> int:
        fd, self.stderr = self.stderr, None
        return _taken(fd, "stderr")

    def on_exit(self, callback: Callable[[int], None]) -> None:
        """Call *callback* with the returncode when the program exits, or soon if it has."""
        if self.returncode is not None:
            self._loop.call_soon(callback, self.returncode)
        else:
            self._on_exit.append(callback)

    async def wait(self, timeout_s: float | None = None) -> int:
        """Return the returncode once the program has exited; negative means a signal.

        Raises DebuggerTimeout after *timeout_s*; the program is left as it is.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()
        except TimeoutError:
            raise DebuggerTimeout(
                f"{self.name} (pid {self.pid}) did not end within {timeout_s:g} s."
            ) from None
        assert self.returncode is not None
        return self.returncode

    def signal(self, number: int, *, group: bool = False) -> bool:
        """Send a signal to the program, or to its whole process group; False if it has exited."""
        if self.returncode is not None:
            return False
        try:
            if group:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    async def terminate(self, grace_s: float = 1.0) -> int:
        """Send SIGTERM to the process group, then kill the tree; return the returncode."""
        if self.signal(signal.SIGTERM, group=True):
            with contextlib.suppress(DebuggerTimeout):
                await self.wait(grace_s)
        await self.kill_tree()
        return self.returncode if self.returncode is not None else -signal.SIGKILL

    async def kill_tree(
        self, timeout_s: float = 3.0, *, spare: Collection[int] = (), daemons: bool = False
    ) -> bool:
        """Kill the program and every descendant, including those with their own session.

        With *daemons* also kill descendants that have left the tree, as a daemon does: a program
        that we kill takes its daemons with it, one that exited by itself has left them on purpose.
        Processes in *spare* (a detached program) survive with all their descendants. Return True if
        none is left; False if some still were after *timeout_s* (a process in uninterruptible
        sleep). Never raises.
        """
        gone = await self._tree.kill_all(timeout_s, spare, daemons=daemons)
        if gone and self.returncode is None and self.pid not in spare:
            try:
                await self.wait(1.0)
            except DebuggerTimeout:
                return False
        return gone

    def gave(self, files: Iterable[int | str]) -> None:
        """Recognize orphaned descendants by *files*, which only they were given.

        A file is a descriptor of a pipe's other end, or a path.
        """
        names = []
        for file in files:
            with contextlib.suppress(OSError):
                link = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else file
                names.append(link)
        self._tree.owns_files(name for name in names if name.startswith(("pipe:", "/")))

    def note_descendants(self) -> list[int]:
        """Return the pids of the live descendants, and remember them for `kill_tree`.

        A descendant with its own session cannot be recognized once its parent is gone, unless it
        was noted before.
        """
        return [pid for pid in self._tree.refresh() if pid != self.pid]

    def close(self) -> None:
        """Close our ends of pipes that were not handed over. The program is left as it is."""
        for fd in (self.stdin, self.stdout, self.stderr):
            if fd is not None:
                os.close(fd)
        self.stdin = self.stdout = self.stderr = None

    # --- exit

    def _watch(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not Linux, or a kernel before 5.3, or a sandbox
            threading.Thread(
                target=self._wait_in_thread, daemon=True, name=f"wait-{self.pid}"
            ).start()
            return
        self._loop.add_reader(self._pidfd, self._reap)

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
        self._finish(os.waitstatus_to_exitcode(status))

    def _wait_in_thread(self) -> None:
        try:
            _, status = os.waitpid(self.pid, 0)
        except ChildProcessError:
            status = 0
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits
            self._loop.call_soon_threadsafe(self._finish, os.waitstatus_to_exitcode(status))

    def _finish(self, returncode: int) -> None:
        self.returncode = returncode
        self._tree.root_ended()
        self._ended.set()
        callbacks, self._on_exit = self._on_exit, []
        for callback in callbacks:
            callback(returncode)


async def happened_or_gone(event: asyncio.Event, pid: int, *, timeout_s: float) -> None:
    """Wait until *event* is set or a process has exited, at most *timeout_s*."""
    waiting = {
        asyncio.ensure_future(event.wait()),
        asyncio.ensure_future(gone(pid, timeout_s=timeout_s)),
    }
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()


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


def exit_of(returncode: int) -> Exit:
    """Return how a program ended, from its returncode (negative: the signal's number)."""
    if returncode >= 0:
        return Exit(code=returncode)
    return Exit(signal=signal_name(-returncode))


def signal_name(number: int) -> str:
    """Return `SIGSEGV` for 11; `SIGRTMIN+3` and `signal 99` where there is no better name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        pass
    low, high = getattr(signal, "SIGRTMIN", 0), getattr(signal, "SIGRTMAX", 0)
    if low < number < high:
        return f"SIGRTMIN+{number - low}"
    return f"signal {number}"


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


def _taken(fd: int | None, which: str) -> int:
    if fd is None:
        raise ValueError(f"{which} is not a pipe, or was taken before")
    return fd


def _launch_failed(
    error: BaseException,
    argv: Sequence[str],
    cwd: str | None,
) -> LaunchFailed:
    """Return an error that says which of program, directory and arguments is wrong."""
    program = argv[0]
    shown = shlex.quote(program)
    number = error.errno if isinstance(error, OSError) else None
    if cwd is not None and not os.path.isdir(cwd):
        what = "is not a directory" if os.path.exists(cwd) else "does not exist"
        return LaunchFailed(
            f"the working directory {cwd} {what}.", next="dbg start PROGRAM --cwd DIRECTORY"
        )
    if cwd is not None and not os.access(cwd, os.X_OK):
        return LaunchFailed(
            f"the working directory {cwd} may not be entered.", next=f"ls -ld {cwd}"
        )
    path = os.path.join(cwd or "", program)
    if number == errno.ENOENT:
        if os.sep not in program:
            return LaunchFailed(f"there is no program {program} on PATH.", next="dbg doctor")
        if not os.path.exists(path):
            return LaunchFailed(
                f"there is no program {program}.", next=f"ls {shlex.quote(os.path.dirname(path))}"
            )
        return LaunchFailed(
            f"the interpreter named in the first line of {program} does not exist.",
            next=f"head -1 {shlex.quote(path)}",
        )
    if number == errno.EACCES:
        if os.path.isdir(path):
            return LaunchFailed(f"{program} is a directory, not a program.", next=f"ls {shown}")
        return LaunchFailed(f"{program} may not be executed.", next=f"chmod +x {shown}")
    if number == errno.ENOTDIR:
        return LaunchFailed(f"there is no program {program}.", next="dbg doctor")
    if number == errno.ENOEXEC:
        return LaunchFailed(
            f"{program} is neither a binary of this machine nor a script with a #! line.",
            next=f"file {shown}",
        )
    if number == errno.E2BIG:
        return LaunchFailed(
            f"the arguments and environment of {program} are longer than the system allows.",
            next="getconf ARG_MAX",
        )
    message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return LaunchFailed(f"{program} could not be started: {message}.", next="dbg doctor")
