"""Where the bench measures: an environment of its own, a daemon of its own, both taken away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
PROGRAMS = HERE / "programs"
VERSIONS = ("3.11", "3.12", "3.13")
#: a command that takes longer is a hang
HANG_S = 60.0


class Lab:
    """An interpreter with Freezeframe in it, and how commands are run and timed there."""

    def __init__(self, directory: Path, python: str, dbg: list[str]) -> None:
        """Use `fresh` or `in_place`."""
        self.directory = directory
        self.python = python
        self.dbg = dbg
        # What a shell of the user has: no variable that changes how Python starts.
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "FREEZEFRAME_", "DBG_", "PYDEVD_", "DEBUGPY_"))
        }
        self.env["VIRTUAL_ENV"] = str(Path(python).parent.parent)
        self.env["FREEZEFRAME_HOME"] = str(directory / "home")
        self._homes: list[dict[str, str]] = [self.env]

    def home(self, name: str) -> dict[str, str]:
        """Return an environment with another daemon, which is ended with the lab."""
        env = {**self.env, "FREEZEFRAME_HOME": str(self.directory / name)}
        self._homes.append(env)
        return env

    def run(self, *words: str, env: dict[str, str] | None = None) -> str:
        """Return what `dbg` printed. Raises RuntimeError when it failed."""
        return self.timed(*words, env=env)[1]

    def timed(self, *words: str, env: dict[str, str] | None = None) -> tuple[float, str]:
        """Return the seconds that a `dbg` command took, from its start to its end, and its text."""
        return self._timed([*self.dbg, *words], env or self.env)

    def floor_s(self) -> float:
        """Return the seconds of an interpreter that does nothing."""
        return self._timed([self.python, "-c", "pass"], self.env)[0]

    def plain_s(self, program: str) -> float:
        """Return the seconds that a program takes without a debugger."""
        return self._timed([self.python, str(PROGRAMS / program)], self.env)[0]

    def _timed(self, command: list[str], env: dict[str, str]) -> tuple[float, str]:
        begin = time.perf_counter()
        done = subprocess.run(
            command,
            env=env,
            cwd=PROGRAMS,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )
        took_s = time.perf_counter() - begin
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return took_s, done.stdout

    def close(self) -> None:
        for env in self._homes:
            if os.path.exists(os.path.join(env["FREEZEFRAME_HOME"], "daemon.sock")):
                self.run("daemon", "stop", env=env)


@contextmanager
def fresh() -> Iterator[Lab]:
    """A new virtual environment with the package installed as users install it."""
    with _directory() as directory:
        environment = directory / "environment"
        python = str(environment / "bin" / "python")
        # Without pip in it: what setuptools leaves there slows every start of its interpreter.
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True
        )
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--compile"]
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        subprocess.run([*pip, str(REPOSITORY)], check=True, env=clean)
        lab = Lab(directory, python, [str(environment / "bin" / "dbg")])
        try:
            yield lab
        finally:
            lab.close()


@contextmanager
def in_place() -> Iterator[Lab]:
    """The interpreter that runs this, and the sources as they are: no limit applies to that."""
    with _directory() as directory:
        lab = Lab(directory, sys.executable, [sys.executable, str(REPOSITORY / "scripts" / "dbg")])
        try:
            yield lab
        finally:
            lab.close()


@contextmanager
def _directory() -> Iterator[Path]:
    # Short, because a socket's path may have 107 bytes at most.
    directory = Path(tempfile.mkdtemp(prefix="ffb-", dir="/tmp"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def line_of(program: str, marker: str) -> int:
    """Return the number of the line that carries `@marker` in a comment."""
    lines = (PROGRAMS / program).read_text().splitlines()
    return next(
        n for n, line in enumerate(lines, 1) if line.endswith((f"# @{marker}", f"// @{marker}"))
    )


def interpreters() -> dict[str, str]:
    """Return the Pythons of this machine that programs are debugged under, by version."""
    found = {}
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for version in VERSIONS:
        # pyenv's own folder first: its shims on PATH take longer than what is measured.
        candidates = [
            *map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)),
            *filter(None, [shutil.which(f"python{version}")]),
        ]
        for candidate in candidates:
            ask = [candidate, "-I", "-S", "-c", "import sys; print(sys.executable)"]
            said = subprocess.run(ask, capture_output=True, text=True)
            if said.returncode == 0:
                found[version] = said.stdout.strip()
                break
    return found
