"""The history as operations see it: one object that joins recorder and store."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from freezeframe.session.session import Session

from .recorder import Recorder
from .store import Store

if TYPE_CHECKING:
    import sqlite3

    from freezeframe.model.history import Recording
    from freezeframe.model.places import Location
    from freezeframe.model.runs import Run

    from . import divergence
    from .reading import Found, HitRow

T = TypeVar("T")


class Archive:
    """What was recorded, in this daemon and before. Raises HistoryError where it cannot be read."""

    def __init__(self, path: str, workspace_of: Callable[[Session], str]) -> None:
        self._notes: list[str] = []
        self.store = Store(path, self._notes.append)
        self.recorder = Recorder(self.store, workspace_of)

    def take_notes(self) -> tuple[str, ...]:
        """Return what went wrong with recording and was not told yet."""
        if not self._notes:
            return ()
        notes, self._notes[:] = tuple(self._notes), []
        return notes

    async def close(self) -> None:
        await self.store.close()

    async def _ask(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self.recorder.settle()
        return await self.store.ask(work)

    # --- runs

    async def runs(self, workspace: str | None) -> list[Run]:
        """Return the runs of a workspace (or of all), oldest first."""
        from . import reading

        if not os.path.exists(self.store.path):
            return []
        live = self.recorder.live_runs
        found = await self._ask(lambda c: reading.runs(c, workspace, live()))
        return [each.run for each in found]

    async def find(self, workspace: str, name: str | None, session: Session | None = None) -> Found:
        """Return the run of that name; without one that of *session*, else the last there was."""
        from . import reading

        row = self.recorder.run_of(session) if session is not None and name is None else None

        def work(connection: sqlite3.Connection) -> Found:
            chosen = name
            if row is not None and row.number is not None:
                chosen = f"#{row.number}"
            return reading.find_run(connection, workspace, chosen, self.recorder.live_runs())

        return await self._ask(work)

    async def hits(self, found: Found, location: Location, directory: str) -> list[HitRow]:
        from . import reading

        return await self._ask(lambda c: reading.hits(c, found, location, directory))

    async def recording(self, found: Found, workspace: str) -> Recording:
        from . import reading

        return await self._ask(lambda c: reading.recording(c, found, workspace))

    async def side(self, found: Found) -> divergence.Side:
        """Return a run as it is compared."""
        from . import divergence, reading

        def work(connection: sqlite3.Connection) -> divergence.Side:
            return divergence.Side(
                found.run,
                reading.every_stop(connection, found),
                reading.sources_of(connection, found),
                reading.output_of(connection, found),
            )

        return await self._ask(work)

    # --- keeping

    async def save(self, found: Found, workspace: str, label: str) -> str | None:
        from . import keeping

        return await self._ask(lambda c: keeping.save(c, found, workspace, label))

    async def outdated(self, max_age_days: float, max_mb: float) -> list[Found]:
        from . import keeping

        return await self._ask(
            lambda c: keeping.outdated(
                c,
                max_age_days=max_age_days,
                max_bytes=max_mb * 1_000_000,
                live=self.recorder.live_runs(),
            )
        )

    async def remove(self, found: list[Found]) -> None:
        from . import keeping

        await self._ask(lambda c: keeping.remove(c, [each.id for each in found]))

    def size(self) -> int:
        from . import keeping

        return keeping.file_size(self.store.path)

    async def enter(self, recording: Recording, workspace: str) -> int:
        from . import exchange

        return await self._ask(lambda c: exchange.enter(c, recording, workspace))
