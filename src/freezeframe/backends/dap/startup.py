"""The DAP start-up sequence, the same for every adapter.

    initialize → (answer) → launch or attach sent, not awaited → `initialized`, which may come
    before or after → breakpoints, exception filters → configurationDone → the launch's answer

A failed launch, an adapter that exits, or a time-out raises an error with the adapter's message.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Attach, BoundBreakpoint, Configuration
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout, LaunchFailed

from .adapters._descriptor import Connect

if TYPE_CHECKING:
    from .debuggee import Debuggee
    from .resources import DapResources

log = logging.getLogger(__name__)

Answer = asyncio.Future[dict[str, Any]]

#: How long the answer to `launch` may come after the refusal of a later request.
_LATER_S = 0.3


async def configure(
    debuggee: Debuggee, configuration: Configuration, *, again: bool = False
) -> list[BoundBreakpoint]:
    """Run the start-up sequence on an open channel, until the program runs.

    *again*: for the program that the process runs after an exec.
    """
    timeouts = debuggee.config.timeouts
    debuggee.update_capabilities(await _initialize(debuggee))
    request, arguments = _start_request(debuggee)
    launching = debuggee.channel.send(request, arguments)
    await _wait_initialized(debuggee, launching)
    if not again:
        debuggee.emit(events.Initialized())
    injections = debuggee.inject()
    try:
        await debuggee.inject_when_stopped()
        if injections and isinstance(debuggee.target, Attach):
            # A running program has loaded its code: the agent is needed to find its lines.
            await asyncio.wait(injections, timeout=timeouts.value_s)
        bound = await debuggee.breakpoints.set_all(configuration, debuggee.target)
        if injections:
            # The agents must be in place when the program begins. One that fails only costs the
            # fix that it is for.
            await asyncio.wait(injections, timeout=timeouts.value_s)
            debuggee.injected(injections)
        if debuggee.resources is not None:
            debuggee.resources.begin()
            _find_program(debuggee, debuggee.resources)
        if debuggee.channel.capabilities.get("supportsConfigurationDoneRequest"):
            await debuggee.channel.request("configurationDone")
        async with asyncio.timeout(timeouts.request_s):
            await launching
        await debuggee.wait_for_process()
    except TimeoutError:
        raise DebuggerTimeout(
            f"{debuggee.adapter.name} did not answer `{request}` within {timeouts.request_s:g} s.",
            next="dbg logs",
        ) from None
    except (DebuggerLost, DebuggerTimeout):
        raise
    except DebuggerError as error:
        raise _launch_failed(debuggee, await _first_failure(launching) or error) from None
    debuggee.configured = True
    return bound


def _find_program(debuggee: Debuggee, resources: DapResources) -> None:
    """Find the program among its debugger's descendants if unreported (delve before 1.21)."""
    hosts = (
        debuggee.plan is not None
        and debuggee.plan.spawn is not None
        and debuggee.plan.spawn.role == "host"
    )
    if not hosts or debuggee.pid is not None or resources.process is None:
        return
    descendants = resources.process.note_descendants()
    if descendants:
        debuggee.pid = descendants[0]
        debuggee.emit(events.ProcessStarted(debuggee.pid))


async def _first_failure(launching: Answer) -> DebuggerError | None:
    """Return the failure of the launch itself; later failures are its consequences."""
    # lldb-dap 22 answers `launch` last, even after it has refused later requests.
    await asyncio.wait({launching}, timeout=_LATER_S)
    if not launching.done() or launching.cancelled():
        return None
    error = launching.exception()
    return error if isinstance(error, DebuggerError) else None


async def _initialize(debuggee: Debuggee) -> dict[str, Any]:
    """Return the adapter's capabilities. Raises DebuggerTimeout if the peer is not an adapter."""
    timeouts = debuggee.config.timeouts
    # A process that runs already may be busy.
    attaching = isinstance(debuggee.target, Attach) and debuggee.target.pid is not None
    try:
        return await debuggee.channel.request(
            "initialize",
            {
                "clientID": "freezeframe",
                "clientName": "Freezeframe",
                "adapterID": debuggee.adapter.adapter_id,
                "locale": "en-US",
                "linesStartAt1": True,
                "columnsStartAt1": True,
                "pathFormat": "path",
                "supportsVariableType": True,
                "supportsVariablePaging": True,
                "supportsRunInTerminalRequest": True,
                "supportsStartDebuggingRequest": True,
                "supportsMemoryReferences": True,
            },
            timeout_s=timeouts.request_s if attaching else timeouts.initialize_s,
        )
    except DebuggerTimeout:
        stream = debuggee.plan.stream if debuggee.plan is not None else None
        if not isinstance(stream, Connect):
            raise
        raise DebuggerTimeout(
            f"the server at {stream.host}:{stream.port} does not answer as "
            f"{debuggee.adapter.name} does.",
            next="dbg attach PID",
        ) from None


def _start_request(debuggee: Debuggee) -> tuple[str, dict[str, Any]]:
    if debuggee.plan is not None:
        return debuggee.plan.request, debuggee.plan.arguments
    return debuggee.start_request()


async def _wait_initialized(debuggee: Debuggee, launching: Answer) -> None:
    """Wait for `initialized`. Raises LaunchFailed if the launch fails first."""
    waiting = asyncio.ensure_future(debuggee.initialized.wait())
    pending: set[asyncio.Future[Any]] = {waiting, launching}
    limit_s = debuggee.config.timeouts.request_s
    try:
        async with asyncio.timeout(limit_s):
            while not debuggee.initialized.is_set():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                if launching in done:
                    launching.result()
    except TimeoutError:
        raise DebuggerTimeout(
            f"{debuggee.adapter.name} did not get ready within {limit_s:g} s.", next="dbg logs"
        ) from None
    except DebuggerLost:
        raise
    except DebuggerError as error:
        raise _launch_failed(debuggee, error) from None
    finally:
        waiting.cancel()


def _launch_failed(debuggee: Debuggee, error: DebuggerError) -> LaunchFailed:
    """Return the error of a failed launch: the adapter's message, or a clearer one."""
    better = debuggee.adapter.start.explain_failure(debuggee.target, error.message)
    if better is None:
        target = debuggee.target if isinstance(debuggee.target, Attach) else Attach()
        # A port does not say which debugger serves it; this adapter may be the wrong one.
        other = f"dbg attach {target.host}:{target.port} --adapter NAME" if target.port else None
        return LaunchFailed(error.message, next=error.next or other)
    return LaunchFailed(better[0], next=better[1])
