"""Values as the debugger gave them."""

from __future__ import annotations

import re
from enum import StrEnum

from .records import dataclass

#: What stands for something that is not shown: `…+12`, `… +3 more`, `… 500 items`, `{…}`; as LLDB,
#: gdb and Delve write it: `{...}`, `"aaa"...`, `...+3 more`.
_CUT = re.compile(r"… ?\+[\d,]+|… [\d,]+ items?\b|[\[({]…[\])}]|[{\[(\"]\.\.\.|\.\.\.\+\d+ more")


def is_cut(text: str) -> bool:
    """Whether a value's text leaves out something, as debuggers and renderers mark it."""
    return _CUT.search(text) is not None


class ScopeKind(StrEnum):
    ARGUMENTS = "arguments"
    LOCALS = "locals"
    GLOBALS = "globals"
    REGISTERS = "registers"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Value:
    """One named value. `text` is whole as the debugger gave it; only renderers elide."""

    name: str
    text: str
    type: str | None = None
    #: children that were fetched; empty when none were, `has_children` says whether there are any
    children: tuple[Value, ...] = ()
    has_children: bool = False
    #: how many children there are, where the debugger says
    count: int | None = None
    #: `v7.3`: stop 7, value 3; refused once the program moved on
    handle: str | None = None
    #: an expression that yields this value again
    expression: str | None = None
    #: the address of the value, where the debugger says
    address: str | None = None
    #: differs from the last stop in the same frame; `was` is its text then, None for a new name
    changed: bool = False
    was: str | None = None
    #: `text` says no more than the type and an address; the children are the value
    opaque: bool = False
    #: the debugger could not show it (its text is the reason)
    failed: bool = False
    #: what changed inside, by path, where the debugger compares; `more_parts` are not told
    parts: tuple[Value, ...] = ()
    more_parts: int = 0
    #: not there any more; `was` is its last text
    gone: bool = False
    #: the line that declares it, where the debugger says: it tells variables of one name apart
    declared: int | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    name: str
    kind: ScopeKind
    values: tuple[Value, ...] = ()
    #: values that exist beyond those fetched
    more: int = 0
    #: index of the first value that was fetched
    start: int = 0
    #: functions, classes and modules that are left out
    definitions: int = 0
    #: variables that have gone since the last stop in the same frame
    gone: tuple[Value, ...] = ()
