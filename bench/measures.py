"""What is measured, against what, and the limit of each figure.

A measure offers probes, which the run calls in turn, round after round, so that a noisy minute of
the machine falls on all of them alike. Its figures are made of what one round took.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dap_baseline import Bare, Debugpy, Gdb
from environment import HERE, PROGRAMS, Lab, interpreters, line_of

#: does one thing and returns what it took: seconds, or megabytes a second
Probe = Callable[[], float]
#: what every probe took in one round
Taken = Mapping[str, float]
FLOOR = "python -c pass"
FLOOD_MB = 16


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    name: str
    value: float
    unit: str
    #: what the value must not exceed, or, with `at_least`, not fall below
    limit: float | None = None
    at_least: bool = False

    @property
    def passed(self) -> bool:
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit


class Measure:
    """A group of figures. `open` prepares its probes, `close` takes away what they needed."""

    name = ""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def open(self) -> dict[str, Probe]:
        return {}

    def figures(self, taken: Taken) -> list[Figure]:
        raise NotImplementedError

    def close(self) -> None:
        pass


class Status(Measure):
    """What every command costs before it does anything."""

    name = "status"

    def open(self) -> dict[str, Probe]:
        self.lab.run("status")
        return {"dbg status": lambda: self.lab.timed("status")[0]}

    def figures(self, taken: Taken) -> list[Figure]:
        ratio = taken["dbg status"] / taken[FLOOR]
        return [Figure("dbg status / python -c pass", ratio, "×", 1.25)]


class Resume(Measure):
    """A command that resumes and reports, in a program that both sides keep stopped."""

    #: the command, and the DAP request that does the same
    request = ""
    #: in the names of its probes
    language = ""

    def open(self) -> dict[str, Probe]:
        self._bare = self._stopped()
        self._thread = self._bare.stop_report()
        return {self._ours_named: self._ours, self._theirs_named: self._theirs}

    def _stopped(self) -> Bare | Gdb:
        """Start the program on our side, and on theirs up to its first stop."""
        line = line_of("steps.py", "stop")
        program = str(PROGRAMS / "steps.py")
        start = ("start", "steps.py", "--interpreter", self.lab.python, "--name", self.name)
        self.lab.run(*start, "-b", f"steps.py:{line}")
        bare = Debugpy(self.lab.python, self.lab.env)
        bare.launch(self.lab.python, program, line=line)
        return bare

    @property
    def _ours_named(self) -> str:
        return f"dbg {self.request}{self.language}"

    @property
    def _theirs_named(self) -> str:
        return f"bare {self.request}{self.language}"

    def _ours(self) -> float:
        took_s, text = self.lab.timed(self.request, "-s", self.name)
        if "stopped" not in text:
            raise RuntimeError(f"no stop report: {text}")
        return took_s

    def _theirs(self) -> float:
        with Stopwatch() as watch:
            self._bare.ask(self.request, threadId=self._thread)
            self._bare.stop_report()
        return watch.took_s

    def figures(self, taken: Taken) -> list[Figure]:
        ours, bare = taken[self._ours_named], taken[self._theirs_named]
        allowed = 1.25 * taken[FLOOR] + 1.3 * bare
        strict = taken[FLOOR] + 1.3 * bare
        return [
            Figure(f"{self._ours_named} / (1.25 × floor + 1.3 × bare)", ours / allowed, "×", 1.0),
            Figure(f"{self._ours_named} / (floor + 1.3 × bare)", ours / strict, "×"),
        ]

    def close(self) -> None:
        self._bare.close()
        self.lab.run("stop", "-s", self.name)


class Next(Resume):
    name = "next"
    request = "next"


class Continue(Resume):
    name = "continue"
    request = "continue"


class Start(Measure):
    """From nothing to a stop report, for each Python that programs are debugged under."""

    name = "start"

    def open(self) -> dict[str, Probe]:
        self.lab.run("status")
        self._line = line_of("steps.py", "stop")
        self._pythons = interpreters()
        probes: dict[str, Probe] = {}
        for version, python in self._pythons.items():
            probes[f"dbg start, {version}"] = lambda python=python: self._ours(python)  # type: ignore[misc]
            probes[f"bare start, {version}"] = lambda python=python: self._theirs(python)  # type: ignore[misc]
        return probes

    def _ours(self, python: str) -> float:
        where = ("-b", f"steps.py:{self._line}", "--name", "start")
        took_s, text = self.lab.timed("start", "steps.py", "--interpreter", python, *where)
        if "stopped" not in text:
            raise RuntimeError(f"no stop report: {text}")
        self.lab.run("stop", "-s", "start")
        return took_s

    def _theirs(self, python: str) -> float:
        with Stopwatch() as watch:
            bare = Debugpy(self.lab.python, self.lab.env)
            bare.launch(python, str(PROGRAMS / "steps.py"), line=self._line)
            bare.stop_report()
        bare.close()
        return watch.took_s

    def figures(self, taken: Taken) -> list[Figure]:
        return [
            Figure(
                f"dbg start / bare start, {version}",
                taken[f"dbg start, {version}"] / taken[f"bare start, {version}"],
                "×",
                1.15,
            )
            for version in self._pythons
        ]


class Cold(Measure):
    """The first command, which has to start the daemon."""

    name = "cold"

    def open(self) -> dict[str, Probe]:
        self._env = self.lab.home("cold")
        return {"dbg status, no daemon": self._first}

    def _first(self) -> float:
        took_s, text = self.lab.timed("status", env=self._env)
        pid = int(_found(r"pid (\d+)", text))
        self.lab.run("daemon", "stop", env=self._env)
        _await_end(pid)
        return took_s

    def figures(self, taken: Taken) -> list[Figure]:
        ratio = taken["dbg status, no daemon"] / taken[FLOOR]
        return [Figure("first command / python -c pass", ratio, "×", 15)]


class Flood(Measure):
    """How fast a program can print, by its own clock."""

    name = "flood"

    def open(self) -> dict[str, Probe]:
        self._result = self.lab.directory / "flood"
        return {
            "flood, alone": self._alone,
            "flood, dbg": self._ours,
            "flood, debugpy's adapter": self._theirs,
        }

    def _words(self) -> tuple[str, str]:
        return str(self._result), str(FLOOD_MB)

    def _rate(self) -> float:
        return float(self._result.read_text())

    def _alone(self) -> float:
        command = [self.lab.python, str(PROGRAMS / "flood.py"), *self._words()]
        subprocess.run(command, env=self.lab.env, stdout=subprocess.PIPE, check=True)
        return self._rate()

    def _ours(self) -> float:
        words = ("--interpreter", self.lab.python, "--name", "flood", "--", *self._words())
        self.lab.run("start", "flood.py", *words)
        return self._rate()

    def _theirs(self) -> float:
        bare = Debugpy(self.lab.python, self.lab.env)
        bare.launch(self.lab.python, str(PROGRAMS / "flood.py"), *self._words())
        bare.wait_for("terminated")
        bare.close()
        return self._rate()

    def figures(self, taken: Taken) -> list[Figure]:
        ours, theirs = taken["flood, dbg"], taken["flood, debugpy's adapter"]
        return [
            Figure("output: dbg / debugpy's adapter", ours / theirs, "×", 0.5, at_least=True),
            Figure("output: dbg / alone", ours / taken["flood, alone"], "×"),
        ]


class Child(Measure):
    """A program that runs another Python program, from its start to its end."""

    name = "child"

    def open(self) -> dict[str, Probe]:
        return {
            "parent and child, alone": lambda: self.lab.plain_s("parent.py"),
            "parent and child, not followed": lambda: self._run("ignore"),
            "parent and child, followed": lambda: self._run("follow"),
        }

    def _run(self, child: str) -> float:
        words = ("--interpreter", self.lab.python, "--name", "child", "--child", child)
        return self.lab.timed("start", "parent.py", *words)[0]

    def figures(self, taken: Taken) -> list[Figure]:
        more = taken["parent and child, followed"] - taken["parent and child, not followed"]
        return [Figure("a followed child / python -c pass", more / taken[FLOOR], "×", 15)]


class Memory(Measure):
    """What the daemon and its supervisor hold, shared pages counted in part."""

    name = "memory"

    def open(self) -> dict[str, Probe]:
        self._env = self.lab.home("memory")
        self._pid = int(_found(r"pid (\d+)", self.lab.run("status", env=self._env)))
        self._idle = self._megabytes()
        where = ("-b", f"steps.py:{line_of('steps.py', 'stop')}")
        self.lab.run("start", "steps.py", "--interpreter", self.lab.python, *where, env=self._env)
        self.lab.run("next", "--count", "20", env=self._env)
        self._busy = self._megabytes()
        self.lab.run("stop", env=self._env)
        return {}

    def _megabytes(self) -> float:
        """Return the proportional set size of the daemon and its parent, in MB."""
        try:
            fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
            pids = (self._pid, int(fields[1]))
            texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
        except OSError:
            return float("nan")
        return sum(int(_found(r"Pss:\s+(\d+) kB", text)) for text in texts) / 1000

    def figures(self, taken: Taken) -> list[Figure]:
        return [
            Figure("daemon, idle", self._idle, "MB", 60),
            Figure("daemon, one session", self._busy, "MB", 70),
        ]


class Inside(Measure):
    """What parsing and rendering cost within the daemon, in microseconds."""

    name = "inside"

    def open(self) -> dict[str, Probe]:
        done = subprocess.run(
            [self.lab.python, str(HERE / "daemon_overhead.py")],
            env=self.lab.env,
            capture_output=True,
            text=True,
            check=True,
        )
        self._costs: dict[str, float] = json.loads(done.stdout)
        return {}

    def figures(self, taken: Taken) -> list[Figure]:
        floor_us = taken[FLOOR] * 1e6
        shown = [Figure(name, cost_us, "µs") for name, cost_us in self._costs.items()]
        share = sum(self._costs.values()) / floor_us
        return [*shown, Figure("all of these / python -c pass", share, "×", 0.25)]


MEASURES: tuple[type[Measure], ...] = (
    Status,
    Next,
    Continue,
    Start,
    Cold,
    Flood,
    Child,
    Memory,
    Inside,
)


class Stopwatch:
    """Measures the block under it."""

    took_s = 0.0

    def __enter__(self) -> Stopwatch:
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.took_s = time.perf_counter() - self._begin


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise RuntimeError(f"{pattern!r} is not in {text!r}")
    return match[1]


def _await_end(pid: int) -> None:
    """Wait until a process that is not our child is gone."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([handle], [], [])
    finally:
        os.close(handle)
