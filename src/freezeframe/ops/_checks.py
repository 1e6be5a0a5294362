"""What `doctor` looks at. Each check really tries the thing; none of them can fail the rest."""

from __future__ import annotations

import asyncio
import glob
import logging
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from freezeframe import paths
from freezeframe.backends import select
from freezeframe.backends.transport.run import run
from freezeframe.config import load
from freezeframe.errors import FreezeframeError, NotFound
from freezeframe.model.answers import Check

from . import _mending, hosts
from ._context import Context
from ._trying import trials

log = logging.getLogger(__name__)

#: for one check; debuggers have limits of their own
_CHECK_S = 15.0
#: what a daemon may weigh before somebody should wonder
_HEAVY_MB = 500
#: free space below which things begin to fail, and below which they do
_LITTLE_MB, _NOTHING_MB = 200, 20
#: what is left of a socket's 107 bytes for our directory
_LONGEST_DIRECTORY = 72
#: an interpreter that takes longer only to start is not started directly
_SLOW_START_S = 0.3

Look = Callable[[Context], Awaitable[Check]]


async def checks(ctx: Context, name: str | None = None, *, fix: bool = False) -> tuple[Check, ...]:
    """Return every check, the house first; only those of *name* where one is given.

    With *fix* what can be mended safely is, and its check says what was done.
    """
    known = select.known(ctx.config)
    if name is not None and name not in known and name not in HOUSE:
        raise NotFound(
            f"there is no check {name}; there are {', '.join((*HOUSE, *known))}.",
            next="dbg doctor",
        )
    house = [each for each in HOUSE if name in (None, each)]
    found = list(await asyncio.gather(*(_bounded(ctx, each) for each in house)))
    if fix:
        found = [await _mended(ctx, check) for check in found]
    names = [each for each in known if name in (None, each)]
    infos = await select.survey_at_once(ctx.caller.env, ctx.config, names) if names else ()
    return (*found, *await trials(ctx, infos))


async def _bounded(ctx: Context, name: str) -> Check:
    try:
        async with asyncio.timeout(_CHECK_S):
            return await HOUSE[name](ctx)
    except TimeoutError:
        return Check(name, "fail", f"it could not be looked at within {_CHECK_S:g} s", "dbg logs")
    except FreezeframeError as error:
        return Check(name, "fail", error.message, error.next)
    except Exception as error:
        log.exception("looking at %s", name)
        return Check(name, "fail", f"{type(error).__name__}: {error}", "dbg logs")


async def _mended(ctx: Context, check: Check) -> Check:
    """Mend what a check found and look again; what cannot be mended stays as it is."""
    mend = _mending.MENDS.get(check.name)
    if mend is None or check.status == "ok":
        return check
    try:
        done = mend(ctx)
    except OSError as error:
        return replace(check, detail=f"{check.detail}; it cannot be mended: {error.strerror}")
    if done is None:
        return check
    return replace(await _bounded(ctx, check.name), mended=done)


# --- the house ------------------------------------------------------------------------------------


async def _version(ctx: Context) -> Check:
    import platform  # few daemons are ever asked for it

    detail = (
        f"{ctx.house.version} on Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}"
    )
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    began = time.time() - (time.monotonic() - ctx.house.started)
    newer = await asyncio.to_thread(_newest, package)
    if newer > began:
        detail += "; its files have changed since the daemon started"
        return Check("freezeframe", "warn", detail, "dbg daemon stop")
    return Check("freezeframe", "ok", detail)


def _newest(package: str) -> float:
    files = glob.glob(os.path.join(glob.escape(package), "**", "*.py"), recursive=True)
    return max((os.stat(file).st_mtime for file in files), default=0.0)


async def _daemon(ctx: Context) -> Check:
    age_s = time.monotonic() - ctx.house.started
    live = sum(1 for root in ctx.hub.roots() if root.tree_live)
    facts = [f"pid {ctx.house.pid}", f"up {_duration(age_s)}"]
    weight_mb = _weight_mb()
    if weight_mb is not None:
        facts.append(f"{weight_mb:.0f} MB")
    facts += [f"{live} live session{'s' if live != 1 else ''}", f"log {ctx.house.log_path}"]
    heavy = weight_mb is not None and weight_mb > _HEAVY_MB
    fix = "dbg daemon stop" if heavy else None
    return Check("daemon", "warn" if heavy else "ok", ", ".join(facts), fix)


def _weight_mb() -> float | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"


async def _runtime_directory(ctx: Context) -> Check:
    name, directory = "socket directory", paths.runtime_dir()
    try:
        status = os.lstat(directory)
    except OSError as error:
        return Check(name, "fail", f"{directory}: {error.strerror}", "dbg daemon stop")
    if sys.platform == "win32":
        return Check(name, "ok", directory)
    mode = status.st_mode & 0o777
    if status.st_uid != os.geteuid():
        detail = f"{directory} belongs to user {status.st_uid}"
        return Check(name, "fail", detail, "FREEZEFRAME_HOME=~/.freezeframe dbg status")
    if mode & 0o077:
        return Check(name, "fail", f"{directory} has mode {mode:o}", f"chmod 700 {directory}")
    socket = paths.socket_path()
    try:
        door = os.lstat(socket).st_mode & 0o777
    except OSError as error:
        return Check(name, "warn", f"{socket}: {error.strerror}", "dbg daemon stop")
    if door & 0o077:
        return Check(name, "fail", f"{socket} has mode {door:o}", f"chmod 600 {socket}")
    if len(directory.encode()) > _LONGEST_DIRECTORY:
        detail = (
            f"{directory} is long: sockets of debuggers below it may have names that do not fit"
        )
        return Check(name, "warn", detail, "FREEZEFRAME_HOME=/tmp/ff dbg status")
    return Check(name, "ok", f"{directory}, mode {mode:o}")


async def _leftovers(ctx: Context) -> Check:
    left = _mending.leftovers(ctx)
    if left:
        names = ", ".join(os.path.basename(each) for each in left[:3])
        detail = f"{len(left)} folder{'s' if len(left) != 1 else ''} of sessions that are gone: "
        return Check("leftovers", "warn", detail + names, "dbg doctor --fix")
    strays = await asyncio.to_thread(_mending.strays, ctx)
    if strays:
        pid, command = strays[0]
        detail = f"{len(strays)} of its programs outlived their session: {pid} ({command[:60]})"
        # A program that was detached looks the same, so it is the user's to decide.
        return Check("leftovers", "warn", detail, "kill " + " ".join(str(pid) for pid, _ in strays))
    return Check("leftovers", "ok", "nothing is left of sessions that ended")


async def _config(ctx: Context) -> Check:
    path = ctx.house.config_path
    try:
        load(path, ctx.caller.env)
    except FreezeframeError as error:
        return Check("config", "fail", error.message, error.next or f"edit {path}")
    state = "read" if os.path.exists(path) else "not there; defaults are used"
    return Check("config", "ok", f"{path}: {state}")


async def _space(ctx: Context) -> Check:
    """State, cache and sockets need a disk that can be written."""
    name, free_mb, least = "disk", float("inf"), ""
    for directory in {paths.state_dir(), paths.cache_dir(), paths.runtime_dir()}:
        there = directory
        while not os.path.isdir(there) and os.path.dirname(there) != there:
            there = os.path.dirname(there)
        if not os.access(there, os.W_OK | os.X_OK):
            return Check(name, "fail", f"{there} cannot be written", f"ls -ld {there}")
        free = shutil.disk_usage(there).free / 1e6
        if free < free_mb:
            free_mb, least = free, there
    detail = f"{free_mb / 1000:.1f} GB free in {least}"
    if free_mb < _LITTLE_MB:
        status = "fail" if free_mb < _NOTHING_MB else "warn"
        return Check(name, status, f"{free_mb:.0f} MB free in {least}", f"du -sh {least}/*")
    return Check(name, "ok", detail)


async def _history(ctx: Context) -> Check:
    """Can what was recorded be read, and how much of it is there?"""
    path = ctx.history.store.path
    try:
        runs = await ctx.history.runs(None)
    except FreezeframeError as error:
        return Check("history", "fail", error.message, error.next)
    size_mb = ctx.history.size() / 1e6
    state = f"{path}: {len(runs)} runs, {size_mb:.1f} MB"
    if not ctx.config.history.record:
        return Check("history", "warn", f"{state}; history.record is off", "dbg config history")
    return Check("history", "ok", state)


# --- the machine ----------------------------------------------------------------------------------


async def _ptrace(ctx: Context) -> Check:
    """Joining a running process needs a debugger that may look into it."""
    if sys.platform != "linux":
        return Check("attach", "skip", "not checked on this platform")
    scope = _read("/proc/sys/kernel/yama/ptrace_scope") or "0"
    gdb = shutil.which("gdb", path=ctx.caller.env.get("PATH"))
    if scope != "0" and os.geteuid() != 0:
        return Check(
            "attach",
            "warn",
            f"the kernel's ptrace_scope is {scope}: only programs that were started here can be "
            "joined by their id",
            "echo 0 | sudo tee /proc/sys/kernel/yama/ptrace_scope",
        )
    if gdb is None:
        return Check(
            "attach", "warn", "joining a process by its id needs gdb", "apt-get install gdb"
        )
    return Check("attach", "ok", f"ptrace is allowed, {gdb}")


async def _cores(ctx: Context) -> Check:
    """Where a program that dies leaves its core file, for `core`."""
    pattern = _read("/proc/sys/kernel/core_pattern")
    if pattern is None:
        return Check("core files", "skip", "not checked on this platform")
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_CORE)
    if pattern.startswith("|"):
        handler = os.path.basename(pattern[1:].split()[0])
        detail = f"the kernel gives them to {handler}"
        keeps = handler == "systemd-coredump"
        fix = "coredumpctl dump PROGRAM -o core" if keeps else "sysctl kernel.core_pattern"
        return Check("core files", "ok", detail, fix)
    if soft == 0:
        return Check(
            "core files", "ok", "none are written: their limit is 0", "ulimit -c unlimited"
        )
    return Check("core files", "ok", f"written as {pattern}")


async def _interpreter(ctx: Context) -> Check:
    """The Python that programs run with, and whether something slow stands before it."""
    name = "python"
    path = shutil.which("python3", path=ctx.caller.env.get("PATH", os.defpath))
    if path is None:
        return Check(name, "warn", "there is no python3 on PATH", "dbg start X --interpreter PATH")
    question = "import sys; print(sys.executable, sys.version.split()[0])"
    ran = await run([path, "-c", question], cwd="/", env=ctx.caller.env, timeout_s=_CHECK_S * 2 / 3)
    if ran.status:
        words = ran.err.strip().splitlines()
        return Check(name, "fail", f"{path} does not start: {words[-1] if words else ran.status}")
    real, _, version = ran.out.strip().rpartition(" ")
    detail = f"{version} at {real}"
    if "shims" in path.split(os.sep) and ran.took_s > _SLOW_START_S:
        detail += f", through {path}, which takes {ran.took_s:.1f} s to start"
        return Check(name, "warn", detail, f"PATH={os.path.dirname(real)}:$PATH")
    return Check(name, "ok", detail)


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


#: every check that is not about a debugger, by name; other parts of the program add theirs
HOUSE: dict[str, Look] = {
    "freezeframe": _version,
    "daemon": _daemon,
    "socket directory": _runtime_directory,
    "leftovers": _leftovers,
    "config": _config,
    "disk": _space,
    "history": _history,
    "python": _interpreter,
    "attach": _ptrace,
    "core files": _cores,
    "hosts": hosts.check,
}
