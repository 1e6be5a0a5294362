"""The workers of a program, which are threads of it, and its child processes."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Launch
from freezeframe.backends.transport import process_table
from freezeframe.backends.transport.process import happened_or_gone
from freezeframe.errors import DebuggerError

from .agent_sessions import AGENT, WaitingProcess
from .connection import Path
from .isolate import Isolate
from .uncaught_prediction import SCAN_LIMIT

if TYPE_CHECKING:
    from .lifecycle import NodeProgram

log = logging.getLogger(__name__)


class Workers:
    """The workers of one program."""

    def __init__(self, program: NodeProgram) -> None:
        self._program = program

    def started(self, parent: Isolate, params: dict[str, Any]) -> None:
        """Handle a worker that waits for us before its first line."""
        if (params.get("workerInfo") or {}).get("url") == PurePath(AGENT).as_uri():
            parent.send("NodeWorker.detach", sessionId=params["sessionId"])
            return  # our agent's thread
        path = (*parent.path, str(params["sessionId"]))
        isolate = self._program.add_isolate(path, _name(params.get("workerInfo") or {}))
        self._program.emit(events.ThreadChanged(isolate.id, True))
        self._program.start_task(self._start(isolate))

    async def _start(self, isolate: Isolate) -> None:
        try:
            await isolate.configure(follow=True)
            await self._program.set_all(isolate)
            self._program.execution.entering[isolate] = self._begin
            first_line = not self._program.owns_program
            await isolate.breakpoints.script_load.expect_entry(first_line=first_line)
            await isolate.breakpoints.guard()
            await isolate.request("Runtime.runIfWaitingForDebugger")
        except DebuggerError as error:
            log.info("worker %s: %s", isolate.name, error)

    @staticmethod
    async def _begin(isolate: Isolate) -> events.Stopped | None:
        await isolate.install_agent()
        await isolate.set_in_loaded_scripts()
        # The runtime catches the exceptions of a worker to pass them to its parent thread.
        await isolate.set_exception_scan(SCAN_LIMIT)
        return None

    def ended(self, path: Path) -> None:
        program = self._program
        for each in [known for known in program.isolates if known[: len(path)] == path]:
            isolate = program.isolates.pop(each)
            isolate.gone = True
            program.execution.ended(isolate)
            program.emit(events.ThreadChanged(isolate.id, False))
        if program.channel is not None:
            program.channel.forget(path)


def _name(info: dict[str, Any]) -> str:
    """Return the name of a worker: `[worker 1] resizer` is `resizer`."""
    title = str(info.get("title") or "worker")
    head, bracket, name = title.partition("] ")
    return name if bracket and head.startswith("[") and name else title.strip("[] ")


class NodeChildren:
    """The child processes of one program that run the same runtime."""

    def __init__(self, program: NodeProgram) -> None:
        self._program = program
        #: processes that have connected, and those that are expected to connect
        self._connected: set[int] = set()
        self._expected: dict[int, asyncio.Event] = {}

    def called(self, call: WaitingProcess) -> None:
        """Handle a child process that waits for us."""
        program = self._program
        pid, target = call.pid, program.target
        if isinstance(target, Launch):
            target = target.of_child(first=not self._connected)
        self._connected.add(pid)
        if pid in self._expected:
            self._expected[pid].set()
        if program.closing:
            call.socket.close()  # it continues without a debugger
            return
        resources = program.resources
        if resources is not None:
            resources.hold()
            if resources.process is not None:
                # It may become an orphan before the next look at the process table.
                resources.process.note_descendants()
        name = os.path.basename(call.argv[1]) if len(call.argv) > 1 else None
        program.emit(events.ChildStarted(program.make_child(call), target, pid, name))

    async def settle(self, left_behind: Sequence[int], socket_path: str) -> None:
        """Wait until each child that is about to connect has connected or exited. Bounded.

        A child takes a moment to connect, and may outlive its parent; if we stopped listening
        before, it would run without a debugger.
        """
        callers = [
            pid
            for pid in left_behind
            if pid not in self._connected
            and process_table.environment_contains(pid, socket_path)
            and self._runs_runtime(pid)
        ]
        limit_s = self._program.config.timeouts.initialize_s
        await asyncio.gather(*(self._wait_connected_or_gone(pid, limit_s) for pid in callers))

    def _runs_runtime(self, pid: int) -> bool:
        name = os.path.basename(process_table.executable(pid) or "")
        return name.startswith(self._program.runtime.executables)

    async def _wait_connected_or_gone(self, pid: int, limit_s: float) -> None:
        called = self._expected.setdefault(pid, asyncio.Event())
        await happened_or_gone(called, pid, timeout_s=limit_s)
