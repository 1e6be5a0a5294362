"""What a toolchain file holds: which sources it knows, and how it makes a program of them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from freezeframe.backends.transport.run import Ran

#: stands in a command for the folder that belongs to the recipe
FOLDER = "{folder}"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user wants to run."""

    #: a source file or a folder, absolute
    path: str
    #: its tests, not its program
    tests: bool = False
    #: his environment, which the toolchain runs in
    env: Mapping[str, str] = field(default_factory=dict)
    #: where he is
    cwd: str = "/"
    #: how long a question to the toolchain may take
    timeout_s: float = 60.0

    def shown(self, path: str) -> str:
        """Return a path as he would write it."""
        return shown_path(path, self.cwd)

    def typed(self, path: str) -> str:
        """Return a path as go takes it for a package: `.`, `./pkg`."""
        relative = os.path.relpath(path, self.cwd)
        return relative if relative.startswith(os.curdir) else f"./{relative}"


def shown_path(path: str, cwd: str) -> str:
    """Return a path as somebody in *cwd* would write it; that directory itself by its name."""
    relative = os.path.relpath(path, cwd)
    if relative == os.curdir:
        return os.path.basename(path) or path
    return path if relative.startswith(os.pardir + os.sep + os.pardir) else relative


@dataclass(frozen=True, slots=True)
class Recipe:
    """One command that makes one program. `FOLDER` in its words becomes the cache's own folder."""

    #: the file or folder that it is made of, absolute
    source: str
    argv: tuple[str, ...]
    #: where the command runs
    cwd: str
    #: what is made, relative to the folder, where the command's answer does not tell it
    product: str
    #: the toolchain as it is told to the user: `gcc -g -O0`
    words: str
    #: reads the compiler's complaints
    read_errors: Callable[[Ran], Sequence[Complaint]]
    #: the path of what was made, where only the answer tells
    read_product: Callable[[Ran], str | None] = lambda ran: None
    #: recipes with the same one share a folder, and with it what they have in common
    shared: str | None = None
    #: a name for a session
    name: str = ""
    #: variables that are set for the command
    env: Mapping[str, str] = field(default_factory=dict)
    #: a file of make rules in the folder, which the compiler writes; without one the command is
    #: always run
    rules: str | None = None
    #: a folder and a suffix: nothing is built again while no such file below it is newer
    sources: tuple[str, str] | None = None
    #: the command itself leaves alone what is up to date
    incremental: bool = False
    #: where the program is to run, unless the user names a directory (None: where he is)
    run_in: str | None = None
    #: what is made, where it is no binary: a kind that debuggers claim (`jvm`)
    kind: str | None = None
    #: where execution begins in it, where the product alone does not say (a main class)
    main: str | None = None
    #: what helps when it cannot be built, given what the toolchain said
    advice: Callable[[str], str | None] = lambda words: None
    #: the command line that the user's own words become
    arguments: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda args: args


@dataclass(frozen=True, slots=True)
class Complaint:
    """One error of a compiler. *file* as it was told, relative to where the command ran."""

    text: str
    file: str | None = None
    line: int | None = None
    column: int | None = None


class Plan(Protocol):
    """Returns the recipe of a wish; None where it is not this toolchain's after all.

    Raises FreezeframeError where nothing can be built, with the reason.
    """

    def __call__(self, wish: Wish) -> Awaitable[Recipe | None]: ...


def _none(directory: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One language's way from sources to a program."""

    language: str
    #: suffixes of source files that it makes programs of
    suffixes: tuple[str, ...]
    plan: Plan
    #: files that make a folder a project of its
    projects: tuple[str, ...] = ()
    #: it builds tests too
    tests: bool = False
    #: a folder is its, although no project file says so
    claims_folder: Callable[[str], bool] = lambda directory: False
    #: what can be started in a project, as folders or files relative to it
    programs: Callable[[str], Sequence[str]] = _none
