"""What a program does whose threads stop one by one: the table, walked exhaustively."""

from __future__ import annotations

import itertools

import pytest

from freezeframe.backends.thread_stops import (
    TRANSITIONS,
    ProgramEvent,
    ProgramState,
    ThreadStops,
)
from freezeframe.model.state_machine import ImpossibleTransition

S, E = ProgramState, ProgramEvent

#: what is a bug; everything else has a row
REFUSED = {
    (S.HALTING, E.PAUSE_REFUSED),
    (S.DECIDING, E.PAUSE_REFUSED),
    *((state, E.HALT) for state in S if state not in (S.RUNNING, S.STOPPED)),
}


def test_an_event_has_a_row_in_every_state_or_is_refused_by_name():
    assert set(TRANSITIONS) == set(itertools.product(S, E)) - REFUSED
    for state, event in REFUSED:
        stops = ThreadStops()
        stops.state = state
        with pytest.raises(ImpossibleTransition, match=f"{event.value}.*{state.value}"):
            stops.on(event)


def test_a_requested_pause_ends_only_with_a_reported_stop_or_a_refusal():
    pausing = {S.PAUSING, S.HALTING_PAUSING, S.DECIDING_PAUSING}
    for (state, event), following in TRANSITIONS.items():
        if state in pausing and following not in pausing:
            assert event in (E.REPORTED, E.PAUSE_REFUSED), (state, event)


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([E.PAUSE, E.RESUMED, E.RESUMED], S.PAUSING),
        ([E.HALT, E.PAUSE, E.HALT_ENDED], S.PAUSING),
        ([E.HALT, E.REPORTED, E.HALT_ENDED], S.STOPPED),
        ([E.HALT, E.RESUMED, E.HALT_ENDED], S.RUNNING),
        ([E.PAUSE, E.REPORTED, E.RESUMED], S.RUNNING),
        ([E.PAUSE, E.PAUSE_REFUSED], S.RUNNING),
        ([E.STOPPED, E.PAUSE, E.PAUSE_REFUSED], S.DECIDING_PAUSING),
        ([E.PAUSE, E.STOPPED, E.PAUSE_REFUSED, E.REPORTED], S.STOPPED),
        ([E.HALT, E.STOPPED, E.HALT_ENDED], S.DECIDING),
    ],
)
def test_requests_and_stops_lead_to(events, state):
    stops = ThreadStops()
    for event in events:
        stops.on(event)
    assert stops.state is state
    assert stops.stopped == (state is S.STOPPED)
    assert stops.pausing == (state in (S.PAUSING, S.DECIDING_PAUSING))
