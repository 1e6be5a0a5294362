"""Every error that a user can see: a stable code, one sentence of fact, the next step.

The class says who is to blame: the caller (`UserError`), the debugger (`DebuggerError`, with the
debugger's own message) or Freezeframe (any other exception: a bug, logged with its traceback).
Expected errors are raised, never logged.
"""

from __future__ import annotations

from typing import ClassVar


class FreezeframeError(Exception):
    """An expected failure: `code: message`, and in `next` a command that helps, if one exists."""

    code: ClassVar[str] = "failed"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, next: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next = next
        self.error_code = code or type(self).code

    def __str__(self) -> str:
        return f"{self.error_code}: {self.message}"


# --- errors of the caller -----------------------------------------------------------------------


class UserError(FreezeframeError):
    """The request cannot be executed as given."""


class UsageError(UserError):
    """The command line is wrong: an unknown command, flag or value."""

    code = "usage"
    exit_status = 2


class NoSession(UserError):
    """No session of that name, or none in this workspace."""

    code = "no-session"
    exit_status = 3


class WrongPhase(UserError):
    """The operation is not possible in the program's phase."""

    code = "wrong-phase"


class NotStopped(WrongPhase):
    code = "not-stopped"


class NotRunning(WrongPhase):
    code = "not-running"


class NotFound(UserError):
    """A file, a breakpoint, a thread or a frame does not exist."""

    code = "not-found"


class Stale(UserError):
    """A handle from an earlier stop, or a source line that has changed since."""

    code = "stale"


class TakenOver(UserError):
    """A person or an editor controls the session; see `session/control.py`."""

    code = "taken-over"


class BadConfig(UserError):
    code = "bad-config"
    exit_status = 2


# --- errors of the debugger ---------------------------------------------------------------------


class DebuggerError(FreezeframeError):
    """The debugger refused; the message is its own."""

    code = "debugger"


class Unsupported(DebuggerError):
    """This debugger cannot do that; `next` is the nearest thing that works."""

    code = "unsupported"


class DebuggerMissing(DebuggerError):
    code = "debugger-missing"
    exit_status = 4


class DebuggerLost(DebuggerError):
    """The debugger exited or violated its protocol; the message ends with its last output."""

    code = "debugger-lost"


class DebuggerTimeout(DebuggerError):
    """The debugger did not answer in time."""

    code = "debugger-timeout"


class LaunchFailed(DebuggerError):
    code = "launch-failed"


class BuildFailed(DebuggerError):
    """The program cannot be built; the message contains the compiler's first errors."""

    code = "build-failed"


class EvaluationFailed(DebuggerError):
    """The expression raised an error; the message is the one of the program's language."""

    code = "evaluation"

    def __init__(self, message: str, *, next: str | None = "dbg locals") -> None:
        super().__init__(message, next=next)


# --- errors of the daemon -----------------------------------------------------------------------


class DaemonError(FreezeframeError):
    """The daemon cannot be reached or cannot be trusted."""

    code = "daemon"


class Insecure(DaemonError):
    """The socket or its directory may belong to another user."""

    code = "insecure"
