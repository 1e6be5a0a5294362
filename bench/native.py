"""The same questions for native code: `dbg` on lldb-dap against a bare script on lldb-dap."""

from __future__ import annotations

import shutil
import subprocess

from bare import Bare, Lldb
from lab import PROGRAMS, line_of
from measures import Figure, Measure, Probe, Resume, Stopwatch, Taken

_SOURCE = str(PROGRAMS / "steps.c")
_ADAPTERS = ("lldb-dap", *(f"lldb-dap-{version}" for version in range(30, 17, -1)))
_COMPILERS = ("gcc", "clang", "cc")


def _first(names: tuple[str, ...]) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


def missing() -> str | None:
    """Return what native code cannot be measured without."""
    if _first(_ADAPTERS) is None:
        return "lldb-dap is not installed"
    return None if _first(_COMPILERS) else "there is no compiler for C"


class _Native(Measure):
    """A C program, compiled for the occasion."""

    def compile(self) -> str:
        program = str(self.lab.directory / "steps")
        subprocess.run([str(_first(_COMPILERS)), "-g", "-O0", "-o", program, _SOURCE], check=True)
        return program

    def bare(self, program: str) -> Lldb:
        """Start *program* under a bare lldb-dap."""
        bare = Lldb(str(_first(_ADAPTERS)), self.lab.env)
        bare.launch(program, _SOURCE, line_of("steps.c", "stop"))
        return bare

    @property
    def how(self) -> tuple[str, ...]:
        line = line_of("steps.c", "stop")
        return ("-b", f"steps.c:{line}", "--name", self.name, "--adapter", "lldb-dap")


class NativeStart(_Native):
    """From nothing to a stop report."""

    name = "native-start"

    def open(self) -> dict[str, Probe]:
        self._program = self.compile()
        self.lab.run("status")
        return {"dbg start, C": self._ours, "bare start, C": self._theirs}

    def _ours(self) -> float:
        took_s, text = self.lab.timed("start", self._program, *self.how)
        if "stopped" not in text:
            raise RuntimeError(f"no stop report: {text}")
        self.lab.run("stop", "-s", self.name)
        return took_s

    def _theirs(self) -> float:
        with Stopwatch() as watch:
            bare = self.bare(self._program)
            bare.stop_report()
        bare.close()
        return watch.took_s

    def figures(self, taken: Taken) -> list[Figure]:
        ratio = taken["dbg start, C"] / taken["bare start, C"]
        return [Figure("dbg start / bare start, C", ratio, "×", 1.15)]


class NativeNext(_Native, Resume):
    name = "native-next"
    request = "next"
    language = ", C"

    def _stopped(self) -> Bare:
        program = self.compile()
        self.lab.run("start", program, *self.how)
        return self.bare(program)


NATIVE: tuple[type[Measure], ...] = (NativeStart, NativeNext)
