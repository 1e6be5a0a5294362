"""Positions that V8 takes for the end of a `return`."""

from __future__ import annotations

from dataclasses import dataclass

from freezeframe.backends.javascript import js_scanner

from .scripts import offset_of, position_of


@dataclass(frozen=True, slots=True)
class UnbindablePosition:
    """A position that V8 takes for the end of a `return`: `step_to_breakpoint.py` reaches it."""

    start: tuple[int, int]
    end: tuple[int, int]
    #: where V8 stops instead
    guard: tuple[int, int]
    awaits: bool


def unbindable_at(text: str, line: int, column: int) -> UnbindablePosition | None:
    """Return how to reach a position that V8 takes for the end of a `return`."""
    found = js_scanner.behind_return(text, offset_of(text, line, column))
    if found is None:
        return None
    guard, end = position_of(text, found.guard), position_of(text, found.end)
    return UnbindablePosition((line, column), end, guard, found.awaits)
