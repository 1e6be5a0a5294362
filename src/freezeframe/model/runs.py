"""Recorded runs: one execution of a program under a debugger each."""

from __future__ import annotations

from .fast_dataclass import dataclass
from .stops import Exit


@dataclass(frozen=True, slots=True)
class Logpoint:
    """A logpoint of a run: `file:line` or a function, and the text of its message."""

    location: str
    message: str
    #: the function that it was set on, if it was
    function: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded run. `number` counts the runs of a workspace."""

    number: int
    #: the session's name
    name: str
    program: str
    args: tuple[str, ...] = ()
    label: str | None = None
    debugger: str | None = None
    #: seconds since 1970
    started: float = 0.0
    elapsed_s: float | None = None
    stops: int = 0
    exit: Exit | None = None
    #: the run has not ended
    live: bool = False
    #: number of the parent process's run
    parent: int | None = None
    #: locations of the breakpoints
    breakpoints: tuple[str, ...] = ()
    logpoints: tuple[Logpoint, ...] = ()
    #: characters printed, and how many of them are recorded
    printed: int = 0
    kept: int = 0
    #: of a trace: how many steps it had, of which the last ones are stops; 0: it is none
    traced: int = 0
