"""Traces are stored as runs, their steps when they are needed, and bounded."""

from __future__ import annotations

import asyncio

from freezeframe.history import queries
from freezeframe.history.inserts import RunRow
from freezeframe.history.redaction import Secrets
from freezeframe.history.store import Store
from freezeframe.history.traced_runs import TracedRun, TracedRuns
from freezeframe.model.history import RecordedStop
from freezeframe.model.stops import Exit, Frame


def trace(number: int, steps: int) -> TracedRun:
    stops = [
        RecordedStop(at, 0.0, "step", 1, "main", (Frame(0, "f", "/w/a.py", at),), depth=1)
        for at in range(1, steps + 1)
    ]
    row = RunRow("/w", f"t{number}-trace", "a.py", (), float(number))
    return TracedRun(row, stops, (), "", Exit(0), float(number))


def test_the_steps_of_a_trace_are_stored_when_asked_for_and_the_last_ones_of_others(tmp_path):
    async def main() -> tuple[dict[str, tuple[int, int]], list[int]]:
        store = Store(str(tmp_path / "history.db"), notes.append)
        runs = TracedRuns(store)
        for number in range(1, 6):
            runs.add(trace(number, 500), Secrets(()))
        found = await store.query(lambda c: queries.find_run(c, "/w", "t4-trace", ()))
        assert (found.run.stops, len(runs.stops_of(found.id) or ())) == (0, 500)
        assert runs.complete(found.id)
        assert not runs.complete(found.id)
        last = await store.query(lambda c: queries.find_run(c, "/w", "t1-trace", ()))
        kept = await store.query(lambda c: [each.number for each in queries.stops(c, last)])
        every = await store.query(lambda c: queries.runs(c, "/w", ()))
        await store.close()
        return {each.run.name: (each.run.stops, each.run.traced) for each in every}, kept

    notes: list[str] = []
    stored, kept = asyncio.run(main())

    assert not notes
    assert stored == {
        "t1-trace": (200, 500),
        "t2-trace": (200, 500),
        "t3-trace": (0, 500),
        "t4-trace": (500, 500),
        "t5-trace": (0, 500),
    }
    assert kept == list(range(301, 501))
