"""PHPUnit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from freezeframe.errors import NotFound
from freezeframe.model.testing import ResultCounts

from .runner import Evidence, Project, Runner, RunnerCommand, RunSummary, Strength, split_line

_METHOD = re.compile(r"function (?P<name>test\w+)\s*\(")
_OK = re.compile(r"^OK \((?P<n>\d+) tests?", re.M)
_COUNTS = re.compile(r"^Tests: (?P<n>\d+), Assertions: \d+(?P<rest>.*)\.$", re.M)
_TIME = re.compile(r"^Time: (?:(?P<m>\d+):)?(?P<s>[\d.]+)", re.M)
_FAILED = re.compile(r"^\d+\) ([\w\\]+::\w+)", re.M)
_FILES = (r".*Test\.php",)


def _recognise(project: Project) -> Evidence | None:
    found = project.exists("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")
    if found:
        return Evidence(found)
    path = next(project.files(*_FILES), None)
    return Evidence(path, Strength.FILES) if path else None


def _command(project: Project) -> RunnerCommand:
    names: list[str] = [project.matching] if project.matching else []
    paths: list[str] = []
    for selector in project.selectors:
        line = split_line(selector)
        if line is not None and project.is_file(line[0]):
            text = project.text(line[0])
            found = [m for m in _METHOD.finditer(text) if text.count("\n", 0, m.end()) < line[1]]
            if not found:
                raise NotFound(f"{selector} is in no test.", next=f"dbg test {line[0]}")
            paths.append(line[0])
            names.append(f"::{found[-1]['name']}$")
        elif os.path.exists(project.path(selector)):
            paths.append(selector)
        else:
            name = selector.replace("#", "::")
            names.append(re.escape(name) if "::" in name else rf"(?:^|::){re.escape(name)}\b")
            last = name.rpartition("::")[2]
            paths += [each for each in project.files(*_FILES) if last in project.text(each)][:1]
    local = "vendor/bin/phpunit"
    program = local if project.is_file(local) else "phpunit"
    options = ("--filter", "|".join(names)) if names else ()
    configured = project.exists("phpunit.xml*", "phpunit.dist.xml") is not None
    paths = paths or ([] if configured else ["."])
    return RunnerCommand((program, "--colors=never", *options, *paths))


def _summary(output: str) -> RunSummary | None:
    took = _TIME.search(output)
    seconds = 60 * int(took["m"] or 0) + float(took["s"]) if took else None
    ok = _OK.search(output)
    if ok is not None:
        return RunSummary(ResultCounts(passed=int(ok["n"])), int(ok["n"]), seconds)
    found = _COUNTS.search(output)
    if found is None:
        return RunSummary(nothing=True) if "No tests executed" in output else None
    rest = {name: int(n) for name, n in re.findall(r"(\w+): (\d+)", found["rest"])}
    failed, errors = rest.get("Failures", 0), rest.get("Errors", 0)
    skipped = rest.get("Skipped", 0) + rest.get("Incomplete", 0)
    total = int(found["n"])
    counts = ResultCounts(total - failed - errors - skipped, failed, errors, skipped)
    return RunSummary(counts, total, seconds, tuple(dict.fromkeys(_FAILED.findall(output))))


def _name_at(function: str, text: str, line: int) -> str | None:
    name = function.replace("->", "::")
    return name if re.search(r"::test", name) else None


def _names(project: Project) -> Iterator[str]:
    for path in project.files(*_FILES):
        yield from _METHOD.findall(project.text(path))


RUNNER = Runner(
    "phpunit",
    _recognise,
    _command,
    files=r".*\.php",
    summary=_summary,
    framework=re.compile(r"[/\\]PHPUnit[/\\]|phpunit"),
    noise=re.compile(r"PHPUnit .* by .*|Runtime:.*|Configuration:.*|[.FEWSIR]*(?:\s+\d+ / \d+.*)?"),
    name_at=_name_at,
    names=_names,
)
