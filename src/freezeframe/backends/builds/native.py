"""Languages whose compilers make one binary of one file, which the native debuggers take."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial

from freezeframe.backends.transport.run import Ran

from . import tools
from .recipe import FOLDER, Complaint, Recipe, Toolchain, Wish


@dataclass(frozen=True)
class _Language:
    name: str
    suffix: str
    compiler: str
    #: the words behind the compiler's name; `{file}` is the source, `{stem}` its name
    words: tuple[str, ...]
    install: str
    beside: tuple[str, ...] = ()


_LANGUAGES = (
    _Language(
        "Zig",
        ".zig",
        "zig",
        (
            "build-exe",
            "-ODebug",
            # What its own code generator writes about variables lldb 22 does not read.
            "-fllvm",
            "{file}",
            "--cache-dir",
            f"{FOLDER}/cache",
            f"-femit-bin={FOLDER}/{{stem}}",
        ),
        "snap install zig --classic --beta",
        ("~/zig", "/opt/zig"),
    ),
    _Language(
        "Swift",
        ".swift",
        "swiftc",
        ("-g", "-Onone", "{file}", "-o", f"{FOLDER}/{{stem}}"),
        "swiftly install latest",
        ("/usr/share/swift/usr/bin", "/opt/swift/usr/bin", "~/.local/share/swiftly/bin"),
    ),
)


async def _plan(language: _Language, wish: Wish) -> Recipe | None:
    if os.path.isdir(wish.path) or wish.tests:
        return None
    folder, file = os.path.split(wish.path)
    stem = os.path.splitext(file)[0]
    compiler = tools.need(
        (language.compiler,), wish.env, what=file, install=language.install, beside=language.beside
    )
    words = [word.replace("{file}", file).replace("{stem}", stem) for word in language.words]
    return Recipe(
        source=wish.path,
        # One that runs must not be written over, and zig does not make a new file by itself.
        argv=("/bin/sh", "-c", 'rm -f "$0" && exec "$@"', f"{FOLDER}/{stem}", compiler, *words),
        cwd=folder,
        product=stem,
        words=" ".join((language.compiler, *language.words[:2])),
        read_errors=read_errors,
        name=stem,
        # Complaints are read, so they must be in English.
        env={"LC_ALL": "C"},
    )


_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): error: (?P<text>.*)$", re.MULTILINE
)
_BARE_ERROR = re.compile(r"^error: (?P<text>.*)$", re.MULTILINE)


def read_errors(ran: Ran) -> list[Complaint]:
    """Return the errors of zig and swiftc, which write them as C compilers do."""
    found = [
        Complaint(match["text"], match["file"], int(match["line"]), int(match["column"]))
        for match in _ERROR.finditer(ran.err)
    ]
    return found or [Complaint(match["text"]) for match in _BARE_ERROR.finditer(ran.err)]


TOOLCHAINS = tuple(
    Toolchain(language=each.name, suffixes=(each.suffix,), plan=partial(_plan, each))
    for each in _LANGUAGES
)
