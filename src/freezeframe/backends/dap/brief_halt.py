"""A halt of a running program that nobody is told of, for as long as its stacks are read.

For adapters that read stacks only while the program stands. `pause` is sent, its stop is kept from
the session, and the program goes on afterwards. A breakpoint that a thread had hit at that moment
is reported as the stop that it is. A step under way would be lost: then nothing is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from freezeframe.backends.backend import Stopped
from freezeframe.errors import DebuggerError, DebuggerTimeout
from freezeframe.model.stops import StopReason

from .simultaneous import unreported

if TYPE_CHECKING:
    from .link import Link

log = logging.getLogger(__name__)

#: How long a program may take to stop.
_HALT_S = 1.0


class BriefHalt:
    """The halts of one link: one at a time, and none while somebody pauses the program."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.turn = asyncio.Lock()
        self._asked: asyncio.Future[Stopped | None] | None = None
        #: the program did not stop in time: it goes on as soon as it does, and is asked no more
        self._late = self._fails = False
        self._prepared = False

    def take(self, stopped: Stopped) -> bool:
        """Take in a stop; whether it was asked for here, so that nobody else wants it."""
        ours = stopped.reason is StopReason.PAUSE and not self._link.stops.pausing
        late, self._late = self._late, False
        if late and ours:
            self._link.work(self._resume(stopped))
            return True
        asked, self._asked = self._asked, None
        if asked is None or asked.done():
            return False
        asked.set_result(stopped if ours else None)
        return ours

    @contextlib.asynccontextmanager
    async def hold(self) -> AsyncIterator[bool | None]:
        """Keep the program halted; see `HaltsBriefly.halt_briefly`."""
        link = self._link
        if not link.adapter.stops.halts_unseen or self._fails or self.turn.locked():
            yield None
            return
        if link.stops.in_step:
            yield False
            return
        async with self.turn:
            stopped = await self._halt()
            if stopped is None:
                yield None
                return
            try:
                yield True
            finally:
                await asyncio.shield(self._resume(stopped))

    async def prepare(self) -> None:
        """Do what makes the adapter heed a pause, once, where it does not by itself."""
        link = self._link
        if self._prepared or not link.adapter.stops.deaf_to_pause(link.target):
            return
        self._prepared = True
        wanted = [each for each in link.marks.configuration.breakpoints if each.location.function]
        await link.marks.set_functions(wanted)

    async def _halt(self) -> Stopped | None:
        """Stop the program; None where it does not stop, or stops for a reason of its own."""
        asked: asyncio.Future[Stopped | None] = asyncio.get_running_loop().create_future()
        self._asked = asked
        try:
            await self.prepare()
            await self._link.wire.request("pause", {"threadId": 0}, timeout_s=_HALT_S)
            async with asyncio.timeout(_HALT_S):
                return await asked
        except (TimeoutError, DebuggerTimeout):
            log.info("the program was not halted within %g s", _HALT_S)
            self._late = self._fails = True
        except DebuggerError as error:
            log.info("the program could not be halted: %s", error)
        finally:
            self._asked = None
        return None

    async def _resume(self, stopped: Stopped) -> None:
        """Let the program go on, unless a thread of it stands at a breakpoint."""
        try:
            hits = await unreported(self._link, stopped)
            if not hits:
                await self._link.wire.request("continue", {"threadId": 0})
        except DebuggerError as error:
            log.info("the program could not be resumed after a brief halt: %s", error)
            return
        for index, each in enumerate(hits):
            self._link.stops.together.take(each, None, first=index == 0)
