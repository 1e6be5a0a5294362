"""Many runs of one command: how often it fails, in which ways, and what is different then."""

from __future__ import annotations

from .divergence import ProgramDiff
from .fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures at one location with one message, but for numbers and addresses in it."""

    message: str
    #: `file:line`, if the output names one
    location: str | None
    count: int
    #: the number of the first run that failed so
    first_run: int
    #: the failing test, if the output names one
    test: str | None = None


@dataclass(frozen=True, slots=True)
class HuntWorker:
    """One machine or process that runs were handed to."""

    name: str
    runs: int = 0
    #: why it got no more runs: it ended, it has other sources, no such folder
    problem: str | None = None
    #: whether the debugger is installed there
    has_debugger: bool = True


@dataclass(frozen=True, slots=True)
class Hunt:
    command: str
    runs: int
    failures: int
    #: the 95 % confidence interval of the failure rate
    low: float
    high: float
    groups: tuple[FailureGroup, ...] = ()
    #: runs that were requested; None: as many as the time allows
    requested: int | None = None
    #: of `runs`, those of an earlier call that was interrupted
    continued: int = 0
    took_s: float = 0.0
    #: the median of one run
    run_s: float = 0.0
    jobs: int = 1
    shaken: bool = False
    #: an update that another thread overwrote, in the failing run
    race: str | None = None
    #: the name of the recorded run that failed
    recorded: str | None = None
    divergence: ProgramDiff | None = None
    workers: tuple[HuntWorker, ...] = ()
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
