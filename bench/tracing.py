"""What a trace costs the program: its own code, and the code of libraries."""

from __future__ import annotations

import os
import subprocess
from functools import partial

from environment import HERE, PROGRAMS, interpreters
from measures import Figure, Measure, Probe, Taken

_PROGRAM = "orders.py"
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
        env = dict(self.lab.env)
        directory = self.lab.directory / "trace"
        if is_traced:
            directory.mkdir(exist_ok=True)
            settings = directory / "settings"
            settings.write_text(repr(_settings(str(directory))))
            env |= {"PYTHONPATH": str(_AGENTS / "site_agent"), "FREEZEFRAME_TRACE": f"-{settings}"}
        done = subprocess.run(
            [python, str(PROGRAMS / _PROGRAM), code],
            env=env, cwd=PROGRAMS, capture_output=True, text=True, check=True,
        )  # fmt: skip
        if is_traced:
            for each in os.listdir(directory):
                (directory / each).unlink()
        return float(done.stdout)

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


def _settings(directory: str) -> dict[str, object]:
    return {
        "directory": directory, "roots": [str(PROGRAMS)], "functions": [], "until": None,
        "tests": False, "exits": False, "steps": 1_000_000, "bytes": 200_000_000, "seconds": 60.0,
    }  # fmt: skip


TRACED = (Tracing,)
