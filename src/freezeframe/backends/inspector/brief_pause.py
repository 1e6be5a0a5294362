"""Pause a running program briefly to inspect it, without reporting a stop."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from freezeframe.backends import backend as events
from freezeframe.backends.thread_stops import ProgramEvent
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import StopReason

from .execution import V8Execution
from .isolate import IDLE_CODE, Isolate

#: how long a program may take to pause before it is assumed to be idle, and then to run our code
_BUSY_S, _IDLE_S = 0.1, 2.0
#: descriptions of the runtime's active resources; others are shown by their own name
_NAMES = {
    "Timeout": "timer",
    "Immediate": "immediate",
    "TCPServerWrap": "listening TCP socket",
    "TCPSocketWrap": "TCP connection",
    "TCPWRAP": "TCP connection",
    "TCPConnectWrap": "TCP connection attempt",
    "PipeServerWrap": "listening pipe",
    "PipeWrap": "pipe",
    "UDPWRAP": "UDP socket",
    "TTYWrap": "terminal",
    "ProcessWrap": "child process",
    "MessagePort": "message port",
    "Worker": "worker",
    "FSReqCallback": "file operation",
    "FSReqPromise": "file operation",
    "FSEventWrap": "file watcher",
    "StatWatcher": "file watcher",
    "GetAddrInfoReqWrap": "DNS lookup",
    "QueryReqWrap": "DNS query",
    "SignalWrap": "signal handler",
}


@contextlib.asynccontextmanager
async def pause_briefly(
    execution: V8Execution, isolates: dict[tuple[str, ...], Isolate]
) -> AsyncIterator[bool]:
    """Pause a running program; yield False if it is not paused, or a step or pause is pending."""
    main = isolates.get(())
    if (
        main is None
        or not main.prepared
        or execution.program.stopped
        or execution.has_pending_command
    ):
        yield False
        return
    execution.program.on(ProgramEvent.HALT)
    execution.briefly_paused = {
        each: asyncio.Event() for each in isolates.values() if each.stack is None
    }
    try:
        for each in execution.briefly_paused:
            each.send("Debugger.pause")
        is_paused = await _wait_paused(main, execution.briefly_paused[main])
        yield is_paused and not execution.program.stopped
    finally:
        await _resume(execution, main)


async def _wait_paused(main: Isolate, paused: asyncio.Event) -> bool:
    """Wait until the main thread is paused, in our code if it runs none."""
    if await _is_set(paused, _BUSY_S):
        return True
    main.send("Runtime.evaluate", expression=IDLE_CODE, silent=True)
    if not await _is_set(paused, _IDLE_S):
        return False
    if main.stack is not None and main.stack.idle:
        main.stack.waits = _describe(await main.resources())
    return True


async def _is_set(event: asyncio.Event, timeout_s: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
    return event.is_set()


def _describe(resources: list[str]) -> str:
    """Return what an idle event loop may wait for, including streams that are merely open."""
    counts = Counter(_NAMES.get(each, each) for each in resources)
    found = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()]
    return f"idle; active: {', '.join(found)}" if found else "idle"


async def _resume(execution: V8Execution, main: Isolate) -> None:
    """Resume what was paused; what has not paused yet is resumed when it does."""
    briefly_paused, execution.briefly_paused = execution.briefly_paused, {}
    execution.program.on(ProgramEvent.HALT_ENDED)
    if execution.program.stopped:
        return
    if execution.has_pending_command and main.stack is not None:
        # The user requested a pause meanwhile: report this one.
        execution.report(main, events.Stopped(StopReason.PAUSE, main.id))
        return
    for each, paused in briefly_paused.items():
        if not paused.is_set():
            execution.pause_requested.add(each)
            continue
        with contextlib.suppress(DebuggerError):
            await each.resume()
