"""The history as operations use it: recorder and store in one object."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from freezeframe.session.session import Session

from .recorder import Recorder
from .store import Store
from .traced_runs import TracedRuns

if TYPE_CHECKING:
    import sqlite3

    from freezeframe.model.history import Recording
    from freezeframe.model.locations import Location
    from freezeframe.model.runs import Run

    from . import divergence
    from .queries import FoundRun, HitRow, RunPart

T = TypeVar("T")


class Archive:
    """All recorded runs, of this daemon and earlier ones. Raises HistoryError if unreadable."""

    def __init__(self, path: str, workspace_of: Callable[[Session], str]) -> None:
        self._notes: list[str] = []
        self.store = Store(path, self._notes.append)
        self.recorder = Recorder(self.store, workspace_of)
        self.traces = TracedRuns(self.store)

    def take_notes(self) -> tuple[str, ...]:
        """Return the recording problems that were not reported yet."""
        if not self._notes:
            return ()
        notes, self._notes[:] = tuple(self._notes), []
        return notes

    async def close(self) -> None:
        self.traces.close()
        await self.store.close()

    async def _query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self.recorder.flush()
        return await self.store.query(work)

    # --- runs

    async def runs(self, workspace: str | None) -> list[Run]:
        """Return the runs of a workspace (or of all), oldest first."""
        from . import queries

        if not os.path.exists(self.store.path):
            return []
        live = self.recorder.live_runs
        found = await self._query(lambda c: queries.runs(c, workspace, live()))
        return [each.run for each in found]

    async def find(
        self,
        workspace: str,
        name: str | None,
        session: Session | None = None,
        *,
        whole: bool = True,
    ) -> FoundRun:
        """Return the run called *name*; without a name that of *session*, else the last run.

        *whole*: the steps of a trace are stored first.
        """
        from . import queries

        self.recorder.save_messages()
        row = self.recorder.run_of(session) if session is not None and name is None else None

        def work(connection: sqlite3.Connection) -> FoundRun:
            chosen = name
            if row is not None and row.number is not None:
                chosen = f"#{row.number}"
            return queries.find_run(connection, workspace, chosen, self.recorder.live_runs())

        found = await self._query(work)
        if whole and found.run.traced and self.traces.complete(found.id):
            found = await self._query(work)
        return found

    async def hits(self, found: FoundRun, location: Location, directory: str) -> list[HitRow]:
        from . import queries

        return await self._query(lambda c: queries.hits(c, found, location, directory))

    async def hit_locations(self, found: FoundRun) -> list[tuple[str, int]]:
        from . import queries

        return await self._query(lambda c: queries.hit_locations(c, found))

    async def recording(
        self, found: FoundRun, workspace: str, part: RunPart | None = None
    ) -> Recording:
        from . import queries

        part = part or queries.RunPart()
        recording = await self._query(lambda c: queries.recording(c, found, workspace, part))
        steps = self.traces.stops_of(found.id) if found.run.traced else None
        if steps is None:
            return recording
        end = part.stops + part.most if part.most >= 0 else None
        return replace(recording, stops=steps[part.stops : end])

    async def source(self, found: FoundRun, file: str) -> str | None:
        """Return the recorded text of a file."""
        from . import queries

        return (await self._query(lambda c: queries.sources_of(c, found))).get(file)

    async def compared_run(self, found: FoundRun) -> divergence.ComparedRun:
        """Return a run with what a comparison needs."""
        from . import divergence, queries

        def work(connection: sqlite3.Connection) -> divergence.ComparedRun:
            return divergence.ComparedRun(
                found.run,
                queries.every_stop(connection, found),
                queries.sources_of(connection, found),
                queries.output_of(connection, found),
            )

        return await self._query(work)

    # --- retention

    async def save(self, found: FoundRun, workspace: str, label: str) -> str | None:
        from . import retention

        return await self._query(lambda c: retention.save(c, found, workspace, label))

    async def outdated(self, max_age_days: float, max_mb: float) -> list[FoundRun]:
        from . import retention

        return await self._query(
            lambda c: retention.outdated(
                c,
                max_age_days=max_age_days,
                max_bytes=max_mb * 1_000_000,
                live=self.recorder.live_runs(),
            )
        )

    async def remove(self, found: list[FoundRun]) -> None:
        from . import retention

        await self._query(lambda c: retention.remove(c, [each.id for each in found]))

    def size(self) -> int:
        from . import retention

        return retention.file_size(self.store.path)

    async def add_recording(self, recording: Recording, workspace: str) -> int:
        from . import import_export

        return await self._query(lambda c: import_export.insert(c, recording, workspace))
