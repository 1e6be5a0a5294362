"""Xcode's tools through `xcrun`: the path of a tool, the simulators and their processes.

Xcode is present where `xcrun` is on PATH; the platform is not checked.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass

from freezeframe.errors import DebuggerError, DebuggerMissing, DebuggerTimeout

from .run_command import run
from .version_query import answer

#: time limit of `simctl`: the first call after a boot starts its service
_ANSWER_S = 30.0
#: interval of polling a simulator's processes: nothing notifies us that an app has started
_POLL_S = 0.1
#: `UIKitApplication:com.example.Shop[1f2e][rb-legacy]`, `application.com.example.Shop.123.456`
_LABEL = re.compile(
    r"application\.(?P<app>[^\[]+?)(?:\.\d+){1,2}(?:\[.*)?"
    r"|(?:UIKitApplication:)?(?P<id>[^\[]+)(?:\[.*)?"
)


@dataclass(frozen=True, slots=True)
class Device:
    """A simulator."""

    udid: str
    name: str
    #: `Booted`, `Shutdown`, …
    state: str
    #: `iOS 17.2`
    runtime: str

    @property
    def booted(self) -> bool:
        return self.state == "Booted"

    def __str__(self) -> str:
        return f"{self.name} ({self.runtime}, {self.udid}, {self.state})"


@dataclass(frozen=True, slots=True)
class Service:
    """A service that `launchctl` of a simulator lists; without a pid it does not run."""

    bundle_id: str
    pid: int | None
    #: an app with a user interface
    app: bool


def program(env: Mapping[str, str]) -> str | None:
    """Return the path of `xcrun` on the PATH of *env*."""
    return shutil.which("xcrun", path=env.get("PATH", os.defpath))


def tool(name: str, env: Mapping[str, str]) -> str | None:
    """Return the path of a tool of Xcode; None where there is no Xcode, or no such tool. Blocks."""
    xcrun = program(env)
    if xcrun is None:
        return None
    found = (answer([xcrun, "--find", name], env=env) or "").strip()
    return found if os.path.isabs(found) and os.path.exists(found) else None


async def devices(env: Mapping[str, str]) -> list[Device]:
    """Return the available simulators. Raises DebuggerMissing without Xcode."""
    return read_devices(await _simctl(env, "list", "devices", "available", "-j"))


async def services(udid: str, env: Mapping[str, str]) -> list[Service]:
    """Return the services of a booted simulator, running or not."""
    return read_services(await _simctl(env, "spawn", udid, "launchctl", "list"))


async def next_pid(
    udid: str, bundle_id: str, env: Mapping[str, str], timeout_s: float
) -> int | None:
    """Return the pid of an app that starts from now on; None if none does in time."""
    deadline = time.monotonic() + timeout_s
    before: set[int | None] | None = None
    while before is None or time.monotonic() < deadline:
        found = await services(udid, env)
        pids = {each.pid for each in found if each.bundle_id == bundle_id and each.pid is not None}
        if before is not None and (new := pids - before):
            return max(pid for pid in new if pid is not None)
        before = {*(before or ()), *pids}
        await asyncio.sleep(_POLL_S)
    return None


async def _simctl(env: Mapping[str, str], *args: str) -> str:
    xcrun = program(env)
    if xcrun is None:
        raise DebuggerMissing(
            "simulators need Xcode, which is for macOS only; there is no `xcrun` on PATH.",
            next="dbg attach PID",
        )
    command = f"xcrun simctl {' '.join(args)}"
    try:
        result = await run([xcrun, "simctl", *args], cwd="/", env=env, timeout_s=_ANSWER_S)
    except DebuggerTimeout:
        raise DebuggerTimeout(
            f"`{command}` gave no answer within {_ANSWER_S:g} s.", next=command
        ) from None
    if result.status == 0:
        return result.out
    lines = [line.strip() for line in (result.err or result.out).splitlines() if line.strip()]
    why = (
        lines[0].removeprefix("xcrun: ").removeprefix("error: ") if lines else "it printed nothing"
    )
    if "unable to find utility" in why:
        raise DebuggerMissing(
            "simulators need Xcode itself; its command line tools alone have no `simctl`.",
            next="sudo xcode-select --switch /Applications/Xcode.app",
        )
    raise DebuggerError(f"`{command}` failed: {why.rstrip('.')}.", next=command)


# --- parsing its output -------------------------------------------------------------------------


def read_devices(text: str) -> list[Device]:
    """Return the simulators that `simctl list devices -j` lists, newest system first."""
    try:
        runtimes = json.loads(text)["devices"]
        found = [
            Device(each["udid"], each["name"], each["state"], _runtime(runtime))
            for runtime, listed in runtimes.items()
            for each in listed
            # Older versions have "YES", or no such field.
            if each.get("isAvailable", True) in (True, "YES")
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DebuggerError(
            f"`xcrun simctl list devices` did not print the expected JSON: {text[:80]!r}.",
            next="xcrun simctl list devices available -j",
        ) from None
    return found


def _runtime(key: str) -> str:
    """`com.apple.CoreSimulator.SimRuntime.iOS-17-2` → `iOS 17.2`."""
    system, *version = key.rpartition(".SimRuntime.")[2].split("-")
    return f"{system} {'.'.join(version)}" if version else key


def read_services(text: str) -> list[Service]:
    """Return the rows of `launchctl list`: process id, status, label."""
    found = []
    for line in text.splitlines():
        columns = line.split(None, 2)
        if len(columns) != 3 or not (columns[0] == "-" or columns[0].isdecimal()):
            continue  # the heading
        match = _LABEL.fullmatch(columns[2].strip())
        if match is not None:
            pid = int(columns[0]) if columns[0] != "-" else None
            app = columns[2].startswith(("UIKitApplication:", "application."))
            found.append(Service(match["app"] or match["id"], pid, app))
    return found
