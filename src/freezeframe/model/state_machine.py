"""A state machine as data: a table of transitions, and the state of one thing.

An event that the table does not have in a state is an error that names both: the code that raised
the event has a bug, and ignoring it would make later answers wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)


class ImpossibleTransition(Exception):
    """An event is impossible in the current state: a bug."""


class StateMachine(Generic[State, Event]):
    """The state of one thing, which only the events of a table change."""

    def __init__(self, table: Mapping[tuple[State, Event], State], state: State) -> None:
        self._table = table
        self.state = state

    def on(self, event: Event) -> State:
        """Enter the next state and return it. Raises ImpossibleTransition if the table has none."""
        self.state = advance(self._table, self.state, event)
        return self.state


def advance(table: Mapping[tuple[State, Event], State], state: State, event: Event) -> State:
    """Return the state after an event. Raises ImpossibleTransition if the table has none."""
    try:
        return table[state, event]
    except KeyError:
        raise ImpossibleTransition(f"{event.value!r} while {state.value!r}") from None
