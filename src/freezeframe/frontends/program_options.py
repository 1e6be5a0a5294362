"""Decide whether an option after a program's name belongs to the operation or the program."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from freezeframe.model import late_regex
from freezeframe.ops._registry import GLOBAL_OPTIONS, OpSpec, ParamSpec
from freezeframe.ops._suggestions import nearest

#: similarity above which an option counts as a misspelling of one of the operation's
_ALIKE = 0.85
#: the value of `-b` after a command's name: a line of a file (also by its text), or the name of a
#: function (`Cart#empty?`, `Shop\\Cart::add`), and optionally a condition in gdb's syntax
_LOCATION = late_regex.compile(
    r"(?:.*:\d+|.*\.\w+:[A-Za-z_\"'].*|[A-Za-z_~(\\][\w.:~<>$!*()\[\]#\\?=-]*"
    # Names with spaces: `<Line as Shape>::area`, `Shop::at(int, char *)`, `operator new`.
    r"|[A-Za-z_~(<].*::.+|[A-Za-z_~][\w:~<>, *&]*\(.*\)|operator .+)(?:\s+if\s.+)?",
    re.DOTALL,
)
_LINE = late_regex.compile(r".+:\d+(?:\s+if\s.+)?", re.DOTALL)
#: the value of a server's `-b`: an address to listen on
_ADDRESS = late_regex.compile(r"(?:[\d.]+|localhost|\[.*\]|\*)?:\d+")
#: a command with its version: `python3.12`
_VERSIONED = late_regex.compile(r"[a-z]+[\d.]+")

#: directories whose programs are commands with their own options: `node_modules/.bin/jest -t x`
_BIN = ("bin", ".bin", "Scripts")
#: wrapper scripts in a project's directory
_WRAPPERS = ("gradlew", "mvnw")
#: commands that pass the arguments after `--` to the program they run
_SEPARATING = frozenset(
    (
        *("cargo", "npm", "npx", "pnpm", "yarn", "tox", "nox", "dotnet"),
        *("uv", "poetry", "pdm", "hatch", "rye", "pipenv", "conda", "bun", "bunx"),
    )
)
#: commands that prefix another one
_BEFORE = frozenset(("env", "time", "exec", "command", "nohup", "sudo", "nice", "cross-env"))
_ASSIGNMENT = late_regex.compile(r"[A-Za-z_]\w*=")


def is_command(program: str) -> bool:
    """Whether *program* names a command, which has its own options, rather than a file."""
    if _ASSIGNMENT.match(program):
        return True  # followed by a command
    folder, name = os.path.split(program)
    if not folder:
        return "." not in name or _VERSIONED.fullmatch(name) is not None
    return os.path.basename(folder) in _BIN or name in _WRAPPERS


def keeps_separator(tokens: Sequence[str]) -> bool:
    """Whether a `--` after these arguments of a command belongs to the command."""
    for word in tokens:
        name = os.path.basename(word)
        if name in _SEPARATING:
            return True
        if not (word.startswith("-") or name in _BEFORE or _ASSIGNMENT.match(word)):
            return False
    return False


def precedes_separator(tokens: Sequence[str], spec: OpSpec) -> bool:
    """Whether *tokens* begin with short options of the operation and a `--`, before a command's
    subcommand: `cargo -t 60 -- test x`."""
    waiting = list(tokens)
    while waiting and waiting[0] != "--":
        token = waiting.pop(0)
        found = _option(spec, token[:2])
        if found is None or not _is_cluster(spec, token):
            return False
        if not found[0].is_flag and len(token) == 2 and waiting:
            waiting.pop(0)
    return bool(waiting)


def belongs_to_command(
    token: str, following: str, program: str, spec: OpSpec, *, module: bool
) -> bool:
    """Whether an option after *program* belongs to the program, not to the operation."""
    loose = module or is_command(program)
    if token.startswith("--"):
        name = token.partition("=")[0]
        found = _option(spec, name)
        if found is None:
            # Report a misspelling instead of passing it to the program.
            return not _is_misspelt(spec, name)
        return found[0].before_program or (loose and name == "--help") or name == "--module"
    if token.startswith("-b") and "-b" in spec.options:
        attached = token[2:].removeprefix("=")
        given = _LINE.fullmatch(attached) if attached else _LOCATION.fullmatch(following)
        is_address = _ADDRESS.fullmatch(attached or following) is not None
        return loose and (given is None or is_address)
    return loose or token.startswith("-m") or not _is_cluster(spec, token)


def _option(spec: OpSpec, name: str) -> tuple[ParamSpec, bool] | None:
    return spec.options.get(name) or GLOBAL_OPTIONS.get(name)


def _is_misspelt(spec: OpSpec, name: str) -> bool:
    own = [
        each
        for each, (param, _) in spec.options.items()
        if not (param.hidden or param.before_program)
    ]
    names = [each[2:] for each in (*own, *GLOBAL_OPTIONS) if len(each) > 2]
    return len(name) > 5 and bool(nearest(name[2:], names, cutoff=_ALIKE))


def _is_cluster(spec: OpSpec, token: str) -> bool:
    """Whether *token* consists of short options of the operation: `-e`, `-t5`."""
    for letter in token[1:]:
        found = _option(spec, f"-{letter}")
        if found is None:
            return False
        if not found[0].is_flag:
            return True
    return True
