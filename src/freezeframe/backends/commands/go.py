"""Go: `go run` and `go test` with every flag of theirs, built without optimisation besides."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace

from freezeframe.backends.builds import go as builds
from freezeframe.backends.builds.recipe import FOLDER, Recipe
from freezeframe.errors import NotFound, UsageError

from .line import CommandLine, Program, Tools

#: flags of the build whose value is a word of its own unless it is attached with `=`
_BUILD = frozenset(
    (
        *("C", "p", "covermode", "coverpkg", "asmflags", "buildmode", "compiler", "gccgoflags"),
        *("gcflags", "installsuffix", "ldflags", "mod", "modfile", "overlay", "pgo", "pkgdir"),
        *("tags", "toolexec", "exec", "vet", "o"),
    )
)
_BUILD_FLAGS = frozenset(
    ("a", "race", "msan", "asan", "cover", "linkshared", "modcacherw", "trimpath", "buildvcs")
)
#: flags that the test program gets, with `test.` before them
_TEST = frozenset(
    (
        *("run", "bench", "benchtime", "blockprofile", "blockprofilerate", "count", "list"),
        *("coverprofile", "cpu", "cpuprofile", "fuzz", "fuzztime", "fuzzminimizetime", "shuffle"),
        *("memprofile", "memprofilerate", "mutexprofile", "mutexprofilefraction", "outputdir"),
        *("parallel", "skip", "timeout", "trace"),
    )
)
_TEST_FLAGS = frozenset(("benchmem", "failfast", "short", "v", "fullpath"))
#: of go's own report, and of no use to one program
_DROPPED = frozenset(("json", "c", "i", "n", "x", "work", "exec", "o", "vet", "timeout"))
_FAILED = re.compile(r"^FAIL[ \t]+(\S+)", re.MULTILINE)
_LISTED = "{{.ImportPath}}\t{{.Dir}}\t{{len .TestGoFiles}}\t{{len .XTestGoFiles}}"


@dataclass(frozen=True, slots=True)
class Flags:
    """The words of a command, sorted by whose they are."""

    build: tuple[str, ...]
    test: tuple[str, ...]
    packages: tuple[str, ...]
    args: tuple[str, ...]
    dropped: tuple[str, ...]
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Package:
    path: str
    folder: str
    has_tests: bool


async def go(line: CommandLine, tools: Tools) -> Program:
    """Read a command of go's as the program that it builds and runs."""
    verb = "".join(line.words[1:2])
    if verb not in ("run", "test"):
        tried = f"go {verb}".strip()
        raise UsageError(f"`{tried}` runs no program.", next="dbg start go run .")
    path = builds.find(line.env)
    if path is None:
        raise NotFound("there is no go on PATH.", next="apt-get install golang-go")
    flags = read(line.words[2:], tests=verb == "test")
    if flags.folder is not None:
        line = line.moved_to(flags.folder)
    if verb == "run":
        return _run(line, path, flags)
    return await _test(line, tools, path, flags)


def read(words: tuple[str, ...], *, tests: bool) -> Flags:
    """Sort the words of `go run` or `go test`."""
    build: list[str] = []
    test: list[str] = []
    packages: list[str] = []
    args: list[str] = []
    dropped: list[str] = []
    folder = None
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if tests and word in ("-args", "--args"):
            args += words[at:]
            break
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or word == "-":
            packages.append(word)
            if tests:
                continue
            while word.endswith(".go") and at < len(words) and words[at].endswith(".go"):
                packages.append(words[at])
                at += 1
            args += words[at:]
            break
        name = name.removeprefix("test.")
        taken = [word]
        if not equals and (name in _BUILD or (tests and name in _TEST)):
            taken += words[at : at + 1]
            value = "".join(taken[1:])
            at += 1
        if name == "C":
            folder = value
        elif name in _DROPPED:
            dropped += taken
        elif tests and (name in _TEST or name in _TEST_FLAGS):
            test += [f"-test.{name}{equals}{value if equals else ''}", *taken[1:]]
        elif tests and not _is_of_build(name):
            args += taken  # a flag that the test program itself defines
        else:
            build += taken
    return Flags(tuple(build), tuple(test), tuple(packages), tuple(args), tuple(dropped), folder)


def _is_of_build(name: str) -> bool:
    bare = (
        "a",
        "race",
        "msan",
        "asan",
        "cover",
        "linkshared",
        "modcacherw",
        "trimpath",
        "buildvcs",
    )
    return name in _BUILD or name in bare


def _run(line: CommandLine, path: str, flags: Flags) -> Program:
    packages = flags.packages or (".",)
    first = line.path(packages[0])
    name = os.path.splitext(os.path.basename(first))[0]
    recipe = _recipe(line, path, ("build",), flags, packages, first, name)
    return Program(first, flags.args, recipe=recipe, name=name)


async def _test(line: CommandLine, tools: Tools, path: str, flags: Flags) -> Program:
    packages = flags.packages or (".",)
    remarks: tuple[str, ...] = ()
    if all(each.endswith(".go") for each in packages):
        folder = os.path.dirname(line.path(packages[0]))
        chosen = Package(folder, folder, has_tests=True)
    else:
        listed = await _list(line, tools, path, flags, packages)
        chosen, remarks = await _chosen(line, tools, path, flags, listed)
        packages = (chosen.path,)
    name = f"{os.path.basename(chosen.folder)}.test"
    recipe = _recipe(line, path, ("test", "-c"), flags, packages, chosen.folder, name)
    recipe = replace(recipe, run_in=chosen.folder)
    if any("timeout" in each for each in flags.dropped):
        remarks = (*remarks, "-timeout is left out: it would count while the program is stopped")
    args = (*flags.test, *flags.args)
    return Program(chosen.folder, args, recipe=recipe, name=name, remarks=remarks)


async def _list(
    line: CommandLine, tools: Tools, path: str, flags: Flags, packages: tuple[str, ...]
) -> list[Package]:
    tags = [each for each in flags.build if "tags" in each or each in _values(flags.build, "tags")]
    argv = (path, "list", "-e", *tags, "-f", _LISTED, *packages)
    ran = await tools.run(argv, cwd=line.cwd, env=line.env)
    rows = [row.split("\t") for row in ran.out.splitlines()]
    found = [
        Package(row[0], row[1], row[2:] != ["0", "0"]) for row in rows if len(row) == 4 and row[1]
    ]
    if not found:
        said = [each.text for each in builds.read_errors(ran)] or ["go list knows no such package"]
        raise NotFound(f"{' '.join(packages)}: {said[0]}.", next="go list ./...")
    return found


def _values(words: tuple[str, ...], name: str) -> list[str]:
    return [words[at + 1] for at, each in enumerate(words[:-1]) if each.lstrip("-") == name]


async def _chosen(
    line: CommandLine, tools: Tools, path: str, flags: Flags, listed: list[Package]
) -> tuple[Package, tuple[str, ...]]:
    """Return the one of several packages whose tests are to be debugged."""
    if len(listed) == 1:
        return listed[0], ()
    those = [each for each in listed if each.has_tests]
    if not those:
        raise NotFound(f"none of the {len(listed)} packages has tests.", next="dbg start go run .")
    if len(those) == 1:
        return those[0], ()
    for file in line.break_files:
        for each in those:
            if os.path.realpath(os.path.dirname(file)) == os.path.realpath(each.folder):
                return each, (_others(line, each, those),)
    ran = await tools.run((path, *line.words[1:]), cwd=line.cwd, env=line.env)
    failed = {found[1] for found in _FAILED.finditer(ran.out)}
    for each in those:
        if each.path in failed:
            return each, (_others(line, each, those),)
    said = f"the tests of all {len(those)} packages pass"
    if ran.status != 0:
        last = [row for row in (ran.err + ran.out).splitlines() if row.strip()][-1:]
        said = f"`{' '.join(line.words)}` ended with {ran.status}: {''.join(last)}"
    return those[0], (said, _others(line, those[0], those))


def _others(line: CommandLine, chosen: Package, those: list[Package]) -> str:
    names = [f"./{os.path.relpath(each.folder, line.cwd)}" for each in those if each is not chosen]
    names = ["." if each == "./." else each for each in names]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return f"debugged: {chosen.path}; other packages with tests: {', '.join(names[:6])}{more}"


def _recipe(
    line: CommandLine,
    path: str,
    verb: tuple[str, ...],
    flags: Flags,
    packages: tuple[str, ...],
    source: str,
    name: str,
) -> Recipe:
    shown = " ".join(("go", *verb, "-gcflags='all=-N -l'", *flags.build))
    return Recipe(
        source=source,
        argv=(path, *verb, builds.DEBUG, *flags.build, "-o", f"{FOLDER}/{name}", *packages),
        cwd=line.cwd,
        product=name,
        words=shown,
        read_errors=builds.read_errors,
        name=name,
        incremental=True,
        advice=builds.advice,
    )


COMMANDS = {"go": go}
