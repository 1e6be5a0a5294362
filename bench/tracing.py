"""What a trace costs a program: its own code and the code of libraries; and what a probe does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import partial

from environment import HERE, PROGRAMS, Lab, interpreters, line_of
from measures import Figure, Measure, Probe, Taken

_PROGRAM = "orders.py"
_PROBED = "hits.py"
_AGENTS = HERE.parent / "src" / "freezeframe" / "backends" / "python" / "tracing"


class Tracing(Measure):
    """Processor time of the program with and without a trace, as the program itself measures it."""

    name = "tracing"

    def open(self) -> dict[str, Probe]:
        self._pythons = interpreters()
        return {
            f"{kind} {code} {version}": partial(self._run, python, code, kind == "traced")
            for version, python in self._pythons.items()
            for code in ("own", "library")
            for kind in ("plain", "traced")
        }

    def _run(self, python: str, code: str, is_traced: bool) -> float:
        return _timed(self.lab, [python, str(PROGRAMS / _PROGRAM), code], _settings, is_traced)

    def figures(self, taken: Taken) -> list[Figure]:
        return [
            Figure(
                f"{code} code traced / plain, Python {version}",
                taken[f"traced {code} {version}"] / taken[f"plain {code} {version}"],
                "×",
                1.1 if code == "library" else 25.0 if version == "3.11" else 12.0,
            )
            for version in self._pythons
            for code in ("own", "library")
        ]


class Probed(Measure):
    """Processor time that a probe of three expressions adds to a million hits of a line."""

    name = "probe"

    def open(self) -> dict[str, Probe]:
        self._pythons = interpreters()
        return {
            f"{kind} hits {version}": partial(self._run, python, kind == "probed")
            for version, python in self._pythons.items()
            for kind in ("plain", "probed")
        }

    def _run(self, python: str, is_probed: bool) -> float:
        return _timed(self.lab, [python, str(PROGRAMS / _PROBED)], _probe, is_probed)

    def figures(self, taken: Taken) -> list[Figure]:
        return [
            Figure(
                f"a probe's million hits over plain, Python {version}",
                taken[f"probed hits {version}"] - taken[f"plain hits {version}"],
                "s",
                None if version == "3.11" else 1.0,
            )
            for version in self._pythons
        ]


def _timed(
    lab: Lab, command: list[str], settings: Callable[[str], dict[str, object]], has_agents: bool
) -> float:
    """Run a program that prints what it took, with our agents in it or without."""
    env = dict(lab.env)
    directory = lab.directory / "trace"
    if has_agents:
        directory.mkdir(exist_ok=True)
        file = directory / "settings"
        file.write_text(repr(settings(str(directory))))
        env |= {"PYTHONPATH": str(_AGENTS / "site_agent"), "FREEZEFRAME_TRACE": f"-{file}"}
    done = subprocess.run(
        command, env=env, cwd=PROGRAMS, capture_output=True, text=True, check=True
    )
    if has_agents:
        for each in os.listdir(directory):
            (directory / each).unlink()
    return float(done.stdout)


def _probe(directory: str) -> dict[str, object]:
    path = PROGRAMS / _PROBED
    line = line_of(_PROBED, "probed")
    expressions = ["i", "total", "i * 2"]
    probe = {"path": str(path), "line": line, "expressions": expressions, "until": None}
    return {"probe": probe, "directory": directory}


def _settings(directory: str) -> dict[str, object]:
    return {
        "directory": directory, "roots": [str(PROGRAMS)], "functions": [], "until": None,
        "tests": False, "exits": False, "steps": 1_000_000, "bytes": 200_000_000, "seconds": 60.0,
    }  # fmt: skip


TRACED = (Tracing, Probed)
