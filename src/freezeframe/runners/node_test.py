"""node:test, the runner of node itself."""

from __future__ import annotations

import re
import shlex

from freezeframe.model.testing import ResultCounts

from . import javascript_tests, titles
from .runner import Evidence, Project, Runner, RunnerCommand, RunSummary, Strength

_COUNT = re.compile(r"^(?:# |\u2139 )(tests|pass|fail|skipped|todo|duration_ms) ([\d.]+)$", re.M)
_FAILED = re.compile(r"^\s*(?:not ok \d+ - |\u2716 )(.+?)(?: \([\d.]+ms\))?$", re.M)
#: options of `node` before its files that tests need: loaders, conditions
_KEPT = re.compile(r"--(?:import|require|loader|experimental-(?!test-cov)|conditions|env-file)|-r$")


def _recognise(project: Project) -> Evidence | None:
    script = javascript_tests.script(project)
    if re.search(r"\bnode\b.*--test\b", script):
        return Evidence(f"package.json: {script[:40]}")
    for path in project.files(*javascript_tests.FILES):
        if re.search(r"""["']node:test["']""", project.text(path)):
            return Evidence(f"{path} imports node:test", Strength.CONFIGURATION)
    return None


def _command(project: Project) -> RunnerCommand:
    found = javascript_tests.selected(project)
    options: list[str] = []
    script = shlex.split(javascript_tests.script(project))
    for at, word in enumerate(script):
        if _KEPT.match(word):
            options += [word] if "=" in word else script[at : at + 2]
    if found.names:
        options.append(f"--test-name-pattern={titles.any_of(found.names)}")
    files = found.files or tuple(
        each for each in project.files(*javascript_tests.FILES) if "node:test" in project.text(each)
    )
    return RunnerCommand(("node", *options, "--test", *files))


def _summary(output: str) -> RunSummary | None:
    found = dict(_COUNT.findall(output))
    if "tests" not in found:
        return None
    counts = ResultCounts(
        passed=int(found.get("pass", 0)),
        failed=int(found.get("fail", 0)),
        skipped=int(found.get("skipped", 0)) + int(found.get("todo", 0)),
    )
    return RunSummary(
        counts,
        int(found["tests"]),
        float(found["duration_ms"]) / 1000 if "duration_ms" in found else None,
        tuple(dict.fromkeys(_FAILED.findall(output))),
        nothing=not counts.known,
    )


#: results as TAP or in the style of a terminal
_NOISE = re.compile(
    r"TAP version.*|# .*|\s*(?:ok|not ok) \d+.*|.*[\u2714\u2716\u25b6].*"
    r"|\s*(?:---|\.\.\.|duration_ms.*|type: .*)"
)

RUNNER = Runner(
    "node:test",
    _recognise,
    _command,
    files=javascript_tests.SOURCES,
    summary=_summary,
    framework=javascript_tests.FRAMEWORK,
    noise=_NOISE,
    name_at=javascript_tests.name_at,
    names=javascript_tests.names,
)
