"""Jest."""

from __future__ import annotations

import functools
import re

from . import javascript_tests, titles
from .runner import Project, Runner, RunnerCommand, RunSummary, counted, last_match

_SUMMARY = re.compile(r"^Tests: +(?P<counts>.*?), (?P<total>\d+) total", re.M)
_TIME = re.compile(r"^Time: +(?P<s>[\d.]+) s", re.M)
_FAILED = re.compile(r"^  \u25cf (.+)$", re.M)


def _command(project: Project) -> RunnerCommand:
    found = javascript_tests.selected(project)
    names = ("-t", titles.any_of(found.names)) if found.names else ()
    # A stopped test must not fail because of its time limit.
    options = ("--runInBand", "--testTimeout=1000000", "--coverage=false", "--colors=false")
    return RunnerCommand(("npx", "jest", *options, *names, *found.files))


def _summary(output: str) -> RunSummary | None:
    found, took = last_match(_SUMMARY, output), last_match(_TIME, output)
    if found is None:
        return RunSummary(nothing=True) if "No tests found" in output else None
    counts = counted(
        found["counts"], {"passed": "passed", "failed": "failed", "skipped": "skipped"}
    )
    paths = (each.split(" \u203a ") for each in _FAILED.findall(output))
    failed = tuple(dict.fromkeys(each[-1].strip() for each in paths))
    return RunSummary(
        counts,
        int(found["total"]),
        float(took["s"]) if took else None,
        failed,
        nothing=not (counts.passed or counts.failed),
    )


RUNNER = Runner(
    "jest",
    functools.partial(javascript_tests.recognise, name="jest", configuration="jest.config.*"),
    _command,
    files=javascript_tests.SOURCES,
    summary=_summary,
    framework=javascript_tests.FRAMEWORK,
    name_at=javascript_tests.name_at,
    names=javascript_tests.names,
)
