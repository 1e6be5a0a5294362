"""Go: build a package, its tests, or a single file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from freezeframe import files
from freezeframe.backends.transport.run_command import CommandResult
from freezeframe.errors import NotFound

from . import compilers
from .build_plan import FOLDER, BuildPlan, BuildRequest, CompilerError, Toolchain

_MODULE = "go.mod"
_BESIDE = ("$GOROOT/bin", "/usr/local/go/bin", "/usr/lib/go/bin", "~/sdk/go/bin")
#: no optimisation and no inlining, in every package: otherwise variables are missing and lines jump
DEBUG = "-gcflags=all=-N -l"

_PACKAGE = re.compile(r"^package\s+(\w+)", re.MULTILINE)
_MAIN = re.compile(r"^func main\(\)", re.MULTILINE)
_IGNORED = re.compile(r"\A(?:\s*//.*\n|\s*\n)*?//\s*(?:go:build|\+build) ignore\b")


async def _plan(request: BuildRequest) -> BuildPlan | None:
    folder = request.path if os.path.isdir(request.path) else os.path.dirname(request.path)
    file = None if os.path.isdir(request.path) else os.path.basename(request.path)
    sources = dict(_sources(folder))
    if not sources:
        return None
    go = compilers.need(
        ("go",),
        request.env,
        what=request.shown(request.path),
        install="apt-get install golang-go",
        beside=_BESIDE,
    )
    tests = request.tests or (file is not None and file.endswith("_test.go"))
    included = {name: text for name, text in sources.items() if not _IGNORED.search(text)}
    mains = [name for name, text in included.items() if _MAIN.search(text)]
    if tests:
        what: tuple[str, ...] = ("test", "-c")
    else:
        what = ("build",)
        _check_main(request, file, sources, folder)
    # A file that is excluded from its package, or one of several mains in a folder, is built alone.
    alone = file is not None and not tests and (file not in included or len(mains) > 1)
    if alone and file is not None:
        packages = [file]
    elif module_above(folder) is not None:
        packages = ["."]
    else:
        packages = [each for each in included if tests or not each.endswith("_test.go")]
    stem = os.path.splitext(file)[0] if alone and file is not None else os.path.basename(folder)
    product = f"{stem}.test" if tests else stem
    return BuildPlan(
        source=request.path,
        argv=(go, *what, DEBUG, "-o", f"{FOLDER}/{product}", *packages),
        cwd=folder,
        product=product,
        display=f"go {' '.join(what)} -gcflags='all=-N -l'",
        read_errors=read_errors,
        name=product,
        incremental=True,
        # As `go test` does; a program runs in the user's directory.
        run_in=folder if tests else None,
        arguments=_test_arguments if tests else lambda args: args,
        advice=advice,
    )


def _sources(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the beginning of each Go file of a package."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if name.endswith(".go") and not name.startswith((".", "_")):
            try:
                text = files.read_head(os.path.join(folder, name), 1_000_000)
                yield name, text.decode("utf-8", "replace")
            except OSError:
                continue


def _check_main(
    request: BuildRequest, file: str | None, sources: dict[str, str], folder: str
) -> None:
    """Raise NotFound if the package is not a program."""
    searched = [file] if file in sources else [n for n in sources if not n.endswith("_test.go")]
    names = {match[1] for name in searched if name and (match := _PACKAGE.search(sources[name]))}
    if "main" in names or not names:
        return
    name = sorted(names)[0]
    has_tests = any(each.endswith("_test.go") for each in sources)
    root = module_above(folder) or folder
    others = [os.path.normpath(os.path.join(root, each)) for each in programs(root)]
    instead = f"dbg start {request.typed(others[0])}" if others else "dbg start FILE"
    relation = "is in" if file else "is"
    raise NotFound(
        f"{request.shown(request.path)} {relation} package {name}, a library; "
        "programs are package main.",
        next=f"dbg start go test {request.typed(folder)}" if has_tests else instead,
    )


def module_above(folder: str) -> str | None:
    """Return the folder of the module that contains a folder."""
    while not os.path.isfile(os.path.join(folder, _MODULE)):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


#: flags of `go test` that its test binary takes with the prefix `test.`
_TEST_FLAGS = re.compile(
    r"-{1,2}(bench|benchmem|benchtime|blockprofile|count|coverprofile|cpu|cpuprofile|failfast|fuzz"
    r"|fuzztime|list|memprofile|mutexprofile|parallel|run|short|shuffle|skip|timeout|trace|v)(=.*)?"
)


def _test_arguments(args: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arguments of a test binary: `-run X` of `go test` is `-test.run X`."""
    return tuple(
        f"-test.{word.lstrip('-')}" if _TEST_FLAGS.fullmatch(word) else word for word in args
    )


_ERROR = re.compile(
    r"^(?P<file>[^\s:][^:\n]*\.go):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<text>.*)$"
)


def read_errors(result: CommandResult) -> list[CompilerError]:
    """Return the errors of the compiler, or those of the go command itself."""
    found = []
    rest = []
    for line in result.err.splitlines():
        match = _ERROR.match(line)
        if match is not None and match["text"] == "too many errors":
            continue
        if match is not None:
            column = int(match["column"]) if match["column"] else None
            found.append(
                CompilerError(
                    match["text"], match["file"].removeprefix("./"), int(match["line"]), column
                )
            )
        elif line.strip() and not line.startswith(("# ", "go: downloading", "too many errors")):
            rest.append(CompilerError(line.strip().removeprefix("go: ")))
    return found or rest


def find(env: Mapping[str, str]) -> str | None:
    """Return the go of the caller's PATH, or of its usual directories."""
    return compilers.find(("go",), env, beside=_BESIDE)


def advice(output: str) -> str | None:
    """Return go's own suggestion for a build that failed."""
    if "go.mod file not found" in output:
        return "go mod init NAME && go mod tidy"
    suggestion = re.search(
        r"^\s*(go (?:get|mod tidy|mod init|work use)\b.*)$", output, re.MULTILINE
    )
    return suggestion[1].strip() if suggestion else None


def programs(directory: str) -> list[str]:
    """Return the folders of a module that contain a program: itself, `cmd/*` and its direct
    subfolders."""
    found = []
    candidates = [""]
    for base in ("cmd", ""):
        try:
            names = sorted(os.listdir(os.path.join(directory, base)))
        except OSError:
            continue
        candidates += [
            os.path.join(base, name) for name in names if not name.startswith((".", "_"))
        ]
    for relative in candidates:
        folder = os.path.join(directory, relative)
        if os.path.isdir(folder) and _is_program(folder):
            found.append(f"./{relative}" if relative else ".")
    return found


def _is_program(folder: str) -> bool:
    return any(
        not name.endswith("_test.go") and _MAIN.search(text) and not _IGNORED.search(text)
        for name, text in _sources(folder)
    )


def _claims_folder(directory: str) -> bool:
    return any(True for _ in _sources(directory))


TOOLCHAINS = (
    Toolchain(
        language="Go",
        suffixes=(".go",),
        plan=_plan,
        projects=(_MODULE,),
        tests=True,
        claims_folder=_claims_folder,
        programs=programs,
    ),
)
