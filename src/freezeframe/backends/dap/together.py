"""Threads that stop at the same moment: one stop is told, the others wait for their turn.

An adapter that reports each of them reports those again that have not run since: after a step of
one thread the others still stand where they were told to stand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from freezeframe.backends.backend import Stopped
from freezeframe.model.stops import StopReason

#: a stop, and the watchpoint of ours that it is due to
Pending = tuple[Stopped, int | None]
#: How long the others of a stop may come before the one that the adapter puts first.
_FIRST_S = 0.2


class Together:
    """Stops of one program, in the order in which they are to be told."""

    def __init__(self, tell: Callable[[Stopped, int | None], None]) -> None:
        self._tell = tell
        #: the program stands still
        self._standing = False
        #: stops that came before the one that is told first
        self._early: list[Pending] = []
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[Pending] = []
        #: threads whose stop was told, and that have not run since
        self._told: set[int | None] = set()

    def take(self, stopped: Stopped, watch: int | None, *, first: bool) -> None:
        """Tell a stop, or let it wait. *first*: the adapter puts it before others of the moment."""
        if self._standing:
            self._wait(stopped, watch)
        elif not first:
            self._early.append((stopped, watch))
            if self._timer is None:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(_FIRST_S, self._take_early)
        else:
            self._stand(stopped, watch)

    def _take_early(self) -> None:
        """The adapter put none first: the first is."""
        if self._early and not self._standing:
            self._stand(*self._early.pop(0))

    def _stand(self, stopped: Stopped, watch: int | None) -> None:
        self._standing = True
        early, self._early = self._early, []
        self._cancel()
        for pending in early:
            self._wait(*pending)
        self._told.add(stopped.thread)
        self._tell(stopped, watch)

    def _wait(self, stopped: Stopped, watch: int | None) -> None:
        # A step of another thread that is over is no news, nor is what was told already.
        if stopped.thread not in self._told and stopped.reason is not StopReason.STEP:
            self._waiting.append((stopped, watch))

    @property
    def any(self) -> bool:
        """Whether a stop was told since the program ran last."""
        return self._standing

    def next(self) -> Pending | None:
        """Return the next stop of the same moment; None when all were told."""
        if not self._waiting:
            return None
        pending = self._waiting.pop(0)
        self._told.add(pending[0].thread)
        return pending

    def resumed(self, thread: int | None) -> None:
        """The program is let run: one *thread*, so that the others stay where they are, or all."""
        if thread is None:
            self._told.clear()
        else:
            self._told.discard(thread)

    def runs(self) -> None:
        """The program runs: what was not told is gone."""
        self._standing = False
        self._waiting.clear()
        self._early.clear()
        self._cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
