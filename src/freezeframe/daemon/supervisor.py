"""The process above the daemon: when the daemon is gone, nothing that it started stays.

The supervisor forks the daemon before anything heavy is imported and then only waits. On Linux it
is a child subreaper: whatever the daemon and its descendants leave behind becomes its child, so
that it can end all of it, even after `kill -9` of the daemon. Elsewhere it ends the process groups
that it was told of. It holds `daemon.lock` until that is done; the next daemon finds a clean field.

The daemon talks to it over a socket pair, one line each:

    release PID     a program that was let go: it and its process group stay
    keep PGID       end this group with the daemon
    drop PGID       … no longer

Either side sees the end of the other as the end of that socket: a daemon without its supervisor
closes its sessions and leaves.
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


class Watch:
    """The daemon's end: tell the supervisor what must stay and what must go."""

    def __init__(self, link: sockets.socket) -> None:
        self._link = link

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the supervisor is gone."""
        return self._link.fileno()

    def release(self, pid: int) -> None:
        """Let the process *pid* and its subtree live on when the daemon ends."""
        self._say(f"release {pid}")

    def track(self, pgid: int) -> None:
        """End the process group *pgid* with the daemon, where descendants cannot be found."""
        self._say(f"keep {pgid}")

    def untrack(self, pgid: int) -> None:
        self._say(f"drop {pgid}")

    def _say(self, line: str) -> None:
        with suppress(OSError):  # a supervisor that is gone ends the daemon by that fact
            self._link.sendall(line.encode() + b"\n")


def fork(lock_fd: int, socket_path: str, also_close: tuple[int, ...] = ()) -> Watch:
    """Split this process: return in the daemon, and never in the supervisor.

    The supervisor removes *socket_path* if the daemon could not. *also_close* are descriptors
    that only the daemon needs.
    """
    _forget_family()
    ours, theirs = sockets.socketpair()
    # A client that misses the socket sends SIGHUP as soon as it can know our pid.
    if signals.knows_senders():
        signals.hold_back()
    else:
        signal.signal(signal.SIGHUP, lambda *_: None)  # exec undoes this
    # Written by the holder of the lock, so it is true for as long as the lock is held.
    os.pwrite(lock_fd, str(os.getpid()).encode(), 0)
    daemon = os.fork()
    if daemon == 0:
        theirs.close()
        return Watch(ours)
    status = 1
    try:
        ours.close()
        for fd in also_close:
            os.close(fd)
        status = _Supervisor(daemon, theirs).run()
        with suppress(FileNotFoundError):
            os.unlink(socket_path)  # nobody else's: the lock is still ours
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
        """Wait for the daemon's end, then end what it left. Returns its status for our own exit."""
        if signals.knows_senders():
            signals.receive(self._on_signal)
        else:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, lambda number, _: self._pass_on(number))
        status = self._wait()
        self._read()  # what it said last
        if self._finds_descendants:
            _end_children(self._released, self._released_groups)
        else:
            for group in self._groups - self._released_groups:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
        if status < 0:
            name = signal.Signals(-status).name
            sys.stderr.write(f"the daemon {self._daemon} was ended by {name}\n")
        elif status > 1:  # with 1 it has told the reason itself
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
                    links = [wake_reader]  # closed; its death is announced by SIGCHLD

    def _reap(self) -> int | None:
        """Collect whoever died; the daemon's status if it was among them."""
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
        """Take in what the daemon said; False when it will say no more."""
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
                self._note(verb, int(number))

    def _note(self, verb: str, number: int) -> None:
        if verb == "keep":
            self._groups.add(number)
        elif verb == "drop":
            self._groups.discard(number)
        elif verb == "release":
            self._released.add(number)
            with suppress(ProcessLookupError):
                # Its children come to us when it dies; they are told by their group.
                if (group := os.getpgid(number)) != os.getpgid(self._daemon):
                    self._released_groups.add(group)

    def _on_signal(self, number: int, sender: int) -> None:
        """Pass a signal on, unless a program that was started here sent it."""
        if sender != self._daemon and signals.is_descendant(
            sender, {os.getpid(), self._daemon} - {1}
        ):
            sys.stderr.write(f"{signals.describe(number, sender)}, a debuggee, was ignored\n")
        elif number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._daemon, number)


def _forget_family() -> None:
    """Be no descendant of a program that somebody debugs and that ran `dbg`: others need us too.

    The transport knows descendants by the soft limit of file locks, which has no other use.
    """
    if sys.platform == "linux":
        import resource

        locks = 10  # RLIMIT_LOCKS
        _, hard = resource.getrlimit(locks)
        resource.setrlimit(locks, (hard, hard))


def _become_subreaper() -> bool:
    """Have orphaned descendants become our children; False where that cannot be."""
    if sys.platform != "linux" or not os.path.isdir("/proc/self"):
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _end_children(released: set[int], released_groups: set[int]) -> None:
    """Kill every child but the released, and theirs as they become ours, until none is left."""
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
            except PermissionError:  # it became another user; waiting for it would be for ever
                spared.add(pid)
            except ProcessLookupError:
                pass
        for pid in doomed - spared:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> list[tuple[int, int]]:
    """Return pid and process group of our children, dead ones included."""
    ourselves = os.getpid()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # After the command, which may hold anything, come state, parent and group.
                _, parent, group = file.read().rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(parent) == ourselves:
            found.append((int(name), int(group)))
    return found
