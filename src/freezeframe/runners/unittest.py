"""unittest of Python's standard library, and Django's runner on top of it."""

from __future__ import annotations

import os
import re

from freezeframe.errors import NotFound
from freezeframe.model.testing import FailingTest, ResultCounts

from . import python_tests
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

_RAN = re.compile(r"^Ran (?P<n>\d+) tests? in (?P<s>[\d.]+)s", re.MULTILINE)
_RESULT = re.compile(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((?P<counts>[^)]*)\))?$", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)", re.MULTILINE)
_NAMES = {
    "failures": "failed",
    "errors": "errors",
    "skipped": "skipped",
    "expected failures": "xfailed",
    "unexpected successes": "xpassed",
}


def _recognise(project: Project) -> Evidence | None:
    for path in python_tests.relevant(project):
        if re.search(r"\bunittest\b|\bTestCase\b", project.text(path)):
            return Evidence(f"{path} uses unittest", Strength.FILES)
    return None


def _command(project: Project) -> RunnerCommand:
    options = ("-k", project.matching) if project.matching else ()
    if project.selectors:
        args = [word for each in project.selectors for word in _dotted(project, each)]
        return RunnerCommand(("unittest", *options, *args), module=True)
    args = ["discover"]
    if project.exists("test*.py") is None:
        # unittest looks into packages only.
        for folder in ("tests", "test"):
            if project.exists(os.path.join(folder, "*.py")):
                packaged = project.exists(os.path.join(folder, "__init__.py"))
                args += ["-s", folder, *(("-t", ".") if packaged else ())]
                break
    return RunnerCommand(("unittest", *args, *options), module=True)


def _dotted(project: Project, selector: str) -> list[str]:
    """Return the names that unittest has for what a selector means."""
    line = split_line(selector)
    if line is not None and os.path.isfile(project.path(line[0])):
        test = python_tests.at_line(project, *line)
        if test is None:
            raise NotFound(f"{selector} is in no test.", next=f"dbg test {line[0]}")
        return [test.dotted]
    path, *names = selector.split("::")
    if os.path.isfile(project.path(path)):
        module = os.path.relpath(project.path(path), project.cwd)
        return [".".join((os.path.splitext(module)[0].replace(os.sep, "."), *names))]
    if os.path.isdir(project.path(path)) and not names:
        return [
            os.path.splitext(each)[0].replace(os.sep, ".")
            for each in project.files(*python_tests.PATTERNS)
            if each.startswith(os.path.normpath(path) + os.sep)
        ]
    found = python_tests.defined(project, selector)
    return [test.dotted for test in found] or [selector]


def _summary(output: str) -> RunSummary | None:
    ran = last_match(_RAN, output)
    if ran is None:
        return None
    result = _RESULT.search(output, ran.end())
    counts: dict[str, int] = {}
    for each in (result["counts"] or "").split(", ") if result else ():
        name, _, count = each.partition("=")
        if name in _NAMES and count.isdecimal():
            counts[_NAMES[name]] = int(count)
    total = int(ran["n"])
    failed = tuple(
        where if where.endswith(f".{name}") else f"{where}.{name}"
        for name, where in dict.fromkeys(_FAILED.findall(output))
    )
    # Subtests fail one by one, so the tests that failed are counted by their names.
    rest = sum(counts.get(name, 0) for name in ("skipped", "xfailed", "xpassed"))
    passed = max(0, total - rest - len(failed))
    return RunSummary(
        ResultCounts(passed=passed, **counts),
        total,
        float(ran["s"]),
        failed,
        nothing=total == 0,
    )


def _alone(
    project: Project, args: tuple[str, ...], test: FailingTest, path: str | None
) -> tuple[str, ...]:
    """Return the arguments of the run, with a pattern that only the test matches."""
    kept: list[str] = []
    for at, word in enumerate(args):
        if word != "-k" and args[at - 1 : at] != ("-k",):
            kept.append(word)
    return (*kept, "-k", test.id.partition(" ")[0])


_FRAMEWORK = re.compile(r"[\\/]unittest[\\/]|[\\/]django[\\/]test[\\/]")
#: progress, and what Django says about its database
_NOISE = re.compile(
    r"[.FEsxu]*|(?:Creating|Destroying) test database.*|Found \d+ test.*"
    r"|System check identified no issues.*"
)

RUNNER = Runner(
    "unittest",
    _recognise,
    _command,
    files=r".*\.py",
    summary=_summary,
    framework=_FRAMEWORK,
    noise=_NOISE,
    module="unittest",
    alone=_alone,
    names=python_tests.names,
)


def _recognise_django(project: Project) -> Evidence | None:
    if "django" in project.text("manage.py"):
        return Evidence("manage.py")
    return None


def _django_command(project: Project) -> RunnerCommand:
    args = [word for each in project.selectors for word in _dotted(project, each)]
    options = ("-k", project.matching) if project.matching else ()
    return RunnerCommand(("manage.py", "test", "--noinput", "--parallel=1", *options, *args))


DJANGO = Runner(
    "django",
    _recognise_django,
    _django_command,
    files=r".*\.py",
    summary=_summary,
    framework=_FRAMEWORK,
    noise=_NOISE,
    module="django",
    alone=_alone,
    names=python_tests.names,
)
