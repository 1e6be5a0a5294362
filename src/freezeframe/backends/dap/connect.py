"""Open the DAP stream of a launch plan: stdio, connect, or accept a connection."""

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

from .adapters._descriptor import Adapter, Connect, ConnectUnix, Plan, Stdio
from .resources import DapResources


async def open_stream(
    plan: Plan, resources: DapResources, adapter: Adapter, timeouts: Timeouts
) -> Stream:
    """Return the stream to the adapter. Bounded.

    Raises LaunchFailed, with the last output, if the process exits before it connects.
    """
    process = resources.process
    if isinstance(plan.stream, Connect | ConnectUnix):
        if process is not None:
            connecting = _dial(plan.stream, timeouts.initialize_s, retry=True)
            return await _connect_or_exit(
                connecting, plan, resources, adapter, timeouts.initialize_s
            )
        try:
            return await _dial(plan.stream, timeouts.connect_s)
        except DebuggerError as error:
            error.next = error.next or "dbg attach PID"
            raise
    if isinstance(plan.stream, Stdio):
        assert process is not None
        return StdioStream(process)
    attaching = plan.spawn is not None and plan.spawn.role == "injector"
    # A running process executes injected code only when it gets to it.
    limit_s = timeouts.request_s if attaching else timeouts.initialize_s
    return await _connect_or_exit(resources.accept(), plan, resources, adapter, limit_s)


def _dial(
    address: Connect | ConnectUnix, timeout_s: float, *, retry: bool = False
) -> Coroutine[Any, Any, Stream]:
    if isinstance(address, ConnectUnix):
        return dial_path(address.path, timeout_s=timeout_s, retry=retry)
    # Retries are only for a debugger that we have just started.
    return dial(address.host, address.port, timeout_s=timeout_s, retry=retry, own=retry)


async def _connect_or_exit(
    connecting: Coroutine[Any, Any, Stream],
    plan: Plan,
    resources: DapResources,
    adapter: Adapter,
    limit_s: float,
) -> Stream:
    """Wait for a connection. Raises if the process that should make it exits first."""
    arriving = asyncio.ensure_future(connecting)
    failing = asyncio.ensure_future(_failure(plan, resources.process))
    try:
        done, _ = await asyncio.wait(
            {arriving, failing}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
        )
        if arriving in done and arriving.exception() is None:
            return arriving.result()
        resources.drain()
        output = f"\n{resources.io.stderr_tail}" if str(resources.io.stderr_tail) else ""
        if failing in done:
            how = failing.result()
            raise adapter.start.read_failure(str(resources.io.stderr_tail)) or LaunchFailed(
                f"{adapter.name} ended with {how} before it could debug.{output}", next="dbg doctor"
            )
        if arriving in done:
            error = arriving.exception()
            assert error is not None
            raise error  # such as: another user listens there
        raise DebuggerTimeout(
            f"{adapter.name} did not connect within {limit_s:g} s.{output}", next="dbg doctor"
        )
    finally:
        arriving.cancel()
        failing.cancel()


async def _failure(plan: Plan, process: Process | None) -> str:
    """Return how the process ended that should have connected; an injector may exit before."""
    assert process is not None
    status = await process.wait()
    if status == 0 and plan.spawn is not None and plan.spawn.role == "injector":
        await asyncio.get_running_loop().create_future()
    ended = exit_of(status)
    return ended.signal or f"exit code {ended.code}"
