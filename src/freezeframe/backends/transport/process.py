"""Start a program, wait for its exit, kill it with everything that it started.

Every program gets only the descriptors it is given. On POSIX systems it has its own session
(`setsid`) and default signal dispositions, and a pidfd in the event loop reports its exit, so no
asyncio child watcher and no SIGCHLD handler is needed (`process_posix.py`); on Windows it has its
own job (`process_windows.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from freezeframe.errors import DebuggerTimeout, LaunchFailed
from freezeframe.model.stops import Exit

from .process_tree import SIGKILL as SIGKILL

if sys.platform == "win32":
    from .process_windows import gone as gone
    from .process_windows import inherited_number as inherited_number
    from .process_windows import pipe as pipe
    from .process_windows import start
else:
    from .process_posix import gone as gone
    from .process_posix import inherited_number as inherited_number
    from .process_posix import pipe as pipe
    from .process_posix import start

if TYPE_CHECKING:
    from .process_posix import StartedProcess
    from .process_tree import ProcessTree

#: a new pipe; our end is the attribute of the same name
PIPE = subprocess.PIPE
#: the null device
DEVNULL = subprocess.DEVNULL
#: standard error only: the same file as standard output
STDOUT = subprocess.STDOUT


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

    def __init__(self, started: StartedProcess, tree: ProcessTree, argv: tuple[str, ...]) -> None:
        """Use `spawn`."""
        self._loop = asyncio.get_running_loop()
        self.pid = started.pid
        self.argv = argv
        self.stdin, self.stdout, self.stderr = started.ends
        self.returncode = None
        self._on_exit: list[Callable[[int], None]] = []
        self._ended: asyncio.Event = asyncio.Event()
        self._tree = tree
        self.gave(fd for fd in (self.stdin, self.stdout, self.stderr) if fd is not None)
        self._started = started
        started.watch(self._finish)

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
        try:
            started, tree = start(
                argv,
                cwd=cwd,
                env=env,
                streams=(stdin, stdout, stderr),
                pass_fds=pass_fds,
                controlling_tty=controlling_tty,
                die_with_parent=die_with_parent,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise _launch_failed(error, argv, cwd) from None
        return cls(started, tree, tuple(argv))

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
        return self._started.signal(number, group=group)

    async def terminate(self, grace_s: float = 1.0) -> int:
        """Send SIGTERM to the process group, then kill the tree; return the returncode."""
        if self.signal(signal.SIGTERM, group=True):
            with contextlib.suppress(DebuggerTimeout):
                await self.wait(grace_s)
        await self.kill_tree()
        return self.returncode if self.returncode is not None else -SIGKILL

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


def exit_of(returncode: int) -> Exit:
    """Return how a program ended, from its returncode (negative: the signal's number)."""
    if returncode >= 0:
        return Exit(code=returncode)
    return Exit(signal=signal_name(-returncode))


def signal_number(name: str) -> int:
    """Return 23 for `SIGURG`; that of SIGINT where the system has no such signal (Windows)."""
    return int(getattr(signal, name, signal.SIGINT))


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
