"""What a backend does beside the commands that are asked of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from freezeframe.errors import DebuggerError

log = logging.getLogger(__name__)


class Chores:
    """Tasks that nobody waits for. One that fails is a bug, and logged."""

    def __init__(self, name: str) -> None:
        """*name* is who they are done for."""
        self._name = name
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, what: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(what)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, DebuggerError):
            # What waits for an answer beside the commands ends with the debugger.
            log.info("%s: %s", self._name, error)
        else:
            log.error("%s", self._name, exc_info=error)

    def cancel(self, spare: asyncio.Task[Any] | None = None) -> None:
        """Cancel all but whoever calls this, and *spare*."""
        for task in list(self._tasks):
            if task not in (spare, asyncio.current_task()):
                task.cancel()
