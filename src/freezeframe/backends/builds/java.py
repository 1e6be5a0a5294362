"""Java: compile one file, and the sources it needs, into a folder of classes."""

from __future__ import annotations

import os
import re

from freezeframe import files
from freezeframe.backends.transport.run_command import CommandResult
from freezeframe.errors import NotFound

from . import compilers
from .build_plan import FOLDER, BuildPlan, BuildRequest, CompilerError, Toolchain

#: with the classes of other files that the source refers to
_QUIET = ("-nowarn", "-implicit:class", "-encoding", "UTF-8")
_BESIDE = ("$JAVA_HOME/bin",)
_INSTALL = "apt-get install openjdk-17-jdk-headless"
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_TYPE = re.compile(r"^(?:[\w@]+\s+)*?(?:class|record|enum|interface)\s+(\w+)", re.MULTILINE)
_MAIN = re.compile(r"\bstatic\s+(?:final\s+)?void\s+main\s*\(|\bvoid\s+main\s*\(")


async def _plan(request: BuildRequest) -> BuildPlan | None:
    if os.path.isdir(request.path) or request.tests:
        return None
    folder, file = os.path.split(request.path)
    javac = compilers.need(("javac",), request.env, what=file, install=_INSTALL, beside=_BESIDE)
    text = files.read_head(request.path, 4_000_000).decode("utf-8", "replace")
    main = _main_class(text)
    if main is None:
        raise NotFound(
            f"{request.shown(request.path)} has no main method.",
            next="dbg start FILE-WITH-MAIN.java",
        )
    package = _PACKAGE.search(text)
    root = _root(folder, package[1] if package else "")
    flags = ("-g",)
    given = request.env.get("CLASSPATH", "")
    path = (root or folder) + (os.pathsep + given if given else "")
    path_options = ("-sourcepath", root or folder, "-cp", path, "-d", f"{FOLDER}/classes")
    return BuildPlan(
        source=request.path,
        argv=(javac, *flags, *_QUIET, *path_options, file),
        cwd=folder,
        product="classes",
        display=" ".join(("javac", *flags)),
        read_errors=read_errors,
        name=os.path.splitext(file)[0],
        # The errors are parsed, so they must be in English.
        env={"LC_ALL": "C"},
        sources=(root or folder, ".java"),
        kind="jvm",
        main=main,
    )


def _root(folder: str, package: str) -> str | None:
    """Return the root folder of a package; None if the file is not in the folder of its package."""
    parts = package.split(".") if package else []
    here = folder
    for part in reversed(parts):
        here, name = os.path.split(here)
        if name != part:
            return None
    return here


def _main_class(text: str) -> str | None:
    """Return the name of the first class with a `main`."""
    bare = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    bare = re.sub(r"//.*", "", bare)
    package = _PACKAGE.search(bare)
    types = list(_TYPE.finditer(bare))
    for type, following in zip(types, [*types[1:], None], strict=True):
        end = following.start() if following is not None else len(bare)
        if _MAIN.search(bare, type.end(), end):
            return f"{package[1]}.{type[1]}" if package else type[1]
    return None


_ERROR = re.compile(r"^(?P<file>[^:\n]+\.java):(?P<line>\d+): error: (?P<text>.*)$", re.MULTILINE)
_BARE_ERROR = re.compile(r"^error: (?P<text>.*)$", re.MULTILINE)


def read_errors(result: CommandResult) -> list[CompilerError]:
    """Return the errors of javac."""
    found = [
        CompilerError(match["text"], match["file"], int(match["line"]))
        for match in _ERROR.finditer(result.err)
    ]
    return found or [CompilerError(match["text"]) for match in _BARE_ERROR.finditer(result.err)]


TOOLCHAINS = (Toolchain(language="Java", suffixes=(".java",), plan=_plan),)
