"""The same questions for native code: `dbg` on a debugger against a bare script on it."""

from __future__ import annotations

import shutil
import subprocess

from dap_baseline import Bare, Gdb, Lldb
from environment import PROGRAMS, line_of
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

    #: its name in `--adapter`, and in the names of its probes
    debugger = "lldb-dap"
    words = ", C"

    def bare(self, program: str) -> Lldb | Gdb:
        """Start *program* under the bare debugger."""
        bare = self._spawn()
        bare.launch(program, _SOURCE, line_of("steps.c", "stop"))
        return bare

    def _spawn(self) -> Lldb | Gdb:
        return Lldb(str(_first(_ADAPTERS)), self.lab.env)

    @property
    def how(self) -> tuple[str, ...]:
        line = line_of("steps.c", "stop")
        return ("-b", f"steps.c:{line}", "--name", self.name, "--adapter", self.debugger)


class NativeStart(_Native):
    """From nothing to a stop report."""

    name = "native-start"

    def open(self) -> dict[str, Probe]:
        self._program = self.compile()
        self.lab.run("status")
        return {f"dbg start{self.words}": self._ours, f"bare start{self.words}": self._theirs}

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
        ratio = taken[f"dbg start{self.words}"] / taken[f"bare start{self.words}"]
        return [Figure(f"dbg start / bare start{self.words}", ratio, "×", 1.15)]


class NativeNext(_Native, Resume):
    name = "native-next"
    request = "next"
    language = ", C"

    def _stopped(self) -> Bare | Gdb:
        program = self.compile()
        self.lab.run("start", program, *self.how)
        return self.bare(program)


class _ByGdb(_Native):
    """The same through gdb's MI."""

    debugger = "gdb-mi"
    words = ", C by gdb"

    def _spawn(self) -> Gdb:
        return Gdb(str(shutil.which("gdb")), self.lab.env)


class GdbStart(_ByGdb, NativeStart):
    name = "gdb-start"


class GdbNext(_ByGdb, NativeNext):
    name = "gdb-next"
    language = ", C by gdb"


_GDB: tuple[type[Measure], ...] = (GdbStart, GdbNext) if shutil.which("gdb") else ()
NATIVE: tuple[type[Measure], ...] = (NativeStart, NativeNext, *_GDB)
