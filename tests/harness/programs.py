"""Programs to debug, copied into a test's own project, with markers instead of line numbers."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import compilers

PROGRAMS = Path(__file__).parent.parent / "programs"
_MARKER = re.compile(r"(?:#|//|--|;|\(\*).*?@(?P<names>\w+(?:\s+@\w+)*)\s*(?:\*\))?$")


@dataclass(frozen=True)
class Program:
    """A program in a project: `name` is how a user in the project's root calls it."""

    name: str
    path: Path
    #: the file with the markers; the program itself where nothing is compiled
    source: Path
    #: marker → (file relative to the project's root, line)
    markers: dict[str, tuple[str, int]] = field(repr=False)

    def line(self, marker: str) -> int:
        return self._place(marker)[1]

    def at(self, marker: str) -> str:
        """Return `file:line` of a marker, as a user types it."""
        file, line = self._place(marker)
        return f"{file}:{line}"

    def file(self, marker: str) -> str:
        return self._place(marker)[0]

    def _place(self, marker: str) -> tuple[str, int]:
        try:
            return self.markers[marker]
        except KeyError:
            raise KeyError(f"{self.name} has no @{marker}; it has {sorted(self.markers)}") from None


def install(name: str, project: Path) -> Program:
    """Copy tests/programs/*name*, a file or a folder, into *project*."""
    source, target = PROGRAMS / name, project / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)
    return load(target, project)


def write(name: str, text: str, project: Path) -> Program:
    """Write a program that only one test needs."""
    target = project / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return load(target, project)


def compiled(source: Program, *flags: str, name: str | None = None) -> Program:
    """Compile a program beside its source; without a *name* it is the source's without suffix."""
    folder = source.path.parent
    made = compilers.language_of(source.path).made
    target = compilers.build(source.path, folder / (name or source.path.stem + made), *flags)
    called = Path(source.name).with_name(target.name).as_posix()
    return replace(source, name=called, path=target)


def load(target: Path, project: Path) -> Program:
    files = sorted(target.rglob("*")) if target.is_dir() else [target]
    markers: dict[str, tuple[str, int]] = {}
    for file in files:
        if not file.is_file():
            continue
        for marker, line in _markers(file).items():
            assert marker not in markers, f"@{marker} is twice in {target.name}"
            markers[marker] = (file.relative_to(project).as_posix(), line)
    return Program(target.relative_to(project).as_posix(), target, target, markers)


def _markers(file: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        match = _MARKER.search(line)
        for name in match["names"].replace("@", " ").split() if match else ():
            assert name not in found, f"@{name} is twice in {file.name}"
            found[name] = number
    return found
