"""Languages whose compilers build one binary from one file, for the native debuggers."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial

from freezeframe.backends.transport.run_command import CommandResult

from . import compilers
from .build_plan import FOLDER, BuildPlan, BuildRequest, CompilerError, Toolchain


@dataclass(frozen=True)
class _Language:
    name: str
    suffix: str
    compiler: str
    #: the arguments of the compiler; `{file}` is the source, `{stem}` its name
    compile_args: tuple[str, ...]
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
            # lldb 22 cannot read the variables in the debug info of zig's own code generator.
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


async def _plan(language: _Language, request: BuildRequest) -> BuildPlan | None:
    if os.path.isdir(request.path) or request.tests:
        return None
    folder, file = os.path.split(request.path)
    stem = os.path.splitext(file)[0]
    compiler = compilers.need(
        (language.compiler,),
        request.env,
        what=file,
        install=language.install,
        beside=language.beside,
    )
    args = [each.replace("{file}", file).replace("{stem}", stem) for each in language.compile_args]
    return BuildPlan(
        source=request.path,
        # A running binary must not be overwritten, and zig does not create a new file by itself.
        argv=("/bin/sh", "-c", 'rm -f "$0" && exec "$@"', f"{FOLDER}/{stem}", compiler, *args),
        cwd=folder,
        product=stem,
        display=" ".join((language.compiler, *language.compile_args[:2])),
        read_errors=read_errors,
        name=stem,
        # The errors are parsed, so they must be in English.
        env={"LC_ALL": "C"},
    )


_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): error: (?P<text>.*)$", re.MULTILINE
)
_BARE_ERROR = re.compile(r"^error: (?P<text>.*)$", re.MULTILINE)


def read_errors(result: CommandResult) -> list[CompilerError]:
    """Return the errors of zig and swiftc, which have the format of C compilers."""
    found = [
        CompilerError(match["text"], match["file"], int(match["line"]), int(match["column"]))
        for match in _ERROR.finditer(result.err)
    ]
    return found or [CompilerError(match["text"]) for match in _BARE_ERROR.finditer(result.err)]


TOOLCHAINS = tuple(
    Toolchain(language=each.name, suffixes=(each.suffix,), plan=partial(_plan, each))
    for each in _LANGUAGES
)
