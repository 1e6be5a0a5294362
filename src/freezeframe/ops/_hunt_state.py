"""What is known of the runs of one command so far; kept on disk, so that a hunt can go on."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import statistics
from collections.abc import Sequence
from typing import Any

from freezeframe import files, paths
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.hunting import FailureGroup

from ._failure_texts import FailureText

_LARGEST = 4_000_000
_MOST_FAILURES = 2_000
_MOST_PASSED = 10_000
_MOST_DURATIONS = 500
_SOURCES = (".py", ".go", ".rs", ".js", ".ts", ".c", ".cc", ".cpp", ".h", ".java", ".rb", ".php")
_SKIPPED = frozenset(("node_modules", "target", "__pycache__", "venv", "build", "dist"))
_MOST_FILES = 20_000


@dataclass(slots=True)
class HuntState:
    """Counts of runs; numbers of runs begin at 1."""

    #: the base of the seeds of all runs
    seed: int
    #: of the sources when the first run began
    stamp: str
    runs: int = 0
    failed: int = 0
    #: the number of a run and what it said
    failures: list[tuple[int, FailureText]] = field(default_factory=list)
    #: seconds of the latest runs
    durations: list[float] = field(default_factory=list)
    #: the number of a run that passed
    passing: int | None = None
    #: the numbers of runs that passed, and how long each took
    passed: list[tuple[int, float]] = field(default_factory=list)

    def add(self, number: int, took_s: float, failure: FailureText | None) -> None:
        self.runs += 1
        self.durations = [*self.durations[-_MOST_DURATIONS:], round(took_s, 4)]
        if failure is None:
            self.passing = number
            if len(self.passed) < _MOST_PASSED:
                self.passed.append((number, round(took_s, 3)))
            return
        self.failed += 1
        if len(self.failures) < _MOST_FAILURES:
            self.failures.append((number, failure))

    @property
    def run_s(self) -> float:
        return statistics.median(self.durations) if self.durations else 0.0

    def groups(self) -> tuple[FailureGroup, ...]:
        """Return the failures by location and message, the most frequent first."""
        made = [
            FailureGroup(
                each[0][1].message, each[0][1].location, len(each), each[0][0], each[0][1].test
            )
            for each in self._grouped()
        ]
        return tuple(made)

    def group_of(self) -> dict[int, int]:
        """Return the index in `groups` for each run that failed."""
        return {number: at for at, group in enumerate(self._grouped()) for number, _ in group}

    def _grouped(self) -> list[list[tuple[int, FailureText]]]:
        found: dict[tuple[str | None, str], list[tuple[int, FailureText]]] = {}
        for number, each in sorted(self.failures, key=lambda item: item[0]):
            found.setdefault(each.group, []).append((number, each))
        return sorted(found.values(), key=lambda each: -len(each))


def key_of(cwd: str, argv: Sequence[str], *, shake: bool) -> str:
    text = json.dumps([cwd, list(argv), shake])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def new_state(cwd: str) -> HuntState:
    return HuntState(random.SystemRandom().randrange(1, 1 << 31), source_stamp(cwd))


def load(key: str) -> HuntState | None:
    """Return the state of an earlier call; None without one, or if it cannot be read."""
    try:
        data = json.loads(files.read_text(_path(key), _LARGEST))
        failures = [(int(number), FailureText(*each)) for number, *each in data.pop("failures")]
        return HuntState(failures=failures, **data)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def save(key: str, state: HuntState) -> None:
    data: dict[str, Any] = {
        "seed": state.seed,
        "stamp": state.stamp,
        "runs": state.runs,
        "failed": state.failed,
        "failures": [(n, each.message, each.location, each.test) for n, each in state.failures],
        "durations": state.durations,
        "passing": state.passing,
        "passed": state.passed,
    }
    path = _path(key)
    temporary = f"{path}.new"
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8", errors="surrogatepass") as file:
            json.dump(data, file)
        os.replace(temporary, path)


def remove(key: str) -> None:
    """Forget a hunt that has its answer: the same command begins anew."""
    with contextlib.suppress(OSError):
        os.unlink(_path(key))


def _path(key: str) -> str:
    return os.path.join(paths.secure(paths.state_dir()), "hunts", f"{key}.json")


def source_stamp(root: str) -> str:
    """Return a text that changes when a source file below *root* does."""
    found = hashlib.sha256()
    left = _MOST_FILES
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
        for name in sorted(names):
            left -= 1
            if name.endswith(_SOURCES) and left > 0:
                with contextlib.suppress(OSError):
                    status = os.stat(os.path.join(folder, name))
                    found.update(
                        f"{folder}/{name} {status.st_size} {status.st_mtime_ns}\n".encode()
                    )
    return found.hexdigest()[:16]
