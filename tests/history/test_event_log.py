"""Events in order, with cursors: a caller that continues from one misses nothing."""

from __future__ import annotations

from freezeframe.history.event_log import EventLog


def test_output_in_pieces_is_one_event_until_a_caller_has_read_it():
    log = EventLog()
    log.add("app", "output", "3 characters")
    log.add("app", "output", "4 characters")
    assert [event.text for event in log.since(0)] == ["7 characters"]

    cursor = log.end
    log.add("app", "output", "5 characters")
    assert not log.since(cursor, frozenset({"stop"})), "who waits for stops splits nothing"
    log.add("app", "output", "6 characters")
    assert [event.text for event in log.since(cursor)] == ["11 characters"]
