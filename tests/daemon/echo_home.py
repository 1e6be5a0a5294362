"""A daemon of its own for a test, with a handler that needs no debugger, and real clients."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness.waits import alive, wait_until

HERE = Path(__file__).parent
FIRST = HERE / "client_with_handler.py"
HANDLER = f"{HERE / 'echo_handler.py'}:make"
CLIENT = HERE.parent.parent / "scripts" / "dbg"
PATIENCE_S = 30.0


def open_files(pid: int) -> list[str]:
    """Return what a process has open; what it closes while we look is left out."""
    names = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return names


class EchoHome:
    """FREEZEFRAME_HOME in a directory of its own; the daemon in it is made by the first command."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="ffe-", dir="/tmp"))
        self.path = self.base / "home"
        self.env = {
            name: value for name, value in os.environ.items() if not name.startswith("FREEZEFRAME_")
        }
        self.env["FREEZEFRAME_HOME"] = str(self.path)
        self.env["FREEZEFRAME_IDLE_TIMEOUT_S"] = "120"
        self.owners: set[int] = set()
        #: a traceback in the log is what the test is about
        self.expects_traceback = False

    def popen(self, *words: str | bytes, handler: str = HANDLER, **options: Any) -> Any:
        options = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "env": self.env,
            "cwd": self.base,
            **options,
        }
        return subprocess.Popen([sys.executable, str(FIRST), handler, *words], **options)

    def run(self, *words: str | bytes, stdin: bytes | None = None, **options: Any) -> Any:
        """Run a command to its end; the result has stdout and stderr as text."""
        if stdin is not None:
            options["stdin"] = subprocess.PIPE
        process = self.popen(*words, **options)
        try:
            out, err = process.communicate(stdin, timeout=PATIENCE_S)
        finally:
            process.kill()
        self.note_owner()
        decoded = [(text or b"").decode("utf-8", "surrogateescape") for text in (out, err)]
        return subprocess.CompletedProcess(words, process.returncode, *decoded)

    def facts(self) -> dict[str, Any]:
        found = json.loads(self.run("facts").stdout)
        assert isinstance(found, dict)
        return found

    def daemon_pid(self) -> int:
        return int(self.facts()["pid"])

    def owner(self) -> int:
        """Return the pid of the supervisor."""
        return int((self.path / "daemon.lock").read_text())

    def owner_or_none(self) -> int | None:
        try:
            return self.owner()
        except (FileNotFoundError, ValueError):
            return None

    def note_owner(self) -> None:
        if owner := self.owner_or_none():
            self.owners.add(owner)

    def connect(self) -> socket.socket:
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(PATIENCE_S)
        link.connect(str(self.path / "daemon.sock"))
        return link

    def log(self) -> str:
        path = self.path / "daemon.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_until_gone(self) -> None:
        wait_until(lambda: not any(map(alive, self.owners)), "the daemon is gone")

    def close(self) -> None:
        """End the daemon and check that it left nothing."""
        self.note_owner()
        if any(map(alive, self.owners)) and (self.path / "daemon.sock").exists():
            self.run("leave")
        for owner in self.owners:
            if alive(owner):
                # It may be leaving already.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(owner, signal.SIGTERM)
        self.wait_until_gone()
        log = self.log()
        names = sorted(path.name for path in self.path.glob("*"))
        shutil.rmtree(self.base)
        if not self.expects_traceback:
            assert "Traceback" not in log, log
        left = {name for name in names if not name.startswith(("daemon.log", "config"))}
        assert left <= {"start.lock", "daemon.lock"}, left
