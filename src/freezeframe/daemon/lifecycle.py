"""Find or start the daemon: one per user, however many first commands race.

Two locks decide. Process ids do not, so stale and reused ids do no harm:

- a client holds `start.lock` while it looks for a daemon and starts one;
- the daemon and its supervisor hold `daemon.lock`: they inherit the locked descriptor. The lock is
  free exactly when both have exited and every process they started is dead.

The client itself binds the socket, listens, and passes the socket to the daemon: clients that
connect from then on wait in the socket's queue, and nothing polls. Imported by a client that finds
no daemon, so imports are few.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket as sockets
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from freezeframe import paths
from freezeframe.errors import DaemonError, FreezeframeError, Insecure

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

SOCKET = paths.SOCKET
START_LOCK = "start.lock"
DAEMON_LOCK = "daemon.lock"
#: a daemon that exits ends its sessions first; more than twice the time it allows itself
LOCK_S = 15.0
#: the longest time between two progress bytes of a starting daemon (`timeouts.daemon_ready_s`)
READY_S = 20.0
#: for the whole start, however many progress bytes arrive
START_S = 60.0
#: what a starting daemon writes to its ready pipe: it made progress; it serves requests
PROGRESS = b"."
READY = b"1"
BACKLOG = 512
#: a larger log is rotated when a daemon starts; log.py limits it while the daemon runs
MAX_LOG_BYTES = 1_000_000


class NoDaemon(DaemonError):
    """No daemon serves the socket."""


# Not dataclasses: importing those would be a fifth of a cold start.
class Claim(NamedTuple):
    """The right to be the daemon: a listening socket and the lock, as descriptors."""

    socket_fd: int
    lock_fd: int

    def close(self) -> None:
        """Close this process's copies of the descriptors; the daemon has inherited its own."""
        os.close(self.socket_fd)
        os.close(self.lock_fd)


def connect(env: Mapping[str, str] = os.environ, handler: str | None = None) -> Any:
    """Return a connection to the user's daemon; start the daemon if there is none.

    It is a socket, or what has its methods. *handler* is for tests: the request handler of a
    daemon that is started here. Blocks while a starting daemon makes progress, for START_S at
    most. Raises DaemonError and Insecure.
    """
    if sys.platform == "win32":
        from freezeframe.daemon import named_pipe_windows

        return named_pipe_windows.connect(env, handler)
    directory = paths.secure(paths.runtime_dir(env))
    if env.get("FREEZEFRAME_HOME"):
        env = {**env, "FREEZEFRAME_HOME": directory}  # the caller's value may be relative
    with _usable(directory), inside(directory):
        starting = _lock(START_LOCK)
        try:
            found = _find_or_claim(directory)
            if not isinstance(found, Claim):
                return found
            try:
                log = _open_log(env)
                ready = _spawn(found, log, env, handler)
            finally:
                found.close()
        finally:
            os.close(starting)
        _await_ready(ready, log, env)
        return _dial()


async def streams_of(link: Any, limit: int) -> tuple[StreamReader, StreamWriter]:
    """Return a connection that `connect` made as streams; *limit* is the reader's buffer."""
    if sys.platform == "win32":
        from freezeframe.daemon import named_pipe_windows

        return await named_pipe_windows.streams_of(link, limit)
    import asyncio

    return await asyncio.open_connection(sock=link, limit=limit)


def connect_to_running(env: Mapping[str, str] = os.environ) -> sockets.socket:
    """Return a connection to the user's daemon. Raises DaemonError if there is none."""
    if sys.platform == "win32":
        from freezeframe.daemon import named_pipe_windows

        return named_pipe_windows.connect(env, None)
    directory = paths.secure(paths.runtime_dir(env))
    with _usable(directory), inside(directory):
        return _dial()


def claim(env: Mapping[str, str] = os.environ) -> Claim:
    """Claim the daemon's role for this process. Raises DaemonError if a daemon runs already."""
    directory = paths.secure(paths.runtime_dir(env))
    with _usable(directory), inside(directory):
        starting = _lock(START_LOCK)
        try:
            found = _find_or_claim(directory)
        finally:
            os.close(starting)
    if isinstance(found, Claim):
        return found
    found.close()
    raise DaemonError(f"a daemon serves {directory} already.", next="dbg daemon status")


def bind() -> sockets.socket:
    """Return a new socket that listens in the current directory, accessible to the user only.

    A leftover socket is replaced; the caller holds `daemon.lock`. Raises Insecure when the path is
    not a socket of this user.
    """
    with suppress(FileNotFoundError):
        facts = os.lstat(SOCKET)
        if facts.st_uid != os.geteuid() or not stat.S_ISSOCK(facts.st_mode):
            path = os.path.join(os.getcwd(), SOCKET)
            kind = "socket" if stat.S_ISSOCK(facts.st_mode) else "file"
            raise Insecure(
                f"{path} is a {kind} of user {facts.st_uid} that no daemon of yours made.",
                next=f"rm {path}",
            )
        os.unlink(SOCKET)
    listener = _unix_socket()
    try:
        listener.bind(SOCKET)
    except PermissionError as error:
        if os.access(".", os.W_OK | os.X_OK):
            raise _no_sockets(error) from error
        raise
    os.chmod(SOCKET, 0o600)
    listener.listen(BACKLOG)
    return listener


def _unix_socket() -> sockets.socket:
    try:
        return sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise
        raise _no_sockets(error) from error


def _no_sockets(error: OSError) -> DaemonError:
    return DaemonError(
        f"unix sockets are not allowed here ({error.strerror}), and dbg needs one: run dbg outside "
        "of the sandbox that forbids them, or call the tools of `dbg mcp`, which the agent's host "
        "starts outside.",
        next="dbg --help",
    )


@contextmanager
def inside(directory: str) -> Iterator[None]:
    """Change to *directory* temporarily: a socket's address holds only about a hundred bytes."""
    try:
        before = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        before = None
    try:
        os.chdir(directory)
        yield
    finally:
        if before is not None:
            os.fchdir(before)
            os.close(before)


@contextmanager
def _usable(directory: str) -> Iterator[None]:
    """Convert OSError (a read-only or full disk, no descriptors left) to DaemonError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            limit = os.sysconf("SC_OPEN_MAX")
            raise DaemonError(
                f"there are no free file descriptors (the limit is {limit}).",
                next=f"ulimit -n {max(1024, limit)}",
            ) from error
        what = f" ({error.filename})" if error.filename else ""
        raise DaemonError(
            f"{directory} cannot be used: {error.strerror or error}{what}.",
            next="FREEZEFRAME_HOME=~/.freezeframe dbg status",
        ) from error


def _lock(name: str) -> int:
    """Wait for the lock *name* and return the descriptor that holds it."""
    handle = _open_lock(name)
    deadline = time.monotonic() + LOCK_S
    while not _try_lock(handle):
        if time.monotonic() > deadline:
            os.close(handle)
            raise DaemonError(
                f"another command has been starting the daemon for {LOCK_S:g} s.",
                next=f"fuser -v {os.path.join(os.getcwd(), name)}",
            )
        time.sleep(0.005)
    return handle


def _open_lock(name: str) -> int:
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _try_lock(handle: int) -> bool:
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _find_or_claim(directory: str) -> sockets.socket | Claim:
    """Return a connection, or a claim when there is no daemon. The caller holds `start.lock`."""
    handle = _open_lock(DAEMON_LOCK)
    deadline = time.monotonic() + LOCK_S
    nudged = False
    try:
        while True:
            try:
                connection = _dial()
            except NoDaemon:
                pass
            except BlockingIOError:  # the daemon is alive, and its queue is full
                _pause_or_raise(directory, deadline)
                continue
            else:
                os.close(handle)
                return connection
            if _try_lock(handle):
                # The process whose pid is in the file has exited; the new owner writes its own.
                os.ftruncate(handle, 0)
                listener = bind()
                return Claim(socket_fd=listener.detach(), lock_fd=handle)
            # The daemon is exiting, or somebody removed its socket, which it can create again.
            owner = _owner(handle)
            if not nudged and owner and not os.path.lexists(SOCKET):
                nudged = True
                with suppress(ProcessLookupError):
                    os.kill(owner, signal.SIGHUP)
            _pause_or_raise(directory, deadline)
    except BaseException:
        os.close(handle)
        raise


def _pause_or_raise(directory: str, deadline: float) -> None:
    """Sleep briefly while `daemon.lock` is taken; raise DaemonError past *deadline*."""
    if time.monotonic() <= deadline:
        time.sleep(0.01)
        return
    from freezeframe.daemon import unresponsive

    lock = os.path.join(directory, DAEMON_LOCK)
    found = unresponsive.processes(lock)
    if error := unresponsive.stopped(found):
        raise error
    raise DaemonError(
        f"the daemon of {directory} is alive but has not answered for {LOCK_S:g} s.",
        next=unresponsive.kill_command(found, lock),
    )


def _owner(handle: int) -> int | None:
    """Return the supervisor's pid, which is valid only while the lock cannot be taken."""
    text = os.pread(handle, 20, 0)
    return int(text) if text.isdigit() else None


def _dial() -> sockets.socket:
    """Return a connection to the socket in the current directory. Raises NoDaemon."""
    connection = _unix_socket()
    try:
        if os.lstat(SOCKET).st_uid != os.geteuid():
            raise NoDaemon("the socket is not ours")  # bind() reports it if the lock is free
        connection.settimeout(LOCK_S)  # so that a full queue raises instead of blocking
        connection.connect(SOCKET)
        connection.settimeout(None)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        connection.close()
        raise NoDaemon("the daemon ended.", next="dbg logs") from error
    except PermissionError as error:
        connection.close()
        raise _no_sockets(error) from error
    except BaseException:
        connection.close()
        raise
    return connection


class _Log(NamedTuple):
    fd: int
    path: str
    #: size of the file before the daemon wrote anything
    start: int


def _open_log(env: Mapping[str, str]) -> _Log:
    """Open the log as the starting daemon's stderr; rotate it first if it is too large."""
    path = paths.log_path(env)
    paths.secure(os.path.dirname(path))
    with suppress(FileNotFoundError):
        if os.stat(path).st_size > MAX_LOG_BYTES:
            os.replace(path, f"{path}.1")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    return _Log(fd, path, os.fstat(fd).st_size)


def daemon_command(handler: str | None, *options: str) -> list[str]:
    """Return the command line of a daemon."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [
        sys.executable,
        # The caller's PYTHON… variables are for the caller's programs, and the directories that
        # Python would add to its path hold unrelated modules.
        *("-E", "-P", "-X", "utf8", *(["-B"] if sys.dont_write_bytecode else [])),
        os.path.join(package, "__main__.py"),
        *("daemon", *options),
        *(["--handler", handler] if handler else []),
    ]


def _spawn(claim: Claim, log: _Log, env: Mapping[str, str], handler: str | None) -> int:
    """Start the daemon, detached, and return the pipe on which it reports that it is ready."""
    command = daemon_command(handler, "--socket-fd", "3", "--lock-fd", "4", "--ready-fd", "5")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:  # not a session leader, so it never gets a terminal
                _become(command, env, (claim.socket_fd, claim.lock_fd, writer), log.fd)
        finally:
            os._exit(0)
    os.close(writer)
    os.close(log.fd)
    os.waitpid(child, 0)
    return reader


def _become(
    command: list[str], env: Mapping[str, str], inherit: tuple[int, ...], log_fd: int
) -> NoReturn:
    """Exec *command* with *inherit* as descriptors 3, 4, … and no others."""
    import fcntl

    try:
        os.chdir("/")  # keep no directory busy
        # Duplicated above the targets first, so that dup2 overwrites none of them.
        null = os.open(os.devnull, os.O_RDWR)
        given = (null, log_fd, log_fd, *inherit)
        fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, len(given)) for fd in given]
        for target, fd in enumerate(fds):
            os.dup2(fd, target)
        # The caller's pipes among them: `x=$(dbg …)` ends when the last copy is closed.
        os.closerange(len(fds), min(os.sysconf("SC_OPEN_MAX"), 1 << 20))
        os.execve(command[0], command, dict(env))
    except OSError as error:
        os.write(log_fd, f"{command[0]} cannot be started: {error.strerror}\n".encode())
    os._exit(127)


def _await_ready(ready: int, log: _Log, env: Mapping[str, str]) -> None:
    """Return when the daemon serves requests. Raises DaemonError with the last line of its log."""
    limit_s = READY_S
    if os.path.exists(paths.config_path(env)):
        from pathlib import Path

        from freezeframe import config

        with suppress(FreezeframeError):  # the daemon reports what is wrong with the file
            limit_s = config.load(Path(paths.config_path(env)), env).timeouts.daemon_ready_s
    began = time.monotonic()
    try:
        poll = select.poll()
        poll.register(ready, select.POLLIN)
        while True:
            waited_s = time.monotonic() - began
            if waited_s > START_S or not poll.poll(min(limit_s, START_S - waited_s) * 1000):
                # The daemon is not killed: the next client waits in its socket's queue.
                raise DaemonError(
                    f"the daemon is still starting after {time.monotonic() - began:.1f} s.",
                    next="dbg status",
                )
            received = os.read(ready, 64)
            if READY in received:
                return
            if not received:
                break
    finally:
        os.close(ready)
    what = "the daemon ended while it started"
    with open(log.path, "rb") as file:
        file.seek(log.start)
        lines = file.read(MAX_LOG_BYTES).decode(errors="replace").strip().splitlines()
    reason = f"; its last output: {lines[-1].strip()}" if lines else ""
    raise DaemonError(f"{what}{reason}.", next=f"tail -n 40 {log.path}")
