"""The parent process of the daemon: when the daemon has exited, it kills what the daemon started.

The supervisor forks the daemon before anything heavy is imported and then only waits. On Linux it
is a child subreaper: orphaned descendants of the daemon become its children, so it can kill all of
them, even after `kill -9` of the daemon. Elsewhere it kills the process groups that the daemon
named. It holds `daemon.lock` until then, so the next daemon starts without leftover processes.

The daemon sends it lines over a socket pair:

    release PID     a detached program: do not kill it or its process group
    keep PGID       kill this group when the daemon ends
    drop PGID       no longer

Either side sees the other's exit as the end of that socket: a daemon without its supervisor
closes its sessions and exits.
"""

from __future__ import annotations

import os
import select
import signal
import socket as sockets
import sys
from contextlib import suppress

from freezeframe.daemon import signals

_PR_SET_CHILD_SUBREAPER = 36


class SupervisorLink:
    """The daemon's connection to its supervisor."""

    def __init__(self, link: sockets.socket) -> None:
        self._link = link

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the supervisor exits."""
        return self._link.fileno()

    def release(self, pid: int) -> None:
        """Keep the process *pid* and its subtree alive when the daemon ends."""
        self._send(f"release {pid}")

    def track(self, pgid: int) -> None:
        """End the process group *pgid* with the daemon, where descendants cannot be found."""
        self._send(f"keep {pgid}")

    def untrack(self, pgid: int) -> None:
        self._send(f"drop {pgid}")

    def _send(self, line: str) -> None:
        with suppress(OSError):  # the exit of the supervisor shuts the daemon down anyway
            self._link.sendall(line.encode() + b"\n")


def fork(lock_fd: int, socket_path: str, also_close: tuple[int, ...] = ()) -> SupervisorLink:
    """Fork: return in the daemon, and never in the supervisor.

    The supervisor removes *socket_path* if the daemon could not. *also_close* are descriptors
    that only the daemon needs.
    """
    _clear_process_tree_mark()
    daemon_end, supervisor_end = sockets.socketpair()
    # A client that does not find the socket sends SIGHUP as soon as the pid is in the lock file.
    if signals.knows_senders():
        signals.hold_back()
    else:
        signal.signal(signal.SIGHUP, lambda *_: None)  # exec undoes this
    # Written by the holder of the lock, so the pid is valid for as long as the lock is held.
    os.pwrite(lock_fd, str(os.getpid()).encode(), 0)
    daemon = os.fork()
    if daemon == 0:
        supervisor_end.close()
        return SupervisorLink(daemon_end)
    status = 1
    try:
        daemon_end.close()
        for fd in also_close:
            os.close(fd)
        status = _Supervisor(daemon, supervisor_end).run()
        with suppress(FileNotFoundError):
            os.unlink(socket_path)  # no other daemon's: this process still holds the lock
    finally:
        os._exit(status)


class _Supervisor:
    def __init__(self, daemon: int, link: sockets.socket) -> None:
        self._daemon = daemon
        self._link = link
        self._tail = b""
        self._finds_descendants = _become_subreaper()
        self._released: set[int] = set()
        self._released_groups: set[int] = set()
        self._groups: set[int] = set()

    def run(self) -> int:
        """Wait for the daemon to exit, then kill its descendants. Return the exit status to use."""
        if signals.knows_senders():
            signals.receive(self._on_signal)
        else:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, lambda number, _: self._pass_on(number))
        status = self._wait()
        self._read()  # lines sent just before the daemon exited
        if self._finds_descendants:
            _end_children(self._released, self._released_groups)
        else:
            for group in self._groups - self._released_groups:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
        if status < 0:
            name = signal.Signals(-status).name
            sys.stderr.write(f"the daemon {self._daemon} was ended by {name}\n")
        elif status > 1:  # with 1, the daemon has logged the reason
            sys.stderr.write(f"the daemon {self._daemon} ended with status {status}\n")
        return 1 if status else 0

    def _wait(self) -> int:
        wake_reader, wake_writer = sockets.socketpair()
        wake_reader.setblocking(False)
        wake_writer.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_writer.fileno(), warn_on_full_buffer=False)
        self._link.setblocking(False)
        links: list[sockets.socket] = [self._link, wake_reader]
        while True:
            status = self._reap()
            if status is not None:
                signal.set_wakeup_fd(-1)
                return status
            for ready in select.select(links, [], [])[0]:
                if ready is wake_reader:
                    with suppress(BlockingIOError):
                        wake_reader.recv(4096)
                elif not self._read():
                    links = [wake_reader]  # closed; SIGCHLD reports the daemon's exit

    def _reap(self) -> int | None:
        """Reap all dead children; return the daemon's status if it was among them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return 1
            if pid == self._daemon:
                return os.waitstatus_to_exitcode(status)
            if pid == 0:
                return None

    def _read(self) -> bool:
        """Process the lines that the daemon sent; return False when the socket is closed."""
        while True:
            try:
                data = self._link.recv(65536)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            *lines, self._tail = (self._tail + data).split(b"\n")
            for line in lines:
                verb, _, number = line.decode().partition(" ")
                self._on_line(verb, int(number))

    def _on_line(self, verb: str, number: int) -> None:
        if verb == "keep":
            self._groups.add(number)
        elif verb == "drop":
            self._groups.discard(number)
        elif verb == "release":
            self._released.add(number)
            with suppress(ProcessLookupError):
                # Its children become ours when it dies; they are recognised by their group.
                if (group := os.getpgid(number)) != os.getpgid(self._daemon):
                    self._released_groups.add(group)

    def _on_signal(self, number: int, sender: int) -> None:
        """Forward a signal to the daemon, unless a debuggee sent it."""
        if sender != self._daemon and signals.is_descendant(
            sender, {os.getpid(), self._daemon} - {1}
        ):
            sys.stderr.write(f"{signals.describe(number, sender)}, a debuggee, was ignored\n")
        elif number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._daemon, number)


def _clear_process_tree_mark() -> None:
    """Leave the process tree of a debuggee that ran `dbg`, so the daemon is not killed with it.

    The transport marks descendants by the soft limit of file locks, which has no other use.
    """
    if sys.platform == "linux":
        import resource

        locks = 10  # RLIMIT_LOCKS
        _, hard = resource.getrlimit(locks)
        resource.setrlimit(locks, (hard, hard))


def _become_subreaper() -> bool:
    """Make orphaned descendants children of this process; return False where that is impossible."""
    if sys.platform != "linux" or not os.path.isdir("/proc/self"):
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _end_children(released: set[int], released_groups: set[int]) -> None:
    """Kill all children except the released, then their orphans, until none is left."""
    spared = set(released)
    while True:
        doomed = {
            pid for pid, group in _children() if pid not in spared and group not in released_groups
        }
        if not doomed:
            return
        for pid in doomed:
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:  # another user's by now; waiting for it would never end
                spared.add(pid)
            except ProcessLookupError:
                pass
        for pid in doomed - spared:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> list[tuple[int, int]]:
    """Return pid and process group of this process's children, including zombies."""
    parent_pid = os.getpid()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # After the command, which may contain any character: state, parent and group.
                _, parent, group = file.read().rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(parent) == parent_pid:
            found.append((int(name), int(group)))
    return found
