"""Commands of `dbg` on Windows' Python, run by wine."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness import requirements
from harness.client import REPOSITORY, Answer

PYTHON = REPOSITORY / ".cache" / "windows" / "python.exe"
PREFIX = REPOSITORY / ".cache" / "windows-prefix"
#: wine is slow, and its first start reads every module
HANG_S = 240.0


def require() -> None:
    """Give up where wine or Windows' Python is not installed."""
    requirements.need("wine", "apt-get install wine wine64")
    for path in (PYTHON, PREFIX / "system.reg"):
        if not path.exists():
            requirements.give_up(f"there is no {path.relative_to(REPOSITORY)}: sh check.sh")


def windows_path(path: Path) -> str:
    """Return a path of this system as programs under wine know it."""
    return "Z:" + str(path).replace("/", "\\")


@dataclass
class WindowsDbg:
    """The client under wine, with a home of its own, in one project."""

    home: Path
    project: Path

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {
            **kept,
            "WINEPREFIX": str(PREFIX),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml=;winemenubuilder.exe=d",
            "FREEZEFRAME_HOME": windows_path(self.home),
        }

    def command(self, *args: str) -> list[str]:
        wine = shutil.which("wine")
        assert wine is not None
        main = REPOSITORY / "src" / "freezeframe" / "__main__.py"
        return [wine, str(PYTHON), "-P", windows_path(main), *args]

    def __call__(self, *args: str, status: int | None = 0) -> Answer:
        """Run a command to its end, and check its exit status unless it is None."""
        # Under wine the daemon keeps this end of the pipe open: what is there at the client's exit
        # is read, and no end is waited for.
        reader, writer = os.pipe()
        try:
            process = subprocess.Popen(
                self.command(*args),
                cwd=self.project,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=writer,
                encoding="utf-8",
            )
            out, _ = process.communicate(timeout=HANG_S)
            os.set_blocking(reader, False)
            try:
                err = os.read(reader, 1 << 16).decode()
            except BlockingIOError:
                err = ""
        finally:
            os.close(reader)
            os.close(writer)
        answer = Answer(args, out.replace("\r\n", "\n"), err, process.returncode)
        assert status in (None, answer.code), str(answer)
        return answer
