"""`cargo test`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from freezeframe.errors import NotFound
from freezeframe.model.testing import FailingTest, ResultCounts

from .runner import Evidence, Project, Runner, RunnerCommand, RunSummary, split_line

_FUNCTION = re.compile(
    r"#\[(?:\w+::)?test\b[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:pub )?(?:async )?fn (\w+)"
)
_RESULT = re.compile(
    r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<ignored>\d+) ignored"
    r".*?(?:finished in (?P<s>[\d.]+)s)?$",
    re.M,
)
_FAILED = re.compile(r"^test (\S+)(?: - .*?)? \.\.\. FAILED", re.M)
_RUNNING = re.compile(r"^test (?P<name>\S+)(?: - .*?)? \.\.\. ", re.M)
_DONE = re.compile(r"^test \S+(?: - .*?)? \.\.\. (?:.*\n)*?.*?\b(ok|FAILED|ignored)\b", re.M)


def _recognise(project: Project) -> Evidence | None:
    return Evidence("Cargo.toml") if project.exists("Cargo.toml") else None


def _command(project: Project) -> RunnerCommand:
    options: list[str] = []
    names: list[str] = [project.matching] if project.matching else []
    for selector in project.selectors:
        line = split_line(selector)
        file = line[0] if line is not None and project.is_file(line[0]) else selector
        if project.is_file(file) and file.endswith(".rs"):
            options += _program_of(project, file)
            if line is not None and file != selector:
                names.append(_at_line(project, file, line[1]))
        else:
            names.append(selector)
            options += _defining(project, selector) if not options else []
    filters = (*names[:1], "--", *names[1:]) if names else ("--",)
    return RunnerCommand(("cargo", "test", *options, *filters, "--test-threads=1", "--nocapture"))


def _program_of(project: Project, file: str) -> list[str]:
    """Return the options that select the test program of a source file."""
    parts = project.relative(file).split(os.sep)
    if parts[0] in ("tests", "benches", "examples") and len(parts) == 2:
        kind = {"tests": "--test", "benches": "--bench", "examples": "--example"}[parts[0]]
        return [kind, os.path.splitext(parts[1])[0]]
    return ["--lib"] if project.exists("src/lib.rs") and parts[0] == "src" else []


def _defining(project: Project, name: str) -> list[str]:
    """Return the options that select the only test program with a test of that name."""
    last = name.rpartition("::")[2]
    found = {
        tuple(_program_of(project, path))
        for path in project.files(r".*\.rs")
        if last in _FUNCTION.findall(project.text(path))
    }
    return list(found.pop()) if len(found) == 1 else []


def _at_line(project: Project, file: str, line: int) -> str:
    text = project.text(file)
    before = [m for m in _FUNCTION.finditer(text) if text.count("\n", 0, m.start()) + 1 <= line]
    if not before:
        raise NotFound(f"{file}:{line} is in no test.", next=f"dbg test {file}")
    return before[-1][1]


def _summary(output: str) -> RunSummary | None:
    results = list(_RESULT.finditer(output))
    if not results:
        return None
    counts = ResultCounts(
        passed=sum(int(each["passed"]) for each in results),
        failed=sum(int(each["failed"]) for each in results),
        skipped=sum(int(each["ignored"]) for each in results),
    )
    seconds = sum(float(each["s"] or 0) for each in results)
    failed = tuple(dict.fromkeys(_FAILED.findall(output)))
    return RunSummary(counts, None, seconds or None, failed, nothing=not counts.known)


def _current(output: str) -> FailingTest | None:
    started = [each["name"] for each in _RUNNING.finditer(output)]
    if not started:
        return None
    total = re.search(r"^running (\d+) tests?", output, re.M)
    passed = len(re.findall(r"\bok$", output, re.M))
    return FailingTest(
        started[-1],
        position=len(started),
        total=int(total[1]) if total else None,
        counts=ResultCounts(passed=passed),
    )


def _name_at(function: str, text: str, line: int) -> str | None:
    name = re.sub(r"::\{(?:\{closure\}\}|closure[^}]*\}).*|<.*|\(.*", "", function)
    return name if name.rpartition("::")[2] in _FUNCTION.findall(text) else None


def _names(project: Project) -> Iterator[str]:
    for path in project.files(r".*\.rs"):
        yield from _FUNCTION.findall(project.text(path))


#: results, and the stack that a panic prints
_NOISE = re.compile(
    r"|running \d+ tests?|test \S+ \.\.\.(?: .*)?|FAILED|ok|thread '.*' (?:\(\d+\) )?panicked at .*"
    r"|stack backtrace:|\d+: .*|at .*:\d+:\d+|note: .*"
)

RUNNER = Runner(
    "cargo test",
    _recognise,
    _command,
    files=r".*\.rs",
    summary=_summary,
    current=_current,
    framework=re.compile(r"\b(?:core|std|alloc)::|rust_begin_unwind|__rust|panicking"),
    noise=_NOISE,
    name_at=_name_at,
    names=_names,
)
