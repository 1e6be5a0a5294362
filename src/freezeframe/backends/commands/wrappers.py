"""Commands that run another one: env, uv run, poetry run, bundle exec and similar."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe.errors import BuildFailed, UsageError

from . import shell
from .command_line import CommandLine, Tools, nearest_above, prepare
from .options import split

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def is_assignment(word: str) -> bool:
    """Return whether a word before a command sets a variable for it: `A=b`."""
    return _ASSIGNMENT.match(word) is not None


async def finished(
    line: CommandLine, tools: Tools, commands: list[shell.Simple], args: tuple[str, ...] = ()
) -> CommandLine:
    """Run all but the last of some commands, and return the line of the last.

    If an earlier command runs tests or a program and fails, nothing after it would be run: that
    command is returned.
    """
    for each in commands[:-1]:
        try:
            line = await _run(line, tools, each)
        except BuildFailed:
            if not shell.is_runner(each.argv[0]):
                raise
            remark = f"`{each.text}` fails: it is debugged, and what follows it is not run"
            return line.then(*each.argv, env=each.env).remarking(remark)
    last = commands[-1]
    return line.then(*last.argv, *args, env=last.env)


async def _run(line: CommandLine, tools: Tools, each: shell.Simple) -> CommandLine:
    if not each.argv:
        return replace(line, env={**line.env, **each.env})
    if each.argv[0] == "cd" and len(each.argv) == 2:
        return line.moved_to(each.argv[1])
    if each.argv[0] == "export":
        pairs = dict(word.split("=", 1) for word in each.argv[1:] if "=" in word)
        return replace(line, env={**line.env, **pairs})
    if each.argv[0] in ("set", ":", "true", "echo", "printf"):
        return line
    return await prepare(line, tools, ("/bin/sh", "-c", each.text), each.text)


async def env(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `env A=b command`."""
    argv = list(line.argv[1:])
    kept = dict(line.env)
    while argv:
        word = argv[0]
        if word in ("-i", "-", "--ignore-environment"):
            kept = {}
        elif word in ("-u", "--unset") and len(argv) > 1:
            kept.pop(argv.pop(1), None)
        elif _ASSIGNMENT.match(word):
            name, _, value = word.partition("=")
            kept[name] = value
        elif word in ("-S", "--split-string", "--"):
            pass
        else:
            break
        argv.pop(0)
    if not argv:
        raise UsageError("`env` runs no program here.", next="dbg start env NAME=VALUE PROGRAM")
    return replace(line, argv=tuple(argv), env=kept)


#: commands that run another one differently, and their options whose value is the next word
PREFIX_COMMANDS = {
    **dict.fromkeys(("time", "exec", "command", "nohup", "setsid", "unbuffer"), ()),
    "nice": ("-n",),
    "ionice": ("-c", "-n"),
    "stdbuf": ("-i", "-o", "-e"),
    "timeout": ("-s", "-k", "--signal", "--kill-after"),
    "watchexec": ("-e", "--exts", "-w", "--watch", "-i", "--ignore", "-f", "--filter", "-s"),
}
#: those that would interfere with a debugged program
_NOT_RUN = ("timeout", "watchexec")


async def plain(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `time command`, `nice -n 5 command` as the command."""
    argv = split(line.argv[1:], PREFIX_COMMANDS[line.name]).rest
    argv = argv[1:] if argv[:1] == ("--",) else argv
    if line.name == "timeout":
        argv = argv[1:]
    if not argv:
        return None
    if line.name in _NOT_RUN:
        line = line.remarking(f"{line.name} itself is not run")
    return line.then(*argv)


_SUDO = ("-u", "--user", "-g", "--group", "-C", "-h", "--host", "-p", "--prompt", "-r", "-t", "-D")


async def sudo(line: CommandLine, tools: Tools) -> CommandLine:
    """Read `sudo command` as the command, if the user is root already."""
    found = split(line.argv[1:], _SUDO)
    argv = found.rest[1:] if found.rest[:1] == ("--",) else found.rest
    if not argv:
        raise UsageError("`sudo` runs no program here.", next="dbg start PROGRAM")
    if os.geteuid() != 0 or found.value("-u", "--user") not in (None, "root"):
        user = found.value("-u", "--user")
        begin = shlex.join(("sudo", *(("-u", user) if user else ()), "dbg", "start"))
        raise UsageError(
            "a program of another user is debugged by that user's own dbg.",
            next=f"{begin} {shlex.join(argv)}",
        )
    return line.then(*argv)


async def elsewhere(line: CommandLine, tools: Tools) -> CommandLine:
    """Refuse a command that runs its program on another machine, or in a container."""
    raise UsageError(
        f"`{line.name}` runs its program where this debugger cannot start one.",
        next="dbg attach HOST:PORT --map /app=.",
    )


async def cross_env(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `cross-env A=b command`."""
    return await env(line, tools)


# --- environments of Python and Ruby projects ----------------------------------------------------

#: options of `X run` whose value is the next word
_VALUED = {
    "uv": (
        *(
            "--with",
            "--with-editable",
            "--with-requirements",
            "--python",
            "-p",
            "--extra",
            "--env-file",
        ),
        *("--group", "--no-group", "--only-group", "--package", "--project", "--directory"),
        *("--index", "--index-url", "-i", "--extra-index-url", "--find-links", "-f"),
    ),
    "conda": ("-n", "--name", "-p", "--prefix", "--cwd"),
    "hatch": ("-e", "--env"),
}
_DUMP = (
    "import json, os, sys; print(); "
    "print(json.dumps([sys.executable, dict(os.environ), os.getcwd()]))"
)
_RUBY_DUMP = "require 'json'; puts; puts JSON.dump([RbConfig.ruby, ENV.to_h, Dir.pwd])"


async def project_run(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `uv run pytest` as pytest in the environment that uv sets up."""
    before = split(line.argv[1:], _VALUED.get(line.name, ()))
    if before.rest[:1] != ("run",):
        return None
    found = split(before.rest[1:], _VALUED.get(line.name, ()))
    argv = found.rest[1:] if found.rest[:1] == ("--",) else found.rest
    module = found.options and found.options[-1] in ("-m", "--module")
    options = found.options[:-1] if module else found.options
    if not argv:
        tried = f"{line.name} run"
        raise UsageError(f"`{tried}` needs a command.", next=f"dbg start {tried} PROGRAM")
    if await _is_own_script(line, tools, argv[0]):
        return None  # the tool itself is a Python program, whose children are followed
    begin = (line.argv[0], *before.options, "run", *options)
    interpreter, line = await _dump_environment(line, tools, (*begin, "python", "-c", _DUMP))
    if module:
        return line.then(interpreter, "-m", *argv)
    if argv[0].endswith(".py"):
        return line.then(interpreter, *argv)
    return line.then(*argv)


#: where a tool lists its scripts: the file, and the path of tables in it
_SCRIPTS = {
    "pdm": ("pyproject.toml", ("tool", "pdm", "scripts")),
    "rye": ("pyproject.toml", ("tool", "rye", "scripts")),
    "pipenv": ("Pipfile", ("scripts",)),
}


async def _is_own_script(line: CommandLine, tools: Tools, word: str) -> bool:
    """Return whether a word names a script of the project, which only the tool itself can run."""
    if line.name == "hatch":
        if ":" in word:
            return True
        argv = (line.argv[0], "env", "show", "--json")
        result = await tools.run(argv, cwd=line.cwd, env=line.env)
        try:
            environments = json.loads(result.out)
            return any(word in (each.get("scripts") or {}) for each in environments.values())
        except (ValueError, AttributeError):
            return False
    if line.name not in _SCRIPTS:
        return False
    name, tables = _SCRIPTS[line.name]
    path = nearest_above(line.cwd, name)
    if path is None:
        return False
    try:
        with open(path, "rb") as file:
            found: Any = tomllib.load(file)
    except (OSError, ValueError):
        return False
    for table in tables:
        found = found.get(table) if isinstance(found, dict) else None
    return isinstance(found, dict) and word in found


async def bundle(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `bundle exec rspec` as rspec with the gems of the Gemfile."""
    if line.argv[1:2] != ("exec",) or len(line.argv) < 3:
        return None
    begin = (line.argv[0], "exec", "ruby", "-e", _RUBY_DUMP)
    _, found = await _dump_environment(line, tools, begin)
    return found.then(*line.argv[2:])


async def _dump_environment(
    line: CommandLine, tools: Tools, argv: tuple[str, ...]
) -> tuple[str, CommandLine]:
    """Return the interpreter that a wrapper runs, and the line in the environment it sets up."""
    result = await tools.run(argv, cwd=line.cwd, env=line.env)
    try:
        interpreter, variables, cwd = json.loads(result.out.strip().splitlines()[-1])
    except (ValueError, IndexError):
        remark = (result.err.strip() or result.out.strip()).splitlines()[-8:]
        shown = " ".join(argv[:2])
        raise BuildFailed(
            "\n  ".join(
                (f"`{shown}` gave no environment; it ended with {result.status}.", *remark)
            ),
            next=f"{shown} env",
        ) from None
    moved_line = line.moved_to(cwd) if os.path.realpath(cwd) != os.path.realpath(line.cwd) else line
    return interpreter, replace(moved_line, env=_mapping(variables))


def _mapping(variables: Mapping[str, str]) -> dict[str, str]:
    return {str(name): str(value) for name, value in variables.items()}


COMMANDS = {
    "env": env,
    "cross-env": cross_env,
    **dict.fromkeys(PREFIX_COMMANDS, plain),
    "sudo": sudo,
    **dict.fromkeys(("docker", "podman", "docker-compose", "ssh", "kubectl"), elsewhere),
    "bundle": bundle,
    **dict.fromkeys(("uv", "poetry", "pdm", "pipenv", "rye", "hatch", "conda"), project_run),
}
