"""The latest events in order, with cursors: the answer to `events`."""

from __future__ import annotations

import time
from collections import deque

from freezeframe.model.history import SessionEvent
from freezeframe.model.stops import Exit
from freezeframe.session.broadcast import Broadcast

_MAX_EVENTS = 10_000


class EventLog:
    """The last events of one workspace. Lives in the event loop."""

    def __init__(self) -> None:
        self._events: deque[SessionEvent] = deque(maxlen=_MAX_EVENTS)
        #: cursor of the next event
        self.end = 0
        #: events before this cursor were read by a caller and do not change any more
        self._reported = 0
        self.changed = Broadcast()

    def add(self, session: str, kind: str, text: str) -> None:
        last = self._events[-1] if self._events else None
        grows = last is not None and last.cursor >= self._reported
        if kind == "output" and last and grows and (last.kind, last.session) == (kind, session):
            # Consecutive small outputs are merged into one event until another event happens or
            # a caller has read it: a caller that continues from there must see the rest.
            count = int(last.text.partition(" ")[0]) + int(text.partition(" ")[0])
            text = f"{count} characters"
            self._events.pop()
        else:
            self.end += 1
        self._events.append(SessionEvent(self.end - 1, time.time(), session, kind, text))
        self.changed.notify_all()

    def since(self, cursor: int, kinds: frozenset[str] | None = None) -> list[SessionEvent]:
        """Return the events from *cursor* on."""
        found = [
            event
            for event in self._events
            if event.cursor >= cursor and (kinds is None or event.kind in kinds)
        ]
        if found:
            self._reported = max(self._reported, found[-1].cursor + 1)
        return found

    @property
    def start(self) -> int:
        return self._events[0].cursor if self._events else self.end


def describe_exit(exit: Exit) -> str:
    """Return how a run ended, in one or two words."""
    if exit.signal:
        return exit.signal
    return f"code {exit.code}" if exit.code is not None else exit.how
