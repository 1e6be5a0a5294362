"""What is asked at a stop for an exception before it is reported."""

from __future__ import annotations

from collections.abc import Callable, Generator

from freezeframe.model.records import dataclass
from freezeframe.model.stops import ExceptionInfo


@dataclass(frozen=True, slots=True)
class FunctionFilter:
    """A kind of exception that the adapter has no filter for, but a function that it passes
    through, where *condition* holds. The stop is looked into (`Exceptions.examine`); *read* makes
    the exception from what the program wrote to its standard error, where that finds nothing."""

    function: str
    read: Callable[[str], ExceptionInfo] | None = None
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A question in a frame of a stop, the innermost by itself: an expression, or a raw command."""

    text: str
    raw: bool = False
    frame: int = 0


@dataclass(frozen=True, slots=True)
class AskFunctions:
    """A question for the functions of the innermost *count* frames; one a line is answered."""

    count: int


@dataclass(frozen=True, slots=True)
class Thrown:
    """An exception, with the names of its type and of all that it inherits from; one that is
    *known* by another stop runs on."""

    info: ExceptionInfo
    types: tuple[str, ...] = ()
    known: bool = False


#: Yields questions, is sent each answer's text (None for a failure), returns what it found out.
Inquiry = Generator[Ask | AskFunctions, str | None, Thrown | None]
