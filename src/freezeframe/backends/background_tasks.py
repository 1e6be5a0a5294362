"""Background tasks of a backend."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from freezeframe.errors import DebuggerError

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Tasks that nothing awaits. A failure is a bug and is logged."""

    def __init__(self, name: str) -> None:
        """*name* is the owner, for the log."""
        self._name = name
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, DebuggerError):
            # A task that waits for an answer fails when the debugger ends.
            log.info("%s: %s", self._name, error)
        else:
            log.error("%s", self._name, exc_info=error)

    def cancel(self, spare: asyncio.Task[Any] | None = None) -> None:
        """Cancel all tasks except the current one and *spare*."""
        for task in list(self._tasks):
            if task not in (spare, asyncio.current_task()):
                task.cancel()
