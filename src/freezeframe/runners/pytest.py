"""pytest."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from freezeframe.errors import NotFound
from freezeframe.model.testing import FailingTest

from . import python_tests
from .runner import (
    Evidence,
    Project,
    Runner,
    RunnerCommand,
    RunSummary,
    Strength,
    counted,
    last_match,
    split_line,
)

_CONFIGURATION = (
    ("pytest.ini", ""),
    (".pytest.ini", ""),
    ("pyproject.toml", "[tool.pytest"),
    ("tox.ini", "[pytest]"),
    ("setup.cfg", "[tool:pytest]"),
    ("conftest.py", ""),
    ("tests/conftest.py", ""),
    ("test/conftest.py", ""),
)
#: pytest's own sections: other programs have theirs in the same files
_SETTINGS = re.compile(
    r"^\[(?:pytest|tool:pytest|tool\.pytest(?:\.ini_options)?)\]\s*\n(?P<text>.*?)(?=^\[|\Z)",
    re.MULTILINE | re.DOTALL,
)
#: plugins that start workers, install a tracer of their own or end a stopped test; and the option
#: against each, which only exists if the plugin is installed
_IN_THE_WAY = (
    (re.compile(r"(?<![\w-])(?:-n[\s=]*(?:\d+|auto|logical)|--numprocesses|--dist)\b"), "-n0"),
    (re.compile(r"(?<![\w-])--cov\b"), "--no-cov"),
    (re.compile(r"(?<![\w-])--timeout\b|^\s*timeout\s*=", re.MULTILINE), "--timeout=0"),
)
_MARKED_LIMIT = re.compile(r"\bmark\.timeout\b")
#: pytest-timeout turns itself off where it recognises a debugger, markers included
_NO_LIMITS = (
    "time limits of pytest-timeout may be off under the debugger: "
    "a test that only takes too long counts as passed"
)
_PARAMETERS = re.compile(r"(?P<name>[^\[]+)(?P<parameters>\[.*\])", re.DOTALL)
_NAME = re.compile(r"\w+(?:(?:\.|::)\w+)*")
_SUMMARY = re.compile(
    r"^=* ?(?P<counts>(?:no tests ran|(?:\d+ [a-z ]+?(?:, |(?= in |=*$)))+))"
    r"(?: in (?P<s>[\d.]+)s.*?)?=*$",
    re.MULTILINE,
)
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+(?:\[.*?\](?= - |$))?)", re.MULTILINE)
_RESULTS = {
    "passed": "passed",
    "failed": "failed",
    "errors": "errors?",
    "skipped": "skipped",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
}


def _recognise(project: Project) -> Evidence | None:
    for selector in project.selectors:
        if ".py::" in selector:
            return Evidence(f"`{selector}` is a test for pytest", Strength.SELECTOR)
    for name, section in _CONFIGURATION:
        if project.exists(name) and section in project.text(name):
            return Evidence(name)
    paths = python_tests.relevant(project)
    for path in paths:
        if re.search(r"^\s*(?:import|from) pytest\b", project.text(path), re.MULTILINE):
            return Evidence(f"{path} imports pytest")
    for path in paths:
        if any(
            len(test.names) == 1 and test.names[0].startswith("test")
            for test in python_tests.tests_in(project, path)
        ):
            return Evidence(f"{path} has test functions")
    for path in python_tests.doctests(project):
        return Evidence(f"{path} has doctests", Strength.FILES)
    return None


def _command(project: Project) -> RunnerCommand:
    settings = project.env.get("PYTEST_ADDOPTS", "")
    for name, _ in _CONFIGURATION:
        settings += "".join(f"\n{each['text']}" for each in _SETTINGS.finditer(project.text(name)))
    against = [option for pattern, option in _IN_THE_WAY if pattern.search(settings)]
    args: list[str] = []
    matching = [project.matching] if project.matching else []
    for selector in project.selectors:
        ids, expression = _selected(project, selector)
        args += ids
        matching += [expression] if expression else []
    if matching:
        args += ["-k", " or ".join(f"({each})" for each in matching)]
    # `-s`: what a test prints is in the answer of its failure. The summary names what failed.
    options = ("-s", "-q", "--tb=short", "-rfE", "--color=no", *against, *_of_doctests(project))
    limits = "--timeout=0" in against or any(
        _MARKED_LIMIT.search(project.text(path)) for path in python_tests.relevant(project)
    )
    return RunnerCommand(
        ("pytest", *options, *args), module=True, notes=(_NO_LIMITS,) if limits else ()
    )


def _of_doctests(project: Project) -> list[str]:
    """Return the options without which pytest does not look for examples in the selected files."""
    names = [os.path.basename(path) for path in python_tests.doctests(project)]
    # Named files that end in .rst and .txt need none.
    others = [each for each in names if not each.endswith((".py", ".rst", ".txt"))]
    modules = any(each.endswith(".py") for each in names)
    return ["--doctest-modules"] * modules + [f"--doctest-glob={each}" for each in others]


def _selected(project: Project, selector: str) -> tuple[list[str], str | None]:
    """Return the node ids that a selector means, or an expression for names."""
    file = selector.partition("::")[0]
    if file.endswith(".py") and not os.path.isfile(project.path(file)):
        near = list(project.files(re.escape(os.path.basename(file))))
        raise NotFound(
            f"there is no {file} in {project.cwd}.",
            next=f"dbg test {selector.replace(file, near[0], 1)}" if near else "dbg test",
        )
    if ("::" in selector and project.is_file(file)) or os.path.exists(project.path(selector)):
        return [selector], None
    line = split_line(selector)
    if line is not None and os.path.isfile(project.path(line[0])):
        test = python_tests.at_line(project, *line)
        if test is None:
            raise NotFound(f"{selector} is in no test.", next=f"dbg test {line[0]}")
        return [test.node_id], None
    parameters = _PARAMETERS.fullmatch(selector)
    name = parameters["name"] if parameters else selector
    if _NAME.fullmatch(name):
        ids = [test.node_id for test in python_tests.defined(project, name)]
        if ids:
            suffix = parameters["parameters"] if parameters else ""
            return [each + suffix for each in ids], None
    if parameters:
        # pytest's expressions have no brackets.
        return [], " and ".join(re.findall(r"\w+", selector))
    return [], selector


def _summary(output: str) -> RunSummary | None:
    found = last_match(_SUMMARY, output)
    if found is None:
        return None
    counts = counted(found["counts"], _RESULTS)
    return RunSummary(
        counts,
        duration_s=float(found["s"]) if found["s"] else None,
        failed=tuple(dict.fromkeys(_FAILED.findall(output))),
        nothing=not counts.known,
    )


def _alone(
    project: Project, args: tuple[str, ...], test: FailingTest, path: str | None
) -> tuple[str, ...]:
    # Ids begin at pytest's root, which is not always the directory of the run.
    file, _, name = test.id.partition("::")
    if path is not None and os.path.basename(path) == os.path.basename(file):
        file = path
    name = re.sub(r"(?<=\w) \(.*\)$", "", name)
    selector = f"{file}::{name}" if name else file
    return _command(replace(project, selectors=(selector,))).argv[1:]


#: progress, and the header that `-v` in a project's settings brings back
_NOISE = re.compile(
    r"(?:\S+\.py )?[.FEsxXuR,-]*(?:\s+\[\s*\d+%\])?|=+ test session starts =+"
    r"|(?:platform|rootdir:|configfile:|plugins:|cachedir:|testpaths:|collected|collecting) .*"
    r"|\S+::.* (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b.*"
)

RUNNER = Runner(
    "pytest",
    _recognise,
    _command,
    files=r".*\.(?:py|txt|rst|md)",
    summary=_summary,
    framework=re.compile(r"[\\/](?:_pytest|pytest|pluggy|unittest)[\\/]"),
    noise=_NOISE,
    module="pytest",
    fallback="unittest",
    alone=_alone,
    names=python_tests.names,
)
