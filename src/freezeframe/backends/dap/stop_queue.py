"""Stops of several threads at the same time: one is reported, the others are queued.

An adapter that reports each of these stops repeats those of threads that have not run since: after
a step of one thread the others are still stopped where they were reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from freezeframe.backends.backend import Stopped
from freezeframe.model.stops import StopReason

#: A stop, and the id of the watchpoint that caused it.
Pending = tuple[Stopped, int | None]
#: How long the other stops may arrive before the one that the adapter focuses on.
_FIRST_S = 0.2


class StopQueue:
    """Stops of one program, in the order in which they are reported."""

    def __init__(self, report: Callable[[Stopped, int | None], None]) -> None:
        self._report = report
        #: the program is stopped
        self._stopped = False
        #: stops that arrived before the one that is reported first
        self._early: list[Pending] = []
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[Pending] = []
        #: threads whose stop was reported, and that have not run since
        self._reported: set[int | None] = set()

    def add(self, stopped: Stopped, watch: int | None, *, first: bool) -> None:
        """Report or queue a stop. *first*: the adapter focuses on it, of those at the same time."""
        if self._stopped:
            self._wait(stopped, watch)
        elif not first:
            self._early.append((stopped, watch))
            if self._timer is None:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(_FIRST_S, self._report_early)
        else:
            self._report_first(stopped, watch)

    def _report_early(self) -> None:
        """Report the stop that arrived first, since the adapter focuses on none."""
        if self._early and not self._stopped:
            self._report_first(*self._early.pop(0))

    def _report_first(self, stopped: Stopped, watch: int | None) -> None:
        self._stopped = True
        early, self._early = self._early, []
        self._cancel()
        for pending in early:
            self._wait(*pending)
        self._reported.add(stopped.thread)
        self._report(stopped, watch)

    def _wait(self, stopped: Stopped, watch: int | None) -> None:
        # The end of another thread's step is not reported, nor is a stop reported already.
        if stopped.thread not in self._reported and stopped.reason is not StopReason.STEP:
            self._waiting.append((stopped, watch))

    @property
    def any(self) -> bool:
        """Whether a stop was reported since the program ran last."""
        return self._stopped

    def next(self) -> Pending | None:
        """Return the next stop of the same time; None when all were reported."""
        if not self._waiting:
            return None
        pending = self._waiting.pop(0)
        self._reported.add(pending[0].thread)
        return pending

    def resumed(self, thread: int | None) -> None:
        """Note that *thread* alone resumes and the others stay stopped, or all resume."""
        if thread is None:
            self._reported.clear()
        else:
            self._reported.discard(thread)

    def runs(self) -> None:
        """Note that the program runs: drop stops that were not reported."""
        self._stopped = False
        self._waiting.clear()
        self._early.clear()
        self._cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
