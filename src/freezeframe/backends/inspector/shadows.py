"""Places that V8 takes for the end of a `return`."""

from __future__ import annotations

from dataclasses import dataclass

from . import grammar
from .scripts import offset_of, place_of


@dataclass(frozen=True, slots=True)
class Shadow:
    """A place that V8 takes for the end of a `return`: `nearing.py` reaches it."""

    start: tuple[int, int]
    end: tuple[int, int]
    #: where V8 stops instead
    guard: tuple[int, int]
    awaits: bool


def shadow_of(text: str, line: int, column: int) -> Shadow | None:
    """Return how a place is reached that V8 takes for the end of a `return`."""
    found = grammar.behind_return(text, offset_of(text, line, column))
    if found is None:
        return None
    guard, end = place_of(text, found.guard), place_of(text, found.end)
    return Shadow((line, column), end, guard, found.awaits)
