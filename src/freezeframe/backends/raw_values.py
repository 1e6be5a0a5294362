"""Frames, scopes and values as a debugger sends them, with its references."""

from __future__ import annotations

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.values import ScopeKind


@dataclass(frozen=True, slots=True)
class RawFrame:
    """A frame with the debugger's id."""

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
    #: its code is optimised: lines and variables may differ from the source
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
    """A value with the debugger's reference; `ref` 0 means that it has no children."""

    name: str
    text: str
    type: str | None = None
    ref: int = 0
    count: int | None = None
    expression: str | None = None
    address: str | None = None
    opaque: bool = False
    #: its text is complete (a string in an array of characters)
    whole: bool = False
    failed: bool = False
    #: a function's return value, not a variable
    returned: bool = False
    #: a function, class or module under its own name
    definition: bool = False
    #: differs from the last stop in the same frame; None where the debugger does not compare
    changed: bool | None = None
    #: its text at the last stop; None for a new value
    was: str | None = None
    #: changed members, named by path, and how many more there are
    parts: tuple[RawValue, ...] = ()
    more_parts: int = 0
    #: the variable that reports this change: it leads to the same object
    same_change_as: str | None = None
    #: a variable, or member, that no longer exists
    gone: bool = False
    #: the line that declares it: it distinguishes variables of the same name
    declared: int | None = None
