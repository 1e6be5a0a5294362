"""A process with all its descendants: find them, kill them.

Descendants are found by parent and by session: a process whose parent is gone still carries its
session, and one that made a session of its own still has its parent. One that has neither, as a
daemon, is found by a mark that it inherits: the soft limit of file locks, which Linux keeps, hands
on to children and programs, and has not looked at since 2.4.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass

if sys.platform != "win32":
    import resource

#: Whether processes can be marked.
CAN_MARK = sys.platform == "linux"
#: The resource module has no name for it; its number is the same on every architecture.
_RLIMIT_LOCKS = 10
# Births in /proc are in ticks since boot, suspension included; those of ps are dates.
_BOOT_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
_LOOK_AGAIN_S = 0.005
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the process table. `born` tells two users of one pid apart."""

    pid: int
    parent: int
    session: int
    born: float  # on `clock`
    zombie: bool


def clock() -> float:
    """Return now, on the clock that births are told in."""
    if _BOOT_CLOCK is not None:
        return time.clock_gettime(_BOOT_CLOCK)
    return time.time()


def table() -> list[Entry]:
    """Return every process of this machine that we may see."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return _table_of_ps()
    entries = []
    for name in names:
        if name.isdigit():
            entry = _read(int(name))
            if entry is not None:
                entries.append(entry)
    return entries or _table_of_ps()


class Family:
    """A process and all that descends from it; its session too when it leads one.

    Made while the root is surely alive or not reaped yet. Numbers are reused: a pid is believed
    only with the birth it was first seen with, a session only while somebody lives in it who was
    born before we last knew it to be ours.
    """

    def __init__(self, root: int, mark: int | None = None) -> None:
        entry = _read(root)
        self._root = root
        self._mark = mark
        self._members: dict[int, float] = {} if entry is None else {root: entry.born}
        self._sessions: dict[int, float] = {root: clock()}
        self._born = clock() if entry is None else entry.born
        self._files: set[str] = set()

    def owns_files(self, names: Iterable[str]) -> None:
        """Take whoever lost its parent and has one of these open for a member.

        *names* are pipes (`pipe:[7]`) and paths that nobody but the family was given: a program
        whose debugger died before anybody saw the two together is found by them.
        """
        self._files.update(names)

    def _orphans(self, entries: list[Entry]) -> list[Entry]:
        if not self._files:
            return []
        # Who loses its parent becomes a child of our own parent's, or of the first process.
        adopters = {1, os.getppid()}
        return [
            entry
            for entry in entries
            if entry.parent in adopters
            and entry.pid != os.getpid()
            and entry.born >= self._born
            and not self._files.isdisjoint(_open_files(entry.pid))
        ]

    def _daemons(self, entries: list[Entry]) -> list[Entry]:
        if self._mark is None:
            return []
        late = (entry for entry in entries if entry.born >= self._born and not entry.zombie)
        return [entry for entry in late if _mark_of(entry.pid) == self._mark]

    def root_ended(self) -> None:
        """Its pid is about to be free, or has just become so."""
        self._members.pop(self._root, None)
        self._sessions[self._root] = clock()

    def look(self, spare: Collection[int] = (), *, daemons: bool = False) -> list[int]:
        """Return the pids of all living members, parents before children, without *spare*.

        With *daemons* also those that have left both their parents and their session.
        """
        entries = table()
        ours = [
            entry
            for entry in entries
            if self._members.get(entry.pid) == entry.born
            or entry.born <= self._sessions.get(entry.session, -1.0)
        ]
        sessions = {entry.session for entry in ours if entry.session in self._sessions}
        ours += [entry for entry in entries if entry.session in sessions]
        ours += self._orphans(entries)
        ours += self._daemons(entries) if daemons else []
        now = clock()
        found = _reach(ours, entries)
        self._members = {entry.pid: entry.born for entry in found}
        # Only sessions that began inside the family: one that it was born into has strangers.
        leaders = {entry.pid for entry in found} | set(self._sessions)
        for entry in found:
            if entry.session in leaders:
                self._sessions[entry.session] = now
        spared = {entry.pid for entry in _reach([e for e in found if e.pid in spare], entries)}
        return [entry.pid for entry in found if not entry.zombie and entry.pid not in spared]

    def kill(self, spare: Collection[int] = (), *, daemons: bool = False) -> bool:
        """Kill everybody who is found; True when there was somebody, so that a look must follow.

        Those in *spare* go free, with all that descends from them.
        """
        # Whoever is stopped cannot fork: freeze until a look finds nobody new, then kill them all.
        frozen: set[int] = set()
        for _ in range(8):
            new = [pid for pid in self.look(spare, daemons=daemons) if pid not in frozen]
            if not new:
                break
            _send(new, signal.SIGSTOP)
            frozen.update(new)
        _send(frozen, signal.SIGKILL)
        return bool(frozen)

    async def kill_all(
        self, timeout_s: float, spare: Collection[int] = (), *, daemons: bool = False
    ) -> bool:
        """Kill until nobody is found; False when somebody still was after *timeout_s*."""
        deadline = time.monotonic() + timeout_s
        while self.kill(spare, daemons=daemons):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_LOOK_AGAIN_S)
        return True


async def kill(pid: int, *, timeout_s: float = 3.0) -> bool:
    """Kill a process that we did not start ourselves, with all its descendants.

    True when none is left (none was there included), False when some still were after *timeout_s*.
    """
    return await Family(pid).kill_all(timeout_s)


def _reach(roots: list[Entry], entries: list[Entry]) -> list[Entry]:
    """Return *roots* and all that descend from them, parents before children."""
    children: dict[int, list[Entry]] = {}
    for entry in entries:
        children.setdefault(entry.parent, []).append(entry)
    seen: dict[int, Entry] = {}
    queue = list(roots)
    for entry in queue:
        if entry.pid not in seen and entry.pid not in (0, 1, os.getpid()):
            seen[entry.pid] = entry
            queue.extend(children.get(entry.pid, ()))
    return list(seen.values())


def new_mark() -> int:
    """Return a mark that no other family of this machine has."""
    return secrets.randbits(60)


def mark(number: int) -> None:
    """Mark this process and all that will descend from it. Does nothing where that is not known."""
    _, hard = resource.getrlimit(_RLIMIT_LOCKS)
    if hard == resource.RLIM_INFINITY:
        resource.setrlimit(_RLIMIT_LOCKS, (number, hard))


def _mark_of(pid: int) -> int | None:
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/limits") as file:
        for line in file:
            if line.startswith("Max file locks "):
                return int(line.split()[3])
    return None


def _open_files(pid: int) -> set[str]:
    """Return what a process has open, by name; nothing of one that is not ours to look into."""
    folder, found = f"/proc/{pid}/fd", set()
    with contextlib.suppress(OSError):
        for name in os.listdir(folder)[:1000]:
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"{folder}/{name}"))
    return found


def _send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _read(pid: int) -> Entry | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except OSError:
        return None
    # The name stands in parentheses and may hold anything, parentheses included.
    fields = line[line.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return Entry(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        born=int(fields[19]) / _TICKS_PER_S,
        zombie=fields[0] in (b"Z", b"X"),
    )


def _table_of_ps() -> list[Entry]:
    """The table where there is no /proc (macOS). Its `sess` is an address, so the group serves."""
    try:
        done = subprocess.run(
            ["ps", "-axo", "pid=,ppid=,pgid=,stat=,lstart="],
            capture_output=True,
            env={**os.environ, "LC_ALL": "C"},
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    entries = []
    for line in done.stdout.splitlines():
        fields = line.split(None, 4)
        if len(fields) == 5 and all(field.isdigit() for field in fields[:3]):
            pid, parent, group = (int(field) for field in fields[:3])
            try:
                born = time.mktime(time.strptime(fields[4].strip(), "%a %b %d %H:%M:%S %Y"))
            except ValueError:
                continue
            entries.append(Entry(pid, parent, group, born, "Z" in fields[3]))
    return entries
