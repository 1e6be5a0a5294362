"""Core files: find the program of one, and check that the build matches."""

from __future__ import annotations

import os

from freezeframe.backends.transport import corefile
from freezeframe.backends.transport.corefile import CoreFile
from freezeframe.errors import NotFound, UsageError

from . import _launch_target


def opened(program: str | None, core: str, cwd: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the program, the core file, and notes about the pair.

    Without *program*, use the one that the core file names, or one of that name next to it.
    """
    file = os.path.abspath(os.path.join(cwd, core))
    if not os.path.isfile(file):
        raise NotFound(f"there is no core file {core}.", next="dbg core PROGRAM COREFILE")
    named = _launch_target.existing(program, cwd) if program is not None else None
    core_file = corefile.read(file)
    if core_file is None:
        raise UsageError(f"{core} is not a core file.", next="dbg core PROGRAM COREFILE")
    path = named or _program_of(core_file, file, core)
    if not core_file.is_of(path):
        whose = core_file.name or (core_file.files[0] if core_file.files else "another program")
        return path, file, (f"{core} is the core file of another program than {path}: {whose}",)
    now = corefile.build_id(path)
    if core_file.build_id is not None and now is not None and now != core_file.build_id:
        name = os.path.basename(path)
        changed = f"{name} was rebuilt since: lines and values of this core file may be wrong"
        return path, file, (changed,)
    return path, file, (f"its program is {path}",) if named is None else ()


def _program_of(core_file: CoreFile, file: str, core: str) -> str:
    if core_file.executable is None:
        raise UsageError(f"{core} does not name its program.", next=f"dbg core PROGRAM {core}")
    # At its original path, or next to the core file, as both may come from another machine.
    name = os.path.basename(core_file.executable)
    beside = os.path.join(os.path.dirname(file), name)
    there = [path for path in (core_file.executable, beside) if os.path.isfile(path)]
    for path in there:
        if core_file.build_id is not None and corefile.build_id(path) == core_file.build_id:
            return path
    if not there:
        raise NotFound(
            f"{core} was written for {core_file.executable}, which no longer exists.",
            next=f"dbg core PROGRAM {core}",
        )
    return there[0]
