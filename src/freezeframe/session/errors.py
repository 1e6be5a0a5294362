"""Errors of a session whose program or debugger cannot do what was requested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freezeframe.backends.backend import Attach, Backend, Core, Feature, Launch, Target
from freezeframe.errors import (
    FreezeframeError,
    NotRunning,
    NotStopped,
    Unsupported,
)

from .phase import Phase

if TYPE_CHECKING:
    from .session import Session


def not_stopped(session: Session) -> FreezeframeError:
    """Return the error for an operation that needs a stopped program."""
    if session.phase is Phase.RUNNING:
        return NotStopped("the program is running; this needs a stopped program.", next="dbg pause")
    if session.live:
        return starting()
    return ended(session)


def unanswered(session: Session) -> FreezeframeError:
    """Return the error while the debugger has not answered the command that resumes."""
    tool = session.backend.tool.name if session.backend is not None else "the debugger"
    # No time limit has passed: another command may have resumed the program a moment ago.
    return NotStopped(f"{tool} has not answered `{session.last_command}` yet.", next="dbg await")


def already_running() -> FreezeframeError:
    """Return the error for resuming a running program."""
    return NotStopped("the program is running already.", next="dbg await")


def core_file() -> FreezeframeError:
    """Return the error for resuming a core file."""
    return Unsupported("this is a core file: the program is dead and cannot run.", next="dbg stop")


def unsupported(target: Target | None, backend: Backend, feature: Feature) -> FreezeframeError:
    """Return the error for a feature that the debugger lacks, or lacks for this target."""
    if isinstance(target, Core):
        return Unsupported(f"a core file has no {feature.value}.", next="dbg tool")
    if feature is Feature.STDIN and isinstance(target, Launch) and target.stdin is not None:
        return Unsupported(
            f"the program reads its input from {target.stdin}.", next="dbg start PROGRAM"
        )
    if feature is Feature.STDIN and isinstance(target, Attach):
        return Unsupported(
            "the program was not started here, so dbg cannot write its input.",
            next="dbg start PROGRAM",
        )
    return Unsupported(
        f"{backend.tool} has no {feature.value}.",
        next=backend.unsupported_hint(feature),
    )


def starting() -> FreezeframeError:
    """Return the error for an operation that must wait until the debugger is configured."""
    return NotStopped("the program is still being started.", next="dbg await")


def ended_early(session: Session) -> FreezeframeError:
    """Return the error for a start during which another command ended the session."""
    if why := session.root.end_reason:
        return NotRunning(
            f"session {session.name} was ended with the daemon: {why}.", next="dbg status"
        )
    return NotRunning(
        f"session {session.name} was ended by another command while it was being started.",
        next="dbg status",
    )


def ended(session: Session) -> FreezeframeError:
    """Return the error for an operation that needs a live program; it says how this one ended."""
    exit = session.exit
    if (why := session.root.end_reason) and (exit is None or exit.how in ("killed", "lost")):
        return NotRunning(f"the program was ended with the daemon: {why}.", next="dbg status")
    if exit is None:
        how = "has not been started"
    elif exit.how == "detached":
        how = "was detached from and runs on its own"
    elif exit.how == "killed":
        how = "was ended by another command"
    elif exit.how == "lost":
        how = f"was lost with its debugger: {exit.reason}".rstrip(".: ")
    elif exit.signal:
        how = f"was ended by {exit.signal}"
    elif exit.code is not None:
        how = f"has ended with exit code {exit.code}"
    else:
        how = "has ended"
    return NotRunning(f"the program {how}.", next="dbg restart")
