"""Test programs in C and C++: GoogleTest, Catch2, doctest, by themselves or registered with ctest.

The program is what runs: a selector names it, or the build directory of CMake does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from freezeframe import files
from freezeframe.errors import NotFound
from freezeframe.model.testing import FailingTest, ResultCounts

from .runner import Evidence, Project, Runner, RunnerCommand, RunSummary, Strength, last_match

#: a text that only programs of a framework have
_MARKERS = {"gtest": b"--gtest_filter", "catch2": b"Catch", "doctest": b"doctest::"}
_BUILDS = (".", "build", "out", "cmake-build-debug", "Debug", "build/debug", "build/Debug")
_ADDED = re.compile(
    r"""add_test\(\s*(?:NAME )?["\[=]*(?P<name>[^\s"\]]+)["\]=]*\s+"?(?P<program>[^\s"]+)"""
)
_SUITE = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
_CASE = re.compile(r"""^\s*(?:TEST_CASE|SCENARIO)\(\s*"(.*?)\"""", re.M)
_SOURCES = (r".*\.(?:cc|cpp|cxx|c\+\+)",)


def _framework(path: str) -> str | None:
    """Return the test framework that is linked into a program."""
    try:
        with files.mapped(path) as view:
            return next((name for name, marker in _MARKERS.items() if view.find(marker) >= 0), None)
    except (OSError, ValueError):
        return None


def _is_program(path: str) -> bool:
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return False
    try:
        return files.read_head(path, 4) == b"\x7fELF"
    except OSError:
        return False


def _programs(project: Project) -> list[str]:
    """Return the test programs that the selectors or the build directories name."""
    named = [project.path(each) for each in project.selectors if _is_program(project.path(each))]
    if named:
        return named
    found: dict[str, None] = {}
    for build in _BUILDS:
        for folder, folders, names in os.walk(project.path(build)) if build != "." else ():
            folders[:] = [each for each in folders if each not in ("_deps", "CMakeFiles")]
            for name in names:
                if name.endswith(".cmake") and (name[:5] == "CTest" or "_tests" in name):
                    text = project.text(os.path.join(folder, name))
                    found.update(dict.fromkeys(m["program"] for m in _ADDED.finditer(text)))
    found.update(
        dict.fromkeys(m["program"] for m in _ADDED.finditer(project.text("CTestTestfile.cmake")))
    )
    return [each for each in found if _is_program(each)]


def _recognise(project: Project, framework: str) -> Evidence | None:
    for path in _programs(project):
        if _framework(path) == framework:
            named = path in [project.path(each) for each in project.selectors]
            strength = Strength.SELECTOR if named else Strength.CONFIGURATION
            return Evidence(os.path.relpath(path, project.cwd), strength)
    return None


def _chosen(project: Project, framework: str) -> tuple[str, list[str]]:
    """Return the program, and the selectors that name tests in it."""
    programs = [each for each in _programs(project) if _framework(each) == framework]
    tests = [each for each in project.selectors if not _is_program(project.path(each))]
    tests += [project.matching] if project.matching else []
    if len(programs) > 1 and tests:
        last = tests[0].rpartition(".")[2].encode()
        programs = [each for each in programs if _contains(each, last)] or programs
    if not programs:
        raise NotFound(f"there is no test program of {framework} here.", next="dbg test ./PROGRAM")
    if len(programs) > 1:
        shown = [os.path.relpath(each, project.cwd) for each in programs]
        raise NotFound(
            f"there are {len(shown)} test programs: {', '.join(shown[:6])}.",
            next=f"dbg test {shown[0]}",
        )
    return programs[0], tests


def _contains(path: str, name: bytes) -> bool:
    try:
        with files.mapped(path) as view:
            return view.find(name) >= 0
    except (OSError, ValueError):
        return False


# --- GoogleTest


def _gtest(project: Project) -> RunnerCommand:
    program, tests = _chosen(project, "gtest")
    patterns = [each if "." in each or "*" in each else f"*.{each}" for each in tests]
    options = (f"--gtest_filter={':'.join(patterns)}",) if patterns else ()
    return RunnerCommand((program, *options, "--gtest_color=no"))


_RUN = re.compile(r"^\[ RUN      \] (?P<name>\S+)", re.M)
_GTEST_FAILED = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", re.M)
_RAN = re.compile(
    r"^\[==========\] (?P<n>\d+) tests? from .*ran\.(?: \((?P<ms>\d+) ms total\))?", re.M
)
_BEGUN = re.compile(r"^\[==========\] Running (?P<n>\d+) test", re.M)


def _gtest_current(output: str) -> FailingTest | None:
    runs, begun = list(_RUN.finditer(output)), _BEGUN.search(output)
    if not runs:
        return None
    passed = len(re.findall(r"^\[       OK \]", output, re.M))
    total = int(begun["n"]) if begun else None
    return FailingTest(
        runs[-1]["name"], position=len(runs), total=total, counts=ResultCounts(passed=passed)
    )


def _gtest_summary(output: str) -> RunSummary | None:
    ran = last_match(_RAN, output)
    if ran is None:
        return None
    passed = len(re.findall(r"^\[       OK \]", output, re.M))
    failed = tuple(dict.fromkeys(_GTEST_FAILED.findall(output)))
    skipped = len(re.findall(r"^\[  SKIPPED \] \S+ \(", output, re.M))
    total = int(ran["n"])
    counts = ResultCounts(passed, len(failed), skipped=skipped)
    seconds = int(ran["ms"]) / 1000 if ran["ms"] else None
    return RunSummary(counts, total, seconds, failed, nothing=total == 0)


def _gtest_name(function: str, text: str, line: int) -> str | None:
    found = re.search(r"(\w+?)_(\w+)_Test::TestBody", function)
    return f"{found[1]}.{found[2]}" if found else None


def _gtest_names(project: Project) -> Iterator[str]:
    for path in project.files(*_SOURCES):
        yield from (f"{a}.{b}" for a, b in _SUITE.findall(project.text(path)))


GTEST = Runner(
    "gtest",
    lambda project: _recognise(project, "gtest"),
    _gtest,
    summary=_gtest_summary,
    current=_gtest_current,
    is_selectable=False,
    framework=re.compile(r"testing::|/gtest/"),
    noise=re.compile(
        r"\[[ =-]+\].*|\[ RUN .*|\[       OK .*|Running main\(\).*|Note: Google Test.*|"
    ),
    name_at=_gtest_name,
    names=_gtest_names,
)


# --- Catch2 and doctest


def _case_at(function: str, text: str, line: int) -> str | None:
    before = [m for m in _CASE.finditer(text) if text.count("\n", 0, m.end()) + 1 <= line]
    return before[-1][1] if before else None


def _case_names(project: Project) -> Iterator[str]:
    for path in project.files(*_SOURCES):
        yield from _CASE.findall(project.text(path))


def _catch(project: Project) -> RunnerCommand:
    program, tests = _chosen(project, "catch2")
    return RunnerCommand((program, *(each.replace(",", "\\,") for each in tests)))


_CASES = re.compile(r"^test cases: +(?P<n>\d+)(?P<rest>[^\n]*)", re.M)
_ALL = re.compile(r"^All tests passed \(.* in (?P<n>\d+) test cases?\)", re.M)


def _catch_summary(output: str) -> RunSummary | None:
    good, found = _ALL.search(output), _CASES.search(output)
    if good is not None:
        return RunSummary(ResultCounts(passed=int(good["n"])), int(good["n"]))
    if found is None:
        return RunSummary(nothing=True) if "No test cases matched" in output else None
    rest = {name: int(n) for n, name in re.findall(r"(\d+) (passed|failed|skipped)", found["rest"])}
    return RunSummary(ResultCounts(**rest), int(found["n"]))


CATCH2 = Runner(
    "catch2",
    lambda project: _recognise(project, "catch2"),
    _catch,
    summary=_catch_summary,
    is_selectable=False,
    framework=re.compile(r"Catch::|/catch2?/"),
    name_at=_case_at,
    names=_case_names,
)


def _doctest(project: Project) -> RunnerCommand:
    program, tests = _chosen(project, "doctest")
    return RunnerCommand((program, *(f"--test-case={each}" for each in tests), "--no-colors"))


_DOCTEST = re.compile(r"test cases:\s+(?P<n>\d+) \|\s+(?P<p>\d+) passed \|\s+(?P<f>\d+) failed")


def _doctest_summary(output: str) -> RunSummary | None:
    found = last_match(_DOCTEST, output)
    if found is None:
        return None
    total, passed, failed = (int(found[name]) for name in ("n", "p", "f"))
    return RunSummary(ResultCounts(passed, failed), total, nothing=total == 0)


DOCTEST = Runner(
    "doctest",
    lambda project: _recognise(project, "doctest"),
    _doctest,
    summary=_doctest_summary,
    is_selectable=False,
    framework=re.compile(r"doctest::"),
    name_at=_case_at,
    names=_case_names,
)
