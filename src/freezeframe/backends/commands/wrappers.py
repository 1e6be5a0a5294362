"""Commands that run another one: env, uv run, poetry run, bundle exec and their like."""

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
from .line import CommandLine, Tools, nearest_above, prepare
from .options import split

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def is_assignment(word: str) -> bool:
    """Whether a word before a command sets a variable for it: `A=b`."""
    return _ASSIGNMENT.match(word) is not None


async def finished(
    line: CommandLine, tools: Tools, commands: list[shell.Simple], args: tuple[str, ...] = ()
) -> CommandLine:
    """Run all but the last of some commands, and return the line of that one.

    Where one before it runs tests or a program and fails, nothing behind that would be run: it is
    the one that is returned.
    """
    for each in commands[:-1]:
        try:
            line = await _run(line, tools, each)
        except BuildFailed:
            if not shell.is_runner(each.words[0]):
                raise
            said = f"`{each.text}` fails: it is debugged, and what follows it is not run"
            return line.then(*each.words, env=each.env).remarking(said)
    last = commands[-1]
    return line.then(*last.words, *args, env=last.env)


async def _run(line: CommandLine, tools: Tools, each: shell.Simple) -> CommandLine:
    if not each.words:
        return replace(line, env={**line.env, **each.env})
    if each.words[0] == "cd" and len(each.words) == 2:
        return line.moved_to(each.words[1])
    if each.words[0] == "export":
        pairs = dict(word.split("=", 1) for word in each.words[1:] if "=" in word)
        return replace(line, env={**line.env, **pairs})
    if each.words[0] in ("set", ":", "true", "echo", "printf"):
        return line
    return await prepare(line, tools, ("/bin/sh", "-c", each.text), each.text)


async def env(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `env A=b command`."""
    words = list(line.words[1:])
    kept = dict(line.env)
    while words:
        word = words[0]
        if word in ("-i", "-", "--ignore-environment"):
            kept = {}
        elif word in ("-u", "--unset") and len(words) > 1:
            kept.pop(words.pop(1), None)
        elif _ASSIGNMENT.match(word):
            name, _, value = word.partition("=")
            kept[name] = value
        elif word in ("-S", "--split-string", "--"):
            pass
        else:
            break
        words.pop(0)
    if not words:
        raise UsageError("`env` runs no program here.", next="dbg start env NAME=VALUE PROGRAM")
    return replace(line, words=tuple(words), env=kept)


#: commands that run another one in some other way, and their options whose value is a word
AROUND = {
    **dict.fromkeys(("time", "exec", "command", "nohup", "setsid", "unbuffer"), ()),
    "nice": ("-n",),
    "ionice": ("-c", "-n"),
    "stdbuf": ("-i", "-o", "-e"),
    "timeout": ("-s", "-k", "--signal", "--kill-after"),
    "watchexec": ("-e", "--exts", "-w", "--watch", "-i", "--ignore", "-f", "--filter", "-s"),
}
#: that would change what happens to a program which a debugger holds
_LEFT_OUT = ("timeout", "watchexec")


async def plain(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `time command`, `nice -n 5 command` as the command."""
    words = split(line.words[1:], AROUND[line.name]).rest
    words = words[1:] if words[:1] == ("--",) else words
    if line.name == "timeout":
        words = words[1:]
    if not words:
        return None
    if line.name in _LEFT_OUT:
        line = line.remarking(f"{line.name} itself is not run")
    return line.then(*words)


_SUDO = ("-u", "--user", "-g", "--group", "-C", "-h", "--host", "-p", "--prompt", "-r", "-t", "-D")


async def sudo(line: CommandLine, tools: Tools) -> CommandLine:
    """Read `sudo command` as the command, for who may do anything already."""
    found = split(line.words[1:], _SUDO)
    words = found.rest[1:] if found.rest[:1] == ("--",) else found.rest
    if not words:
        raise UsageError("`sudo` runs no program here.", next="dbg start PROGRAM")
    if os.geteuid() != 0 or found.value("-u", "--user") not in (None, "root"):
        user = found.value("-u", "--user")
        begin = shlex.join(("sudo", *(("-u", user) if user else ()), "dbg", "start"))
        raise UsageError(
            "a program of another user is debugged by that user's own dbg.",
            next=f"{begin} {shlex.join(words)}",
        )
    return line.then(*words)


async def elsewhere(line: CommandLine, tools: Tools) -> CommandLine:
    """Refuse what runs its program on another machine, or in a container."""
    raise UsageError(
        f"`{line.name}` runs its program where this debugger cannot start one.",
        next="dbg attach HOST:PORT --map /app=.",
    )


async def cross_env(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `cross-env A=b command`."""
    return await env(line, tools)


# --- environments of Python and Ruby projects ----------------------------------------------------

#: options of `X run` whose value is a word of its own
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
    """Read `uv run pytest` as pytest in the environment that uv gives it."""
    before = split(line.words[1:], _VALUED.get(line.name, ()))
    if before.rest[:1] != ("run",):
        return None
    found = split(before.rest[1:], _VALUED.get(line.name, ()))
    words = found.rest[1:] if found.rest[:1] == ("--",) else found.rest
    module = found.options and found.options[-1] in ("-m", "--module")
    options = found.options[:-1] if module else found.options
    if not words:
        tried = f"{line.name} run"
        raise UsageError(f"`{tried}` needs a command.", next=f"dbg start {tried} PROGRAM")
    if await _is_own_script(line, tools, words[0]):
        return None  # the tool itself is a program of Python, whose children are followed
    begin = (line.words[0], *before.options, "run", *options)
    interpreter, line = await _dumped(line, tools, (*begin, "python", "-c", _DUMP))
    if module:
        return line.then(interpreter, "-m", *words)
    if words[0].endswith(".py"):
        return line.then(interpreter, *words)
    return line.then(*words)


#: where the scripts of a tool's own are listed: the file, and the tables that lead there
_SCRIPTS = {
    "pdm": ("pyproject.toml", ("tool", "pdm", "scripts")),
    "rye": ("pyproject.toml", ("tool", "rye", "scripts")),
    "pipenv": ("Pipfile", ("scripts",)),
}


async def _is_own_script(line: CommandLine, tools: Tools, word: str) -> bool:
    """Whether a word names a script of the project, which only the tool itself can run."""
    if line.name == "hatch":
        if ":" in word:
            return True
        argv = (line.words[0], "env", "show", "--json")
        ran = await tools.run(argv, cwd=line.cwd, env=line.env)
        try:
            environments = json.loads(ran.out)
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
    if line.words[1:2] != ("exec",) or len(line.words) < 3:
        return None
    begin = (line.words[0], "exec", "ruby", "-e", _RUBY_DUMP)
    _, found = await _dumped(line, tools, begin)
    return found.then(*line.words[2:])


async def _dumped(
    line: CommandLine, tools: Tools, argv: tuple[str, ...]
) -> tuple[str, CommandLine]:
    """Return the interpreter that a wrapper runs, and the line in the environment it gives."""
    ran = await tools.run(argv, cwd=line.cwd, env=line.env)
    try:
        interpreter, made, cwd = json.loads(ran.out.strip().splitlines()[-1])
    except (ValueError, IndexError):
        said = (ran.err.strip() or ran.out.strip()).splitlines()[-8:]
        shown = " ".join(argv[:2])
        raise BuildFailed(
            "\n  ".join((f"`{shown}` gave no environment; it ended with {ran.status}.", *said)),
            next=f"{shown} env",
        ) from None
    there = line.moved_to(cwd) if os.path.realpath(cwd) != os.path.realpath(line.cwd) else line
    return interpreter, replace(there, env=_mapping(made))


def _mapping(made: Mapping[str, str]) -> dict[str, str]:
    return {str(name): str(value) for name, value in made.items()}


COMMANDS = {
    "env": env,
    "cross-env": cross_env,
    **dict.fromkeys(AROUND, plain),
    "sudo": sudo,
    **dict.fromkeys(("docker", "podman", "docker-compose", "ssh", "kubectl"), elsewhere),
    "bundle": bundle,
    **dict.fromkeys(("uv", "poetry", "pdm", "pipenv", "rye", "hatch", "conda"), project_run),
}
