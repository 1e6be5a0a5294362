"""Making a thread go on at another line or in its caller, by a request or a debugger's command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freezeframe.backends.backend import Continued, Stopped
from freezeframe.backends.unwinding import refused_return
from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.stops import StopReason

from . import machine
from .messages import Refused
from .study import innermost

if TYPE_CHECKING:
    from .link import Link


async def jump(link: Link, thread: int, path: str, line: int) -> None:
    """Set the line at which a thread goes on. Raises DebuggerError where that cannot be."""
    try:
        if link.adapter.raw.jump is not None:
            await _by_command(link, thread, link.adapter.raw.jump(path, line))
            _moved(link, Stopped(StopReason.JUMP, thread))
        else:
            await _by_request(link, thread, path, line)
    except (Refused, EvaluationFailed) as error:
        raise DebuggerError(
            f"no jump to line {line} from here: {error.message.rstrip('.')}.",
            code="bad-jump",
            next="dbg next",
        ) from None


async def _by_request(link: Link, thread: int, path: str, line: int) -> None:
    where = {"source": {"path": path}, "line": line}
    targets = (await link.wire.request("gotoTargets", where)).get("targets")
    if not targets:
        raise DebuggerError(f"line {line} cannot be jumped to.", code="bad-jump")
    await link.wire.request("goto", {"threadId": thread, "targetId": targets[0]["id"]})


async def _by_command(link: Link, thread: int, command: str) -> None:
    frame = await innermost(link.wire, thread)
    await machine.command(link.wire, command, frame["id"] if frame is not None else None)


def _moved(link: Link, stopped: Stopped) -> None:
    """Report what no event tells of, for nothing ran."""
    link.emit(Continued(stopped.thread))
    link.emit(stopped)


async def force_return(link: Link, thread: int, value: str | None) -> None:
    """Leave the innermost function at once. Raises DebuggerError where that cannot be."""
    command = link.adapter.raw.force_return
    assert command is not None
    try:
        await _by_command(link, thread, command(value))
    except (Refused, EvaluationFailed) as error:
        raise refused_return(error.message) from None
    _moved(link, Stopped(StopReason.STEP, thread, "returned at once"))
