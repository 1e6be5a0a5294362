"""Files that are programs: scripts by their first line, programs in a project's own folders."""

from __future__ import annotations

import os
import re

from freezeframe.errors import NotFound, UsageError

from . import python, shell
from .command_line import CommandLine, Program, Tools
from .followed_commands import followed
from .wrappers import finished

_HEAD = 4096
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash")
#: the longest script that is read as a list of commands
_MAX_SIZE = 100_000
#: the last line of a shim of pyenv, rbenv, nodenv, phpenv, plenv or asdf
_VERSION_MANAGER = re.compile(r"""^exec "?([^"\s]+)"? exec \S+ "\$@"[^\n]*\s*\Z""", re.MULTILINE)
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
    """Read a file by its first line; None if it is not a script, or runs by itself."""
    try:
        with open(path, "rb") as file:
            first = file.read(_HEAD)
    except OSError:
        return None
    args = line.argv[1:]
    found = python.script(path, first, args, line)
    if found is not None:
        return found
    argv = python.shebang(first)
    if not argv:
        return None
    name = os.path.basename(argv[0])
    if name in _SHELLS:
        return await _shell_script(line, tools, path, line.then(path, *args))
    interpreter = line.which(argv[0])
    # Our node backend reads the options of the first line itself.
    options = () if name == "node" else argv[1:]
    return Program(path, args, interpreter=interpreter, interpreter_args=options)


async def _shell_script(
    line: CommandLine, tools: Tools, path: str, command: CommandLine
) -> CommandLine | Program | None:
    """Read a script whose commands run one after the other: the last one is the program.

    *command* runs the script: what is in it is followed where it is more than commands in a row.
    """
    target = _shim(path)
    if target is not None:
        return line.then("node", target, *line.argv[1:])
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(_MAX_SIZE)
    if managed := _VERSION_MANAGER.search(text):
        return line.then(await _managed(line, tools, managed[1], path), *line.argv[1:])
    folder = os.path.dirname(path)
    env = {**line.env, "0": path}
    rows = [row.strip() for row in text.replace("\\\n", " ").splitlines()]
    rows = [row for row in rows if row and not row.startswith("#")]
    commands: list[shell.Simple] = []
    takes_args = bool(rows) and '"$@"' in rows[-1]
    for row in rows:
        plain = row.replace('"$@"', "").replace('"$(dirname "$0")"', folder)
        parsed = shell.read(plain.removeprefix("exec "), env, line.cwd)
        if parsed is None:
            program = followed(command, text)
            if program is not None:
                return program
            shown = os.path.relpath(path, line.cwd)
            raise UsageError(
                f"{shown} is a shell script with more in it than commands in a row: `{row[:80]}`.",
                next="dbg start PROGRAM  # the command in it that is to be debugged",
            )
        commands += parsed
    while commands and not commands[-1].argv:
        commands.pop()
    if not commands:
        return None
    ready = await finished(line, tools, commands, line.argv[1:] if takes_args else ())
    return ready.remarking(f"{os.path.basename(path)} runs: {commands[-1].text}")


async def _managed(line: CommandLine, tools: Tools, manager: str, path: str) -> str:
    """Return the program behind a version manager's shim. Raises NotFound if it has none."""
    name = os.path.basename(path)
    result = await tools.run((manager, "which", name), cwd=line.cwd, env=line.env)
    found = result.out.strip()
    if result.status != 0 or not os.path.isfile(found):
        reason = (result.err.strip() or f"{name}: command not found").splitlines()[0]
        raise NotFound(f"{reason.rstrip('.')}.", next=f"{os.path.basename(manager)} versions")
    return found


def _shim(path: str) -> str | None:
    """Return the JavaScript file that a package manager's script in `.bin` runs."""
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
    args = list(line.argv[1:])
    while args and args[0].startswith(("-", "+")):
        option = args.pop(0)
        if _COMMAND_OPTION.fullmatch(option):
            return await _commands(line, tools, args[0] if args else "", tuple(args[1:]))
        if option in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            del args[:1]
    path = line.path(args[0]) if args else ""
    if not os.path.isfile(path):
        shown = f"there is no script {args[0]} in {line.cwd}" if args else "it reads commands"
        raise UsageError(f"`{line.name}` runs no program here: {shown}.", next="dbg start PROGRAM")
    script = line.then(path, *args[1:])
    return await _shell_script(script, tools, path, line) or Program(path, tuple(args[1:]))


async def _commands(
    line: CommandLine, tools: Tools, text: str, args: tuple[str, ...]
) -> CommandLine | Program:
    commands = shell.read(text.strip().removeprefix("exec "), line.env, line.cwd)
    is_row = bool(commands and commands[-1].argv and not args)
    if commands and is_row and not shell.ends_with_report(commands):
        return await finished(line, tools, commands)
    program = followed(line, text)
    if program is None and commands and is_row:
        return await finished(line, tools, commands)
    if program is None:
        raise UsageError(
            f"only a shell can run `{text[:80]}`, and no program is known in it.",
            next="dbg start PROGRAM  # the command in it that is to be debugged",
        )
    return program


async def children(line: CommandLine, tools: Tools) -> Program | None:
    """Read a command that runs its arguments as a command, more than once: xargs, parallel."""
    return followed(line, " ".join(line.argv[1:]))


COMMANDS = {
    **dict.fromkeys(_SHELLS, shell_command),
    **dict.fromkeys(("xargs", "parallel", "entr"), children),
}
