"""Goroutines that hit a breakpoint at the time of a stop, which delve does not report.

delve halts every thread when one hits a breakpoint. Others may have hit one before they were
halted: the stop event names only one goroutine, and when the program resumes the others step past
their breakpoint without a further event (four goroutines that reach a line three times: 8 or 9
stops of 12).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from freezeframe.backends.backend import Stopped
from freezeframe.backends.breakpoint_hits import holds
from freezeframe.backends.dap.stop_queries import evaluate_text, innermost, line_before
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import StopReason

from .frames import was_running

if TYPE_CHECKING:
    from freezeframe.backends.dap.debuggee import Debuggee

log = logging.getLogger(__name__)

#: Most threads that are examined: as many run at one time on a large machine.
_MOST = 128


async def unreported(debuggee: Debuggee, stopped: Stopped, addresses: set[str]) -> list[Stopped]:
    """Return a stop for every other thread that is at one of our breakpoints.

    *addresses* are those of breakpoints, as far as known; new ones are added.
    """
    if not debuggee.breakpoints.any_set:
        return []
    try:
        body = await debuggee.channel.request("threads", {})
        threads = [
            each["id"]
            for each in body.get("threads") or ()
            if each["id"] != stopped.thread and was_running(str(each.get("name")))
        ]
        if not threads:
            return []
        at = await innermost(debuggee.channel, stopped.thread)
        if at is not None and stopped.breakpoints:
            addresses.add(_address(at))
        found = []
        for thread in threads[:_MOST]:
            frame = await innermost(debuggee.channel, thread)
            ids = await _hit(debuggee, thread, frame, addresses) if frame is not None else ()
            if ids:
                found.append(Stopped(StopReason.BREAKPOINT, thread, breakpoints=ids))
    except DebuggerError as error:
        log.info("threads that stopped at the same time could not be read: %s", error)
        return []
    return found


async def _hit(
    debuggee: Debuggee, thread: int, frame: dict[str, Any], addresses: set[str]
) -> tuple[int, ...]:
    """Return the breakpoints that a thread has hit: those whose condition holds in *frame*."""
    path, line = (frame.get("source") or {}).get("path"), frame.get("line")
    requests = debuggee.breakpoints.stopping_at(path, line)
    if not requests:
        return ()
    # A thread in the middle of the line was halted there and has hit nothing.
    if not (address := _address(frame)) or address not in addresses:
        if await line_before(debuggee.channel, thread) is None:
            return ()
        addresses.add(address)
    return tuple(
        [
            request.id
            for request in requests
            if request.condition is None
            or holds(await evaluate_text(debuggee.channel, request.condition, frame["id"]) or "")
        ]
    )


def _address(frame: dict[str, Any]) -> str:
    """Return the address of a frame; empty if delve does not name it."""
    return str(frame.get("instructionPointerReference") or "")
