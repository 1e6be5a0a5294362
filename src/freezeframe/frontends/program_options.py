"""Whose an option behind a program's name is: the operation's, or the program's own."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from freezeframe.ops._guesses import nearest
from freezeframe.ops._registry import GLOBAL_OPTIONS, OpSpec, ParamSpec

#: how alike an option must be to one of ours to be taken for a misspelling of it
_ALIKE = 0.85
#: what `-b` behind a command's name takes: a line of a file, or the name of a function; and a
#: condition, as gdb writes it
_LOCATION = re.compile(r"(?:.*:\d+|[A-Za-z_~][\w.:~<>$!*]*)(?:\s+if\s.+)?", re.DOTALL)
_LINE = re.compile(r".+:\d+(?:\s+if\s.+)?", re.DOTALL)
#: what `-b` of a server takes: an address to listen at
_ADDRESS = re.compile(r"(?:[\d.]+|localhost|\[.*\]|\*)?:\d+")
#: a command with its version: `python3.12`
_VERSIONED = re.compile(r"[a-z]+[\d.]+")

#: folders whose programs are commands with options of their own: `node_modules/.bin/jest -t x`
_BIN = ("bin", ".bin", "Scripts")
#: wrappers that lie in a project's own folder
_WRAPPERS = ("gradlew", "mvnw")
#: commands that hand what stands behind a `--` of theirs to what they run
_SEPARATING = frozenset(
    (
        *("cargo", "npm", "npx", "pnpm", "yarn", "tox", "nox", "dotnet"),
        *("uv", "poetry", "pdm", "hatch", "rye", "pipenv", "conda", "bun", "bunx"),
    )
)
#: commands that only stand before another one
_BEFORE = frozenset(("env", "time", "exec", "command", "nohup", "sudo", "nice", "cross-env"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def is_command(program: str) -> bool:
    """Whether a word names a command, which has options of its own, rather than a file."""
    if _ASSIGNMENT.match(program):
        return True  # and a command behind it
    folder, name = os.path.split(program)
    if not folder:
        return "." not in name or _VERSIONED.fullmatch(name) is not None
    return os.path.basename(folder) in _BIN or name in _WRAPPERS


def keeps_separator(words: Sequence[str]) -> bool:
    """Whether a `--` behind these words of a command is its own."""
    for word in words:
        name = os.path.basename(word)
        if name in _SEPARATING:
            return True
        if not (word.startswith("-") or name in _BEFORE or _ASSIGNMENT.match(word)):
            return False
    return False


def belongs_to_command(
    token: str, following: str, program: str, spec: OpSpec, *, module: bool
) -> bool:
    """Whether an option that stands behind *program* is the program's own, not the operation's."""
    loose = module or is_command(program)
    if token.startswith("--"):
        name = token.partition("=")[0]
        if _option(spec, name) is None:
            # A misspelt one is pointed out: the program would get what was meant for us.
            return not _is_misspelt(spec, name)
        return (loose and name == "--help") or name == "--module"
    if token.startswith("-b") and "-b" in spec.options:
        attached = token[2:].removeprefix("=")
        given = _LINE.fullmatch(attached) if attached else _LOCATION.fullmatch(following)
        is_address = _ADDRESS.fullmatch(attached or following) is not None
        return loose and (given is None or is_address)
    return loose or token.startswith("-m") or not _is_cluster(spec, token)


def _option(spec: OpSpec, name: str) -> tuple[ParamSpec, bool] | None:
    return spec.options.get(name) or GLOBAL_OPTIONS.get(name)


def _is_misspelt(spec: OpSpec, name: str) -> bool:
    own = [each for each, (param, _) in spec.options.items() if not param.hidden]
    names = [each[2:] for each in (*own, *GLOBAL_OPTIONS) if len(each) > 2]
    return len(name) > 5 and bool(nearest(name[2:], names, cutoff=_ALIKE))


def _is_cluster(spec: OpSpec, token: str) -> bool:
    """Whether *token* is short options of the operation's: `-e`, `-t5`."""
    for letter in token[1:]:
        found = _option(spec, f"-{letter}")
        if found is None:
            return False
        if not found[0].is_flag:
            return True
    return True
