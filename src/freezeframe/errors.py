"""Every error a user can meet: a stable code, one sentence of fact, the next step.

Three families, told apart by class: the user's (`UserError`, quiet), the debugger's
(`DebuggerError`, in its own words) and ours (any other exception: a bug, logged with its
traceback). Expected errors are raised, never logged.
"""

from __future__ import annotations

from typing import ClassVar


class FreezeframeError(Exception):
    """An expected failure: `code: message`, and `next`, a command that helps, if there is one."""

    code: ClassVar[str] = "failed"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, next: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next = next
        self.error_code = code or type(self).code

    def __str__(self) -> str:
        return f"{self.error_code}: {self.message}"


# --- the user's ---------------------------------------------------------------------------------


class UserError(FreezeframeError):
    """The request cannot be met as it was made."""


class UsageError(UserError):
    """The words of the command are wrong: an unknown command, flag or value."""

    code = "usage"
    exit_status = 2


class NoSession(UserError):
    """No session of that name, or none in this workspace."""

    code = "no-session"
    exit_status = 3


class WrongPhase(UserError):
    """The program is in a phase in which the operation has no meaning."""

    code = "wrong-phase"


class NotStopped(WrongPhase):
    code = "not-stopped"


class NotRunning(WrongPhase):
    code = "not-running"


class NotFound(UserError):
    """A file, a breakpoint, a thread or a frame that is not there."""

    code = "not-found"


class Stale(UserError):
    """A handle from an earlier stop, or a line that says something else by now."""

    code = "stale"


class BadConfig(UserError):
    code = "bad-config"
    exit_status = 2


# --- the debugger's -----------------------------------------------------------------------------


class DebuggerError(FreezeframeError):
    """The debugger refused, in its own words."""

    code = "debugger"


class Unsupported(DebuggerError):
    """This debugger cannot do that; `next` is the nearest thing that works."""

    code = "unsupported"


class DebuggerMissing(DebuggerError):
    code = "debugger-missing"
    exit_status = 4


class DebuggerLost(DebuggerError):
    """The debugger ended or broke its protocol; the message holds its last words."""

    code = "debugger-lost"


class DebuggerTimeout(DebuggerError):
    """The debugger did not answer in time."""

    code = "debugger-timeout"


class LaunchFailed(DebuggerError):
    code = "launch-failed"


class BuildFailed(DebuggerError):
    """The sources make no program; the message holds the compiler's own first errors."""

    code = "build-failed"


class EvaluationFailed(DebuggerError):
    """The expression raised, in the words of the program's own language."""

    code = "evaluation"

    def __init__(self, message: str, *, next: str | None = "dbg locals") -> None:
        super().__init__(message, next=next)


# --- the daemon's -------------------------------------------------------------------------------


class DaemonError(FreezeframeError):
    """The daemon cannot be reached or must not be trusted."""

    code = "daemon"


class Insecure(DaemonError):
    """The socket, or the directory it lives in, could be someone else's."""

    code = "insecure"
