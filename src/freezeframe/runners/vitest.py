"""Vitest."""

from __future__ import annotations

import functools
import re

from . import javascript_tests, titles
from .runner import Project, Runner, RunnerCommand, RunSummary, counted, last_match

_SUMMARY = re.compile(r"^\s*Tests  (?P<counts>.*?) \((?P<total>\d+)\)", re.M)
_TIME = re.compile(r"^\s*Duration  (?P<n>[\d.]+)(?P<unit>ms|s)", re.M)
_FAILED = re.compile(r"^\s*FAIL  (.+)$", re.M)


def _command(project: Project) -> RunnerCommand:
    found = javascript_tests.selected(project)
    names = ("-t", titles.any_of(found.names)) if found.names else ()
    # A stopped test must not fail because of its time limit.
    options = ("--no-file-parallelism", "--testTimeout=1000000", "--coverage.enabled=false")
    return RunnerCommand(("npx", "vitest", "run", *options, *names, *found.files))


def _summary(output: str) -> RunSummary | None:
    found, took = last_match(_SUMMARY, output), last_match(_TIME, output)
    if found is None:
        return RunSummary(nothing=True) if "No test files found" in output else None
    counts = counted(
        found["counts"], {"passed": "passed", "failed": "failed", "skipped": "skipped"}
    )
    seconds = float(took["n"]) / (1000 if took["unit"] == "ms" else 1) if took else None
    failed = tuple(dict.fromkeys(each.split(" > ")[-1].strip() for each in _FAILED.findall(output)))
    nothing = not (counts.passed or counts.failed)
    return RunSummary(counts, int(found["total"]), seconds, failed, nothing=nothing)


RUNNER = Runner(
    "vitest",
    functools.partial(javascript_tests.recognise, name="vitest", configuration="vitest.config.*"),
    _command,
    files=javascript_tests.SOURCES,
    summary=_summary,
    framework=javascript_tests.FRAMEWORK,
    name_at=javascript_tests.name_at,
    names=javascript_tests.names,
)
