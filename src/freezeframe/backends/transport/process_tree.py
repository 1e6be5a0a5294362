"""A process with all its descendants: find them, kill them.

Descendants are found by parent and by session: an orphan keeps its session, and a process that made
its own session keeps its parent. One that has neither, a daemon, is found by a tag that it
inherits: the soft limit of file locks, which Linux keeps, passes on to children and programs, and
has not used since 2.4.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable

from freezeframe.model.fast_dataclass import dataclass

#: Ends any process: on Windows every number but two does.
SIGKILL = 9
#: Whether processes can be tagged.
CAN_TAG = sys.platform == "linux"
#: The resource module has no name for RLIMIT_LOCKS; its number is the same on every architecture.
_RLIMIT_LOCKS = 10
# Start times in /proc are in ticks since boot, suspension included; those of ps are dates.
_BOOT_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
_LOOK_AGAIN_S = 0.005
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """One line of the process table. `born` distinguishes two processes with the same pid."""

    pid: int
    parent: int
    session: int
    born: float  # on `clock`
    zombie: bool


def clock() -> float:
    """Return the current time on the clock of process start times."""
    if _BOOT_CLOCK is not None:
        return time.clock_gettime(_BOOT_CLOCK)
    return time.time()


def table() -> list[ProcessEntry]:
    """Return every process of this machine that is visible to us."""
    if sys.platform == "win32":
        return _table_of_windows()
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


class ProcessTree:
    """A process and all its descendants, and its session when it leads one.

    Create this while the root is alive or not reaped yet. Pids are reused: a pid counts only with
    the start time it was first seen with, a session only while it has a process that started before
    the session was last known to belong to the tree.
    """

    def __init__(self, root: int, tag: int | None = None) -> None:
        entry = _read(root)
        self._root = root
        self._tag = tag
        self._members: dict[int, float] = {} if entry is None else {root: entry.born}
        self._sessions: dict[int, float] = {root: clock()}
        self._born = clock() if entry is None else entry.born
        self._files: set[str] = set()

    def owns_files(self, names: Iterable[str]) -> None:
        """Treat every orphan that has one of these files open as a member.

        *names* are pipes (`pipe:[7]`) and paths that only members of the tree were given: a program
        whose debugger died before the two were seen together is found by them.
        """
        self._files.update(names)

    def _orphans(self, entries: list[ProcessEntry]) -> list[ProcessEntry]:
        if not self._files:
            return []
        # An orphan becomes a child of our own parent (a subreaper), or of the first process.
        adopters = {1, os.getppid()}
        return [
            entry
            for entry in entries
            if entry.parent in adopters
            and entry.pid != os.getpid()
            and entry.born >= self._born
            and not self._files.isdisjoint(_open_files(entry.pid))
        ]

    def _daemons(self, entries: list[ProcessEntry]) -> list[ProcessEntry]:
        if self._tag is None:
            return []
        later = (entry for entry in entries if entry.born >= self._born and not entry.zombie)
        return [entry for entry in later if _tag_of(entry.pid) == self._tag]

    def root_ended(self) -> None:
        """Forget the root's pid, which is about to be reused or already may be."""
        self._members.pop(self._root, None)
        self._sessions[self._root] = clock()

    def refresh(self, spare: Collection[int] = (), *, daemons: bool = False) -> list[int]:
        """Return the pids of all live members, parents before children, without *spare*.

        With *daemons* also those that have left both their parents and their session.
        """
        entries = table()
        members = [
            entry
            for entry in entries
            if self._members.get(entry.pid) == entry.born
            or entry.born <= self._sessions.get(entry.session, -1.0)
        ]
        sessions = {entry.session for entry in members if entry.session in self._sessions}
        members += [entry for entry in entries if entry.session in sessions]
        members += self._orphans(entries)
        members += self._daemons(entries) if daemons else []
        now = clock()
        found = _reach(members, entries)
        self._members = {entry.pid: entry.born for entry in found}
        # Only sessions that began inside the tree: the one it was born into has unrelated
        # processes.
        leaders = {entry.pid for entry in found} | set(self._sessions)
        for entry in found:
            if entry.session in leaders:
                self._sessions[entry.session] = now
        spared = {entry.pid for entry in _reach([e for e in found if e.pid in spare], entries)}
        return [entry.pid for entry in found if not entry.zombie and entry.pid not in spared]

    def kill(self, spare: Collection[int] = (), *, daemons: bool = False) -> bool:
        """Kill all live members. Return True if any were found; call again until False.

        Those in *spare* survive with all their descendants.
        """
        # A stopped process cannot fork: stop processes until no new one is found, then kill them
        # all.
        frozen: set[int] = set()
        for _ in range(8 if sys.platform != "win32" else 1):
            new = [pid for pid in self.refresh(spare, daemons=daemons) if pid not in frozen]
            if not new:
                break
            if sys.platform != "win32":
                _send(new, signal.SIGSTOP)
            frozen.update(new)
        _send(frozen, SIGKILL)
        return bool(frozen)

    async def kill_all(
        self, timeout_s: float, spare: Collection[int] = (), *, daemons: bool = False
    ) -> bool:
        """Kill until no member is found; False if some still were after *timeout_s*."""
        deadline = time.monotonic() + timeout_s
        while self.kill(spare, daemons=daemons):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_LOOK_AGAIN_S)
        return True


async def kill(pid: int, *, timeout_s: float = 3.0) -> bool:
    """Kill a process that we did not start, with all its descendants.

    Return True if none is left (or none was there), False if some still were after *timeout_s*.
    """
    return await ProcessTree(pid).kill_all(timeout_s)


def _reach(roots: list[ProcessEntry], entries: list[ProcessEntry]) -> list[ProcessEntry]:
    """Return *roots* and all their descendants, parents before children."""
    children: dict[int, list[ProcessEntry]] = {}
    for entry in entries:
        children.setdefault(entry.parent, []).append(entry)
    seen: dict[int, ProcessEntry] = {}
    queue = list(roots)
    for entry in queue:
        if entry.pid not in seen and entry.pid not in (0, 1, os.getpid()):
            seen[entry.pid] = entry
            queue.extend(children.get(entry.pid, ()))
    return list(seen.values())


def new_tag() -> int:
    """Return a tag that no other process tree of this machine has."""
    import secrets  # imported here: it imports hashlib, and most daemons need neither at first

    return secrets.randbits(60)


def tagger(number: int) -> Callable[[], None]:
    """Return a function that tags the process it is called in, and all its future descendants.

    It does nothing where the hard limit is finite, and imports nothing: it is called between fork
    and exec.
    """
    import resource

    def tag() -> None:
        _, hard = resource.getrlimit(_RLIMIT_LOCKS)
        if hard == resource.RLIM_INFINITY:
            resource.setrlimit(_RLIMIT_LOCKS, (number, hard))

    return tag


def _tag_of(pid: int) -> int | None:
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/limits") as file:
        for line in file:
            if line.startswith("Max file locks "):
                return int(line.split()[3])
    return None


def _open_files(pid: int) -> set[str]:
    """Return the names of the files a process has open; empty where they may not be read."""
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


def _read(pid: int) -> ProcessEntry | None:
    if sys.platform == "win32":
        return next((entry for entry in _table_of_windows() if entry.pid == pid), None)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except OSError:
        return None
    # The name is in parentheses and may contain anything, parentheses included.
    fields = line[line.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return ProcessEntry(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        born=int(fields[19]) / _TICKS_PER_S,
        zombie=fields[0] in (b"Z", b"X"),
    )


def _table_of_windows() -> list[ProcessEntry]:
    """Return the process table of Windows, where a session is a process with its descendants."""
    from freezeframe import windows

    rows = ((row, windows.born(row.pid)) for row in windows.processes())
    return [
        ProcessEntry(row.pid, row.parent, row.pid, born, zombie=False)
        for row, born in rows
        if born is not None
    ]


def _table_of_ps() -> list[ProcessEntry]:
    """Return the process table where there is no /proc (macOS).

    The `sess` column of its ps is an address, so the process group is used as the session.
    """
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
            entries.append(ProcessEntry(pid, parent, group, born, "Z" in fields[3]))
    return entries
