"""How a debugged process ends: by itself, by us, left running, or with its debugger lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Attach
from freezeframe.backends.transport.process import exit_of, gone
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout
from freezeframe.model.stops import Exit

from . import study

if TYPE_CHECKING:
    from .ground import Ground
    from .link import Link

#: How long an exit status may come after `terminated` (js-debug and others send it late).
_EXIT_STATUS_S = 0.5
_DISCONNECT_S = 2.0
_KILL_S = 3.0
#: beside its socket: what a debugger inside the program makes when it cannot tell of a stop, since
#: the program has closed its descriptors
CUT = "connection-closed"


class Ends:
    """The end of one link's process. Only the first one counts."""

    def __init__(self, link: Link) -> None:
        self._link = link
        #: it was told
        self.told = False
        #: it was told that the debugger is gone, not how the program ended
        self._lost = False
        #: everything is let go
        self.disposed = False
        #: the program was left to itself
        self.left = False
        #: children that ran without the debugger, once the end is told
        self.unfollowed: tuple[str, ...] = ()
        self._exit: Exit | None = None
        self._exit_known = asyncio.Event()
        self._killing = False
        #: the program was ended before it was done: what it made into daemons ends too
        self._takes_daemons = False
        self._disposing: asyncio.Task[None] | None = None
        #: waits for the end of a program that was left to itself
        self._lingering: asyncio.Task[None] | None = None

    @property
    def _owns_program(self) -> bool:
        return self._link.owns_program

    # --- what is heard of it

    async def on_exited(self, code: int) -> None:
        """The adapter says that the program has ended."""
        link = self._link
        self.learn(await study.end(link.wire, code, link.stops.last_signal, _EXIT_STATUS_S))

    def learn(self, exit: Exit | None) -> None:
        if exit is not None:
            self._exit = exit
            self._exit_known.set()

    def program_ended(self, status: int) -> None:
        """The program that we started is gone; its status is the truth about its end."""
        if self._killing:
            self._finish(Exit(how="killed"))
        elif self.left:
            assert self._link.ground is not None
            self._link.ground.close()
        else:
            self._link.work(self._finish_after_kin(self._with_cut(exit_of(status))))

    def _with_cut(self, exit: Exit) -> Exit:
        """Say that the program has closed the connection, where the debugger inside it saw that."""
        ground = self._link.ground
        if ground is None or not os.path.exists(os.path.join(ground.directory, CUT)):
            return exit
        why = "it closed the connection to its debugger, so breakpoints after that were missed"
        return replace(exit, reason=why)

    async def _finish_after_kin(self, exit: Exit) -> None:
        await (self._link.parent or self._link).kin.settle()
        self._finish(exit)

    def lost(self, error: DebuggerLost) -> None:
        """The adapter is gone."""
        link = self._link
        if self._owns_program:
            # Its exit status follows; a program that goes on without its debugger is lost.
            link.work(self._watch_orphan(error))
        elif self._killing:
            self._finish(self._exit or Exit())
        elif self._exit is not None or (link.parent is not None and not link.kin.forked):
            link.work(self._finish_after_kin(self._exit or Exit()))
        elif not self.left:
            link.work(self._watch_joined(error))

    async def _watch_joined(self, error: DebuggerLost) -> None:
        """The debugger of a process that it started or joined is gone: with it, or without?"""
        pid = self._link.pid
        # A debugger that was killed says nothing about the program.
        killed = await self.killed(error)
        if killed is not None:
            self._finish(Exit(how="lost", reason=killed.message))
        elif pid is not None and await gone(pid, timeout_s=_EXIT_STATUS_S):
            self._finish(Exit())
        else:
            self._finish(Exit(how="lost", reason=error.message))

    async def killed(self, error: DebuggerLost) -> DebuggerLost | None:
        """Return what to say of a debugger of ours that a signal has ended; None of another end."""
        link = self._link
        process = link.ground.process if link.ground is not None else None
        if process is None or link.parent is not None or self._owns_program:
            return None
        with contextlib.suppress(DebuggerTimeout):
            await process.wait(_EXIT_STATUS_S)
        if process.returncode is None or process.returncode >= 0:
            return None
        name = exit_of(process.returncode).signal or "a signal"
        ended = f"{link.adapter.name} ended"
        # Its last words follow: an assertion of its own that failed.
        words = error.message.removeprefix(ended).removeprefix("; ").lstrip(".")
        return DebuggerLost(
            f"{link.adapter.name} was killed by {name}{f'; {words}' if words else '.'}",
            next=error.next,
        )

    async def _watch_orphan(self, error: DebuggerLost) -> None:
        link = self._link
        process = link.ground.process if link.ground is not None else None
        if process is None or link.replaced or self.left:
            return
        try:
            await process.wait(link.config.timeouts.initialize_s)
        except DebuggerTimeout:
            self._finish(Exit(how="lost", reason=error.message))

    async def after_terminated(self) -> None:
        """The adapter says that there is nothing to debug any more."""
        link = self._link
        if self._owns_program or link.replaced:
            return
        if link.adapter.end.told_at_leave and self._exit is None:
            with contextlib.suppress(DebuggerError):
                await self._disconnect(terminate=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_STATUS_S):
                await self._exit_known.wait()
        if link.ground is not None:
            await link.ground.settle()
        self._finish(self._exit or Exit())

    def _finish(self, exit: Exit) -> None:
        if self.told:
            return
        self.told = True
        self._lost = exit.how == "lost"
        self._link.kin.ended()
        self._link.drain()
        ground = self._link.ground
        if ground is not None and self._link.parent is None:
            self.unfollowed = self._link.adapter.children.unfollowed(ground.directory)
        self._link.emit(events.Ended(exit))

    # --- what is done about it

    async def terminate(self) -> None:
        """End the program; one that we joined is left running."""
        link = self._link
        if isinstance(link.target, Attach) and link.parent is None:
            await self.detach()
            return
        self._killing = True
        self._takes_daemons = not self.told
        ground = link.ground
        if self._owns_program and ground is not None and ground.process is not None:
            await ground.process.kill_tree(_KILL_S, daemons=self._takes_daemons)
        elif link.parent is not None and link.pid is not None and link.wire.alive:
            # While it is connected to us its pid is its own.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(link.pid, signal.SIGKILL)
        elif not self.told:
            if ground is not None and ground.process is not None:
                # Without the program its children could not be told from strangers.
                ground.process.note_descendants()
            with contextlib.suppress(DebuggerError):
                await self._disconnect(terminate=True)
        self._finish(Exit(how="killed"))

    async def detach(self) -> None:
        """Leave the program running."""
        if self.told:
            return
        link, self.left = self._link, True
        farewell = link.adapter.end.farewell(link.target)
        if farewell is not None:
            with contextlib.suppress(DebuggerError):
                await link.wire.request(
                    "evaluate",
                    {"expression": farewell, "context": link.adapter.expressions.context},
                    timeout_s=_DISCONNECT_S,
                )
        if link.adapter.end.stays_halted(link.target):
            with contextlib.suppress(DebuggerError):
                await link.marks.clear()
                # Refused where it runs already.
                await link.wire.request("continue", {"threadId": 0}, timeout_s=_DISCONNECT_S)
        with contextlib.suppress(DebuggerLost):
            await self._disconnect(terminate=False)
        ground = link.ground
        if ground is not None and ground.stdio is not None and not self._owns_program:
            self._lingering = asyncio.ensure_future(self._linger(ground))
        self._finish(Exit(how="detached"))

    async def _disconnect(self, *, terminate: bool) -> None:
        wire, arguments = self._link.wire, {}
        if wire.capabilities.get("supportTerminateDebuggee"):
            arguments = {"terminateDebuggee": terminate}
        if not wire.leaving:
            wire.leaving = True
            await wire.request("disconnect", arguments, timeout_s=_DISCONNECT_S)

    async def _linger(self, ground: Ground) -> None:
        """Keep what the program writes into until it ends: without, its next word would end it."""
        if self._link.pid is not None:
            await gone(self._link.pid, timeout_s=None)
        ground.close()

    @property
    def lingering(self) -> bool:
        """The program was left to itself and still writes into our pipes."""
        ground = self._link.ground
        if self._lingering is not None:
            return not self._lingering.done()
        return self.left and ground is not None and ground.lingering

    async def dispose(self) -> None:
        """Release everything, kill what is left of a program of ours. Never raises.

        Called again it waits for the same end, which no cancelled caller leaves half done.
        """
        if self._disposing is None:
            self.disposed = True
            self._disposing = asyncio.ensure_future(self._dispose(asyncio.current_task()))
        await asyncio.shield(self._disposing)

    async def _dispose(self, caller: asyncio.Task[Any] | None) -> None:
        link = self._link
        ground = link.ground
        if ground is not None and ground.process is not None and link.brought_up:
            alive = ground.process.returncode is None
            ended = self.told and not self._lost
            # A debugger that died may have left the program behind. A program that has ended may
            # have left children of its own behind, on purpose.
            died = not alive and not self.left and not self._owns_program and not ended
            if died or (alive and not (self.left and self._owns_program)):
                spare = {link.pid} if self.left and link.pid is not None else set()
                spare |= link.kin.living
                taken = not spare and (self._takes_daemons or self._lost)
                await ground.process.kill_tree(_KILL_S, spare=spare, daemons=taken)
        link.wire.close()
        if ground is not None and not self.lingering:
            ground.release()
        link.kin.release()
        link.chores.cancel(caller)
