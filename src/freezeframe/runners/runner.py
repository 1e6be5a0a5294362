"""What is known of a test runner."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from freezeframe import files
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.testing import FailingTest, ResultCounts

#: directories that hold no tests of the project
_SKIPPED = frozenset(
    (
        "node_modules",
        "site-packages",
        "__pycache__",
        "target",
        "vendor",
        "build",
        "dist",
        "venv",
        "env",
    )
)
_MOST_FILES = 4000
_LONGEST_FILE = 1_000_000


class Strength:
    """How well a project shows that it uses a runner."""

    FILES, CONFIGURATION, SELECTOR = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a runner is the one of a project."""

    #: a file, or the form of a selector
    reason: str
    strength: int = Strength.CONFIGURATION


@dataclass(frozen=True, slots=True)
class Project:
    """The directory that tests are run in, and which of them."""

    cwd: str
    env: Mapping[str, str]
    #: as the user named them
    selectors: tuple[str, ...] = ()
    #: an expression or pattern that names must match
    matching: str | None = None

    def path(self, word: str) -> str:
        return os.path.abspath(os.path.join(self.cwd, os.path.expanduser(word)))

    def exists(self, *names: str) -> str | None:
        """Return the first of the files, patterns allowed, that is in the directory."""
        for name in names:
            found = glob.glob(os.path.join(glob.escape(self.cwd), name))
            if found:
                return os.path.relpath(min(found), self.cwd)
        return None

    def text(self, name: str) -> str:
        """Return the text of a file; empty if it cannot be read."""
        try:
            return files.read_head(self.path(name), _LONGEST_FILE).decode("utf-8", "replace")
        except OSError:
            return ""

    def relative(self, word: str) -> str:
        return os.path.relpath(self.path(word), self.cwd)

    def is_file(self, word: str) -> bool:
        return os.path.isfile(self.path(word))

    def selected_files(self) -> list[str]:
        """Return the names of the files that selectors name: `a/b.py::test_x`, `b_spec.rb:12`."""
        paths = (each.partition("::")[0] for each in self.selectors)
        named = (line[0] if (line := split_line(path)) else path for path in paths)
        return [os.path.basename(each) for each in named if self.is_file(each)]

    def files(self, *patterns: str) -> Iterator[str]:
        """Yield files of the project below its directory, relative to it, by name patterns."""
        any_of = re.compile("|".join(f"(?:{each})" for each in patterns))
        left = _MOST_FILES
        for folder, folders, names in os.walk(self.cwd):
            folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
            for name in sorted(names):
                if any_of.fullmatch(name):
                    yield os.path.relpath(os.path.join(folder, name), self.cwd)
                left -= 1
            if left <= 0:
                return


@dataclass(frozen=True, slots=True)
class RunnerCommand:
    """What to start: a command line as `start` takes it."""

    argv: tuple[str, ...]
    module: bool = False
    #: `NAME=VALUE`
    env: tuple[str, ...] = ()
    cwd: str | None = None
    #: what the user should know about how the selection was understood
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What the output of a runner says at the end of a run."""

    counts: ResultCounts = ResultCounts()
    total: int | None = None
    duration_s: float | None = None
    #: the tests that failed, as far as they are named
    failed: tuple[str, ...] = ()
    #: no test was run: none has the name, or there are none
    nothing: bool = False


@dataclass(frozen=True, slots=True)
class Runner:
    """One test runner."""

    name: str
    #: whether the project, or the form of its selectors, shows that it uses this runner
    recognise: Callable[[Project], Evidence | None]
    #: the command that runs the selection, in one process
    command: Callable[[Project], RunnerCommand]
    #: names of the files that it can run
    files: str = r".*"
    #: read the output of a whole run; None if it has no summary
    summary: Callable[[str], RunSummary | None] = lambda output: None
    #: the test that runs, by the output so far; agents inside the runner know better
    current: Callable[[str], FailingTest | None] = lambda output: None
    #: paths or functions of the test framework, whose frames raise every failure
    framework: re.Pattern[str] | None = None
    #: the arguments that run one test alone, from those of the run, the test, and its file
    alone: Callable[[Project, tuple[str, ...], FailingTest, str | None], tuple[str, ...]] | None = (
        None
    )
    #: whole lines of its output that say nothing at a stop: progress
    noise: re.Pattern[str] | None = None
    #: the module that the program's interpreter must have
    module: str | None = None
    #: the runner that can run the same tests if the module is not installed
    fallback: str | None = None
    #: the test whose code a frame runs, by the frame's function, source text and line; None if
    #: the frame is in no test
    name_at: Callable[[str, str, int], str | None] = lambda function, text, line: None
    #: the message of a failure as it was printed for one of these files (base names) and lines
    logged: Callable[[str, Sequence[tuple[str, int]]], str | None] = lambda output, lines: None
    #: whether the names of tests are selectors
    is_selectable: bool = True
    #: names of tests, to suggest one for a selector that matched none
    names: Callable[[Project], Iterator[str]] = lambda project: iter(())


def counted(output: str, names: Mapping[str, str]) -> ResultCounts:
    """Return the counts of `3 passed, 1 failed`; *names* are the runner's own, by result."""
    found = {}
    for name, word in names.items():
        matches = re.findall(rf"(?<![\w.])(\d+) {word}", output)
        found[name] = sum(map(int, matches)) if matches else None
    return ResultCounts(**found)


def split_line(selector: str) -> tuple[str, int] | None:
    """Return the parts of `path:LINE`."""
    file, colon, line = selector.rpartition(":")
    return (file, int(line)) if colon and line.isdecimal() and not file.endswith(":") else None


def last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for each in pattern.finditer(text):
        found = each
    return found
