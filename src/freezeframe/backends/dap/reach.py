"""From a plan to an open line: stdio, a port that listens, or a port of ours that is called."""

from __future__ import annotations

import asyncio

from freezeframe.backends.transport.process import Process, exit_of
from freezeframe.backends.transport.streams import StdioStream, Stream
from freezeframe.backends.transport.tcp import dial
from freezeframe.config import Timeouts
from freezeframe.errors import DebuggerError, DebuggerTimeout, LaunchFailed

from .adapters._descriptor import Adapter, Dial, Plan, Stdio
from .ground import Ground


async def reach(plan: Plan, ground: Ground, adapter: Adapter, timeouts: Timeouts) -> Stream:
    """Return the stream on which the adapter speaks. Bounded.

    Raises LaunchFailed, with its last words, when what should speak ends first.
    """
    process = ground.process
    if isinstance(plan.stream, Dial):
        host, port = plan.stream.host, plan.stream.port
        if process is not None:
            return await dial(host, port, timeout_s=timeouts.initialize_s, retry=True)
        try:
            return await dial(host, port, timeout_s=timeouts.connect_s)
        except DebuggerError as error:
            error.next = error.next or "dbg attach PID"
            raise
    if isinstance(plan.stream, Stdio):
        assert process is not None
        return StdioStream(process)
    joins = plan.spawn is not None and plan.spawn.role == "injector"
    # A process that runs lets code in when it comes to it.
    limit_s = timeouts.request_s if joins else timeouts.initialize_s
    return await _called_back(plan, ground, adapter, limit_s)


async def _called_back(plan: Plan, ground: Ground, adapter: Adapter, limit_s: float) -> Stream:
    """Wait for the debugger to connect, or for the process that should bring it to fail."""
    arriving = asyncio.ensure_future(ground.accept())
    failing = asyncio.ensure_future(_failure(plan, ground.process))
    try:
        done, _ = await asyncio.wait(
            {arriving, failing}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
        )
        if arriving in done:
            return arriving.result()
        ground.drain()
        words = f"\n{ground.words}" if str(ground.words) else ""
        if failing in done:
            how = failing.result()
            raise adapter.read_failure(str(ground.words)) or LaunchFailed(
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
