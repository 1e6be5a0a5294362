"""The fixes of `doctor --fix`: they change only files that dbg created, and no live process."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator

from freezeframe import paths

from ._context import Context

#: a session that is being started has a directory before it is listed
_YOUNG_S = 60.0
_FOLDER = re.compile(r"session-[A-Za-z0-9_]{8}")

#: applies the fix and returns what was done; None if there was nothing to do
Fix = Callable[[Context], str | None]


def leftovers(ctx: Context) -> list[str]:
    """Return the directories of sessions that ended without removing them."""
    if ctx.hub.busy:
        # Only backends know which directory is theirs: skip those newer than the oldest session.
        oldest = min((root.started for root in ctx.hub.roots() if root.any_live), default=0.0)
    else:
        oldest = time.time()
    limit = min(oldest, time.time()) - _YOUNG_S
    return [
        entry.path
        for entry in _entries(paths.runtime_dir())
        if _FOLDER.fullmatch(entry.name)
        and entry.is_dir(follow_symlinks=False)
        and entry.stat(follow_symlinks=False).st_mtime < limit
    ]


def strays(ctx: Context) -> list[tuple[int, str]]:
    """Return the user's processes whose command line names a removed session directory."""
    if sys.platform == "win32":
        return []  # a job ends with its daemon
    directory = os.path.join(paths.runtime_dir(), "")
    own = {os.getpid(), os.getppid()}
    found = []
    for entry in _entries("/proc"):
        if not entry.name.isdecimal() or int(entry.name) in own:
            continue
        try:
            if entry.stat().st_uid != os.geteuid():
                continue
            with open(os.path.join(entry.path, "cmdline"), "rb") as file:
                command = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        _, found_it, rest = command.partition(directory)
        folder = _FOLDER.match(rest) if found_it else None
        if folder is not None and not os.path.exists(directory + folder[0]):
            found.append((int(entry.name), command))
    return found


def _entries(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError:
        return


def _remove_leftovers(ctx: Context) -> str | None:
    left = leftovers(ctx)
    for each in left:
        shutil.rmtree(each, ignore_errors=True)
    gone = [each for each in left if not os.path.exists(each)]
    if not gone:
        return None
    return f"removed {', '.join(os.path.basename(each) for each in gone)}"


def _close_directory(ctx: Context) -> str | None:
    """Remove other users' access to the user's files. Files of other users stay untouched."""
    if sys.platform == "win32":
        return None  # their access lists were set when they were made
    done = []
    directory, socket = paths.runtime_dir(), paths.socket_path()
    for path, mode in ((directory, 0o700), (socket, 0o600)):
        try:
            facts = os.lstat(path)
        except FileNotFoundError:
            continue
        if facts.st_uid == os.geteuid() and facts.st_mode & 0o077 and not os.path.islink(path):
            os.chmod(path, mode)
            done.append(f"{path} has mode {mode:o} now")
    return "; ".join(done) or None


def _make_directories(ctx: Context) -> str | None:
    made = []
    for directory in (paths.state_dir(), paths.cache_dir()):
        if not os.path.isdir(directory):
            os.makedirs(directory, mode=0o700)
            made.append(directory)
    return f"made {', '.join(made)}" if made else None


#: by the name of the check
FIXES: dict[str, Fix] = {
    "leftovers": _remove_leftovers,
    "socket directory": _close_directory,
    "disk": _make_directories,
}
