"""Hypotheses that were tried in copies of a program: the answer of `try`."""

from __future__ import annotations

from .calls import CallSite
from .fast_dataclass import dataclass
from .stops import Exit
from .testing import ResultCounts


@dataclass(frozen=True, slots=True)
class Trial:
    """One hypothesis, and how the program went on with it."""

    #: as it was given; empty for the unpatched run
    text: str
    #: `ended`, `raised`, `running` (the time was up), `refused` (it could not be applied)
    how: str
    exit: Exit | None = None
    #: `Type: message`, and where
    exception: str | None = None
    at: CallSite | None = None
    #: the results of a run of tests
    counts: ResultCounts = ResultCounts()
    #: what it printed after the stop, from its beginning
    output: str = ""
    #: the first difference from the unpatched run; empty if there is none
    difference: str = ""
    #: `output` is that of the whole run: its sources were changed
    is_whole: bool = False
    #: why it could not be applied
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TryReport:
    """The unpatched run and one run for each hypothesis."""

    program: str
    at: CallSite
    #: how often the line was reached up to the stop
    hit: int = 1
    #: the first one is the unpatched run
    trials: tuple[Trial, ...] = ()
    notes: tuple[str, ...] = ()
    via: str | None = None
    next: tuple[str, ...] = ()
