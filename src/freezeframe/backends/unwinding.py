"""The errors of a forced return and of a restarted frame."""

from __future__ import annotations

from freezeframe.errors import DebuggerError


def refused_restart(why: str) -> DebuggerError:
    """Return the error for a frame that could not be restarted."""
    return DebuggerError(
        f"the function cannot be restarted: {why.strip().rstrip('.')}.",
        code="bad-restart",
        next="dbg restart",
    )


def refused_return(why: str) -> DebuggerError:
    """Return the error for a function that could not be made to return."""
    return DebuggerError(
        f"the function cannot return now: {why.strip().rstrip('.')}.",
        code="bad-return",
        next="dbg finish",
    )
