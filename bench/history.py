"""What recording adds to a step, and how long questions take when there is much to ask about."""

from __future__ import annotations

import json
import subprocess

from environment import HERE, PROGRAMS, line_of
from measures import FLOOR, Figure, Measure, Probe, Taken

STOPS = 10_000


class Record(Measure):
    """A step with its whole report, recorded and not."""

    name = "record"

    def open(self) -> dict[str, Probe]:
        where = f"steps.py:{line_of('steps.py', 'stop')}"
        for name, option in (("kept", "--record"), ("free", "--no-record")):
            start = ("start", "steps.py", "--interpreter", self.lab.python, "--name", name)
            self.lab.run(*start, "-b", where, option)
        return {
            "dbg next, recorded": lambda: self._next("kept"),
            "dbg next, not recorded": lambda: self._next("free"),
            "dbg next --count 20, recorded": lambda: self._next("kept", "--count", "20"),
            "dbg next --count 20, not recorded": lambda: self._next("free", "--count", "20"),
        }

    def _next(self, name: str, *words: str) -> float:
        took_s, text = self.lab.timed("next", *words, "-s", name)
        if "stopped" not in text:
            raise RuntimeError(f"no stop report: {text}")
        return took_s

    def figures(self, taken: Taken) -> list[Figure]:
        return [
            Figure(
                f"{command}, recorded / not",
                taken[f"{command}, recorded"] / taken[f"{command}, not recorded"],
                "×",
                1.1,
            )
            for command in ("dbg next", "dbg next --count 20")
        ]

    def close(self) -> None:
        self.lab.run("stop", "-s", "kept")
        self.lab.run("stop", "-s", "free")


class History(Measure):
    """Questions to two runs of ten thousand stops each; the floor is what any command costs."""

    name = "history"
    questions = (
        ("hits app.py:10 --top 20", "hits, 20 of 10,000"),
        ("hits app.py:10 --where n>9990", "hits --where"),
        ("hits app.py:10 --count-by n%7", "hits --count-by"),
        ("hit-trend app.py:10 total", "hit-trend"),
        ("sessions --all", "sessions --all"),
        ("diff 1 2", "diff of two runs"),
    )

    def open(self) -> dict[str, Probe]:
        self._env = self.lab.home("filled")
        done = subprocess.run(
            [self.lab.python, str(HERE / "history_fixture.py"), str(STOPS)],
            cwd=PROGRAMS,
            env=self._env,
            capture_output=True,
            text=True,
            check=True,
        )
        self._facts: dict[str, float] = json.loads(done.stdout)
        return {
            f"dbg {name}": lambda words=words: self._ask(words)  # type: ignore[misc]
            for words, name in self.questions
        }

    def _ask(self, words: str) -> float:
        return self.lab.timed(*words.split(), env=self._env)[0]

    def figures(self, taken: Taken) -> list[Figure]:
        asked = [
            Figure(f"dbg {name} / python -c pass", taken[f"dbg {name}"] / taken[FLOOR], "×", 30)
            for _, name in self.questions
        ]
        return [
            *asked,
            Figure("database, per stop", self._facts["bytes"], "B", 1500),
            Figure("one stop written, in its own thread", self._facts["per_stop_s"] * 1e6, "µs"),
        ]


RECORDED: tuple[type[Measure], ...] = (Record, History)
