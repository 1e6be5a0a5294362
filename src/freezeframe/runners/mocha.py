"""Mocha."""

from __future__ import annotations

import functools
import re

from . import javascript_tests, titles
from .runner import Project, Runner, RunnerCommand, RunSummary, counted

_TIME = re.compile(r"^\s*\d+ passing \((?P<n>[\d.]+)(?P<unit>ms|s)\)", re.M)
_FAILED = re.compile(r"^  \d+\) .+(?:\n {7,}.+)*\n {7,}(.+):$|^  \d+\) (.+):$", re.M)


def _command(project: Project) -> RunnerCommand:
    found = javascript_tests.selected(project)
    names = ("-g", titles.any_of(found.names)) if found.names else ()
    # A stopped test must not fail because of its time limit.
    return RunnerCommand(("npx", "mocha", "--no-parallel", "--timeout=0", *names, *found.files))


def _summary(output: str) -> RunSummary | None:
    names = {"passed": "passing", "failed": "failing", "skipped": "pending"}
    counts = counted(output, names)
    took = _TIME.search(output)
    if counts.passed is None:
        return None
    seconds = float(took["n"]) / (1000 if took["unit"] == "ms" else 1) if took else None
    failed = tuple(dict.fromkeys(inner or own for inner, own in _FAILED.findall(output)))
    return RunSummary(counts, None, seconds, failed, nothing=not counts.known)


RUNNER = Runner(
    "mocha",
    functools.partial(javascript_tests.recognise, name="mocha", configuration=".mocharc*"),
    _command,
    files=javascript_tests.SOURCES,
    summary=_summary,
    framework=javascript_tests.FRAMEWORK,
    name_at=javascript_tests.name_at,
    names=javascript_tests.names,
)
