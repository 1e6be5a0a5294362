"""What a command line is, and what is found behind it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from freezeframe.backends.builds.recipe import Recipe
from freezeframe.backends.transport.run import Ran
from freezeframe.errors import BuildFailed, NotFound

#: of what a command printed, in an error
_SHOWN_LINES = 8


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command as its user typed it, and where."""

    words: tuple[str, ...]
    cwd: str
    #: the whole environment that it runs in
    env: Mapping[str, str]
    #: files that breakpoints were given in, absolute
    break_files: tuple[str, ...] = ()
    #: what the user should know about how it was understood
    remarks: tuple[str, ...] = ()
    #: the directory was named by the command itself, not only where its user is
    moved: bool = False

    @property
    def name(self) -> str:
        """The command's own name, without its folder."""
        return os.path.basename(self.words[0])

    def then(self, *words: str, env: Mapping[str, str] | None = None) -> CommandLine:
        """Return the line of what this command runs."""
        return replace(self, words=words, env={**self.env, **(env or {})})

    def remarking(self, *remarks: str) -> CommandLine:
        return replace(self, remarks=(*self.remarks, *remarks))

    def moved_to(self, directory: str) -> CommandLine:
        there = os.path.abspath(os.path.join(self.cwd, directory))
        return replace(self, cwd=there, moved=self.moved or there != self.cwd)

    def path(self, word: str) -> str:
        """Return a path of the line as an absolute one."""
        return os.path.abspath(os.path.join(self.cwd, os.path.expanduser(word)))

    def which(self, word: str) -> str | None:
        """Return the program that a shell would run for *word*."""
        if os.sep in word:
            path = self.path(word)
            return path if os.access(path, os.X_OK) and not os.path.isdir(path) else None
        found = shutil.which(word, path=self.env.get("PATH", os.defpath))
        return os.path.abspath(os.path.join(self.cwd, found)) if found else None


@dataclass(frozen=True, slots=True)
class Program:
    """The program behind a command line."""

    #: absolute, or the name of a module
    program: str
    args: tuple[str, ...] = ()
    module: bool = False
    interpreter: str | None = None
    interpreter_args: tuple[str, ...] = ()
    #: how the program is made, where it is not there yet
    recipe: Recipe | None = None
    #: a name for the session; empty: the program's
    name: str = ""
    #: what the command sets for it besides
    env: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    #: of a module, where the command tells it
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A program, and the line that it was found behind, unwrapped: its environment, its place."""

    program: Program
    line: CommandLine


class Tools(Protocol):
    """What finding a program may need to have run."""

    async def run(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> Ran:
        """Run a command to its end, as long as builds may take. Raises FreezeframeError."""

    async def build(self, recipe: Recipe, env: Mapping[str, str]) -> str:
        """Return the program that a recipe makes. Raises BuildFailed."""


#: what one kind of command makes of a line: the program, another line, or None for neither
Step = Callable[[CommandLine, Tools], Awaitable[CommandLine | Program | None]]


async def prepare(line: CommandLine, tools: Tools, argv: Sequence[str], shown: str) -> CommandLine:
    """Run what a command runs before its program. Raises BuildFailed with its last lines."""
    ran = await tools.run(argv, cwd=line.cwd, env=line.env)
    if ran.status != 0:
        said = (ran.err.strip() or ran.out.strip()).splitlines()[-_SHOWN_LINES:]
        rows = "\n  ".join((f"`{shown}`, which runs first, ended with {ran.status}.", *said))
        raise BuildFailed(rows, next=shown)
    return line.remarking(f"ran first: {shown} ({ran.took_s:.1f} s)")


def missing(line: CommandLine, word: str) -> NotFound:
    return NotFound(f"there is no program {word} in {line.cwd}.", next="dbg start PROGRAM")


def nearest_above(folder: str, name: str) -> str | None:
    """Return the nearest file of that relative path, in a folder or one above it."""
    while True:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
