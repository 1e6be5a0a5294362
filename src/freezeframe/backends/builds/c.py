"""C, C++ and Fortran: one file, compiled and linked by the system's compiler."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from functools import partial

from freezeframe import files
from freezeframe.backends.transport.run import Ran

from . import tools
from .recipe import FOLDER, Complaint, Recipe, Toolchain, Wish

_DEBUG = ("-g", "-O0")


@dataclass(frozen=True)
class _Language:
    """How make's own rules spell a language."""

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
_FORTRAN = _Language(
    "Fortran",
    (".f90", ".f95", ".f03", ".f08", ".f", ".for"),
    "FC",
    "FFLAGS",
    ("gfortran", "flang"),
    "apt-get install gfortran",
)


async def _plan(language: _Language, wish: Wish) -> Recipe | None:
    if os.path.isdir(wish.path) or wish.tests:
        return None
    env = wish.env
    folder, file = os.path.split(wish.path)
    stem = os.path.splitext(file)[0]
    chosen = shlex.split(env.get(language.variable, ""))
    compiler = tools.need(
        chosen[:1] or language.compilers, env, what=file, install=language.install
    )

    def given(name: str) -> list[str]:
        return shlex.split(env.get(name, ""))

    # Theirs come last: who sets CFLAGS has the last word.
    flags = (*_DEBUG, *given("CPPFLAGS"), *given(language.flags))
    link = (*given("LDFLAGS"), file, "-pthread", *given("LDLIBS"), *language.libraries)
    # The rules of several sources would overwrite each other.
    single = not any(word.endswith(language.suffixes) for word in link if word != file)
    rules = ("-MD", "-MF", f"{FOLDER}/rules") if single else ()
    return Recipe(
        source=wish.path,
        argv=(compiler, *chosen[1:], *flags, *rules, *link, "-o", f"{FOLDER}/{stem}"),
        cwd=folder,
        product=stem,
        words=" ".join((os.path.basename(compiler), *chosen[1:], *flags)),
        read_errors=read_errors,
        name=stem,
        # Complaints are read, so they must be in English.
        env={"LC_ALL": "C"},
        rules="rules" if single else None,
        advice=partial(_advice, folder, file),
    )


_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+)(?::(?P<column>\d+))?: (?:fatal )?error: (?P<text>.*)$",
    re.MULTILINE,
)
#: gfortran: the place, the line itself, a marker, then the words
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


def read_errors(ran: Ran) -> list[Complaint]:
    """Return the errors of gcc, clang, gfortran and the linkers behind them."""
    found = []
    for pattern in (_ERROR, _FORTRAN_ERROR):
        for match in pattern.finditer(ran.err):
            place = int(match["line"]), int(match["column"]) if match["column"] else None
            found.append(Complaint(match["text"], match["file"], *place))
    if found:
        return found
    for match in _UNDEFINED.finditer(ran.err):
        line = int(match["line"]) if match["line"] else None
        # An object file of ours has no name that means anything to the user.
        file = match["file"] if line is not None else None
        found.append(Complaint(match["text"], file, line))
    return found + [Complaint(match["text"]) for match in _LINKER.finditer(ran.err)]


def _advice(folder: str, file: str, words: str) -> str | None:
    if "undefined reference" not in words and "undefined symbol" not in words:
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
    """Whether a file beside the program's own may be a part of it."""
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


TOOLCHAINS = tuple(map(_toolchain, (_C, _CPP, _FORTRAN)))
