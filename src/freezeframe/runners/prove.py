"""Perl's tests: files below `t/`, run by prove."""

from __future__ import annotations

import re

from freezeframe.model.testing import FailingTest, ResultCounts

from .runner import Evidence, Project, Runner, RunnerCommand, RunSummary, last_match

_RESULT = re.compile(r"^\s*(?P<bad>not )?ok (?P<n>\d+)(?: - (?P<name>.*))?$", re.M)
_PLAN = re.compile(r"^1\.\.(?P<n>\d+)", re.M)
_SKIPPED = re.compile(r"#\s*(?:skip|todo)\b", re.I)


def _recognise(project: Project) -> Evidence | None:
    found = project.exists("t/*.t", "*.t")
    return Evidence(found) if found else None


def _command(project: Project) -> RunnerCommand:
    return RunnerCommand(("prove", "-l", *(project.selectors or ("t",))))


def _summary(output: str) -> RunSummary | None:
    results = list(_RESULT.finditer(output))
    if not results:
        return None
    failed = [each for each in results if each["bad"] and not _SKIPPED.search(each["name"] or "")]
    skipped = [each for each in results if _SKIPPED.search(each["name"] or "")]
    counts = ResultCounts(
        passed=len(results) - len(failed) - len(skipped), failed=len(failed), skipped=len(skipped)
    )
    names = tuple(each["name"] or f"test {each['n']}" for each in failed)
    return RunSummary(counts, len(results), failed=names)


def _current(output: str) -> FailingTest | None:
    last, plan = last_match(_RESULT, output), _PLAN.search(output)
    if last is None:
        return None
    # The assertion has printed its result before the program stops.
    passed = len([each for each in _RESULT.finditer(output) if not each["bad"]])
    number = int(last["n"])
    return FailingTest(
        last["name"] or f"test {number}",
        position=number if last["bad"] else number + 1,
        total=int(plan["n"]) if plan else None,
        counts=ResultCounts(passed=passed),
    )


RUNNER = Runner(
    "prove",
    _recognise,
    _command,
    files=r".*\.(?:t|pl)",
    summary=_summary,
    current=lambda output: found if (found := _current(output)) and "not ok" in output else None,
    framework=re.compile(r"/Test2?/|Test::"),
    noise=re.compile(r"\s*(?:not )?ok \d+.*|1\.\.\d+|"),
    is_selectable=False,
)
