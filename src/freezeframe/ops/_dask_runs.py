"""Hand the runs of a hunt to a Dask cluster."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from freezeframe.backends import commands
from freezeframe.backends.transport.fd_reader import TextReader
from freezeframe.backends.transport.program import SpawnedProgram, spawn_program
from freezeframe.errors import UsageError, UserError
from freezeframe.model.hunting import HuntWorker

from ._failure_texts import FailureText, failure_of
from ._hunt_runs import HuntRequest, variation_of
from ._hunt_state import HuntState

_AGENT = str(Path(commands.__file__).with_name("dask_agent.py"))
_SCHEME = "dask://"
_CONNECT_S = 15.0
#: seconds without any message after which the cluster counts as lost, beside the time of a run
_SILENT_S = 60.0
#: runs that wait at the cluster, for each that it can do at a time
_AHEAD = 2
_LONGEST_LINE = 200_000


async def run_on_cluster(
    address: str,
    request: HuntRequest,
    state: HuntState,
    save: Callable[[], None],
    report: Callable[[], Awaitable[None]],
) -> tuple[HuntWorker, ...]:
    """Run the command on the workers of a scheduler; return what is known of each worker.

    Raises UserError if the scheduler cannot be reached, or has no worker that can be used.
    """
    host = address.removeprefix(_SCHEME)
    if not address.startswith(_SCHEME) or not host.rpartition(":")[2].isdecimal():
        raise UsageError(
            f"--on takes dask://HOST:PORT, not {address!r}.",
            next="dbg hunt --on dask://127.0.0.1:8786 -- COMMAND",
        )
    program = spawn_program(
        (sys.executable, "-I", _AGENT), cwd=request.cwd, env=dict(request.env), stdin=None
    )
    try:
        return await _ClusterRuns(program, host, request, state, save, report).run()
    finally:
        await program.process.kill_tree(daemons=True)
        if program.stdin is not None:
            program.stdin.close()
        program.process.close()


class _ClusterRuns:
    def __init__(
        self,
        program: SpawnedProgram,
        host: str,
        request: HuntRequest,
        state: HuntState,
        save: Callable[[], None],
        report: Callable[[], Awaitable[None]],
    ) -> None:
        self._program, self._host = program, host
        self._request, self._state = request, state
        self._save, self._report = save, report
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._partial = ""
        self._workers: dict[str, dict[str, Any]] = {}
        self._kinds: dict[str, FailureText] = {}
        self._open: set[int] = set()
        self._next = state.runs

    async def run(self) -> tuple[HuntWorker, ...]:
        readers = [
            TextReader(fd, self._feed if stream == "stdout" else lambda text: None)
            for fd, stream in self._program.outputs
        ]
        try:
            for reader in readers:
                reader.start()
            await self._send(
                {
                    "address": f"tcp://{self._host}",
                    "root": self._request.cwd,
                    "argv": list(self._request.argv),
                    "limit_s": self._request.run_s,
                    "connect_s": _CONNECT_S,
                }
            )
            await self._collected()
        finally:
            for reader in readers:
                reader.close()
        return tuple(
            HuntWorker(name, each.get("runs", 0), each.get("problem"), each.get("debugger", True))
            for name, each in sorted(self._workers.items())
        )

    def _feed(self, text: str) -> None:
        *lines, self._partial = (self._partial + text)[-_LONGEST_LINE:].split("\n")
        for line in lines:
            self._lines.put_nowait(line)

    async def _send(self, record: dict[str, object]) -> None:
        assert self._program.stdin is not None
        await self._program.stdin.write((json.dumps(record) + "\n").encode())

    async def _collected(self) -> None:
        """Keep the cluster busy until it was run often enough."""
        ends_at = None
        if self._request.total_s is not None:
            ends_at = time.monotonic() + self._request.total_s
        is_ready = False
        while True:
            record = await self._record(_SILENT_S + self._request.run_s)
            await self._take(record)
            is_ready = is_ready or "ready" in record
            if is_ready and not self._usable():
                raise UserError(
                    f"no worker of {self._host} can run the command: {self._problems()}.",
                    code="no-worker",
                    next="dbg hunt -- COMMAND",
                )
            is_late = ends_at is not None and time.monotonic() >= ends_at
            if is_late or (self._request.until_failure and self._state.failed):
                return
            if is_ready and await self._fill():
                return

    async def _fill(self) -> bool:
        """Hand out more runs; whether all have ended."""
        most = self._request.runs
        at_a_time = _AHEAD * sum(each.get("threads", 1) for each in self._usable())
        while len(self._open) < at_a_time and (most is None or self._next < most):
            self._next += 1
            self._open.add(self._next)
            variation = variation_of(self._request, self._state.seed, self._next)
            await self._send({"number": self._next, "env": variation.env})
        return not self._open

    def _usable(self) -> list[dict[str, Any]]:
        return [each for each in self._workers.values() if each.get("problem") is None]

    def _problems(self) -> str:
        found = {each["problem"] for each in self._workers.values() if each.get("problem")}
        return "; ".join(sorted(found)) or "it has none"

    async def _record(self, timeout_s: float) -> dict[str, Any]:
        try:
            line = await asyncio.wait_for(self._lines.get(), timeout_s)
            record = json.loads(line)
        except (TimeoutError, ValueError):
            raise UserError(
                f"the cluster {self._host} does not answer any more.",
                code="cluster-lost",
                next="dbg hunt -- COMMAND",
            ) from None
        return record if isinstance(record, dict) else {}

    async def _take(self, record: dict[str, Any]) -> None:
        if record.get("error") == "missing":
            raise UserError(
                "Dask is not installed beside the debugger.",
                code="missing",
                next=f"{os.path.basename(sys.executable)} -m pip install 'freezeframe[dask]'",
            )
        if "error" in record:
            raise UserError(
                f"the scheduler {self._host} cannot be used: {record['error']}.",
                code="cluster-lost",
                next="dbg hunt -- COMMAND",
            )
        if "number" in record:
            await self._ended(record)
        elif "worker" in record:
            known = self._workers.setdefault(str(record["worker"]), {})
            known.update({key: value for key, value in record.items() if key != "worker"})

    async def _ended(self, record: dict[str, Any]) -> None:
        number = int(record["number"])
        self._open.discard(number)
        if "lost" in record:
            return  # its worker ended; the run says nothing about the command
        worker = self._workers.setdefault(str(record.get("worker")), {})
        worker["runs"] = worker.get("runs", 0) + 1
        status, failure = record.get("status"), None
        if status != 0:
            kind = str(record.get("kind"))
            if "output" in record or kind not in self._kinds:
                self._kinds[kind] = failure_of(
                    str(record.get("output", "")), status, self._request.cwd, self._request.run_s
                )
            failure = self._kinds[kind]
        self._state.add(number, float(record.get("took_s", 0.0)), failure)
        self._save()
        await self._report()
