"""A look at a program that runs: it stands for a moment, and nobody is told of a stop."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from freezeframe.backends import backend as events
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import StopReason

from .isolate import IDLE_CODE, Isolate
from .motion import Motion

#: how long a program may take to pause before it is taken to be idle, and to run code of ours then
_BUSY_S, _IDLE_S = 0.1, 2.0
#: what the runtime calls a thing that it waits for, and what it is; others have their own name
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
async def glance(motion: Motion, isolates: dict[tuple[str, ...], Isolate]) -> AsyncIterator[bool]:
    """Keep a running program still; False where it is not, or somebody is about to move it."""
    main = isolates.get(())
    if main is None or not main.prepared or motion.standing is not None or motion.moving:
        yield False
        return
    motion.glanced = {each: asyncio.Event() for each in isolates.values() if each.stack is None}
    try:
        for each in motion.glanced:
            each.send("Debugger.pause")
        stands = await _stands(main, motion.glanced[main])
        yield stands and motion.standing is None
    finally:
        await _let_go(motion, main)


async def _stands(main: Isolate, stood: asyncio.Event) -> bool:
    """Wait until the main thread stands, in code of ours where it runs none."""
    if await _is_set(stood, _BUSY_S):
        return True
    main.send("Runtime.evaluate", expression=IDLE_CODE, silent=True)
    if not await _is_set(stood, _IDLE_S):
        return False
    if main.stack is not None and main.stack.idle:
        main.stack.waits = _words(await main.resources())
    return True


async def _is_set(event: asyncio.Event, timeout_s: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
    return event.is_set()


def _words(resources: list[str]) -> str:
    """Return what an idle event loop may wait for; streams that are merely open are among it."""
    counts = Counter(_NAMES.get(each, each) for each in resources)
    found = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()]
    return f"idle; active: {', '.join(found)}" if found else "idle"


async def _let_go(motion: Motion, main: Isolate) -> None:
    """Let what was halted go on; what has not stopped yet goes on when it does."""
    glanced, motion.glanced = motion.glanced, {}
    if motion.standing is not None:
        return
    if motion.moving and main.stack is not None:
        # Somebody asked for a pause meanwhile: here it is.
        motion.report(main, events.Stopped(StopReason.PAUSE, main.id))
        return
    for each, stood in glanced.items():
        if not stood.is_set():
            motion.asked.add(each)
            continue
        with contextlib.suppress(DebuggerError):
            await each.go()
