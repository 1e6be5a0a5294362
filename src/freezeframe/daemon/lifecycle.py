"""How a daemon comes to be: one for each user, however many first commands race.

Two locks decide, and no process number does, so stale and reused ones harm nobody:

- `start.lock` is held by a client while it looks for a daemon and starts one;
- `daemon.lock` is held by the daemon and its supervisor, which inherit the locked descriptor. It
  is free exactly when both are gone and everything they started is dead.

The client binds and listens itself and hands the socket over: whoever connects from then on waits
in the socket's queue, and nothing polls. Imported by a client that finds no daemon; kept light.
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
from typing import NamedTuple, NoReturn

from freezeframe import paths
from freezeframe.errors import DaemonError, FreezeframeError, Insecure

if sys.platform != "win32":
    import fcntl

SOCKET = paths.SOCKET
START_LOCK = "start.lock"
DAEMON_LOCK = "daemon.lock"
#: a daemon that leaves ends its sessions first; twice its own bound
LOCK_S = 15.0
#: the longest pause between two marks of a daemon that starts (`timeouts.daemon_ready_s`)
READY_S = 20.0
#: for the whole start, however many marks there are
START_S = 60.0
#: what a starting daemon writes to its ready pipe: it has got further; it serves
PROGRESS = b"."
READY = b"1"
BACKLOG = 512
#: what a log may hold when a daemon starts; it is bounded while one runs, too
MAX_LOG_BYTES = 1_000_000


class NoDaemon(DaemonError):
    """Nobody serves the socket."""


# Not dataclasses: importing those would be a fifth of a cold start.
class Claim(NamedTuple):
    """The right to be the daemon: a listening socket and the lock, as descriptors."""

    socket_fd: int
    lock_fd: int

    def let_go(self) -> None:
        """Close our copies; the daemon has its own."""
        os.close(self.socket_fd)
        os.close(self.lock_fd)


def connect(env: Mapping[str, str] = os.environ, handler: str | None = None) -> sockets.socket:
    """Return a connection to the user's daemon, started now if there is none.

    *handler* is for tests: what a daemon that is started here serves requests with. Blocks until
    the daemon is ready: while it makes progress, for START_S at most. Raises DaemonError and
    Insecure.
    """
    if sys.platform == "win32":
        from freezeframe.daemon import pipe_windows

        return pipe_windows.connect(env, handler)
    directory = paths.secure(paths.runtime_dir(env))
    if env.get("FREEZEFRAME_HOME"):
        env = {**env, "FREEZEFRAME_HOME": directory}  # it may have been relative
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
                found.let_go()
        finally:
            os.close(starting)
        _await_ready(ready, log, env)
        return _dial()


def claim(env: Mapping[str, str] = os.environ) -> Claim:
    """Return the right to be the daemon in this process. Raises DaemonError if there is one."""
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
    """Return a new socket that listens in the current directory, for us alone.

    A socket that was left behind is replaced: whoever holds `daemon.lock` may. Raises Insecure
    when what is there is not a socket of ours.
    """
    with suppress(FileNotFoundError):
        facts = os.lstat(SOCKET)
        if facts.st_uid != os.geteuid() or not stat.S_ISSOCK(facts.st_mode):
            where = os.path.join(os.getcwd(), SOCKET)
            kind = "socket" if stat.S_ISSOCK(facts.st_mode) else "file"
            raise Insecure(
                f"{where} is a {kind} of user {facts.st_uid} that no daemon of yours made.",
                next=f"rm {where}",
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
        f"unix sockets are not allowed here ({error.strerror}), and dbg needs one: a sandbox "
        "that forbids them must allow them, or dbg must run outside of it.",
        next="dbg --help",
    )


@contextmanager
def inside(directory: str) -> Iterator[None]:
    """Work in *directory* for a moment: a socket's address has room for about a hundred bytes."""
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
    """Tell what the system refuses there (a read-only or full disk) as an error of the user's."""
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
    """Return a descriptor that holds the lock *name*, waited for."""
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
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _find_or_claim(directory: str) -> sockets.socket | Claim:
    """Return a connection, or the claim when there is no daemon. Under `start.lock`."""
    handle = _open_lock(DAEMON_LOCK)
    deadline = time.monotonic() + LOCK_S
    nudged = False
    try:
        while True:
            try:
                connection = _dial()
            except NoDaemon:
                pass
            except BlockingIOError:  # it lives, and its queue is full
                _pause_or_raise(handle, directory, deadline)
                continue
            else:
                os.close(handle)
                return connection
            if _try_lock(handle):
                # Whose number it holds is gone; the new owner will write its own.
                os.ftruncate(handle, 0)
                listener = bind()
                return Claim(socket_fd=listener.detach(), lock_fd=handle)
            # It is on its way out, or someone took its socket away: it can make that again.
            owner = _owner(handle)
            if not nudged and owner and not os.path.lexists(SOCKET):
                nudged = True
                with suppress(ProcessLookupError):
                    os.kill(owner, signal.SIGHUP)
            _pause_or_raise(handle, directory, deadline)
    except BaseException:
        os.close(handle)
        raise


def _pause_or_raise(handle: int, directory: str, deadline: float) -> None:
    """Wait a little for the holder of `daemon.lock`; raise DaemonError when that took too long."""
    if time.monotonic() <= deadline:
        time.sleep(0.01)
        return
    from freezeframe.daemon import silence

    lock = os.path.join(directory, DAEMON_LOCK)
    found = silence.processes(lock)
    if error := silence.stopped(found):
        raise error
    raise DaemonError(
        f"the daemon of {directory} lives but has not answered for {LOCK_S:g} s.",
        next=silence.kill_command(found, lock),
    )


def _owner(handle: int) -> int | None:
    """Return the supervisor's pid. Only true while its lock cannot be taken."""
    text = os.pread(handle, 20, 0)
    return int(text) if text.isdigit() else None


def _dial() -> sockets.socket:
    """Return a connection to the socket in the current directory. Raises NoDaemon."""
    connection = _unix_socket()
    try:
        if os.lstat(SOCKET).st_uid != os.geteuid():
            raise NoDaemon("the socket is not ours")  # bind() says so if nobody holds the lock
        connection.settimeout(LOCK_S)  # so that a full queue is an error, and is not waited for
        connection.connect(SOCKET)
        connection.settimeout(None)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        connection.close()
        raise NoDaemon("the daemon ended.", next="dbg logs") from error
    except BaseException:
        connection.close()
        raise
    return connection


class _Log(NamedTuple):
    fd: int
    path: str
    #: its size before the daemon wrote anything
    start: int


def _open_log(env: Mapping[str, str]) -> _Log:
    """Return the log, opened for what a daemon says before it can log; a big one is set aside."""
    path = paths.log_path(env)
    paths.secure(os.path.dirname(path))
    with suppress(FileNotFoundError):
        if os.stat(path).st_size > MAX_LOG_BYTES:
            os.replace(path, f"{path}.1")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    return _Log(fd, path, os.fstat(fd).st_size)


def _spawn(claim: Claim, log: _Log, env: Mapping[str, str], handler: str | None) -> int:
    """Start the daemon, detached, and return the pipe on which it says that it is ready."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [
        sys.executable,
        # The caller's PYTHON… variables are for the caller's programs, and the directories that
        # Python would add to its path hold modules that are not ours.
        *("-E", "-P", "-X", "utf8", *(["-B"] if sys.dont_write_bytecode else [])),
        os.path.join(package, "__main__.py"),
        *("daemon", "--socket-fd", "3", "--lock-fd", "4", "--ready-fd", "5"),
        *(["--handler", handler] if handler else []),
    ]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:  # not the leader of its session, so never with a terminal
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
    """Replace this process by *command*, with *inherit* as descriptors 3, 4, … and no other."""
    try:
        os.chdir("/")  # hold no directory
        # High first, so that none is overwritten while they take their places.
        null = os.open(os.devnull, os.O_RDWR)
        given = (null, log_fd, log_fd, *inherit)
        fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, len(given)) for fd in given]
        for target, fd in enumerate(fds):
            os.dup2(fd, target)
        # The caller's pipes among them: `x=$(dbg …)` ends when the last holder lets go.
        os.closerange(len(fds), min(os.sysconf("SC_OPEN_MAX"), 1 << 20))
        os.execve(command[0], command, dict(env))
    except OSError as error:
        os.write(log_fd, f"{command[0]} cannot be started: {error.strerror}\n".encode())
    os._exit(127)


def _await_ready(ready: int, log: _Log, env: Mapping[str, str]) -> None:
    """Return when the daemon has said that it serves. Raises DaemonError with its last words."""
    limit_s = READY_S
    if os.path.exists(paths.config_path(env)):
        from pathlib import Path

        from freezeframe import config

        with suppress(FreezeframeError):  # the daemon itself tells what is wrong with it
            limit_s = config.load(Path(paths.config_path(env)), env).timeouts.daemon_ready_s
    began = time.monotonic()
    try:
        poll = select.poll()
        poll.register(ready, select.POLLIN)
        while True:
            waited_s = time.monotonic() - began
            if waited_s > START_S or not poll.poll(min(limit_s, START_S - waited_s) * 1000):
                # It is not ended: whoever calls next waits in its socket's queue.
                raise DaemonError(
                    f"the daemon is still starting after {time.monotonic() - began:.1f} s.",
                    next="dbg status",
                )
            marks = os.read(ready, 64)
            if READY in marks:
                return
            if not marks:
                break
    finally:
        os.close(ready)
    what = "the daemon ended while it started"
    with open(log.path, "rb") as file:
        file.seek(log.start)
        lines = file.read(MAX_LOG_BYTES).decode(errors="replace").strip().splitlines()
    words = f"; its last words: {lines[-1].strip()}" if lines else ""
    raise DaemonError(f"{what}{words}.", next=f"tail -n 40 {log.path}")
