"""Paths of the socket, the state, the settings and the cache, and checks that they are private.

`FREEZEFRAME_HOME` holds everything when it is set. Otherwise the XDG directories are used, and
the runtime directory falls back to one in /tmp that contains the user id; on Windows settings are
under %APPDATA%, and everything else is under %LOCALAPPDATA%. The functions that return a path touch
nothing; `secure` makes a directory, and refuses one of another user.

client.py repeats the rule of `runtime_dir`, because it may not import this file; a test compares
them.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping

from freezeframe.errors import Insecure

SOCKET = "daemon.sock"
LOG = "daemon.log"
HISTORY = "history.db"


_SCRATCH = "session-"


def runtime_dir(env: Mapping[str, str] = os.environ) -> str:
    """Return the directory of the socket and the locks."""
    if home := _home(env):
        return home
    if sys.platform == "win32":
        return state_dir(env)
    if (runtime := env.get("XDG_RUNTIME_DIR")) and _belongs_to_user(runtime):
        return os.path.join(runtime, "freezeframe")
    return f"/tmp/freezeframe-{os.geteuid()}"


def state_dir(env: Mapping[str, str] = os.environ) -> str:
    """Return the directory of files that outlive the daemon: the log, the history."""
    return _home(env) or _base(env, "XDG_STATE_HOME", ".local/state", "LOCALAPPDATA")


def cache_dir(env: Mapping[str, str] = os.environ) -> str:
    """Return the directory of files that can be generated again."""
    if home := _home(env):
        return os.path.join(home, "cache")
    if sys.platform == "win32":
        return os.path.join(state_dir(env), "cache")
    return _base(env, "XDG_CACHE_HOME", ".cache", "LOCALAPPDATA")


def builds_dir(env: Mapping[str, str] = os.environ) -> str:
    """Return the directory of programs built from source."""
    return os.path.join(cache_dir(env), "builds")


def config_path(env: Mapping[str, str] = os.environ) -> str:
    """Return the path of the user's settings, whether or not the file exists."""
    directory = _home(env) or _base(env, "XDG_CONFIG_HOME", ".config", "APPDATA")
    return os.path.join(directory, "config.toml")


def socket_path(env: Mapping[str, str] = os.environ) -> str:
    return os.path.join(runtime_dir(env), SOCKET)


def log_path(env: Mapping[str, str] = os.environ) -> str:
    """Return the path of the log: next to the socket if the state directory is not writable."""
    directory = state_dir(env)
    while not os.path.lexists(directory) and directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
    writable = os.access(directory, os.W_OK)
    return os.path.join(state_dir(env) if writable else runtime_dir(env), LOG)


def history_path(env: Mapping[str, str] = os.environ) -> str:
    return os.path.join(state_dir(env), HISTORY)


def scratch(env: Mapping[str, str] = os.environ) -> str:
    """Make a directory for the FIFOs and sockets of one session; the caller removes it."""
    import tempfile

    return tempfile.mkdtemp(prefix=_SCRATCH, dir=secure(runtime_dir(env)))


def sweep(env: Mapping[str, str] = os.environ) -> None:
    """Remove the scratch directories of a killed daemon. The caller holds `daemon.lock`."""
    import shutil

    directory = runtime_dir(env)
    for name in os.listdir(directory):
        if name.startswith(_SCRATCH):
            path = os.path.join(directory, name)
            for each in _worktree_entries(path):
                shutil.rmtree(each, ignore_errors=True)
            shutil.rmtree(path, ignore_errors=True)


def _worktree_entries(directory: str) -> list[str]:
    """Return what git repositories keep about worktrees that are below a scratch directory."""
    found = []
    for name in os.listdir(directory) if os.path.isdir(directory) else ():
        link = os.path.join(directory, name, ".git")
        try:
            with open(link, encoding="utf-8", errors="surrogateescape") as file:
                entry = file.read(4096).removeprefix("gitdir:").strip()
            with open(
                os.path.join(entry, "gitdir"), encoding="utf-8", errors="surrogateescape"
            ) as file:
                back = file.read(4096).strip()
        except OSError:
            continue
        # Only an entry that names this worktree is its own.
        is_entry = os.path.basename(os.path.dirname(entry)) == "worktrees"
        if is_entry and os.path.realpath(back) == os.path.realpath(link):
            found.append(entry)
    return found


def secure(directory: str) -> str:
    """Make *directory* if necessary, private to the user, and return it.

    The mode of an existing directory that others could enter is corrected. Raises Insecure for a
    link, for anything that is not a directory, and for a directory of another user.
    """
    try:
        os.makedirs(os.path.dirname(directory) or ".", mode=0o700, exist_ok=True)
        try:
            # mkdir checks and creates at once: it fails if the path exists.
            os.mkdir(directory, 0o700)
            if sys.platform == "win32":
                from freezeframe import windows

                windows.make_private(directory)
        except FileExistsError:
            pass
    except OSError as error:
        raise Insecure(
            f"{directory} cannot be made: {error.strerror}.",
            code="daemon",
            next="FREEZEFRAME_HOME=~/.freezeframe dbg status",
        ) from error
    if sys.platform == "win32":
        return directory  # private since it was made, or inherits the list of the profile
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _refusal(directory, error) from error
    try:
        facts = os.fstat(handle)
        if facts.st_uid != os.geteuid():
            raise Insecure(
                f"{directory} belongs to user {facts.st_uid}, and you are user {os.geteuid()}.",
                next=f"ls -ld {directory}",
            )
        if facts.st_mode & 0o077:
            _make_private(handle, directory)
    finally:
        os.close(handle)
    return directory


def _make_private(handle: int, directory: str) -> None:
    try:
        os.fchmod(handle, 0o700)
    except OSError as error:  # for example, a read-only file system
        raise Insecure(
            f"{directory} is open to others and cannot be closed: {error.strerror}.",
            next="FREEZEFRAME_HOME=~/.freezeframe dbg status",
        ) from error


def _refusal(directory: str, error: OSError) -> Insecure:
    mode = os.lstat(directory).st_mode
    if stat.S_ISLNK(mode):
        what = f"is a link to {os.readlink(directory)}; whoever made it decides where it leads"
    elif not stat.S_ISDIR(mode):
        what = "is not a directory"
    else:
        what = f"cannot be opened: {error.strerror}"
    return Insecure(f"{directory} {what}.", next=f"ls -ld {directory}")


def _home(env: Mapping[str, str]) -> str | None:
    home = env.get("FREEZEFRAME_HOME")
    # abspath removes a trailing slash, with which a link would be followed.
    return os.path.abspath(home) if home else None


def _base(env: Mapping[str, str], variable: str, default: str, on_windows: str) -> str:
    if sys.platform == "win32":
        folder = "Roaming" if on_windows == "APPDATA" else "Local"
        base = env.get(on_windows) or os.path.join(os.path.expanduser("~"), "AppData", folder)
        return os.path.join(base, "freezeframe")
    # The XDG specification says to ignore relative values.
    base = env.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), default)
    return os.path.join(base, "freezeframe")


def _belongs_to_user(directory: str) -> bool:
    """Return whether the directory exists and is the user's: `su` keeps another user's variable."""
    if sys.platform == "win32":
        return False
    try:
        return os.stat(directory).st_uid == os.geteuid()
    except OSError:
        return False
