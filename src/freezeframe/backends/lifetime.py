"""How debugging of one process ends: it exits, is killed, is detached, or its debugger is lost.

Every backend has one `DebuggeeLifetime`. The first end counts and is reported once; how it is
reported depends on what was requested before:

    requested   begin_kill   begin_detach   detach_refused   finish(exit) reports
    nothing     kill         detach         nothing          the exit
    kill        kill         kill           kill             killed
    detach      kill         detach         nothing          detached

After the end nothing is reported, but a kill is
still noted: the program may have left children.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from enum import Enum, auto
from typing import Any

from freezeframe.model.state_machine import StateMachine
from freezeframe.model.stops import Exit

#: the reason of an exit after which stops were missed
MISSED_STOPS = "it closed the connection to its debugger, so breakpoints after that were missed"


class EndRequest(Enum):
    NOTHING = auto()
    KILL = auto()
    DETACH = auto()


class EndEvent(Enum):
    KILL = auto()
    DETACH = auto()
    DETACH_REFUSED = auto()


TRANSITIONS = {
    **{(request, EndEvent.KILL): EndRequest.KILL for request in EndRequest},
    **{(EndRequest.KILL, event): EndRequest.KILL for event in EndEvent},
    (EndRequest.NOTHING, EndEvent.DETACH): EndRequest.DETACH,
    (EndRequest.DETACH, EndEvent.DETACH): EndRequest.DETACH,
    (EndRequest.NOTHING, EndEvent.DETACH_REFUSED): EndRequest.NOTHING,
    (EndRequest.DETACH, EndEvent.DETACH_REFUSED): EndRequest.NOTHING,
}

_REPORTED_AS = {
    EndRequest.KILL: Exit(how="killed"),
    EndRequest.DETACH: Exit(how="detached"),
}


class DebuggeeLifetime:
    """The end of debugging one process."""

    def __init__(self, report: Callable[[Exit], None]) -> None:
        """*report* is called once, with the end."""
        self._report = report
        self._request = StateMachine(TRANSITIONS, EndRequest.NOTHING)
        #: the end as it was reported
        self._exit: Exit | None = None
        #: the program was killed before it exited: kill its daemonized descendants too
        self.kills_daemons = False
        self._disposing: asyncio.Task[None] | None = None

    # --- requests

    def begin_kill(self) -> None:
        """Note that the program is about to be killed."""
        self.kills_daemons = not self.ended
        self._request.on(EndEvent.KILL)

    def begin_detach(self) -> None:
        """Note that the debugger is about to detach."""
        self._request.on(EndEvent.DETACH)

    def detach_refused(self) -> None:
        """Note that the debugger did not detach."""
        if not self.ended:
            self._request.on(EndEvent.DETACH_REFUSED)

    # --- the end

    def finish(self, exit: Exit) -> None:
        """Report the end. Only the first call counts."""
        if self._exit is None:
            self._exit = _REPORTED_AS.get(self._request.state, exit)
            self._report(self._exit)

    @property
    def ended(self) -> bool:
        return self._exit is not None

    @property
    def killing(self) -> bool:
        """Whether the program is being killed, or was."""
        return self._request.state is EndRequest.KILL

    @property
    def detached(self) -> bool:
        """Whether the debugger detaches, or has detached."""
        if self._exit is not None:
            return self._exit.how == "detached"
        return self._request.state is EndRequest.DETACH

    @property
    def lost(self) -> bool:
        """Whether the reported end is the loss of the debugger: the program may still run."""
        return self._exit is not None and self._exit.how == "lost"

    # --- resources

    @property
    def disposed(self) -> bool:
        return self._disposing is not None

    async def dispose(
        self, release: Callable[[asyncio.Task[Any] | None], Coroutine[Any, Any, None]]
    ) -> None:
        """Release the resources, once; a second call waits for the first.

        *release* gets the task of the first caller. Cancelling a caller does not interrupt it.
        """
        if self._disposing is None:
            self._disposing = asyncio.ensure_future(release(asyncio.current_task()))
        await asyncio.shield(self._disposing)
