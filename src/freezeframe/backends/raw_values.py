"""Frames, scopes and values as a debugger gives them, with references of its own."""

from __future__ import annotations

from freezeframe.model.records import dataclass
from freezeframe.model.values import ScopeKind


@dataclass(frozen=True, slots=True)
class RawFrame:
    """A frame with the debugger's own id."""

    id: int
    function: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    module: str | None = None
    address: str | None = None
    library: bool = False
    source_reference: int = 0
    arguments: str | None = None
    waits: str | None = None
    #: the compiler has optimised it: lines and variables need not be what the source says
    optimized: bool = False
    task: str | None = None
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class RawScope:
    name: str
    kind: ScopeKind
    ref: int
    expensive: bool = False
    count: int | None = None


@dataclass(frozen=True, slots=True)
class RawValue:
    """A value with the debugger's own reference; `ref` 0 means that it has no children."""

    name: str
    text: str
    type: str | None = None
    ref: int = 0
    count: int | None = None
    expression: str | None = None
    address: str | None = None
    opaque: bool = False
    #: its text shows all there is (a string in an array of characters)
    whole: bool = False
    failed: bool = False
    #: this is what a function returned with, not a variable
    returned: bool = False
    #: a function, class or module under its own name
    definition: bool = False
    #: differs from the last stop in the same frame; None where the debugger does not compare
    changed: bool | None = None
    #: its text then; None for what is new
    was: str | None = None
    #: what changed inside, named by path, and how many more there are
    parts: tuple[RawValue, ...] = ()
    more_parts: int = 0
    #: a variable, or part, that is not there any more
    gone: bool = False
    #: the line that declares it: it tells variables of one name apart
    declared: int | None = None
