"""`go test`."""

from __future__ import annotations

import itertools
import os
import re
import textwrap
from collections.abc import Iterator, Sequence

from freezeframe.errors import NotFound
from freezeframe.model.testing import FailingTest, ResultCounts

from .runner import (
    Evidence,
    Project,
    Runner,
    RunnerCommand,
    RunSummary,
    Strength,
    last_match,
    split_line,
)

_FUNCTION = re.compile(r"^func (?P<name>(?:Test|Fuzz|Example|Benchmark)\w*)\(", re.M)
#: a method of a suite of testify
_METHOD = re.compile(r"^func \([^)]*\) (?P<name>Test\w*)\(", re.M)
_FAILED = re.compile(r"^\s*--- FAIL: (\S+) \(", re.M)
_RUNNING = re.compile(r"^=== (?:RUN|CONT|NAME) +(?P<name>\S+)", re.M)
#: an entry of a test's log: the line that wrote it, and its text
_ENTRY = re.compile(r"^(?P<indent> +)(?P<file>[^\s:/]+\.go):(?P<line>\d+): ", re.M)
_ENDED = re.compile(r"^(?:PASS|FAIL|ok .*|panic: .*|fatal error: .*)$", re.M)
_FILES = (r".*_test\.go",)


def _recognise(project: Project) -> Evidence | None:
    if project.exists("go.mod"):
        return Evidence("go.mod")
    found = project.exists("*_test.go")
    return Evidence(found, Strength.FILES) if found else None


def _command(project: Project) -> RunnerCommand:
    package: str | None = None
    names: list[str] = [project.matching] if project.matching else []
    for selector in project.selectors:
        line = split_line(selector)
        if os.path.isdir(project.path(selector)) or selector.endswith("..."):
            package = _package(project, selector) if "..." not in selector else selector
        elif project.is_file(selector):
            package = _package(project, os.path.dirname(selector))
            names += [_exactly(each[1]) for each in _defined(project.text(selector))]
        elif line is not None and project.is_file(line[0]):
            around = [each for each in _defined(project.text(line[0])) if each[0] <= line[1]]
            if not around:
                raise NotFound(f"{selector} is in no test.", next=f"dbg test {line[0]}")
            package = _package(project, os.path.dirname(line[0]))
            names.append(_exactly(around[-1][1]))
        else:
            names.append(_exactly(selector))
            package = package or _package_of(project, selector.partition("/")[0])
    options = ("-run", "|".join(names)) if names else ()
    return RunnerCommand(("go", "test", "-v", *options, package or _default(project)))


def _exactly(name: str) -> str:
    """Return the pattern of one test, or of a subtest: `^TestX$/^sub_case$`."""
    if re.search(r"[\^$|()\[\]*+?]", name):
        return name
    return "/".join(f"^{part.replace(' ', '_')}$" for part in name.split("/"))


def _defined(text: str) -> list[tuple[int, str]]:
    return [
        (text.count("\n", 0, each.start()) + 1, each["name"]) for each in _FUNCTION.finditer(text)
    ]


def _package(project: Project, folder: str) -> str:
    relative = project.relative(folder or ".")
    return "." if relative == "." else f"./{relative}"


def _package_of(project: Project, name: str) -> str | None:
    """Return the package that defines a test."""
    pattern = re.compile(rf"^func (?:\([^)]*\) )?{re.escape(name)}\(", re.M)
    for path in project.files(*_FILES):
        if pattern.search(project.text(path)):
            return _package(project, os.path.dirname(path))
    return None


def _default(project: Project) -> str:
    return "." if project.exists("*_test.go") else "./..."


def _summary(output: str) -> RunSummary | None:
    if not _ENDED.search(output):
        return None
    failed = tuple(dict.fromkeys(_FAILED.findall(output)))
    counts = _counts(output)
    return RunSummary(counts, failed=failed, nothing=not counts.known)


def _counts(output: str) -> ResultCounts:
    """Return the results of the tests, without subtests, that have ended."""
    results = re.findall(r"^--- (PASS|FAIL|SKIP): ", output, re.M)
    return ResultCounts(
        passed=results.count("PASS"), failed=results.count("FAIL"), skipped=results.count("SKIP")
    )


def _current(output: str) -> FailingTest | None:
    running = last_match(_RUNNING, output)
    if running is None:
        return None
    return FailingTest(running["name"], counts=_counts(output))


def _name_at(function: str, text: str, line: int) -> str | None:
    found = re.search(r"\b(?:Test|Fuzz|Example)\w*", function.rpartition("/")[2])
    return found[0] if found else None


def _logged(output: str, lines: Sequence[tuple[str, int]]) -> str | None:
    """Return the last entry of the log, without its location, if one of *lines* wrote it."""
    entry = last_match(_ENTRY, output)
    if entry is None or (entry["file"], int(entry["line"])) not in lines:
        return None
    first, *rest = output[entry.end() :].split("\n")
    deeper = " " * (len(entry["indent"]) + 1)
    more = list(itertools.takewhile(lambda each: each.startswith(deeper), rest))
    return "\n".join([first, textwrap.dedent("\n".join(more))] if more else [first]).strip("\n")


def _names(project: Project) -> Iterator[str]:
    for path in project.files(*_FILES):
        yield from (each[1] for each in _defined(project.text(path)))


RUNNER = Runner(
    "go test",
    _recognise,
    _command,
    files=r".*\.go",
    summary=_summary,
    current=_current,
    framework=re.compile(r"\b(?:testing|runtime)\.|/testify/|/testing/"),
    noise=re.compile(r"===.*|\s*--- (?:PASS|FAIL|SKIP).*|\S+_test\.go:\d+: .*|"),
    name_at=_name_at,
    logged=_logged,
    names=_names,
)
