"""What a session answers when its program is not in the right phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freezeframe.errors import FreezeframeError, NotRunning, NotStopped

from .phase import Phase

if TYPE_CHECKING:
    from .session import Session


def not_stopped(session: Session) -> FreezeframeError:
    """Return the error for a question that only a stopped program can answer."""
    if session.phase is Phase.RUNNING:
        return NotStopped("the program is running; this needs it to stand still.", next="dbg pause")
    if session.live:
        return NotStopped("the program is still being started.", next="dbg await")
    return ended(session)


def ended(session: Session) -> FreezeframeError:
    """Return the error for anything that needs a living program; it says how this one ended."""
    exit = session.exit
    if exit is None:
        how = "has not been started"
    elif exit.how == "detached":
        how = "was detached from and runs on its own"
    elif exit.how == "lost":
        how = f"was lost with its debugger: {exit.reason}".rstrip(".: ")
    elif exit.signal:
        how = f"was ended by {exit.signal}"
    elif exit.code is not None:
        how = f"has ended with exit code {exit.code}"
    else:
        how = "has ended"
    return NotRunning(f"the program {how}.", next="dbg restart")
