"""Queries sent at an exception stop before the stop is reported."""

from __future__ import annotations

from collections.abc import Callable, Generator

from freezeframe.backends.backend import BreakpointRequest, Target
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.stops import ExceptionInfo


@dataclass(frozen=True, slots=True)
class FunctionFilter:
    """A kind of exception that the adapter has no filter for, caught by a breakpoint on *function*
    where *condition* holds. `Exceptions.examine` queries the stop; where that finds nothing, *read*
    makes the exception from the program's standard error."""

    function: str
    read: Callable[[str], ExceptionInfo] | None = None
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class ModuleBreakpoint:
    """Raw commands that set and delete a breakpoint; *read* returns the debugger's number for it
    and whether it is bound."""

    make: Callable[[BreakpointRequest, Target], str]
    read: Callable[[str], tuple[int, bool] | None]
    remove: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class AdapterQuery:
    """An expression or a raw command, evaluated in a frame of the stop (default: the innermost)."""

    text: str
    raw: bool = False
    frame: int = 0


@dataclass(frozen=True, slots=True)
class FunctionsQuery:
    """A query for the function names of the innermost *count* frames; the answer has one per
    line."""

    count: int


@dataclass(frozen=True, slots=True)
class ExceptionDetails:
    """An exception, and the names of its type and of all its base types; the program resumes from
    one that is *known* from another stop."""

    info: ExceptionInfo
    types: tuple[str, ...] = ()
    known: bool = False


#: Yields queries, is sent the text of each answer (None for a failure), returns the details found.
ExceptionQuery = Generator[AdapterQuery | FunctionsQuery, str | None, ExceptionDetails | None]
