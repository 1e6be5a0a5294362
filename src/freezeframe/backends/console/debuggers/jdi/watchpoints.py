"""Watchpoints on fields of a JVM, as the agent reports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends.console.prompt.command_set import DebuggerBreakpoint
from freezeframe.errors import Unsupported
from freezeframe.model.stops import WatchHit


def watchpoint(answer: Mapping[str, Any]) -> DebuggerBreakpoint:
    """Return a watchpoint that was set. Raises Unsupported for what is no field."""
    if "other" in answer:
        raise Unsupported("a JVM has watchpoints on fields only.", next="dbg next")
    return DebuggerBreakpoint(answer["number"])


def hit(writes: Sequence[Mapping[str, Any]]) -> WatchHit | None:
    """Return the writes that one stop is for; None if there are none."""
    hits = [
        WatchHit(each["number"], "", each["old"], each["new"], each.get("path"), each.get("line"))
        for each in writes
    ]
    return replace(hits[0], also=tuple(hits[1:])) if hits else None
