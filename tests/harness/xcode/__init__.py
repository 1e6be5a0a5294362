"""A stand-in for Xcode: an `xcrun` that answers from what the real one said, and hands over.

`devices.json`   `xcrun simctl list devices available -j`
`launchctl.txt`  `xcrun simctl spawn UDID launchctl list`, of a simulator in which little runs

What it is asked to debug with are the real lldb-dap and lldb, and what runs in its simulators are
processes of this machine.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.selection import known
from freezeframe.config import AdapterConfig
from harness.client import Dbg

_HERE = Path(__file__).parent
#: of the two simulators that have the same name, and of others
BOOTED = "A4C1D6B0-3D0E-4D55-8E44-5B9E1C77A202"
SAME_NAME = "0E5B2C9A-6A39-4B16-9D2D-2F1F5A1B7C01"
SHUT_DOWN = "C2B7E1F4-58AA-4E0B-9B0F-0D4F6E88D404"
TWICE = "iPhone 15"
IPAD = "iPad Pro (11-inch) (4th generation)"

_SCRIPT = """#!/bin/sh
printf '%s\\n' "$*" >> {asked}
case "$*" in
  "--find {dap_name}") echo {dap} ;;
  "--find lldb") echo {lldb} ;;
  "lldb "*) shift; exec {lldb} "$@" ;;
  "simctl list devices available -j") cat {devices} ;;
  "simctl spawn {booted} launchctl list") cat {services} ;;
  "simctl spawn "*) head -n 3 {services} ;;
  *) echo "xcrun: error: unable to find utility \\"$1\\", not a developer tool or in PATH" >&2
     exit 72 ;;
esac
"""


class Xcode:
    """An Xcode on the PATH of a test's caller."""

    def __init__(self, dbg: Dbg) -> None:
        self._folder = dbg.home / "bin"
        self._folder.mkdir(exist_ok=True)
        self._asked = self._folder / "asked"
        self._services = self._folder / "services"
        self._services.write_text((_HERE / "launchctl.txt").read_text())
        self.program = self._folder / "xcrun"
        self.program.write_text(
            _SCRIPT.format(
                asked=shlex.quote(str(self._asked)),
                services=shlex.quote(str(self._services)),
                devices=shlex.quote(str(_HERE / "devices.json")),
                dap_name="lldb-dap",
                dap=shlex.quote(_path_of("lldb-dap")),
                lldb=shlex.quote(_path_of("lldb-cli")),
                booted=BOOTED,
            )
        )
        self.program.chmod(0o755)
        dbg.env["PATH"] = f"{self._folder}{os.pathsep}{dbg.env['PATH']}"

    @property
    def asked(self) -> list[str]:
        """What it was called with so far."""
        return self._asked.read_text().splitlines() if self._asked.exists() else []

    def lacks(self, tool: str) -> None:
        """Find a tool no more, as an older Xcode."""
        text = self.program.read_text()
        self.program.write_text(text.replace(f"--find {tool}", "--find"))

    def launch(self, bundle_id: str, pid: int) -> None:
        """Let a process be the one of an app in the booted simulator."""
        line = f"{pid}\t0\tUIKitApplication:{bundle_id}[8f0c][rb-legacy]\n"
        new = self._services.with_suffix(".new")
        new.write_text(self._services.read_text() + line)
        new.replace(self._services)


def missing() -> str | None:
    """Return why the real debuggers cannot be handed over to."""
    found = (_look_for(name) for name in ("lldb-dap", "lldb-cli"))
    return next((each.reason for each in found if isinstance(each, Missing)), None)


def _look_for(name: str) -> Found | Missing:
    return known()[name].find(os.environ, AdapterConfig())


def _path_of(name: str) -> str:
    found = _look_for(name)
    assert isinstance(found, Found)
    return found.path
