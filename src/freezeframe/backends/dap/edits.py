"""Asks a debuggee whether a file was edited after it was loaded from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from freezeframe import files
from freezeframe.backends.backend import BoundBreakpoint
from freezeframe.errors import DebuggerError

from .wire import Wire

_ANSWERS = {"True": True, "False": False}


async def told(
    wire: Wire, path: str, bound: Sequence[BoundBreakpoint], since_ns: int | None
) -> list[BoundBreakpoint]:
    """Return *bound* with what the debuggee says of their file.

    It is asked where the file changed after *since_ns*, or where that is not known.
    """
    ask = wire.adapter.breakpoints.ask_edited
    if ask is None or not any(each.verified for each in bound):
        return list(bound)
    try:
        if since_ns is not None and files.stamp(path)[0] <= since_ns:
            return list(bound)
        context = wire.adapter.expressions.context
        body = await wire.request("evaluate", {"expression": ask(path), "context": context})
    except (OSError, DebuggerError):
        return list(bound)
    edited = _ANSWERS.get(str(body.get("result")))
    return [replace(each, edited=edited) for each in bound]
