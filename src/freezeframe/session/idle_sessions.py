"""Sessions that nobody has asked about for some time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary, WeakSet

from .session import Session


class IdleSessions:
    """When each session was last asked about. A session's children count as the session."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_request: WeakKeyDictionary[Session, float] = WeakKeyDictionary()
        self._reported: WeakSet[Session] = WeakSet()

    def began(self, session: Session) -> None:
        """Note a session; its idle time begins when it is noted first."""
        self._last_request.setdefault(session.root, self._clock())

    def requested(self, session: Session) -> None:
        """Note that a command was about *session*."""
        self._last_request[session.root] = self._clock()
        self._reported.discard(session.root)

    def idle(self, roots: Iterable[Session], limit_s: float) -> list[tuple[Session, float]]:
        """Return the live sessions of *roots* that are idle for longer, with their idle times."""
        now = self._clock()
        times = [
            (root, now - self._last_request.setdefault(root, now))
            for root in roots
            if root.any_live
        ]
        return [(root, idle_s) for root, idle_s in times if idle_s > limit_s]

    def unreported(self, roots: Iterable[Session], limit_s: float) -> list[tuple[Session, float]]:
        """Return the idle sessions that this has not returned since they were asked about."""
        found = [each for each in self.idle(roots, limit_s) if each[0] not in self._reported]
        self._reported.update(root for root, _ in found)
        return found
