"""Detect that a program has ended where its debugger does not report it, or reports it wrongly.

A debugger that holds a program learns that it was killed only when it resumes it (gdb, Delve), or
reports an exit code that no program has (LLDB, also where its server was killed). A debugger that
the program has signalled may never report the exit (gdb 16). The operating system knows.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from freezeframe.backends.backend import Attach, ExitedEvent, Launch
from freezeframe.backends.transport.exit_status import WatchedProcess
from freezeframe.backends.transport.process import exit_of
from freezeframe.model.stops import Exit

from .phase import Phase

if TYPE_CHECKING:
    from .session import Session

#: Poll interval: no event reports the death of a traced process with several threads.
_POLL_S = 0.5
#: Polls after which the exit of a running program is reported in place of the debugger.
_UNREPORTED = 10


class Liveness:
    """Watches the process of one session from when its pid is known until it exits."""

    def __init__(self, session: Session, on_exit: Callable[[ExitedEvent], None]) -> None:
        self._session = session
        self._on_exit = on_exit
        self._watched: WatchedProcess | None = None
        self._timer: asyncio.TimerHandle | None = None
        #: polls since the exit of the running program that its debugger has not reported
        self._unreported = 0

    def watch(self, pid: int | None) -> None:
        """Watch this process if it runs on this machine."""
        target = self._session.root.target
        local = isinstance(target, Launch) or (
            isinstance(target, Attach) and target.pid is not None
        )
        if pid is None or not local or (self._watched is not None and self._watched.pid == pid):
            return
        self.close()
        watched = WatchedProcess(pid)
        if watched.is_child:
            watched.close()  # the transport reports the exit of a child process
            return
        self._watched = watched
        self._schedule()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._watched is not None:
            self._watched.close()
        self._timer = self._watched = None

    def check(self) -> None:
        """Report the exit if the program was killed while stopped."""
        if self._watched is None or self._session.phase is not Phase.STOPPED:
            return
        returncode = self._watched.returncode()
        if returncode is not None:
            self._on_exit(ExitedEvent(exit_of(returncode)))

    def _check_running(self) -> None:
        """Report the exit of a running program if its debugger does not."""
        watched = self._watched
        if watched is None or self._session.phase is not Phase.RUNNING:
            return
        returncode = watched.returncode()
        self._unreported = 0 if returncode is None else self._unreported + 1
        if returncode is not None and self._unreported > _UNREPORTED:
            self._on_exit(ExitedEvent(exit_of(returncode)))

    def correct_exit(self, exit: Exit) -> Exit:
        """Return *exit*, corrected where the operating system knows better than the debugger."""
        if exit.how != "ended" or exit.signal is not None:
            return exit
        returncode = None if self._watched is None else self._watched.returncode()
        impossible = os.name == "posix" and exit.code is not None and exit.code < 0
        # A plain exit code is left to the debugger: here it may be known slightly too late.
        if returncode is not None and (returncode < 0 or impossible):
            return exit_of(returncode)
        if impossible:
            return Exit(how="lost", reason=f"it lost the program (exit code {exit.code})")
        return exit

    def _schedule(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_POLL_S, self._poll)

    def _poll(self) -> None:
        self.check()
        self._check_running()
        if self._watched is not None:
            self._schedule()
