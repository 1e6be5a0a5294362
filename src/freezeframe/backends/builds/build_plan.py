"""The interface of a toolchain: which sources it builds, and the plan of a build."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from freezeframe.backends.transport.run_command import CommandResult
from freezeframe.model.fast_dataclass import dataclass, field

#: placeholder in a command for the cache folder of the build
FOLDER = "{folder}"


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What the user asked to run."""

    #: a source file or a folder, absolute
    path: str
    #: build its tests instead of its program
    tests: bool = False
    #: the user's environment, which the toolchain runs in
    env: Mapping[str, str] = field(default_factory=dict)
    #: the user's directory
    cwd: str = "/"
    #: time limit of a query to the toolchain
    timeout_s: float = 60.0

    def shown(self, path: str) -> str:
        """Return a path as the user would write it."""
        return shown_path(path, self.cwd)

    def typed(self, path: str) -> str:
        """Return a path as go takes it for a package: `.`, `./pkg`."""
        relative = os.path.relpath(path, self.cwd)
        return relative if relative.startswith(os.curdir) else f"./{relative}"


def shown_path(path: str, cwd: str) -> str:
    """Return a path as a user in *cwd* would write it; *cwd* itself by its name."""
    relative = os.path.relpath(path, cwd)
    if relative == os.curdir:
        return os.path.basename(path) or path
    return path if relative.startswith(os.pardir + os.sep + os.pardir) else relative


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """One command that builds one program. `FOLDER` in the command is replaced by the cache
    folder."""

    #: the file or folder to build, absolute
    source: str
    argv: tuple[str, ...]
    #: the directory the command runs in
    cwd: str
    #: the path of the product, relative to the folder, where the command's output does not name it
    product: str
    #: the command as it is shown to the user: `gcc -g -O0`
    display: str
    #: parses the compiler's errors
    read_errors: Callable[[CommandResult], Sequence[CompilerError]]
    #: the path of the product, where only the command's output names it
    read_product: Callable[[CommandResult], str | None] = lambda result: None
    #: plans with the same value share a folder, and with it their common intermediate files
    shared: str | None = None
    #: a name for the session
    name: str = ""
    #: environment variables that are set for the command
    env: Mapping[str, str] = field(default_factory=dict)
    #: a file of make rules in the folder, written by the compiler; without one the command is
    #: always run
    rules: str | None = None
    #: a folder and a suffix: nothing is rebuilt while no such file below the folder is newer
    sources: tuple[str, str] | None = None
    #: the command itself skips what is up to date
    incremental: bool = False
    #: the program's working directory, unless the user names one (None: the user's directory)
    run_in: str | None = None
    #: the kind of a product that is not a binary, as debuggers claim it (`jvm`)
    kind: str | None = None
    #: the entry point, where the product alone does not say (a main class)
    main: str | None = None
    #: returns the next step for a failed build, given the toolchain's output
    advice: Callable[[str], str | None] = lambda output: None
    #: converts the user's arguments to those of the program
    arguments: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda args: args


@dataclass(frozen=True, slots=True)
class CompilerError:
    """One error of a compiler. *file* is as printed, relative to the directory of the command."""

    text: str
    file: str | None = None
    line: int | None = None
    column: int | None = None


class BuildPlanner(Protocol):
    """Return the plan for a request; None if the request is not for this toolchain.

    Raises FreezeframeError if nothing can be built, with the reason.
    """

    def __call__(self, request: BuildRequest) -> Awaitable[BuildPlan | None]: ...


def _none(directory: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How one language is built from source."""

    language: str
    #: suffixes of source files
    suffixes: tuple[str, ...]
    plan: BuildPlanner
    #: files that mark a folder as a project
    projects: tuple[str, ...] = ()
    #: whether the toolchain can build tests
    tests: bool = False
    #: whether a folder without a project file is a project
    claims_folder: Callable[[str], bool] = lambda directory: False
    #: returns what can be started in a project, as folders or files relative to it
    programs: Callable[[str], Sequence[str]] = _none
