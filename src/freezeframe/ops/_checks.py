"""What `doctor` looks at. Each check really tries the thing; none of them can fail the rest."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable

from freezeframe import paths
from freezeframe.backends import select
from freezeframe.backends.backend import Configuration, Event, Launch, Stopped
from freezeframe.config import load
from freezeframe.errors import FreezeframeError
from freezeframe.model.answers import Check
from freezeframe.model.stops import StopReason

from ._context import Context

_PROBE_S = 30.0


async def checks(ctx: Context) -> tuple[Check, ...]:
    """Return every check, the house first."""
    found = [_versions(ctx), _daemon(ctx), _runtime_directory(ctx), _config(ctx), _ptrace()]
    found.append(await _history(ctx))
    for info in select.survey(ctx.caller.env, ctx.config):
        if not info.found:
            fix = info.install[0] if info.install else None
            found.append(Check(info.name, "skip", info.note or "not installed", fix))
            continue
        found.append(await _launch(ctx, info.name))
    return tuple(found)


def _versions(ctx: Context) -> Check:
    import platform

    system = f"{platform.system()} {platform.machine()}"
    return Check(
        "freezeframe", "ok", f"{ctx.house.version} on Python {platform.python_version()}, {system}"
    )


def _daemon(ctx: Context) -> Check:
    age = time.monotonic() - ctx.house.started
    return Check("daemon", "ok", f"pid {ctx.house.pid}, up {age:.0f} s, log {ctx.house.log_path}")


def _runtime_directory(ctx: Context) -> Check:
    directory = paths.runtime_dir()
    try:
        status = os.lstat(directory)
    except OSError as error:
        return Check(
            "socket directory", "fail", f"{directory}: {error.strerror}", "dbg daemon stop"
        )
    mode = status.st_mode & 0o777
    if status.st_uid != os.getuid() or mode & 0o077:
        return Check(
            "socket directory", "fail", f"{directory} has mode {mode:o}", f"chmod 700 {directory}"
        )
    return Check("socket directory", "ok", f"{directory}, mode {mode:o}")


def _config(ctx: Context) -> Check:
    path = ctx.house.config_path
    try:
        load(path, ctx.caller.env)
    except FreezeframeError as error:
        return Check("config", "fail", error.message, f"edit {path}")
    state = "read" if os.path.exists(path) else "not there; defaults are used"
    return Check("config", "ok", f"{path}: {state}")


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


def _ptrace() -> Check:
    """Joining a running process needs a debugger that may look into it."""
    if sys.platform != "linux":
        return Check("attach", "skip", "not checked on this platform")
    scope = "0"
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            scope = file.read().strip()
    except OSError:
        pass
    gdb = shutil.which("gdb")
    if scope != "0" and os.getuid() != 0:
        return Check(
            "attach",
            "warn",
            f"the kernel's ptrace_scope is {scope}: only descendants may be joined",
            "echo 0 | sudo tee /proc/sys/kernel/yama/ptrace_scope",
        )
    if gdb is None:
        return Check(
            "attach", "warn", "joining a process by its id needs gdb", "apt-get install gdb"
        )
    return Check("attach", "ok", f"ptrace is allowed, {gdb}")


async def _launch(ctx: Context, name: str) -> Check:
    """Start a one-line program under the debugger and see it stop."""
    began = time.monotonic()
    choice = None
    try:
        with tempfile.TemporaryDirectory(prefix="freezeframe-") as directory:
            program = os.path.join(directory, "probe")
            choice = select.choose(program, name=name, env=ctx.caller.env, config=ctx.config)
            text = choice.debugger.probe_program
            if text is None:
                return Check(name, "ok", f"{choice.found.version or ''} at {choice.found.path}")
            program += text[0]
            with open(program, "w", encoding="utf-8") as file:
                file.write(text[1])
            how = await _stops(ctx, choice, program, directory)
    except FreezeframeError as error:
        return Check(name, "fail", error.message, error.next)
    except Exception as error:
        return Check(name, "fail", f"{type(error).__name__}: {error}", "dbg logs")
    took_ms = (time.monotonic() - began) * 1000
    version = choice.found.version or ""
    return Check(name, "ok", f"{version}: launched, {how}, ended in {took_ms:.0f} ms")


async def _stops(ctx: Context, choice: select.Choice, program: str, cwd: str) -> str:
    backend = choice.make_backend(ctx.config)()
    stopped: asyncio.Future[StopReason] = asyncio.get_running_loop().create_future()

    def sink(event: Event) -> None:
        if isinstance(event, Stopped) and not stopped.done():
            stopped.set_result(event.reason)

    watch: Callable[[Event], None] = sink
    target = Launch(program, cwd=cwd, env=ctx.caller.env, stop_on_entry=True)
    try:
        await backend.start(target, Configuration(), watch)
        async with asyncio.timeout(_PROBE_S):
            await stopped
        return f"stopped with {backend.tool.interpreter or 'it'}"
    finally:
        await backend.terminate()
        await backend.dispose()
