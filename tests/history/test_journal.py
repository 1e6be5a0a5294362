"""Events in order, with cursors: who goes on from one misses nothing."""

from __future__ import annotations

from freezeframe.history.journal import Journal


def test_what_is_printed_in_pieces_is_one_event_until_somebody_was_told_of_it():
    journal = Journal()
    journal.add("app", "output", "3 characters")
    journal.add("app", "output", "4 characters")
    assert [event.text for event in journal.since(0)] == ["7 characters"]

    cursor = journal.end
    journal.add("app", "output", "5 characters")
    assert not journal.since(cursor, frozenset({"stop"})), "who waits for stops splits nothing"
    journal.add("app", "output", "6 characters")
    assert [event.text for event in journal.since(cursor)] == ["11 characters"]
