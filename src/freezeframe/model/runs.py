"""Recorded runs: one life of a program under a debugger each."""

from __future__ import annotations

from .records import dataclass
from .stops import Exit


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
    #: it goes on now
    live: bool = False
    #: number of the run whose child it was
    parent: int | None = None
    #: where breakpoints stood, as places
    breakpoints: tuple[str, ...] = ()
    #: characters that it printed, and how many of them are kept
    printed: int = 0
    kept: int = 0
