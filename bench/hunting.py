"""What `hunt` adds to each run of a command, over the plain run."""

from __future__ import annotations

from measures import Figure, Measure, Probe, Taken

_RUNS = 8


class Hunting(Measure):
    """Seconds of one run of a program that does nothing: by itself, and as one of a hunt."""

    name = "hunt"

    def open(self) -> dict[str, Probe]:
        self.lab.run("status")
        return {"plain run": self.lab.floor_s, "run of a hunt": self._hunted}

    def _hunted(self) -> float:
        command = ("hunt", "--runs", str(_RUNS), "--jobs", "1", "--", self.lab.python, "-c", "pass")
        return self.lab.timed(*command)[0] / _RUNS

    def figures(self, taken: Taken) -> list[Figure]:
        return [
            Figure("hunt, a run over plain", taken["run of a hunt"] - taken["plain run"], "s", 0.2)
        ]


HUNTED = (Hunting,)
