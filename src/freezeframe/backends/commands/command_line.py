"""A command line, and the program that it runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from freezeframe.backends.builds.build_plan import BuildPlan
from freezeframe.backends.transport.run_command import CommandResult
from freezeframe.errors import BuildFailed
from freezeframe.model.fast_dataclass import dataclass, field

#: lines of a command's output that an error shows
_SHOWN_LINES = 8


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command as its user typed it, and its working directory."""

    argv: tuple[str, ...]
    cwd: str
    #: the whole environment of the command
    env: Mapping[str, str]
    #: files that breakpoints were requested in, absolute
    break_files: tuple[str, ...] = ()
    #: what the user should know about how the command was interpreted
    remarks: tuple[str, ...] = ()
    #: whether the command itself names the directory, which then is not just the user's
    moved: bool = False

    @property
    def name(self) -> str:
        """The command's name, without its directory."""
        return os.path.basename(self.argv[0])

    def then(self, *argv: str, env: Mapping[str, str] | None = None) -> CommandLine:
        """Return the line of a command that this command runs."""
        return replace(self, argv=argv, env={**self.env, **(env or {})})

    def remarking(self, *remarks: str) -> CommandLine:
        return replace(self, remarks=(*self.remarks, *remarks))

    def moved_to(self, directory: str) -> CommandLine:
        directory_path = os.path.abspath(os.path.join(self.cwd, directory))
        return replace(self, cwd=directory_path, moved=self.moved or directory_path != self.cwd)

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
    """The program that a command line runs."""

    #: absolute, or the name of a module
    program: str
    args: tuple[str, ...] = ()
    module: bool = False
    interpreter: str | None = None
    interpreter_args: tuple[str, ...] = ()
    #: how to build the program, if it must be built
    recipe: BuildPlan | None = None
    #: a name for the session; empty: the program's
    name: str = ""
    #: variables that the command sets for the program
    env: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    #: of a module, where the command implies it
    language: str | None = None
    #: it is ours and runs the command as its child
    runs_command: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """A program, and the unwrapped line it was found in: its environment and directory."""

    program: Program
    line: CommandLine


class Tools(Protocol):
    """What resolving a command line may need to run."""

    async def run(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> CommandResult:
        """Run a command to its end, with the time limit of builds. Raises FreezeframeError."""

    async def build(self, recipe: BuildPlan, env: Mapping[str, str]) -> str:
        """Build a program and return its path. Raises BuildFailed."""


#: resolves a line one step: to the program, another line, or None for neither
Step = Callable[[CommandLine, Tools], Awaitable[CommandLine | Program | None]]


async def prepare(line: CommandLine, tools: Tools, argv: Sequence[str], shown: str) -> CommandLine:
    """Run what a command runs before its program. Raises BuildFailed with its last lines."""
    result = await tools.run(argv, cwd=line.cwd, env=line.env)
    if result.status != 0:
        output = (result.err.strip() or result.out.strip()).splitlines()[-_SHOWN_LINES:]
        rows = "\n  ".join((f"`{shown}`, which runs first, ended with {result.status}.", *output))
        raise BuildFailed(rows, next=shown)
    return line.remarking(f"ran first: {shown} ({result.took_s:.1f} s)")


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
