"""Resolve a command line to the program that it runs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from freezeframe.errors import NotFound, UsageError

from . import cargo, go, java, make, node, npm, php_perl, prove, python, ruby, scripts, wrappers
from .command_line import CommandLine, Program, Resolved, Step, Tools
from .python_environments import environment_with

#: nesting limit of commands that run commands
_MAX_DEPTH = 12

#: commands that run another one, and need not be installed themselves
_LOCAL = ("tsx", "ts-node", "npx", "go", "sudo", "bun", "deno", *wrappers.PREFIX_COMMANDS)
_COMMANDS: Mapping[str, Step] = {
    **cargo.COMMANDS,
    **go.COMMANDS,
    **java.COMMANDS,
    **make.COMMANDS,
    **prove.COMMANDS,
    **ruby.COMMANDS,
    **php_perl.COMMANDS,
    **node.COMMANDS,
    **npm.COMMANDS,
    **scripts.COMMANDS,
    **wrappers.COMMANDS,
}


async def resolve(line: CommandLine, tools: Tools) -> Resolved | None:
    """Return the program that a command line runs; None if its first word is a program itself.

    What the command runs before its program has then been run. Raises NotFound or UsageError with
    the alternatives, BuildFailed if a preparation fails.
    """
    first = line
    for _ in range(_MAX_DEPTH):
        found = await _once(line, tools)
        if isinstance(found, Program):
            return Resolved(found, line)
        if found is None:
            return None if line is first else _file(line)
        line = found
    raise UsageError(f"`{' '.join(first.argv)}` runs itself endlessly.")


def _file(line: CommandLine) -> Resolved:
    """Return the program at the end of an unwrapped line, as it is."""
    path = line.path(line.argv[0])
    if not os.path.exists(path):
        path = line.which(line.argv[0]) or ""
    if not path:
        raise NotFound(
            f"there is no program {line.argv[0]} in {line.cwd}.", next="dbg start PROGRAM"
        )
    return Resolved(Program(path, line.argv[1:]), line)


async def _once(line: CommandLine, tools: Tools) -> CommandLine | Program | None:
    word = line.argv[0]
    if wrappers.is_assignment(word) and len(line.argv) > 1:
        return await wrappers.env(line.then("env", *line.argv), tools)
    if python.is_test(line):
        there = await environment_with("pytest", line, tools, resolve)
        return there.line.then(there.interpreter, "-m", "pytest", *line.argv)
    if os.sep not in word and _is_here(line, word):
        # A file or a project in the current folder, by its name.
        is_script = os.path.isfile(line.path(word)) and not _has_suffix(word)
        return await scripts.script(line, tools, line.path(word)) if is_script else None
    path = line.which(word)
    known = _known(line.name)
    if known is not None and (path is not None or os.sep not in word):
        if path is None and scripts.local_program(line, word) is None and word not in _LOCAL:
            raise NotFound(f"there is no {word} on PATH.", next="dbg start PROGRAM")
        found = await known(line, tools)
        if found is not None:
            return found
    if path is None and os.sep not in word:
        path = scripts.local_program(line, word)
        if path is None:
            return None
        line = line.remarking(f"{word} is {os.path.relpath(path, line.cwd)}, which is not on PATH")
        return line.then(path, *line.argv[1:])
    if path is None or _has_suffix(word):
        return None
    found = await scripts.script(line, tools, path)
    if found is None and os.sep not in word:
        return Program(path, line.argv[1:])
    return found


def _known(name: str) -> Step | None:
    if python.is_runtime(name):
        return python.python
    return _COMMANDS.get(re.sub(r"[\d.]+$", "", name)) or _COMMANDS.get(name)


def _is_here(line: CommandLine, word: str) -> bool:
    """Return whether a bare word names a file here, or a folder if no command has that name."""
    path = line.path(word)
    if os.path.isdir(path):
        return _known(word) is None and line.which(word) is None
    return os.path.exists(path)


def _has_suffix(word: str) -> bool:
    """Return whether a file's suffix names its type: `app.py`, but not `run.sh` or `pip3.11`."""
    suffix = os.path.splitext(os.path.basename(word))[1]
    return bool(suffix) and suffix != ".sh" and not suffix[1:].isdecimal()
