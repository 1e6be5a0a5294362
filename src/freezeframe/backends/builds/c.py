"""C, C++, Objective-C and Fortran: one file, compiled and linked by the system's compiler."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from functools import partial

from freezeframe import files
from freezeframe.backends.transport.run_command import CommandResult

from . import compilers as tools
from .build_plan import FOLDER, BuildPlan, BuildRequest, CompilerError, Toolchain

_DEBUG = ("-g", "-O0")


@dataclass(frozen=True)
class _Language:
    """The names that make's built-in rules use for a language."""

    name: str
    suffixes: tuple[str, ...]
    #: variables of make: the compiler, its flags
    variable: str
    flags: str
    compilers: tuple[str, ...]
    install: str
    libraries: tuple[str, ...] = ()


_C = _Language(
    "C", (".c",), "CC", "CFLAGS", ("gcc", "clang", "cc"), "apt-get install gcc libc6-dev", ("-lm",)
)
_CPP = _Language(
    "C++",
    (".cpp", ".cc", ".cxx", ".c++", ".C"),
    "CXX",
    "CXXFLAGS",
    ("g++", "clang++", "c++"),
    "apt-get install g++",
)
_OBJECTIVE_C = _Language(
    "Objective-C",
    (".m",),
    "CC",
    "OBJCFLAGS",
    ("gcc", "clang"),
    "apt-get install gobjc",
    ("-lobjc",),
)
_FORTRAN = _Language(
    "Fortran",
    (".f90", ".f95", ".f03", ".f08", ".f", ".for"),
    "FC",
    "FFLAGS",
    ("gfortran", "flang"),
    "apt-get install gfortran",
)


async def _plan(language: _Language, request: BuildRequest) -> BuildPlan | None:
    if os.path.isdir(request.path) or request.tests:
        return None
    env = request.env
    folder, file = os.path.split(request.path)
    stem = os.path.splitext(file)[0]
    configured = shlex.split(env.get(language.variable, ""))
    compiler = tools.need(
        configured[:1] or language.compilers, env, what=file, install=language.install
    )

    def flags_of(name: str) -> list[str]:
        return shlex.split(env.get(name, ""))

    # The user's flags come last, so that CFLAGS overrides ours.
    flags = (*_DEBUG, *flags_of("CPPFLAGS"), *flags_of(language.flags))
    link = (*flags_of("LDFLAGS"), file, "-pthread", *flags_of("LDLIBS"), *language.libraries)
    # With several sources each would overwrite the rules of the other.
    single = not any(word.endswith(language.suffixes) for word in link if word != file)
    rules = ("-MD", "-MF", f"{FOLDER}/rules") if single else ()
    return BuildPlan(
        source=request.path,
        argv=(compiler, *configured[1:], *flags, *rules, *link, "-o", f"{FOLDER}/{stem}"),
        cwd=folder,
        product=stem,
        display=" ".join((os.path.basename(compiler), *configured[1:], *flags)),
        read_errors=read_errors,
        name=stem,
        # The errors are parsed, so they must be in English.
        env={"LC_ALL": "C"},
        rules="rules" if single else None,
        advice=partial(_advice, folder, file),
    )


_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+)(?::(?P<column>\d+))?: (?:fatal )?error: (?P<text>.*)$",
    re.MULTILINE,
)
#: gfortran: the location, the source line, a marker, then the message
_FORTRAN_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+):\n(?:.*\n)*?(?:Fatal )?Error: (?P<text>.*)$",
    re.MULTILINE,
)
_UNDEFINED = re.compile(
    r"^(?:\S*ld\S*: )?(?P<file>[^\s:]+?)(?::(?P<line>\d+)|:\(\S+\))?: "
    r"(?P<text>undefined (?:reference|symbol).*|multiple definition .*)$",
    re.MULTILINE,
)
_LINKER = re.compile(r"^(?:\S*ld\S*): (?P<text>(?:cannot find|error:|library not found).*)$", re.M)


def read_errors(result: CommandResult) -> list[CompilerError]:
    """Return the errors of gcc, clang, gfortran and their linkers."""
    found = []
    for pattern in (_ERROR, _FORTRAN_ERROR):
        for match in pattern.finditer(result.err):
            location = int(match["line"]), int(match["column"]) if match["column"] else None
            found.append(CompilerError(match["text"], match["file"], *location))
    if found:
        return found
    for match in _UNDEFINED.finditer(result.err):
        line = int(match["line"]) if match["line"] else None
        # The name of a temporary object file means nothing to the user.
        file = match["file"] if line is not None else None
        found.append(CompilerError(match["text"], file, line))
    return found + [CompilerError(match["text"]) for match in _LINKER.finditer(result.err)]


def _advice(folder: str, file: str, output: str) -> str | None:
    if "undefined reference" not in output and "undefined symbol" not in output:
        return None
    for project, how in (
        ("Makefile", "make"),
        ("makefile", "make"),
        ("CMakeLists.txt", "cmake -B build && cmake --build build"),
    ):
        if os.path.exists(os.path.join(folder, project)):
            return f"{how} && dbg start ./PROGRAM"
    others = [name for name in sorted(os.listdir(folder)) if _has_no_main(folder, name, file)]
    missing = " ".join(others[:6]) if others else "-lLIBRARY"
    return f"LDLIBS={shlex.quote(missing)} dbg start {file}"


def _has_no_main(folder: str, name: str, file: str) -> bool:
    """Return whether a file next to the program's source may be part of the program."""
    if os.path.splitext(name)[1] != os.path.splitext(file)[1] or name == file:
        return False
    try:
        text = files.read_head(os.path.join(folder, name), 1_000_000)
        return re.search(rb"\bmain\s*\(", text) is None
    except OSError:
        return False


def _toolchain(language: _Language) -> Toolchain:
    return Toolchain(
        language=language.name, suffixes=language.suffixes, plan=partial(_plan, language)
    )


TOOLCHAINS = tuple(map(_toolchain, (_C, _CPP, _OBJECTIVE_C, _FORTRAN)))
