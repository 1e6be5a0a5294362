"""Traces as runs. Their steps are stored when a query first needs them.

To make a stop of a step and to insert it takes 0.4 ms or more, and most traces are never looked at
again: the run is inserted at once, its steps stay in memory. What is still there when the daemon
ends, or when newer traces come, is stored up to a smaller limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from freezeframe.model.answers import Chunk
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.history import RecordedStop, SourceText
from freezeframe.model.stops import Exit

from . import inserts
from .inserts import RunRow
from .redaction import Secrets
from .store import Store

if TYPE_CHECKING:
    import sqlite3

#: steps that a query has stored; steps that are stored of a trace that nobody asked for
_MOST_STEPS = 3_000
_FEW_STEPS = 200
#: traces whose steps stay in memory, and the steps of all but the newest
_MOST_TRACES = 3
_MOST_PENDING = 200_000
#: steps of one transaction
_BATCH = 100


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A trace to be stored: the run, and its steps as stops. Paths are absolute."""

    row: RunRow
    stops: Sequence[RecordedStop]
    sources: tuple[SourceText, ...]
    output: str
    exit: Exit
    ended: float


class TracedRuns:
    """The traces of this daemon whose steps are not stored yet."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pending: dict[int, tuple[TracedRun, Secrets]] = {}

    def add(self, traced: TracedRun, secrets: Secrets) -> None:
        """Insert the run now, its steps later. Returns at once."""
        self._store.put(lambda connection: _begin(connection, traced, secrets))
        self._pending[id(traced.row)] = (traced, secrets)
        while len(self._pending) > 1 and self._is_full():
            self._store_steps(next(iter(self._pending)), _FEW_STEPS)

    def _is_full(self) -> bool:
        older = list(self._pending.values())[:-1]
        steps = sum(len(each.stops) for each, _ in older)
        return len(older) >= _MOST_TRACES or steps > _MOST_PENDING

    def stops_of(self, run: int) -> Sequence[RecordedStop] | None:
        """Return the steps of a run that are not stored yet; *run* is its id in the database."""
        traced = self._found(run)
        return None if traced is None else self._pending[traced][0].stops

    def complete(self, run: int) -> bool:
        """Store the steps of a run; return whether they were not."""
        traced = self._found(run)
        if traced is not None:
            self._store_steps(traced, _MOST_STEPS)
        return traced is not None

    def close(self) -> None:
        """Store the last steps of every trace that is left."""
        for traced in list(self._pending):
            self._store_steps(traced, _FEW_STEPS)

    def _found(self, run: int) -> int | None:
        return next((key for key, (each, _) in self._pending.items() if each.row.id == run), None)

    def _store_steps(self, key: int, most: int) -> None:
        traced, secrets = self._pending.pop(key)
        count = len(traced.stops)
        for first in range(max(0, count - most), count, _BATCH):
            numbers = range(first, min(first + _BATCH, count))
            self._store.put(partial(_insert, traced=traced, numbers=numbers, secrets=secrets))


def _begin(connection: sqlite3.Connection, traced: TracedRun, secrets: Secrets) -> None:
    row = traced.row
    inserts.set_traced(connection, row, len(traced.stops))
    for source in traced.sources:
        inserts.add_source(connection, row, source.file, source.text)
    if traced.output:
        chunk = Chunk("stdout", secrets.mask(traced.output))
        inserts.add_output(connection, row, 0, [chunk], len(traced.output))
    inserts.finish_run(connection, row, traced.ended, traced.exit)


def _insert(
    connection: sqlite3.Connection, traced: TracedRun, numbers: range, secrets: Secrets
) -> None:
    from .import_export import stop_row

    for at in numbers:
        inserts.add_stop(connection, traced.row, stop_row(traced.stops[at]), secrets)
