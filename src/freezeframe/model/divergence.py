"""Where two runs of a program part: the first divergence that explains how they ended.

The two runs are called *a* and *b*: `pass` and `fail`, a revision and the working tree.
"""

from __future__ import annotations

from enum import StrEnum

from .fast_dataclass import dataclass
from .history import Difference


class DivergenceKind(StrEnum):
    #: both executed the line, and went on to different lines
    BRANCH = "branch"
    #: both executed the line with the same values, and it made different ones
    VALUE = "value"
    #: both executed the line, and it read different values
    OPERANDS = "operands"
    #: the line raised in one of the runs, or raised something else
    RAISED = "raised"
    #: the source of the line is not the same in both versions
    EDIT = "edit"
    #: the values were different when they came into the traced code
    INPUT = "input"


@dataclass(frozen=True, slots=True)
class NextLine:
    """Where a run went on."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class DivergencePoint:
    """One line at which two runs differ. Location and statement are those of run *b*."""

    kind: DivergenceKind
    path: str
    line: int
    function: str
    statement: str
    #: which execution of the line it is, in run b
    hit: int = 1
    #: the line and the statement of run a, where they are different
    a_line: int | None = None
    a_statement: str = ""
    differences: tuple[Difference, ...] = ()
    #: where each run went on after a branch; None: it left the function
    a_next: NextLine | None = None
    b_next: NextLine | None = None
    #: the exception that left the line in each run
    a_raised: str | None = None
    b_raised: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How one of the runs ended."""

    label: str
    #: `passed`, `failed`, `exited with code 3`, `killed`, `did not end within 30 s`
    how: str
    failed: bool
    #: `Type: message`, and where it was raised
    message: str | None = None
    path: str | None = None
    line: int | None = None
    function: str = ""
    #: steps that were recorded
    steps: int = 0


@dataclass(frozen=True, slots=True)
class ComparedStep:
    """One execution of a line, in a call that two runs have in common."""

    line: int
    #: what it wrote: name and value
    writes: tuple[tuple[str, str], ...] = ()
    raised: str | None = None


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One run's part of a call that two runs have in common."""

    path: str
    function: str
    #: lines of the source, and the number of the first one
    text: tuple[str, ...]
    first_line: int
    arguments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedCall:
    """A call that both runs made, step by step: steps in one row correspond to each other."""

    point: DivergencePoint
    a: ComparedSide
    b: ComparedSide
    rows: tuple[tuple[ComparedStep | None, ComparedStep | None], ...]
    #: the row of the point
    marked: int
    #: rows before and after that were left out
    earlier: int = 0
    later: int = 0


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """The first line of their output in which two runs differ; None: the run printed no more."""

    line: int
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class ProgramDiff:
    """Two runs compared without breakpoints."""

    a: RunEnd
    b: RunEnd
    #: None: no divergence was seen
    first: DivergencePoint | None
    #: what it led to, in the order of execution
    then: tuple[DivergencePoint, ...] = ()
    #: steps of run b before the divergence, and the functions that they are in
    equal_steps: int = 0
    equal_functions: int = 0
    #: differences before it that did not lead to how the runs ended: how many, and one of them
    unrelated: int = 0
    unrelated_example: str = ""
    #: files that are not the same in both versions, and were executed
    edited: tuple[str, ...] = ()
    #: None: both printed the same, but for times and addresses
    output: OutputDifference | None = None
    #: what was compared, and what was left out
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
