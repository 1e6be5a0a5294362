"""Go: `go run` and `go test` with all their flags, built without optimisation."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from freezeframe.backends.builds import go as builds
from freezeframe.backends.builds.build_plan import FOLDER, BuildPlan
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.fast_dataclass import dataclass

from .command_line import CommandLine, Program, Tools

#: build flags whose value is the next word unless it is attached with `=`
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
#: flags that are passed to the test binary, with the prefix `test.`
_TEST = frozenset(
    (
        *("run", "bench", "benchtime", "blockprofile", "blockprofilerate", "count", "list"),
        *("coverprofile", "cpu", "cpuprofile", "fuzz", "fuzztime", "fuzzminimizetime", "shuffle"),
        *("memprofile", "memprofilerate", "mutexprofile", "mutexprofilefraction", "outputdir"),
        *("parallel", "skip", "timeout", "trace"),
    )
)
_TEST_FLAGS = frozenset(("benchmem", "failfast", "short", "v", "fullpath"))
#: flags of go's own report, which mean nothing to a single program
_DROPPED = frozenset(("json", "c", "i", "n", "x", "work", "exec", "o", "vet", "timeout"))
_FAILED = re.compile(r"^FAIL[ \t]+(\S+)", re.MULTILINE)
_LISTED = "{{.ImportPath}}\t{{.Dir}}\t{{len .TestGoFiles}}\t{{len .XTestGoFiles}}"


@dataclass(frozen=True, slots=True)
class Flags:
    """The arguments of a command, by what they are for."""

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
    """Return the program that a go command builds and runs."""
    verb = "".join(line.argv[1:2])
    if verb not in ("run", "test"):
        tried = f"go {verb}".strip()
        raise UsageError(f"`{tried}` runs no program.", next="dbg start go run .")
    path = builds.find(line.env)
    if path is None:
        raise NotFound("there is no go on PATH.", next="apt-get install golang-go")
    flags = read(line.argv[2:], tests=verb == "test")
    if flags.folder is not None:
        line = line.moved_to(flags.folder)
    if verb == "run":
        return _run(line, path, flags)
    return await _test(line, tools, path, flags)


def read(argv: tuple[str, ...], *, tests: bool) -> Flags:
    """Classify the arguments of `go run` or `go test`."""
    build: list[str] = []
    test: list[str] = []
    packages: list[str] = []
    args: list[str] = []
    dropped: list[str] = []
    folder = None
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if tests and word in ("-args", "--args"):
            args += argv[at:]
            break
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or word == "-":
            packages.append(word)
            if tests:
                continue
            while word.endswith(".go") and at < len(argv) and argv[at].endswith(".go"):
                packages.append(argv[at])
                at += 1
            args += argv[at:]
            break
        name = name.removeprefix("test.")
        values_taken = [word]
        if not equals and (name in _BUILD or (tests and name in _TEST)):
            values_taken += argv[at : at + 1]
            value = "".join(values_taken[1:])
            at += 1
        if name == "C":
            folder = value
        elif name in _DROPPED:
            dropped += values_taken
        elif tests and (name in _TEST or name in _TEST_FLAGS):
            test += [f"-test.{name}{equals}{value if equals else ''}", *values_taken[1:]]
        elif tests and not _is_build_flag(name):
            args += values_taken  # a flag that the test program itself defines
        else:
            build += values_taken
    return Flags(tuple(build), tuple(test), tuple(packages), tuple(args), tuple(dropped), folder)


def _is_build_flag(name: str) -> bool:
    return name in _BUILD or name in _BUILD_FLAGS


def _run(line: CommandLine, path: str, flags: Flags) -> Program:
    packages = flags.packages or (".",)
    first = line.path(packages[0])
    name = os.path.splitext(os.path.basename(first))[0]
    recipe = _build_plan(line, path, ("build",), flags, packages, first, name)
    return Program(first, flags.args, recipe=recipe, name=name)


async def _test(line: CommandLine, tools: Tools, path: str, flags: Flags) -> Program:
    packages = flags.packages or (".",)
    remarks: tuple[str, ...] = ()
    if all(each.endswith(".go") for each in packages):
        folder = os.path.dirname(line.path(packages[0]))
        chosen = Package(folder, folder, has_tests=True)
    else:
        listed = await _list(line, tools, path, flags, packages)
        chosen, remarks = await _choose(line, tools, path, listed)
        packages = (chosen.path,)
    name = f"{os.path.basename(chosen.folder)}.test"
    recipe = _build_plan(line, path, ("test", "-c"), flags, packages, chosen.folder, name)
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
    result = await tools.run(argv, cwd=line.cwd, env=line.env)
    rows = [row.split("\t") for row in result.out.splitlines()]
    found = [
        Package(row[0], row[1], row[2:] != ["0", "0"]) for row in rows if len(row) == 4 and row[1]
    ]
    if not found:
        remark = [each.text for each in builds.read_errors(result)] or [
            "go list knows no such package"
        ]
        raise NotFound(f"{' '.join(packages)}: {remark[0]}.", next="go list ./...")
    return found


def _values(argv: tuple[str, ...], name: str) -> list[str]:
    return [argv[at + 1] for at, each in enumerate(argv[:-1]) if each.lstrip("-") == name]


async def _choose(
    line: CommandLine, tools: Tools, path: str, listed: list[Package]
) -> tuple[Package, tuple[str, ...]]:
    """Return the one of several packages whose tests to debug."""
    if len(listed) == 1:
        return listed[0], ()
    candidates = [each for each in listed if each.has_tests]
    if not candidates:
        raise NotFound(f"none of the {len(listed)} packages has tests.", next="dbg start go run .")
    if len(candidates) == 1:
        return candidates[0], ()
    for file in line.break_files:
        for each in candidates:
            if os.path.realpath(os.path.dirname(file)) == os.path.realpath(each.folder):
                return each, (_others(line, each, candidates),)
    result = await tools.run((path, *line.argv[1:]), cwd=line.cwd, env=line.env)
    failed = {found[1] for found in _FAILED.finditer(result.out)}
    for each in candidates:
        if each.path in failed:
            return each, (_others(line, each, candidates),)
    remark = f"the tests of all {len(candidates)} packages pass"
    if result.status != 0:
        last = [row for row in (result.err + result.out).splitlines() if row.strip()][-1:]
        remark = f"`{' '.join(line.argv)}` ended with {result.status}: {''.join(last)}"
    return candidates[0], (remark, _others(line, candidates[0], candidates))


def _others(line: CommandLine, chosen: Package, candidates: list[Package]) -> str:
    names = [
        f"./{os.path.relpath(each.folder, line.cwd)}" for each in candidates if each is not chosen
    ]
    names = ["." if each == "./." else each for each in names]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return f"debugged: {chosen.path}; other packages with tests: {', '.join(names[:6])}{more}"


def _build_plan(
    line: CommandLine,
    path: str,
    verb: tuple[str, ...],
    flags: Flags,
    packages: tuple[str, ...],
    source: str,
    name: str,
) -> BuildPlan:
    shown = " ".join(("go", *verb, "-gcflags='all=-N -l'", *flags.build))
    return BuildPlan(
        source=source,
        argv=(path, *verb, builds.DEBUG, *flags.build, "-o", f"{FOLDER}/{name}", *packages),
        cwd=line.cwd,
        product=name,
        display=shown,
        read_errors=builds.read_errors,
        name=name,
        incremental=True,
        advice=builds.advice,
    )


COMMANDS = {"go": go}
