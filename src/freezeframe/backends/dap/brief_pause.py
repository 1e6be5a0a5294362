"""Halt a running program while its stacks are read, without reporting a stop.

For adapters that read stacks only while the program is stopped. `pause` is sent, its stop is hidden
from the session, and the program resumes afterwards. A breakpoint that a thread hit at that time is
reported as a stop. A step in progress would be lost, so the program is not halted during one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from freezeframe.backends.backend import Stopped
from freezeframe.backends.stop_machine import (
    INTERRUPT_TRANSITIONS,
    InterruptEvent,
    InterruptState,
)
from freezeframe.backends.thread_stops import ProgramEvent
from freezeframe.errors import DebuggerError, DebuggerTimeout
from freezeframe.model.state_machine import StateMachine
from freezeframe.model.stops import StopReason

if TYPE_CHECKING:
    from .debuggee import Debuggee

log = logging.getLogger(__name__)

#: How long a program may take to stop.
_HALT_S = 1.0


class BriefHalt:
    """The brief halts of one debuggee: one at a time, and none during a pause."""

    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        self.turn = asyncio.Lock()
        self._requested: asyncio.Future[Stopped | None] | None = None
        #: the stop of a pause that was not in time is not reported; the program resumes from it
        self._interrupts = StateMachine(INTERRUPT_TRANSITIONS, InterruptState.NONE)
        #: the program did not stop in time: do not halt it again
        self._fails = False

    def on_stop(self, stopped: Stopped) -> bool:
        """Return whether a stop is that of a brief halt, which is not reported."""
        # LLDB's adapters report a pause by its signal.
        by_signal = (stopped.description or "").startswith("SIGSTOP")
        paused = stopped.reason is StopReason.PAUSE or by_signal
        internal = paused and not self._debuggee.stops.requested.pausing
        overdue = self._interrupts.state is InterruptState.OVERDUE
        self._interrupts.on(InterruptEvent.ARRIVED if paused else InterruptEvent.OVERTAKEN)
        if overdue and internal:
            self._debuggee.spawn_task(self._resume(stopped))
            return True
        requested, self._requested = self._requested, None
        if requested is None or requested.done():
            return False
        requested.set_result(stopped if internal else None)
        return internal

    @contextlib.asynccontextmanager
    async def hold(self) -> AsyncIterator[bool | None]:
        """Keep the program halted; see `HaltsBriefly.halt_briefly`."""
        debuggee = self._debuggee
        unseen = debuggee.adapter.stops.halts_unseen(debuggee.pid)
        requested = debuggee.stops.requested
        if not unseen or self._fails or self.turn.locked() or not requested.is_free:
            yield None
            return
        if debuggee.stops.in_step:
            yield False
            return
        async with self.turn:
            requested.on(ProgramEvent.HALT)
            stopped = await self._halt()
            try:
                yield None if stopped is None else True
            finally:
                if stopped is not None:
                    await asyncio.shield(self._resume(stopped))
                requested.on(ProgramEvent.HALT_ENDED)

    async def prepare(self) -> None:
        """Make the adapter respect a pause, where it ignores one otherwise."""

    async def _halt(self) -> Stopped | None:
        """Stop the program. None if it does not stop, or stops for another reason."""
        requested: asyncio.Future[Stopped | None] = asyncio.get_running_loop().create_future()
        self._requested = requested
        try:
            await self.prepare()
            self._interrupts.on(InterruptEvent.SENT)
            await self._debuggee.channel.request("pause", {"threadId": 0}, timeout_s=_HALT_S)
            async with asyncio.timeout(_HALT_S):
                stopped = await requested
            # lldb-dap 22.1.8: the first list after a stop lacks threads that are new.
            await self._debuggee.channel.request("threads")
            return stopped
        except (TimeoutError, DebuggerTimeout):
            log.info("the program was not halted within %g s", _HALT_S)
            self._interrupts.on(InterruptEvent.TIMED_OUT)
            self._fails = True
        except DebuggerError as error:
            log.info("the program could not be halted: %s", error)
        finally:
            self._requested = None
        return None

    async def _resume(self, stopped: Stopped) -> None:
        """Resume the program, unless one of its threads is at a breakpoint."""
        try:
            hits = await self._debuggee.stops.unreported(stopped)
            if not hits:
                await self._debuggee.channel.request("continue", {"threadId": 0})
        except DebuggerError as error:
            log.info("the program could not be resumed after a brief halt: %s", error)
            return
        for index, each in enumerate(hits):
            self._debuggee.stops.queue.add(each, None, first=index == 0)
