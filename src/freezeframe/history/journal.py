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
        #: events before this cursor were told to somebody, and stay as they are
        self._told = 0
        self.bell = Bell()

    def add(self, session: str, kind: str, text: str) -> None:
        last = self._events[-1] if self._events else None
        grows = last is not None and last.cursor >= self._told
        if kind == "output" and last and grows and (last.kind, last.session) == (kind, session):
            # A program that prints in small pieces is one event, until something else happens
            # or somebody has been told of it: who goes on from there must learn of the rest.
            count = int(last.text.partition(" ")[0]) + int(text.partition(" ")[0])
            text = f"{count} characters"
            self._events.pop()
        else:
            self.end += 1
        self._events.append(SessionEvent(self.end - 1, time.time(), session, kind, text))
        self.bell.ring()

    def since(self, cursor: int, kinds: frozenset[str] | None = None) -> list[SessionEvent]:
        """Return the events from *cursor* on."""
        found = [
            event
            for event in self._events
            if event.cursor >= cursor and (kinds is None or event.kind in kinds)
        ]
        if found:
            self._told = max(self._told, found[-1].cursor + 1)
        return found

    @property
    def start(self) -> int:
        return self._events[0].cursor if self._events else self.end
