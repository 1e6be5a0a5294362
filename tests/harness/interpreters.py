"""The Pythons of this machine that programs are debugged under."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SUPPORTED = ("3.11", "3.12", "3.13")
_ASK = "import sys; print('%d.%d' % sys.version_info[:2], sys._base_executable)"


@dataclass(frozen=True)
class Interpreter:
    version: str
    #: the interpreter itself, neither a shim nor a venv's link to it
    path: str

    def __str__(self) -> str:
        return self.version


@functools.cache
def interpreters() -> tuple[Interpreter, ...]:
    """Return one interpreter for each supported version that is installed, oldest first.

    The version that runs the tests is always among them. FREEZEFRAME_TEST_PYTHONS, a list of
    versions separated by commas, narrows the choice and makes each one in it required.
    """
    here = Interpreter(
        f"{sys.version_info[0]}.{sys.version_info[1]}", os.path.realpath(sys.executable)
    )
    found = {here.version: here}
    wanted = [word for word in os.environ.get("FREEZEFRAME_TEST_PYTHONS", "").split(",") if word]
    for version in wanted or SUPPORTED:
        if version not in found and (interpreter := _find(version)):
            found[version] = interpreter
    missing = [version for version in wanted if version not in found]
    if missing:
        raise LookupError(f"no Python {', '.join(missing)} on PATH or below pyenv's versions")
    chosen = [found[version] for version in wanted] if wanted else found.values()
    return tuple(sorted(chosen, key=lambda each: tuple(map(int, each.version.split(".")))))


def _find(version: str) -> Interpreter | None:
    # pyenv's own folder first: its shims on PATH are slow, and refuse versions that are not active.
    candidates = sorted(_pyenv_versions().glob(f"{version}.*/bin/python{version}"), reverse=True)
    on_path = shutil.which(f"python{version}")
    for candidate in [*map(str, candidates), *([on_path] if on_path else [])]:
        try:
            answer = subprocess.run(
                [candidate, "-I", "-S", "-c", _ASK], capture_output=True, text=True, timeout=20
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        said, _, path = answer.stdout.strip().partition(" ")
        if answer.returncode == 0 and said == version:
            return Interpreter(version, os.path.realpath(path))
    return None


def _pyenv_versions() -> Path:
    root = os.environ.get("PYENV_ROOT")
    return (Path(root) if root else Path.home() / ".pyenv") / "versions"
