"""The checks of `doctor`. Each one tries the real thing; a failing check does not stop others."""

from __future__ import annotations

import asyncio
import glob
import logging
import mmap
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from freezeframe import paths
from freezeframe.backends import selection, survey
from freezeframe.backends.transport.run_command import run
from freezeframe.config import load
from freezeframe.errors import FreezeframeError, NotFound
from freezeframe.model.setup_answers import Check

from . import _doctor_fixes, agent_hosts
from ._context import Context
from ._smoke_test import trials

log = logging.getLogger(__name__)

#: time limit of one check; debuggers have their own
_CHECK_S = 15.0
#: resident memory of the daemon above which the check warns
_HEAVY_MB = 500
#: free disk space below which the check warns, and below which it fails
_LITTLE_MB, _NOTHING_MB = 200, 20
#: how many of a socket path's 107 bytes the runtime directory may take
_LONGEST_DIRECTORY = 72
#: an interpreter that takes longer to start is probably behind a wrapper
_SLOW_START_S = 0.3

Look = Callable[[Context], Awaitable[Check]]


async def checks(ctx: Context, name: str | None = None, *, fix: bool = False) -> tuple[Check, ...]:
    """Return every check, debuggers last; with *name*, only that one.

    With *fix*, apply the safe fixes; the check says what was done.
    """
    known = selection.known(ctx.config)
    if name is not None and name not in known and name not in CHECKS:
        raise NotFound(
            f"there is no check {name}; there are {', '.join((*CHECKS, *known))}.",
            next="dbg doctor",
        )
    general = [each for each in CHECKS if name in (None, each)]
    found = list(await asyncio.gather(*(_bounded(ctx, each) for each in general)))
    if fix:
        found = [await _fixed(ctx, check) for check in found]
    names = [each for each in known if name in (None, each)]
    infos = await survey.survey(ctx.caller.env, ctx.config, names) if names else ()
    return (*found, *await trials(ctx, infos))


async def _bounded(ctx: Context, name: str) -> Check:
    try:
        async with asyncio.timeout(_CHECK_S):
            return await CHECKS[name](ctx)
    except TimeoutError:
        return Check(name, "fail", f"the check did not finish within {_CHECK_S:g} s", "dbg logs")
    except FreezeframeError as error:
        return Check(name, "fail", error.message, error.next)
    except Exception as error:
        log.exception("checking %s", name)
        return Check(name, "fail", f"{type(error).__name__}: {error}", "dbg logs")


async def _fixed(ctx: Context, check: Check) -> Check:
    """Apply the fix for *check* and check again; without a fix, return *check*."""
    fix_it = _doctor_fixes.FIXES.get(check.name)
    if fix_it is None or check.status == "ok":
        return check
    try:
        done = fix_it(ctx)
    except OSError as error:
        return replace(check, detail=f"{check.detail}; it cannot be fixed: {error.strerror}")
    if done is None:
        return check
    return replace(await _bounded(ctx, check.name), mended=done)


# --- general checks -------------------------------------------------------------------------------


async def _version(ctx: Context) -> Check:
    import platform  # imported here: rarely needed

    detail = (
        f"{ctx.daemon.version} on Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}"
    )
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    began = time.time() - (time.monotonic() - ctx.daemon.started)
    newer = await asyncio.to_thread(_newest, package)
    if newer > began:
        detail += "; its files have changed since the daemon started"
        return Check("freezeframe", "warn", detail, "dbg daemon stop")
    return Check("freezeframe", "ok", detail)


def _newest(package: str) -> float:
    files = glob.glob(os.path.join(glob.escape(package), "**", "*.py"), recursive=True)
    return max((os.stat(file).st_mtime for file in files), default=0.0)


async def _daemon(ctx: Context) -> Check:
    age_s = time.monotonic() - ctx.daemon.started
    live = sum(1 for root in ctx.hub.roots() if root.any_live)
    facts = [f"pid {ctx.daemon.pid}", f"up {_duration(age_s)}"]
    weight_mb = _weight_mb()
    if weight_mb is not None:
        facts.append(f"{weight_mb:.0f} MB")
    facts += [f"{live} live session{'s' if live != 1 else ''}", f"log {ctx.daemon.log_path}"]
    heavy = weight_mb is not None and weight_mb > _HEAVY_MB
    fix = "dbg daemon stop" if heavy else None
    return Check("daemon", "warn" if heavy else "ok", ", ".join(facts), fix)


def _weight_mb() -> float | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * mmap.PAGESIZE / 1e6


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
        socket_mode = os.lstat(socket).st_mode & 0o777
    except OSError as error:
        return Check(name, "warn", f"{socket}: {error.strerror}", "dbg daemon stop")
    if socket_mode & 0o077:
        return Check(name, "fail", f"{socket} has mode {socket_mode:o}", f"chmod 600 {socket}")
    if len(directory.encode()) > _LONGEST_DIRECTORY:
        detail = f"{directory} is long: paths of debugger sockets below it may exceed the limit"
        return Check(name, "warn", detail, "FREEZEFRAME_HOME=/tmp/ff dbg status")
    return Check(name, "ok", f"{directory}, mode {mode:o}")


async def _leftovers(ctx: Context) -> Check:
    left = _doctor_fixes.leftovers(ctx)
    if left:
        names = ", ".join(os.path.basename(each) for each in left[:3])
        detail = f"{len(left)} folder{'s' if len(left) != 1 else ''} of sessions that are gone: "
        return Check("leftovers", "warn", detail + names, "dbg doctor --fix")
    strays = await asyncio.to_thread(_doctor_fixes.strays, ctx)
    if strays:
        pid, command = strays[0]
        detail = f"{len(strays)} of its programs outlived their session: {pid} ({command[:60]})"
        # A detached program looks the same, so the user decides.
        return Check("leftovers", "warn", detail, "kill " + " ".join(str(pid) for pid, _ in strays))
    return Check("leftovers", "ok", "ended sessions left nothing behind")


async def _config(ctx: Context) -> Check:
    path = ctx.daemon.config_path
    try:
        read = load(path, ctx.caller.env)
    except FreezeframeError as error:
        return Check("config", "fail", error.message, error.next or f"edit {path}")
    if read.warnings:
        return Check("config", "warn", " ".join(read.warnings), f"edit {path}")
    state = "read" if os.path.exists(path) else "missing; defaults are used"
    return Check("config", "ok", f"{path}: {state}")


async def _choice(ctx: Context) -> Check:
    """Check that the debugger that a variable or config.toml names can be used."""
    named = ctx.config.defaults.adapter
    if named is None:
        return Check("choice", "ok", "the best debugger for each program; none is named")
    source = ctx.config.sources.get("defaults.adapter", "config.toml")
    problem = await asyncio.to_thread(selection.problem_of_choice, ctx.caller.env, ctx.config)
    if problem is None:
        return Check("choice", "ok", f"{named}, named by {source}")
    fix = f"edit {ctx.daemon.config_path}" if source == "config.toml" else f"unset {source}"
    return Check("choice", "warn", problem.message, fix)


async def _space(ctx: Context) -> Check:
    """Check that the directories of state, cache and sockets are writable and have space."""
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
    """Check that recorded runs can be read, and report their size."""
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
    """Check that the kernel allows attaching to a running process."""
    if sys.platform != "linux":
        return Check("attach", "skip", "not checked on this platform")
    scope = _read("/proc/sys/kernel/yama/ptrace_scope") or "0"
    gdb = shutil.which("gdb", path=ctx.caller.env.get("PATH"))
    if scope != "0" and os.geteuid() != 0:
        return Check(
            "attach",
            "warn",
            f"the kernel's ptrace_scope is {scope}: only programs started by dbg can be "
            "attached to by process id",
            "echo 0 | sudo tee /proc/sys/kernel/yama/ptrace_scope",
        )
    if gdb is None:
        return Check("attach", "warn", "attaching by process id needs gdb", "apt-get install gdb")
    return Check("attach", "ok", f"ptrace is allowed, {gdb}")


async def _cores(ctx: Context) -> Check:
    """Check where the kernel writes core files."""
    pattern = _read("/proc/sys/kernel/core_pattern")
    if pattern is None or sys.platform == "win32":
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
    """Check the Python that programs run with, and whether a slow wrapper starts it."""
    name = "python"
    path = shutil.which("python3", path=ctx.caller.env.get("PATH", os.defpath))
    if path is None:
        return Check(name, "warn", "there is no python3 on PATH", "dbg start X --interpreter PATH")
    question = "import sys; print(sys.executable, sys.version.split()[0])"
    ran = await run([path, "-c", question], cwd="/", env=ctx.caller.env, timeout_s=_CHECK_S * 2 / 3)
    if ran.status:
        errors = ran.err.strip().splitlines()
        return Check(name, "fail", f"{path} does not start: {errors[-1] if errors else ran.status}")
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


#: every check that does not concern a debugger, by name; other modules add theirs
CHECKS: dict[str, Look] = {
    "freezeframe": _version,
    "daemon": _daemon,
    "socket directory": _runtime_directory,
    "leftovers": _leftovers,
    "config": _config,
    "choice": _choice,
    "disk": _space,
    "history": _history,
    "python": _interpreter,
    "attach": _ptrace,
    "core files": _cores,
    "hosts": agent_hosts.check,
}
