"""What happened lately, in order, with cursors: the answer to `events`."""

from __future__ import annotations

import time
from collections import deque

from freezeframe.model.history import SessionEvent
from freezeframe.session.bell import Bell

_KEPT = 10_000


class Journal:
    """The last events of one workspace. Lives in the event loop."""

    def __init__(self) -> None:
        self._events: deque[SessionEvent] = deque(maxlen=_KEPT)
        #: cursor of the next event
        self.end = 0
        self.bell = Bell()

    def add(self, session: str, kind: str, text: str) -> None:
        last = self._events[-1] if self._events else None
        if kind == "output" and last and (last.kind, last.session) == (kind, session):
            # A program that prints in small pieces is one event, until something else happens.
            count = int(last.text.partition(" ")[0]) + int(text.partition(" ")[0])
            text = f"{count} characters"
            self._events.pop()
        else:
            self.end += 1
        self._events.append(SessionEvent(self.end - 1, time.time(), session, kind, text))
        self.bell.ring()

    def since(self, cursor: int, kinds: frozenset[str] | None = None) -> list[SessionEvent]:
        """Return the events from *cursor* on."""
        return [
            event
            for event in self._events
            if event.cursor >= cursor and (kinds is None or event.kind in kinds)
        ]

    @property
    def start(self) -> int:
        return self._events[0].cursor if self._events else self.end
