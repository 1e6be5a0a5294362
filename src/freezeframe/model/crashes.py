"""How a program crashed: the answer of `crash`."""

from __future__ import annotations

from .answers import Output
from .calls import CallSite
from .fast_dataclass import dataclass
from .stops import Exit
from .testing import Failure


@dataclass(frozen=True, slots=True)
class SanitizerStack:
    """One stack of a sanitizer's report: the access, or who allocated or freed the memory."""

    #: as the report has it: `READ of size 4`, `freed by thread T0`
    title: str
    #: its frames in the user's code, innermost first
    frames: tuple[CallSite, ...] = ()


@dataclass(frozen=True, slots=True)
class SanitizerReport:
    """The first error that a sanitizer reported."""

    #: `AddressSanitizer`, `UndefinedBehaviorSanitizer`
    tool: str
    #: `heap-buffer-overflow`, `data race`
    kind: str
    stacks: tuple[SanitizerStack, ...] = ()
    #: facts about the memory: `0 bytes after 20-byte region`, `Location is global 'counter'`
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CrashReport:
    """`crash`: what the program failed with, where, and where the bad value came from."""

    program: str
    #: `crashed`, `ended`, `running` (it did neither in time)
    how: str
    #: the failure at the stop, with the user's frames and the chain of the bad value
    failure: Failure | None = None
    #: the operands of what failed: `at = 4`, `rows has 3 items`
    operands: tuple[str, ...] = ()
    sanitizer: SanitizerReport | None = None
    exit: Exit | None = None
    #: what the program is after the answer: `stopped`, `core`, `ended`
    left: str = "ended"
    pid: int | None = None
    output: Output = Output()
    notes: tuple[str, ...] = ()
    via: str | None = None
    next: tuple[str, ...] = ()
