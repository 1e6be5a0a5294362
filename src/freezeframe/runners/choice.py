"""Choose the test runner of a project."""

from __future__ import annotations

import re
from dataclasses import replace

from freezeframe.errors import NotFound, UsageError
from freezeframe.model.fast_dataclass import dataclass

from . import (
    cargo_test,
    go_test,
    jest,
    junit,
    mocha,
    native,
    node_test,
    phpunit,
    prove,
    pytest,
    ruby_tests,
    unittest,
    vitest,
)
from .runner import Evidence, Project, Runner

#: of equally likely ones the first is chosen
_RUNNERS = (
    pytest.RUNNER,
    unittest.DJANGO,
    unittest.RUNNER,
    vitest.RUNNER,
    jest.RUNNER,
    mocha.RUNNER,
    node_test.RUNNER,
    go_test.RUNNER,
    cargo_test.RUNNER,
    junit.MAVEN,
    junit.GRADLE,
    ruby_tests.RSPEC,
    ruby_tests.MINITEST,
    phpunit.RUNNER,
    prove.RUNNER,
    native.GTEST,
    native.CATCH2,
    native.DOCTEST,
)


@dataclass(frozen=True, slots=True)
class RunnerChoice:
    runner: Runner
    reason: str
    #: other runners that the project shows as clearly
    others: tuple[str, ...] = ()


def by_name(name: str) -> Runner:
    """Return a runner. Raises UsageError with the names of all."""
    for each in _RUNNERS:
        if each.name == name.lower():
            return each
    known = ", ".join(each.name for each in _RUNNERS)
    raise UsageError(f"no runner is called {name!r}; known: {known}.", next="dbg test")


def _recognised(project: Project) -> list[tuple[Runner, Evidence]]:
    pairs = ((runner, runner.recognise(project)) for runner in _RUNNERS)
    return [(runner, evidence) for runner, evidence in pairs if evidence is not None]


def choose(project: Project, name: str | None = None) -> RunnerChoice:
    """Return the runner of a project. Raises NotFound if nothing shows one."""
    if name is not None:
        return RunnerChoice(by_name(name), "--runner")
    # A selected file that shows nothing is run as the others of the project.
    found = _recognised(project) or _recognised(replace(project, selectors=()))
    if not found:
        known = ", ".join(each.name for each in _RUNNERS)
        raise NotFound(
            f"nothing in {project.cwd} shows how its tests are run; runners: {known}.",
            next="dbg test --runner NAME",
        )
    # Of several languages, or several runners of one, the one that can run the selected files.
    able = [
        (runner, evidence)
        for runner, evidence in found
        if all(re.fullmatch(runner.files, each) for each in project.selected_files())
    ]
    found = able or found
    best = max(evidence.strength for _, evidence in found)
    runner, evidence = next(each for each in found if each[1].strength == best)
    others = tuple(each.name for each, its in found if each is not runner and its.strength == best)
    return RunnerChoice(runner, evidence.reason, others)
