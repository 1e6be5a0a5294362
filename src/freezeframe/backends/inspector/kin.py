"""Who a program brings along: its workers, which are threads of it, and its child processes."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from freezeframe.backends import backend as events
from freezeframe.backends.transport import processes
from freezeframe.backends.transport.process import happened_or_gone
from freezeframe.errors import DebuggerError

from .agent import AGENT, Caller
from .connection import Path
from .foresight import PATIENCE
from .isolate import Isolate

if TYPE_CHECKING:
    from .life import Life

log = logging.getLogger(__name__)


class Workers:
    """The workers of one program."""

    def __init__(self, life: Life) -> None:
        self._life = life

    def started(self, parent: Isolate, params: dict[str, Any]) -> None:
        """A worker waits for us before its first line."""
        if (params.get("workerInfo") or {}).get("url") == PurePath(AGENT).as_uri():
            parent.send("NodeWorker.detach", sessionId=params["sessionId"])
            return  # the thread that speaks with us
        path = (*parent.path, str(params["sessionId"]))
        isolate = self._life.add_isolate(path, _name(params.get("workerInfo") or {}))
        self._life.emit(events.ThreadChanged(isolate.id, True))
        self._life.work(self._start(isolate))

    async def _start(self, isolate: Isolate) -> None:
        try:
            await isolate.configure(follow=True)
            await self._life.set_all(isolate)
            self._life.motion.entering[isolate] = self._begin
            first_line = not self._life.owns_program
            await isolate.marks.gates.expect_entry(first_line=first_line)
            await isolate.marks.guard()
            await isolate.ask("Runtime.runIfWaitingForDebugger")
        except DebuggerError as error:
            log.info("worker %s: %s", isolate.name, error)

    @staticmethod
    async def _begin(isolate: Isolate) -> events.Stopped | None:
        await isolate.settle_in()
        await isolate.look_at_scripts()
        # The runtime catches what a worker throws, to hand it to whoever started it.
        await isolate.foresee(PATIENCE)
        return None

    def ended(self, path: Path) -> None:
        life = self._life
        for each in [known for known in life.isolates if known[: len(path)] == path]:
            isolate = life.isolates.pop(each)
            isolate.gone = True
            life.motion.ended(isolate)
            life.emit(events.ThreadChanged(isolate.id, False))
        if life.wire is not None:
            life.wire.forget(path)


def _name(told: dict[str, Any]) -> str:
    """Return what a worker is called: `[worker 1] resizer` is `resizer`."""
    title = str(told.get("title") or "worker")
    head, bracket, name = title.partition("] ")
    return name if bracket and head.startswith("[") and name else title.strip("[] ")


class Children:
    """The processes of its own kind that one program starts."""

    def __init__(self, life: Life) -> None:
        self._life = life
        #: processes that have called, and those that are waited for until they do
        self._heard: set[int] = set()
        self._expected: dict[int, asyncio.Event] = {}

    def called(self, call: Caller) -> None:
        """A process that the program started waits for us."""
        life = self._life
        pid = call.pid
        self._heard.add(pid)
        if pid in self._expected:
            self._expected[pid].set()
        if life.closing:
            call.socket.close()  # it goes on without a debugger
            return
        ground = life.ground
        if ground is not None:
            ground.hold()
            if ground.process is not None:
                # It may lose its parent before anyone looks again.
                ground.process.note_descendants()
        name = os.path.basename(call.argv[1]) if len(call.argv) > 1 else None
        life.emit(events.ChildStarted(life.make_child(call), life.target, pid, name))

    async def settle(self, left_behind: Sequence[int], line: str) -> None:
        """Wait until each process that is about to call has called or is gone. Bounded.

        A process that was told where to call takes a moment to do so, and may well outlive its
        parent; were nobody there by then, it would run unseen.
        """
        callers = [
            pid
            for pid in left_behind
            if pid not in self._heard and processes.was_told(pid, line) and self._is_ours(pid)
        ]
        limit_s = self._life.config.timeouts.initialize_s
        await asyncio.gather(*(self._called_or_gone(pid, limit_s) for pid in callers))

    def _is_ours(self, pid: int) -> bool:
        name = os.path.basename(processes.executable(pid) or "")
        return name.startswith(self._life.runtime.executables)

    async def _called_or_gone(self, pid: int, limit_s: float) -> None:
        called = self._expected.setdefault(pid, asyncio.Event())
        await happened_or_gone(called, pid, timeout_s=limit_s)
