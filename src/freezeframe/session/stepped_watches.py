"""Watchpoints of a debugger that has none: the program is stepped until a value changes."""

from __future__ import annotations

from freezeframe.model.fast_dataclass import dataclass


@dataclass(slots=True)
class SteppedWatch:
    """An expression of a frame, and its text at the last step; see `ops/_stepped_watches.py`."""

    id: int
    expression: str
    condition: str | None
    thread: int
    #: the position of its frame in the stack, 1 for the outermost
    depth: int
    text: str
