"""What a backend can do besides that leaves a function before its end, or begins it anew."""

from __future__ import annotations

from typing import Protocol

from freezeframe.errors import DebuggerError


class ReturnsEarly(Protocol):
    """What a backend with Feature.FORCE_RETURN can do."""

    async def force_return(self, thread: int, value: str | None) -> None:
        """Leave the innermost function of a thread at once, with the value of an expression.

        The rest of it does not run; the program stops in the caller. Raises DebuggerError.
        """


class RestartsFrames(Protocol):
    """What a backend with Feature.RESTART_FRAME can do."""

    async def restart_frame(self, thread: int, frame: int) -> None:
        """Stop at the beginning of a frame's function again, what it called left.

        What it has changed stays changed. Raises DebuggerError.
        """


def refused_restart(why: str) -> DebuggerError:
    """Return the error for a function that could not be begun anew."""
    return DebuggerError(
        f"the function cannot be begun anew: {why.strip().rstrip('.')}.",
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
