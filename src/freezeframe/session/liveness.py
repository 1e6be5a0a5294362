"""Whether the program that stands under a debugger is still there.

Debuggers that hold a program learn that it was killed only when they resume it (gdb, Delve), or
tell it as an exit code that no program has (LLDB). The system knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from freezeframe.backends.backend import Attach, Ended, Launch
from freezeframe.backends.transport.exit_status import Watched
from freezeframe.backends.transport.process import exit_of
from freezeframe.model.stops import Exit

from .phase import Phase

if TYPE_CHECKING:
    from .session import Session

#: No event tells that a held process with several threads has died: they have to be looked at.
_LOOK_S = 0.5


class Liveness:
    """Looks after the process of one session from when its pid is known to its end."""

    def __init__(self, session: Session, tell: Callable[[Ended], None]) -> None:
        self._session = session
        self._tell = tell
        self._watched: Watched | None = None
        self._timer: asyncio.TimerHandle | None = None

    def follow(self, pid: int | None) -> None:
        """Look after this process, if it is one of this machine."""
        target = self._session.root.target
        here = isinstance(target, Launch) or (isinstance(target, Attach) and target.pid is not None)
        if pid is None or not here or (self._watched is not None and self._watched.pid == pid):
            return
        self.leave()
        watched = Watched(pid)
        if watched.ours:
            watched.close()  # its end is an event
            return
        self._watched = watched
        self._wind()

    def leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._watched is not None:
            self._watched.close()
        self._timer = self._watched = None

    def look(self) -> None:
        """End the session if its program was killed where it stood."""
        if self._watched is None or self._session.phase is not Phase.STOPPED:
            return
        returncode = self._watched.returncode()
        if returncode is not None:
            self._tell(Ended(exit_of(returncode)))

    def truth(self, exit: Exit) -> Exit:
        """Return how the program ended, where the system knows better than its debugger."""
        returncode = None if self._watched is None else self._watched.returncode()
        if returncode is None or exit.how != "ended" or exit.signal is not None:
            return exit
        # A plain exit code is the debugger's to tell: it may be known here a moment too late.
        return exit_of(returncode) if returncode < 0 else exit

    def _wind(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._again)

    def _again(self) -> None:
        self.look()
        if self._watched is not None:
            self._wind()
