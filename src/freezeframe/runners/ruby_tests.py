"""RSpec, and minitest or test-unit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from freezeframe.errors import NotFound
from freezeframe.model.testing import ResultCounts

from . import titles
from .runner import Evidence, Project, Runner, RunnerCommand, RunSummary, Strength, split_line

_TITLE = re.compile(
    r"""^[ \t]*(?:RSpec\.)?(?:it|specify|example|(?P<group>describe|context))[ (]+"""
    r"""(?P<quote>["'])(?P<title>.*?)(?P=quote)""",
    re.M,
)
_SPECS = (r".*_spec\.rb",)
_RSPEC = re.compile(r"^(?P<n>\d+) examples?, (?P<f>\d+) failures?(?:, (?P<p>\d+) pending)?", re.M)
_TIME = re.compile(r"^Finished in (?P<s>[\d.]+) ?s", re.M)
_RSPEC_FAILED = re.compile(r"^rspec (\S+) #", re.M)
_METHOD = re.compile(r"^\s*(?:def (?P<name>test_\w+)|test ['\"](?P<title>.*?)['\"] do)", re.M)
_FILES = (r".*_test\.rb", r"test_.*\.rb")
_MINITEST = re.compile(
    r"^(?P<n>\d+) (?:runs|tests), \d+ assertions, (?P<f>\d+) failures, (?P<e>\d+) errors"
    r"(?:, \d+ pendings)?(?:, \d+ omissions)?(?:, (?P<s>\d+) skips)?",
    re.M,
)
_FAILED = re.compile(r"^(\w+)#(test_\w+)|^(?:Failure|Error): (test_\w+)\((\w+)\)", re.M)


def _bundled(project: Project, command: str) -> tuple[str, ...]:
    locked = f" {command} " in project.text("Gemfile.lock")
    return ("bundle", "exec", command) if locked else (command,)


def _recognise_rspec(project: Project) -> Evidence | None:
    found = project.exists(".rspec", "spec/spec_helper.rb", "spec/*_spec.rb", "*_spec.rb")
    return Evidence(found) if found else None


def _rspec(project: Project) -> RunnerCommand:
    args: list[str] = ["-e", project.matching] if project.matching else []
    for selector in project.selectors:
        line = split_line(selector)
        if os.path.exists(project.path(line[0] if line else selector)):
            args.append(selector)
        else:
            args += ["-e", selector]
            args += [each for each in project.files(*_SPECS) if selector in project.text(each)]
    if not project.selectors and not os.path.isdir(project.path("spec")):
        args += project.files(*_SPECS)
    return RunnerCommand((*_bundled(project, "rspec"), "--no-color", *args))


def _rspec_summary(output: str) -> RunSummary | None:
    found, took = _RSPEC.search(output), _TIME.search(output)
    if found is None:
        return None
    total, failed, pending = (int(found[name] or 0) for name in ("n", "f", "p"))
    counts = ResultCounts(passed=total - failed - pending, failed=failed, skipped=pending)
    names = tuple(_RSPEC_FAILED.findall(output))
    seconds = float(took["s"]) if took else None
    return RunSummary(counts, total, seconds, names, nothing=total == 0)


def _spec_at(function: str, text: str, line: int) -> str | None:
    return " > ".join(titles.path_at(text, line, _TITLE)) or None


def _spec_names(project: Project) -> Iterator[str]:
    for path in project.files(*_SPECS):
        yield from (each.text for each in titles.titles(project.text(path), _TITLE))


RSPEC = Runner(
    "rspec",
    _recognise_rspec,
    _rspec,
    files=r"(?!test_|.*_test\.rb).*\.rb",
    summary=_rspec_summary,
    framework=re.compile(r"/rspec|RSpec"),
    noise=re.compile(r"[.F*]*|Run options:.*"),
    name_at=_spec_at,
    names=_spec_names,
)


def _recognise_minitest(project: Project) -> Evidence | None:
    for path in project.files(*_FILES):
        if re.search(r"minitest|test/unit|Minitest|test_helper", project.text(path)):
            return Evidence(path, Strength.CONFIGURATION)
    return None


def _minitest(project: Project) -> RunnerCommand:
    files: list[str] = []
    names: list[str] = [f"/{project.matching}/"] if project.matching else []
    for selector in project.selectors:
        line = split_line(selector)
        if line is not None and project.is_file(line[0]):
            text = project.text(line[0])
            before = [
                m
                for m in _METHOD.finditer(text)
                if text.count("\n", 0, m.start()) + 1 <= line[1] + 1
            ]
            if not before:
                raise NotFound(f"{selector} is in no test.", next=f"dbg test {line[0]}")
            files.append(line[0])
            names.append(before[-1]["name"] or f"/{before[-1]['title']}/")
        elif project.is_file(selector):
            files.append(selector)
        else:
            name = re.split(r"#|::", selector)[-1]
            names.append(name)
            files += [each for each in project.files(*_FILES) if name in project.text(each)]
    files = list(dict.fromkeys(files)) or list(project.files(*_FILES))
    if not files:
        raise NotFound("there are no files of tests here.", next="dbg test FILE.rb")
    folders = ("-Ilib", "-Itest")
    # All but one are required: one process runs them all.
    required = (f"-r./{project.relative(each)}" for each in files[:-1])
    pattern = names[0] if len(names) == 1 else f"/^(?:{'|'.join(n.strip('/') for n in names)})$/"
    options = ("-n", pattern) if names else ()
    return RunnerCommand(("ruby", *folders, *required, files[-1], *options))


def _minitest_summary(output: str) -> RunSummary | None:
    found, took = _MINITEST.search(output), _TIME.search(output)
    if found is None:
        return None
    total, failed, errors, skipped = (int(found[name] or 0) for name in ("n", "f", "e", "s"))
    counts = ResultCounts(total - failed - errors - skipped, failed, errors, skipped)
    names = tuple(b or c for _, b, c, _ in _FAILED.findall(output))
    seconds = float(took["s"]) if took else None
    return RunSummary(counts, total, seconds, names, nothing=total == 0)


def _method_at(function: str, text: str, line: int) -> str | None:
    name = re.sub(r"^(?:(?:block|rescue|ensure).*? in |<.*?>)", "", function)
    return name if re.search(r"(?:^|#)test_", name) else None


def _names(project: Project) -> Iterator[str]:
    for path in project.files(*_FILES):
        yield from (m["name"] or m["title"] for m in _METHOD.finditer(project.text(path)))


MINITEST = Runner(
    "minitest",
    _recognise_minitest,
    _minitest,
    files=r"(?!.*_spec\.rb).*\.rb",
    summary=_minitest_summary,
    framework=re.compile(r"/(?:minitest|test-unit|test/unit)|Minitest"),
    noise=re.compile(r"[.FES]*|Run options:.*|# Running:|Loaded suite.*|Started"),
    name_at=_method_at,
    names=_names,
)
