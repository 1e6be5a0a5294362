"""The one start-up order, for every adapter.

    initialize → (answer) → launch or attach sent, not awaited → `initialized`, which may come
    before or after → breakpoints, exception filters → configurationDone → the launch's answer

A launch failure, an adapter that dies, or a time-out ends it with the adapter's own words.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Attach, BoundBreakpoint, Configuration, Core
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout, LaunchFailed

from .adapters._descriptor import Dial
from .messages import Refused
from .study import evaluated

if TYPE_CHECKING:
    from .ground import Ground
    from .link import Link

log = logging.getLogger(__name__)

Answer = asyncio.Future[dict[str, Any]]

#: How long the answer to a start may come after the refusal of what followed it.
_LATER_S = 0.3
#: How long the news of a process may come after the answer to its start.
_PROCESS_S = 2.0


async def configure(
    link: Link, configuration: Configuration, *, again: bool = False
) -> list[BoundBreakpoint]:
    """Bring an open wire to where the program runs; *again*: for a program that replaced one."""
    timeouts = link.config.timeouts
    link.learn(await _initialize(link))
    request, arguments = _start_request(link)
    launching = link.wire.send(request, arguments)
    await _until_initialized(link, launching)
    if not again:
        link.emit(events.Initialized())
    priming = _prime(link)
    try:
        await _prime_stopped(link)
        if priming and isinstance(link.target, Attach):
            # A program that runs has loaded its code: it is asked where the lines of that are.
            await asyncio.wait(priming, timeout=timeouts.value_s)
        bound = await link.marks.set_all(configuration, link.target)
        if priming:
            # What they prepare must be there when the program begins; one that fails costs only
            # what it would have mended.
            await asyncio.wait(priming, timeout=timeouts.value_s)
            _introduce(link, priming[0])
        if link.ground is not None:
            link.ground.begin()
            _find_program(link, link.ground)
        if link.wire.capabilities.get("supportsConfigurationDoneRequest"):
            await link.wire.request("configurationDone")
        async with asyncio.timeout(timeouts.request_s):
            await launching
        if link.adapter.start.awaits_process and not isinstance(link.target, Core):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PROCESS_S):
                    await link.process_told.wait()
    except TimeoutError:
        raise DebuggerTimeout(
            f"{link.adapter.name} did not answer `{request}` within {timeouts.request_s:g} s.",
            next="dbg logs",
        ) from None
    except (DebuggerLost, DebuggerTimeout):
        raise
    except DebuggerError as error:
        raise _failed(link, await _first_failure(launching) or error) from None
    link.configured = True
    return bound


def _find_program(link: Link, ground: Ground) -> None:
    """Look for the program below its debugger, where that does not tell (delve before 1.21)."""
    hosts = link.plan is not None and link.plan.spawn is not None and link.plan.spawn.role == "host"
    if not hosts or link.pid is not None or ground.process is None:
        return
    below = ground.process.note_descendants()
    if below:
        link.pid = below[0]
        link.emit(events.ProcessStarted(link.pid))


async def _first_failure(launching: Answer) -> DebuggerError | None:
    """Return why the start itself failed; what failed after it only followed from that."""
    # lldb-dap 22 answers the start last, whatever else it has refused.
    await asyncio.wait({launching}, timeout=_LATER_S)
    if not launching.done() or launching.cancelled():
        return None
    error = launching.exception()
    return error if isinstance(error, DebuggerError) else None


async def _initialize(link: Link) -> dict[str, Any]:
    """Return the adapter's capabilities. Says so when what was dialled is no adapter."""
    timeouts = link.config.timeouts
    # A process that runs already may have much to do.
    joins = isinstance(link.target, Attach) and link.target.pid is not None
    try:
        return await link.wire.request(
            "initialize",
            {
                "clientID": "freezeframe",
                "clientName": "Freezeframe",
                "adapterID": link.adapter.adapter_id,
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
            timeout_s=timeouts.request_s if joins else timeouts.initialize_s,
        )
    except DebuggerTimeout:
        stream = link.plan.stream if link.plan is not None else None
        if not isinstance(stream, Dial):
            raise
        raise DebuggerTimeout(
            f"what listens at {stream.host}:{stream.port} does not answer as "
            f"{link.adapter.name} does.",
            next="dbg attach PID",
        ) from None


def _start_request(link: Link) -> tuple[str, dict[str, Any]]:
    if link.plan is not None:
        return link.plan.request, link.plan.arguments
    assert link.adapter.children.arguments is not None
    assert link.around is not None
    return "attach", link.adapter.children.arguments(link.target, link.around)


async def _until_initialized(link: Link, launching: Answer) -> None:
    """Wait for `initialized`; a launch that fails first ends the wait in its own words."""
    waiting = asyncio.ensure_future(link.initialized.wait())
    pending: set[asyncio.Future[Any]] = {waiting, launching}
    limit_s = link.config.timeouts.request_s
    try:
        async with asyncio.timeout(limit_s):
            while not link.initialized.is_set():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                if launching in done:
                    launching.result()
    except TimeoutError:
        raise DebuggerTimeout(
            f"{link.adapter.name} did not get ready within {limit_s:g} s.", next="dbg logs"
        ) from None
    except DebuggerLost:
        raise
    except DebuggerError as error:
        raise _failed(link, error) from None
    finally:
        waiting.cancel()


def _failed(link: Link, error: DebuggerError) -> LaunchFailed:
    """Return a failed start in the adapter's words, or in better ones."""
    better = link.adapter.start.explain_failure(link.target, error.message)
    if better is None:
        where = link.target if isinstance(link.target, Attach) else Attach()
        # Nothing says which debugger serves a port; ours may be the wrong one to talk to it.
        other = f"dbg attach {where.host}:{where.port} --adapter NAME" if where.port else None
        return LaunchFailed(error.message, next=error.next or other)
    return LaunchFailed(better[0], next=better[1])


def _prime(link: Link) -> list[Answer]:
    """Send the expressions that must run in the process before the program does."""
    if link.around is None:
        return []
    priming = []
    for expression in link.adapter.start.prime(link.target, link.around):
        primed = link.wire.send(
            "evaluate", {"expression": expression, "context": link.adapter.expressions.context}
        )
        primed.add_done_callback(_note_failure)
        priming.append(primed)
    return priming


async def _prime_stopped(link: Link) -> None:
    """Evaluate what must run in a process that joining stopped, before anything is set there.

    In the innermost frame that can: one of a function in C may not.
    """
    expressions = link.adapter.start.prime_stopped(link.target)
    if expressions:
        # Most stop when they are joined.
        await link.wire.request("pause", {"threadId": 1})
    for expression in expressions:
        for thread in (await link.wire.request("threads")).get("threads") or ():
            if await _primed(link, expression, thread["id"]):
                break
        else:
            raise DebuggerError("the program does not stand still, so it cannot be joined.")


async def _primed(link: Link, expression: str, thread: int) -> bool:
    try:
        body = await link.wire.request("stackTrace", {"threadId": thread})
    except Refused:
        return False
    for frame in body.get("stackFrames") or ():
        if await evaluated(link.wire, expression, frame["id"]) == "true":
            return True
    return False


def _introduce(link: Link, primed: Answer) -> None:
    """Tell the command line of a child, which nobody here knows."""
    if link.parent is None or not primed.done() or primed.cancelled() or primed.exception():
        return
    command = link.adapter.start.read_command(str(primed.result().get("result", "")))
    if command:
        link.emit(events.ProcessStarted(link.pid, command=command))


def _note_failure(primed: Answer) -> None:
    if not primed.cancelled() and (error := primed.exception()) is not None:
        log.info("the probe was not taken: %s", error)
