"""Tests and their results: what a runner or an agent inside of it reports."""

from __future__ import annotations

from .fast_dataclass import dataclass
from .questions import Explanation
from .values import Value


@dataclass(frozen=True, slots=True)
class ResultCounts:
    """How many tests ended how; None: not known."""

    passed: int | None = None
    failed: int | None = None
    errors: int | None = None
    skipped: int | None = None
    #: failed as it was expected, and passed although a failure was expected
    xfailed: int | None = None
    xpassed: int | None = None

    @property
    def known(self) -> dict[str, int]:
        """The results that occurred, by name."""
        pairs = (
            ("passed", self.passed),
            ("failed", self.failed),
            ("errors", self.errors),
            ("skipped", self.skipped),
            ("xfailed", self.xfailed),
            ("xpassed", self.xpassed),
        )
        return {name: count for name, count in pairs if count}


@dataclass(frozen=True, slots=True)
class FailingTest:
    """The test that a stop makes fail, as its runner knows it at that moment."""

    #: as the runner names it: `tests/test_a.py::test_b[x-1]`, `shop.tests.CartTest.test_total`
    id: str
    #: what of it failed: `call`, `setup`, `teardown`, `collect` (its file cannot be loaded)
    part: str = "call"
    #: its number among the selected tests, from 1
    position: int | None = None
    total: int | None = None
    #: the results so far
    counts: ResultCounts = ResultCounts()
    duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class FailureFrame:
    """A frame of the user's code between a test and its failure."""

    index: int
    function: str
    path: str | None = None
    line: int | None = None
    #: the statement, or its first line
    text: str = ""
    #: variables, those of the statement first
    values: tuple[Value, ...] = ()
    #: variables that were left out
    more: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing test at the moment of its failure, its frames alive."""

    #: None: neither the runner nor the frames name the test
    test: FailingTest | None
    #: `AssertionError`, `panic`; empty if the debugger has no type for it
    type: str
    message: str
    #: from the test inward; the last one is where it failed
    frames: tuple[FailureFrame, ...] = ()
    #: how many frames were left out after the first of them
    hidden: int = 0
    #: the function of a library that raised, if it is not the test framework's
    raised_in: str | None = None
    #: causes, notes, the exceptions of a group
    details: tuple[str, ...] = ()
    #: where the wrong value came from, if that could be found out
    origin: Explanation | None = None
