"""JUnit through Maven or Gradle."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from freezeframe.errors import NotFound
from freezeframe.model.testing import ResultCounts

from .runner import Evidence, Project, Runner, RunnerCommand, RunSummary, last_match, split_line

_METHOD = re.compile(
    r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest)\b"
    # Arguments of annotations may have braces: `@ValueSource(strings = {"a"})`.
    r"(?:\((?:[^()]|\([^()]*\))*\)|[^;{(])*?\bvoid\s+(?P<name>\w+)\s*\(",
    re.S,
)
_RUN = re.compile(
    r"Tests run: (?P<run>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+)"
    r", Skipped: (?P<skipped>\d+)"
)
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)", re.M)
#: how Gradle ends, counts, and names tests: `shop.CartTest > big FAILED`, `CartTest > b() FAILED`
_BUILD = re.compile(r"^BUILD (?:SUCCESSFUL|FAILED) in (?:(?P<m>\d+)m )?(?P<s>\d+)s", re.M)
_COMPLETED = re.compile(r"^(\d+) tests? completed, (\d+) failed(?:, (\d+) skipped)?", re.M)
_GRADLE_FAILED = re.compile(r"^(?:[\w.]+\.)?(?P<owner>[\w$]+) > (?P<name>\w+)[^\n]* FAILED$", re.M)
_TIME = re.compile(r"Total time: +(?P<s>[\d.]+) s")
_FAILED = re.compile(r"^\[ERROR\]\s+([\w$]+(?:\.[\w$]+)+)(?::\d+)?[ :\u00bb]", re.M)
_FILES = (r".*Tests?\.java", r"Test.*\.java", r".*TestCase\.java", r".*IT\.java")


def _recognise_maven(project: Project) -> Evidence | None:
    return Evidence("pom.xml") if project.exists("pom.xml") else None


def _recognise_gradle(project: Project) -> Evidence | None:
    found = project.exists("build.gradle", "build.gradle.kts", "settings.gradle*")
    return Evidence(found) if found else None


def _tests(project: Project) -> list[tuple[str, str]]:
    """Return what the selectors mean: classes, each with a method or without."""
    found: list[tuple[str, str]] = []
    for selector in project.selectors:
        line = split_line(selector)
        file = line[0] if line is not None and project.is_file(line[0]) else selector
        if project.is_file(file) and file.endswith(".java"):
            method = _at_line(project, file, line[1]) if line is not None else ""
            found.append((os.path.splitext(os.path.basename(file))[0], method))
            continue
        owner, _, method = selector.replace("::", "#").partition("#")
        if not method and "." in owner and owner.rpartition(".")[2][:1].islower():
            owner, _, method = owner.rpartition(".")
        if not method and owner[:1].islower():
            owner, method = "", owner
        classes = [owner] if owner else _classes_with(project, method)
        found += [(each, method) for each in classes or ["*"]]
    return found


def _at_line(project: Project, file: str, line: int) -> str:
    text = project.text(file)
    before = [m for m in _METHOD.finditer(text) if text.count("\n", 0, m.start()) + 1 <= line]
    if not before:
        raise NotFound(f"{file}:{line} is in no test.", next=f"dbg test {file}")
    return before[-1]["name"]


def _classes_with(project: Project, method: str) -> list[str]:
    return [
        os.path.splitext(os.path.basename(path))[0]
        for path in project.files(*_FILES)
        if any(each["name"] == method for each in _METHOD.finditer(project.text(path)))
    ]


def _maven(project: Project) -> RunnerCommand:
    tests = [f"{owner}#{method}" if method else owner for owner, method in _tests(project)]
    tests += [project.matching] if project.matching else []
    options = (f"-Dtest={','.join(tests)}", "-Dsurefire.failIfNoSpecifiedTests=false")
    command = "./mvnw" if project.exists("mvnw") else "mvn"
    return RunnerCommand((command, "test", *(options if tests else ())))


def _with_package(project: Project, owner: str) -> str:
    """Return the whole name of a class: before 4.7 Gradle knows no other."""
    if "." in owner or "*" in owner:
        return owner
    for path in project.files(rf"{re.escape(owner.partition('$')[0])}\.(?:java|kt|groovy)"):
        package = _PACKAGE.search(project.text(path))
        return f"{package[1]}.{owner}" if package else owner
    return owner


def _gradle(project: Project) -> RunnerCommand:
    tests = [
        ".".join(filter(None, (_with_package(project, owner), method)))
        for owner, method in _tests(project)
    ]
    tests += [project.matching] if project.matching else []
    options = [word for each in tests for word in ("--tests", each)]
    command = "./gradlew" if project.exists("gradlew") else "gradle"
    return RunnerCommand((command, "test", *options))


def _summary(output: str) -> RunSummary | None:
    found, took = last_match(_RUN, output), last_match(_TIME, output)
    if found is None:
        return RunSummary(nothing=True) if "No tests" in output else None
    run, failed, errors, skipped = map(int, found.groups())
    counts = ResultCounts(run - failed - errors - skipped, failed, errors, skipped)
    ids = ("#".join(each.rsplit(".", 2)[-2:]) for each in _FAILED.findall(output))
    names = tuple(dict.fromkeys(ids))
    return RunSummary(counts, run, float(took["s"]) if took else None, names, nothing=run == 0)


def _gradle_summary(output: str) -> RunSummary | None:
    """Return the results of a build; Gradle counts tests only where one has failed."""
    ended = last_match(_BUILD, output)
    if ended is None:
        return None
    took_s = float(ended["s"]) + 60.0 * float(ended["m"] or 0)
    found = last_match(_COMPLETED, output)
    if found is None:
        return RunSummary(duration_s=took_s, nothing="No tests found" in output)
    run, failed, skipped = (int(each or 0) for each in found.groups())
    names = (f"{each['owner']}#{each['name']}" for each in _GRADLE_FAILED.finditer(output))
    counts = ResultCounts(run - failed - skipped, failed, skipped=skipped)
    return RunSummary(counts, run, took_s, tuple(dict.fromkeys(names)))


def _name_at(function: str, text: str, line: int) -> str | None:
    owner, _, method = re.sub(r"\(.*", "", function).rpartition(".")
    if all(each["name"] != method for each in _METHOD.finditer(text)):
        return None
    return f"{owner.rpartition('.')[2]}#{method}" if owner else method


def _names(project: Project) -> Iterator[str]:
    for path in project.files(*_FILES):
        yield from (each["name"] for each in _METHOD.finditer(project.text(path)))


_FRAMEWORK = re.compile(r"\b(?:org[./](?:junit|assertj|hamcrest|opentest4j)|junit[./]framework)\b")
_NOISE = re.compile(r"\[(?:INFO|WARNING)\].*|> Task .*|:[\w:]+(?: [A-Z-]+)?|")
MAVEN = Runner(
    "maven",
    _recognise_maven,
    _maven,
    files=r".*\.(?:java|kt|groovy|scala)",
    summary=_summary,
    framework=_FRAMEWORK,
    noise=_NOISE,
    name_at=_name_at,
    names=_names,
)
GRADLE = Runner(
    "gradle",
    _recognise_gradle,
    _gradle,
    files=r".*\.(?:java|kt|groovy|scala)",
    summary=_gradle_summary,
    framework=_FRAMEWORK,
    noise=_NOISE,
    name_at=_name_at,
    names=_names,
)
