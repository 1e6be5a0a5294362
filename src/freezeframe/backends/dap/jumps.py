"""Jump to another line or force a return, by a DAP request or a raw debugger command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freezeframe.backends.backend import Continued, Stopped
from freezeframe.backends.unwinding import refused_return
from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.stops import StopReason

from . import memory
from .messages import ErrorResponse
from .stop_queries import innermost

if TYPE_CHECKING:
    from .debuggee import Debuggee


async def jump(debuggee: Debuggee, thread: int, path: str, line: int) -> None:
    """Set the line at which a thread resumes. Raises DebuggerError if that is impossible."""
    try:
        if debuggee.adapter.raw.jump is not None:
            await _by_command(debuggee, thread, debuggee.adapter.raw.jump(path, line))
            _report_stop(debuggee, Stopped(StopReason.JUMP, thread))
        else:
            await _by_request(debuggee, thread, path, line)
    except (ErrorResponse, EvaluationFailed) as error:
        raise DebuggerError(
            f"no jump to line {line} from here: {error.message.rstrip('.')}.",
            code="bad-jump",
            next="dbg next",
        ) from None


async def _by_request(debuggee: Debuggee, thread: int, path: str, line: int) -> None:
    arguments = {"source": {"path": path}, "line": line}
    targets = (await debuggee.channel.request("gotoTargets", arguments)).get("targets")
    if not targets:
        raise DebuggerError(f"line {line} cannot be jumped to.", code="bad-jump")
    await debuggee.channel.request("goto", {"threadId": thread, "targetId": targets[0]["id"]})


async def _by_command(debuggee: Debuggee, thread: int, command: str) -> None:
    frame = await innermost(debuggee.channel, thread)
    await memory.command(debuggee.channel, command, frame["id"] if frame is not None else None)


def _report_stop(debuggee: Debuggee, stopped: Stopped) -> None:
    """Report a stop for which the adapter sends no event, because nothing ran."""
    debuggee.emit(Continued(stopped.thread))
    debuggee.emit(stopped)


async def force_return(debuggee: Debuggee, thread: int, value: str | None) -> None:
    """Return from the innermost function at once. Raises DebuggerError if that is impossible."""
    command = debuggee.adapter.raw.force_return
    assert command is not None
    try:
        await _by_command(debuggee, thread, command(value))
    except (ErrorResponse, EvaluationFailed) as error:
        raise refused_return(error.message) from None
    _report_stop(debuggee, Stopped(StopReason.STEP, thread, "returned at once"))
