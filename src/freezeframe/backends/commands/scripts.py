"""Files that are programs: scripts by their first line, programs of a project's own folders."""

from __future__ import annotations

import os
import re

from freezeframe.errors import UsageError

from . import python, shell
from .followed import followed
from .line import CommandLine, Program, Tools
from .wrappers import finished

_HEAD = 4096
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash")
#: the longest script that is read as a list of commands
_LONGEST = 100_000
#: where projects keep programs that are not on PATH, below the current folder or one above it
_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin", "vendor/bin", "bin")


def local_program(line: CommandLine, name: str) -> str | None:
    """Return a program of the project that a shell would not find by its bare name."""
    folder = line.cwd
    while True:
        for each in _FOLDERS:
            path = os.path.join(folder, each, name)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = parent


async def script(line: CommandLine, tools: Tools, path: str) -> CommandLine | Program | None:
    """Read a file by its first line; None for what is no script, or one that runs by itself."""
    try:
        with open(path, "rb") as file:
            first = file.read(_HEAD)
    except OSError:
        return None
    args = line.words[1:]
    found = python.script(path, first, args, line)
    if found is not None:
        return found
    words = python.shebang(first)
    if not words:
        return None
    name = os.path.basename(words[0])
    if name in _SHELLS:
        return await _shell_script(line, tools, path)
    interpreter = line.which(words[0])
    # The debugger of node reads the options of the first line itself.
    options = () if name == "node" else words[1:]
    return Program(path, args, interpreter=interpreter, interpreter_args=options)


async def _shell_script(line: CommandLine, tools: Tools, path: str) -> CommandLine | Program | None:
    """Read a script whose commands run one after the other: the last one is the program."""
    target = _shim(path)
    if target is not None:
        return line.then("node", target, *line.words[1:])
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(_LONGEST)
    folder = os.path.dirname(path)
    env = {**line.env, "0": path}
    rows = [row.strip() for row in text.replace("\\\n", " ").splitlines()]
    rows = [row for row in rows if row and not row.startswith("#")]
    commands: list[shell.Simple] = []
    passes_on = bool(rows) and '"$@"' in rows[-1]
    for row in rows:
        plain = row.replace('"$@"', "").replace('"$(dirname "$0")"', folder)
        read = shell.read(plain.removeprefix("exec "), env, line.cwd)
        if read is None:
            program = followed(line.then(path, *line.words[1:]), text)
            if program is not None:
                return program
            shown = os.path.relpath(path, line.cwd)
            raise UsageError(
                f"{shown} is a shell script with more in it than commands in a row: `{row[:80]}`.",
                next="dbg start PROGRAM  # the command in it that is to be debugged",
            )
        commands += read
    while commands and not commands[-1].words:
        commands.pop()
    if not commands:
        return None
    ready = await finished(line, tools, commands, line.words[1:] if passes_on else ())
    return ready.remarking(f"{os.path.basename(path)} runs: {commands[-1].text}")


def _shim(path: str) -> str | None:
    """Return the file of JavaScript that a package manager's script in `.bin` runs."""
    if os.path.basename(os.path.dirname(path)) != ".bin":
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(_HEAD)
    for word in text.split():
        inner = word.strip('"')
        if inner.startswith("$basedir/") and inner.endswith((".js", ".mjs", ".cjs")):
            return os.path.normpath(os.path.join(os.path.dirname(path), inner[len("$basedir/") :]))
    return None


_COMMAND_OPTION = re.compile(r"-[a-z]*c")


async def shell_command(line: CommandLine, tools: Tools) -> CommandLine | Program:
    """Read `sh -c 'commands'` and `bash script.sh`."""
    words = list(line.words[1:])
    while words and words[0].startswith(("-", "+")):
        option = words.pop(0)
        if _COMMAND_OPTION.fullmatch(option):
            return await _commands(line, tools, words[0] if words else "", tuple(words[1:]))
        if option in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            del words[:1]
    path = line.path(words[0]) if words else ""
    if not os.path.isfile(path):
        shown = f"there is no script {words[0]} in {line.cwd}" if words else "it reads commands"
        raise UsageError(f"`{line.name}` runs no program here: {shown}.", next="dbg start PROGRAM")
    script = line.then(path, *words[1:])
    return await _shell_script(script, tools, path) or Program(path, tuple(words[1:]))


async def _commands(
    line: CommandLine, tools: Tools, text: str, args: tuple[str, ...]
) -> CommandLine | Program:
    commands = shell.read(text.strip().removeprefix("exec "), line.env, line.cwd)
    if commands and commands[-1].words and not args:
        return await finished(line, tools, commands)
    program = followed(line, text)
    if program is None:
        raise UsageError(
            f"only a shell can run `{text[:80]}`, and no program is known in it.",
            next="dbg start PROGRAM  # the command in it that is to be debugged",
        )
    return program


async def children(line: CommandLine, tools: Tools) -> Program | None:
    """Read a command that runs what stands behind it, more than once: xargs, parallel."""
    return followed(line, " ".join(line.words[1:]))


COMMANDS = {
    **dict.fromkeys(_SHELLS, shell_command),
    **dict.fromkeys(("xargs", "parallel", "entr"), children),
}
