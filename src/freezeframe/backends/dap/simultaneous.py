"""Threads that hit a breakpoint at the moment of a stop, and that the adapter does not report.

delve halts every thread when one hits a breakpoint. Others may have hit one before they were
halted: its stop event names one goroutine only, and when the program resumes the others step past
their breakpoint without a further event (four goroutines that pass a line three times: 8 or 9
stops of 12).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from freezeframe.backends.backend import Stopped
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import StopReason

from .study import evaluated, innermost, line_before

if TYPE_CHECKING:
    from .link import Link

log = logging.getLogger(__name__)

#: Threads that are looked at: as many can run at one time on a large machine.
_MOST = 128


async def unreported(link: Link, stopped: Stopped) -> list[Stopped]:
    """Return a stop for every other thread that is at a breakpoint of ours."""
    running = link.adapter.stops.was_running
    if running is None or not link.marks.any_set:
        return []
    try:
        body = await link.wire.request("threads", {})
        threads = [
            each["id"]
            for each in body.get("threads") or ()
            if each["id"] != stopped.thread and running(str(each.get("name")))
        ]
        if not threads:
            return []
        at = await innermost(link.wire, stopped.thread)
        if at is not None and stopped.breakpoints:
            link.marks.learn_address(_address(at))
        found = []
        for thread in threads[:_MOST]:
            frame = await innermost(link.wire, thread)
            ids = await _hit(link, thread, frame) if frame is not None else ()
            if ids:
                found.append(Stopped(StopReason.BREAKPOINT, thread, breakpoints=ids))
    except DebuggerError as error:
        log.info("threads that stopped at the same time could not be read: %s", error)
        return []
    return found


async def _hit(link: Link, thread: int, frame: dict[str, Any]) -> tuple[int, ...]:
    """Return the breakpoints that a thread has hit: those whose condition holds in *frame*."""
    path, line = (frame.get("source") or {}).get("path"), frame.get("line")
    wanted = link.marks.stopping_at(path, line)
    if not wanted:
        return ()
    # A thread in the middle of the line was halted there; it has not hit anything now.
    if not link.marks.knows_address(_address(frame)):
        if await line_before(link.wire, thread) is None:
            return ()
        link.marks.learn_address(_address(frame))
    return tuple(
        [
            want.id
            for want in wanted
            if want.condition is None
            or await evaluated(link.wire, want.condition, frame["id"]) == "true"
        ]
    )


def _address(frame: dict[str, Any]) -> str | None:
    address = frame.get("instructionPointerReference")
    return str(address) if address is not None else None
