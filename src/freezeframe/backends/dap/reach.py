"""From a plan to an open line: stdio, a door that we knock at, or one of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from freezeframe.backends.transport.process import Process, exit_of
from freezeframe.backends.transport.streams import StdioStream, Stream
from freezeframe.backends.transport.tcp import dial
from freezeframe.backends.transport.unix import dial as dial_path
from freezeframe.config import Timeouts
from freezeframe.errors import DebuggerError, DebuggerTimeout, LaunchFailed

from .adapters._descriptor import Adapter, Dial, Plan, Socket, Stdio
from .ground import Ground


async def reach(plan: Plan, ground: Ground, adapter: Adapter, timeouts: Timeouts) -> Stream:
    """Return the stream on which the adapter speaks. Bounded.

    Raises LaunchFailed, with its last words, when what should speak ends first.
    """
    process = ground.process
    if isinstance(plan.stream, Dial | Socket):
        if process is not None:
            knocking = _knock(plan.stream, timeouts.initialize_s, retry=True)
            return await _unless_it_ends(knocking, plan, ground, adapter, timeouts.initialize_s)
        try:
            return await _knock(plan.stream, timeouts.connect_s)
        except DebuggerError as error:
            error.next = error.next or "dbg attach PID"
            raise
    if isinstance(plan.stream, Stdio):
        assert process is not None
        return StdioStream(process)
    joins = plan.spawn is not None and plan.spawn.role == "injector"
    # A process that runs lets code in when it comes to it.
    limit_s = timeouts.request_s if joins else timeouts.initialize_s
    return await _unless_it_ends(ground.accept(), plan, ground, adapter, limit_s)


def _knock(
    door: Dial | Socket, timeout_s: float, *, retry: bool = False
) -> Coroutine[Any, Any, Stream]:
    if isinstance(door, Socket):
        return dial_path(door.path, timeout_s=timeout_s, retry=retry)
    # Where it is waited for, it is a debugger that we have just started.
    return dial(door.host, door.port, timeout_s=timeout_s, retry=retry, own=retry)


async def _unless_it_ends(
    connecting: Coroutine[Any, Any, Stream],
    plan: Plan,
    ground: Ground,
    adapter: Adapter,
    limit_s: float,
) -> Stream:
    """Wait for a connection, or for the process that should bring it to fail."""
    arriving = asyncio.ensure_future(connecting)
    failing = asyncio.ensure_future(_failure(plan, ground.process))
    try:
        done, _ = await asyncio.wait(
            {arriving, failing}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
        )
        if arriving in done and arriving.exception() is None:
            return arriving.result()
        ground.drain()
        words = f"\n{ground.words}" if str(ground.words) else ""
        if failing in done:
            how = failing.result()
            raise adapter.start.read_failure(str(ground.words)) or LaunchFailed(
                f"{adapter.name} ended with {how} before it could debug.{words}", next="dbg doctor"
            )
        raise DebuggerTimeout(
            f"{adapter.name} did not connect within {limit_s:g} s.{words}", next="dbg doctor"
        )
    finally:
        arriving.cancel()
        failing.cancel()


async def _failure(plan: Plan, process: Process | None) -> str:
    """Return how the process ended that should have called; an injector may well end before."""
    assert process is not None
    status = await process.wait()
    if status == 0 and plan.spawn is not None and plan.spawn.role == "injector":
        await asyncio.get_running_loop().create_future()
    ended = exit_of(status)
    return ended.signal or f"exit code {ended.code}"
