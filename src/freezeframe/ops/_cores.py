"""Core files: the program that left one, and whether a program is the build that did."""

from __future__ import annotations

import os

from freezeframe.backends.transport import corefile
from freezeframe.backends.transport.corefile import CoreFile
from freezeframe.errors import NotFound, UsageError

from . import _programs


def opened(program: str | None, core: str, cwd: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the program, the core file, and what is to be said of the two together.

    Without a *program* the one that the core file names, or one of its name beside the core file.
    """
    file = os.path.abspath(os.path.join(cwd, core))
    if not os.path.isfile(file):
        raise NotFound(f"there is no core file {core}.", next="dbg core PROGRAM COREFILE")
    named = _programs.existing(program, cwd) if program is not None else None
    told = corefile.read(file)
    if told is None:
        raise UsageError(f"{core} is no core file.", next="dbg core PROGRAM COREFILE")
    path = named or _program_of(told, file, core)
    if not told.is_of(path):
        whose = told.name or (told.files[0] if told.files else "another program")
        return path, file, (f"{core} was left by another program than {path}: {whose}",)
    now = corefile.build_id(path)
    if told.build_id is not None and now is not None and now != told.build_id:
        name = os.path.basename(path)
        changed = f"{name} was built anew since: lines and values of this core file may be wrong"
        return path, file, (changed,)
    return path, file, (f"its program is {path}",) if named is None else ()


def _program_of(told: CoreFile, file: str, core: str) -> str:
    if told.executable is None:
        raise UsageError(
            f"{core} does not say which program left it.", next=f"dbg core PROGRAM {core}"
        )
    # Where it was, or beside the core file, as both may come from another machine.
    name = os.path.basename(told.executable)
    beside = os.path.join(os.path.dirname(file), name)
    there = [path for path in (told.executable, beside) if os.path.isfile(path)]
    for path in there:
        if told.build_id is not None and corefile.build_id(path) == told.build_id:
            return path
    if not there:
        raise NotFound(
            f"{core} was left by {told.executable}, which is not there any more.",
            next=f"dbg core PROGRAM {core}",
        )
    return there[0]
