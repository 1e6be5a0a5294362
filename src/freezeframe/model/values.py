"""Values as reported by the debugger."""

from __future__ import annotations

from enum import StrEnum

from . import late_regex
from .fast_dataclass import dataclass

#: Markers of omitted text: `…+12`, `… +3 more`, `… 500 items`, `{…}`; as LLDB,
#: gdb and Delve write it: `{...}`, `"aaa"...`, `...+3 more`.
_CUT = late_regex.compile(
    r"… ?\+[\d,]+|… [\d,]+ items?\b|[\[({]…[\])}]|[{\[(\"]\.\.\.|\.\.\.\+\d+ more|\.\.\.\Z"
)

#: texts shown for a variable that is not initialized yet
UNSET, PERHAPS_UNSET = "<not initialised yet>", "<perhaps not initialised yet>"
#: text shown for an array whose length the debugger does not read: print its elements by index
UNSIZED = "<array of unknown length>"


def is_cut(text: str) -> bool:
    """Whether a value's text has a marker for omitted text."""
    return _CUT.search(text) is not None


#: prefix of the name of a map's entry that is named by its key
ENTRY = "key "


def child_path(path: str, name: str) -> str:
    """Return the path of a value's child."""
    if path.startswith("*"):
        path = f"({path})"  # what follows a name comes before the operator
    if name.startswith(("[", ".", "->")):
        return path + name
    if name.startswith(ENTRY):
        return f"{path}[{name.removeprefix(ENTRY)}]"
    if name.isdecimal() or name.startswith(("'", '"', "(", "b'", 'b"')):
        return f"{path}[{name}]"
    return f"*{path}" if name.startswith("*") else f"{path}.{name}"


class ScopeKind(StrEnum):
    ARGUMENTS = "arguments"
    LOCALS = "locals"
    GLOBALS = "globals"
    REGISTERS = "registers"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Value:
    """One named value. `text` is the debugger's complete text; only renderers shorten it."""

    name: str
    text: str
    type: str | None = None
    #: the fetched children; `has_children` says whether there are any
    children: tuple[Value, ...] = ()
    has_children: bool = False
    #: the number of children, if the debugger reports it
    count: int | None = None
    #: `v7.3`: stop 7, value 3; refused after the program resumes
    handle: str | None = None
    #: an expression that yields this value again
    expression: str | None = None
    #: the address of the value, if the debugger reports it
    address: str | None = None
    #: differs from the last stop in the same frame; `was` is its text then, None for a new name
    changed: bool = False
    was: str | None = None
    #: `text` is only a type and an address; the children are the value
    opaque: bool = False
    #: the debugger could not read the value; `text` is the reason
    failed: bool = False
    #: what changed inside, by path; `more_parts` further changes are not listed
    parts: tuple[Value, ...] = ()
    more_parts: int = 0
    #: another variable that leads to the changed object, and whose parts report the change
    same_change_as: str | None = None
    #: out of scope or deleted; `was` is its last text
    gone: bool = False
    #: the line of its declaration, if reported: it distinguishes variables of the same name
    declared: int | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    name: str
    kind: ScopeKind
    values: tuple[Value, ...] = ()
    #: values beyond the fetched ones
    more: int = 0
    #: index of the first value that was fetched
    start: int = 0
    #: number of functions, classes and modules left out
    definitions: int = 0
    #: variables that disappeared since the last stop in the same frame
    gone: tuple[Value, ...] = ()
