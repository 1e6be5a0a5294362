"""What each debugger was seen to do in a run, for the page of debuggers and promises.

The results of the contract are collected where all reports arrive: in the process that hands out
the tests. They are added to those of earlier runs, so that a part can be run again by itself.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

RESULTS = Path(__file__).parent.parent.parent / ".cache" / "promises.json"
#: the property of a test that names its debugger
PROPERTY = "debugger"


class Results:
    """Plugin: writes what became of every test that names a debugger."""

    def __init__(self, path: Path = RESULTS) -> None:
        self._path = path
        self._rows: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row = dict(report.user_properties).get(PROPERTY)
        if not isinstance(row, dict):
            return
        kept = self._rows.setdefault(row["id"], {**row, "tests": {}})
        name = report.nodeid.rpartition("/")[2].partition("[")[0]
        # What went wrong before or after the test itself counts as well.
        tells = report.when == "call" or report.outcome != "passed"
        if tells and kept["tests"].get(name) != "failed":
            kept["tests"][name] = report.outcome

    def pytest_sessionfinish(self) -> None:
        if not self._rows:
            return
        rows = read(self._path)
        for id, row in self._rows.items():
            tests = {**rows.get(id, {}).get("tests", {}), **row["tests"]}
            rows[id] = {**row, "tests": tests}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False))
        draft.replace(self._path)


def read(path: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return the results of earlier runs by row; nothing where there are none."""
    try:
        rows = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return rows if isinstance(rows, dict) else {}
