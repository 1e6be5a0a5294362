"""Ask the debuggee whether a source file was edited after it was loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from freezeframe import files
from freezeframe.backends.backend import BoundBreakpoint
from freezeframe.errors import DebuggerError

from .adapter_channel import AdapterChannel

_ANSWERS = {"True": True, "False": False}


async def mark_edited(
    channel: AdapterChannel, path: str, bound: Sequence[BoundBreakpoint], since_ns: int | None
) -> list[BoundBreakpoint]:
    """Return *bound* with `edited` set from the debuggee's answer.

    The debuggee is queried only if the file changed after *since_ns*, or that is unknown.
    """
    query = channel.adapter.breakpoints.edited_query
    if query is None or not any(each.verified for each in bound):
        return list(bound)
    try:
        if since_ns is not None and files.stamp(path)[0] <= since_ns:
            return list(bound)
        context = channel.adapter.expressions.context
        body = await channel.request("evaluate", {"expression": query(path), "context": context})
    except (OSError, DebuggerError):
        return list(bound)
    edited = _ANSWERS.get(str(body.get("result")))
    return [replace(each, edited=edited) for each in bound]
