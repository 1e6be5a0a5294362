"""How debugging of a process ends: exit, kill, detach, or loss of the debugger."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Attach
from freezeframe.backends.lifetime import MISSED_STOPS, DebuggeeLifetime
from freezeframe.backends.transport.process import SIGKILL, exit_of, gone
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout
from freezeframe.model.stops import Exit

from . import stop_queries

if TYPE_CHECKING:
    from .debuggee import Debuggee
    from .resources import DapResources

#: How long an exit status may come after `terminated` (js-debug and others send it late).
_EXIT_STATUS_S = 0.5
DISCONNECT_S = 2.0
_KILL_S = 3.0
#: File in the session directory that a debugger inside the program creates when it cannot report a
#: stop, because the program has closed its descriptors.
CONNECTION_CLOSED = "connection-closed"


class Termination:
    """How the end of one process becomes known, and how it is caused."""

    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        self.lifetime = DebuggeeLifetime(self._report)
        #: children that ran without the debugger, known when the exit is reported
        self.unfollowed: tuple[str, ...] = ()
        self._exit: Exit | None = None
        self._exit_known = asyncio.Event()
        #: waits for the exit of a program that was detached
        self._detached_output: asyncio.Task[None] | None = None

    @property
    def _owns_program(self) -> bool:
        return self._debuggee.owns_program

    # --- how the end becomes known

    async def on_exited(self, code: int) -> None:
        """Handle the adapter's `exited` event."""
        debuggee = self._debuggee
        self.set_exit(
            await stop_queries.read_exit(
                debuggee.channel, code, debuggee.stops.last_signal, _EXIT_STATUS_S
            )
        )

    def set_exit(self, exit: Exit | None) -> None:
        if exit is not None:
            self._exit = exit
            self._exit_known.set()

    def program_ended(self, status: int) -> None:
        """Handle the exit of the program we spawned; its status overrides the adapter's."""
        if self.lifetime.killing:
            self.lifetime.finish(exit_of(status))
        elif self.lifetime.detached:
            assert self._debuggee.resources is not None
            self._debuggee.resources.close()
        else:
            self._debuggee.spawn_task(
                self._finish_after_children(self._with_closed_connection(exit_of(status)))
            )

    def _with_closed_connection(self, exit: Exit) -> Exit:
        """Return *exit* with a reason if the program has closed the debugger's connection."""
        resources = self._debuggee.resources
        if resources is None or not os.path.exists(
            os.path.join(resources.directory, CONNECTION_CLOSED)
        ):
            return exit
        return replace(exit, reason=MISSED_STOPS)

    async def _finish_after_children(self, exit: Exit) -> None:
        await (self._debuggee.parent or self._debuggee).children.settle()
        self.lifetime.finish(exit)

    def lost(self, error: DebuggerLost) -> None:
        """Handle the loss of the adapter."""
        debuggee = self._debuggee
        if self._owns_program:
            # The exit status follows; a program that keeps running without a debugger is lost.
            debuggee.spawn_task(self._watch_orphan(error))
        elif self.lifetime.killing:
            self.lifetime.finish(self._exit or Exit())
        elif self._exit is not None or (
            debuggee.parent is not None and not debuggee.children.forked
        ):
            debuggee.spawn_task(self._finish_after_children(self._exit or Exit()))
        elif not self.lifetime.detached:
            debuggee.spawn_task(self._on_adapter_lost(error))

    async def _on_adapter_lost(self, error: DebuggerLost) -> None:
        """Report whether a process ended with its debugger, or only the debugger was lost."""
        pid = self._debuggee.pid
        # The end of a debugger that was killed proves nothing about the program.
        killed_by_signal = await self.killed_by_signal(error)
        if killed_by_signal is not None:
            self.lifetime.finish(Exit(how="lost", reason=killed_by_signal.message))
        elif pid is not None and await gone(pid, timeout_s=_EXIT_STATUS_S):
            self.lifetime.finish(Exit())
        else:
            self.lifetime.finish(Exit(how="lost", reason=error.message))

    async def killed_by_signal(self, error: DebuggerLost) -> DebuggerLost | None:
        """Return the error for a debugger that was killed by a signal; None for another end."""
        debuggee = self._debuggee
        process = debuggee.resources.process if debuggee.resources is not None else None
        if process is None or debuggee.parent is not None or self._owns_program:
            return None
        with contextlib.suppress(DebuggerTimeout):
            await process.wait(_EXIT_STATUS_S)
        if process.returncode is None or process.returncode >= 0:
            return None
        name = exit_of(process.returncode).signal or "a signal"
        ended = f"{debuggee.adapter.name} ended"
        # The debugger's last output follows, such as a failed assertion of its own.
        output = error.message.removeprefix(ended).removeprefix("; ").lstrip(".")
        return DebuggerLost(
            f"{debuggee.adapter.name} was killed by {name}{f'; {output}' if output else '.'}",
            next=error.next,
        )

    async def _watch_orphan(self, error: DebuggerLost) -> None:
        debuggee = self._debuggee
        process = debuggee.resources.process if debuggee.resources is not None else None
        if process is None or debuggee.replaced or self.lifetime.detached:
            return
        try:
            await process.wait(debuggee.config.timeouts.initialize_s)
        except DebuggerTimeout:
            self.lifetime.finish(Exit(how="lost", reason=error.message))

    async def after_terminated(self) -> None:
        """Handle the adapter's `terminated` event."""
        debuggee = self._debuggee
        if self._owns_program or debuggee.replaced:
            return
        await self._before_exit_status()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_STATUS_S):
                await self._exit_known.wait()
        if debuggee.resources is not None:
            await debuggee.resources.settle()
        self.lifetime.finish(self._exit or Exit())

    async def _before_exit_status(self) -> None:
        """Ask for the exit status, where the adapter sends it only on request."""

    def _report(self, exit: Exit) -> None:
        self._debuggee.children.ended()
        self._debuggee.drain()
        self._debuggee.emit(events.ExitedEvent(exit))

    # --- how debugging is ended

    async def terminate(self) -> None:
        """Kill the program; detach from one that was attached to."""
        debuggee = self._debuggee
        if isinstance(debuggee.target, Attach) and debuggee.parent is None:
            await self.detach()
            return
        ended = self.lifetime.ended
        self.lifetime.begin_kill()
        resources = debuggee.resources
        if self._owns_program and resources is not None and resources.process is not None:
            await resources.process.kill_tree(_KILL_S, daemons=self.lifetime.kills_daemons)
        elif debuggee.parent is not None and debuggee.pid is not None and debuggee.channel.alive:
            # While the child is connected its pid cannot be reused.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(debuggee.pid, SIGKILL)
        elif not ended:
            if resources is not None and resources.process is not None:
                # After the program's exit its children cannot be told from unrelated processes.
                resources.process.note_descendants()
            with contextlib.suppress(DebuggerError):
                await self._disconnect(terminate=True)
        self.lifetime.finish(Exit(how="killed"))

    async def detach(self) -> None:
        """Detach and leave the program running."""
        if self.lifetime.ended:
            return
        self.lifetime.begin_detach()
        debuggee = self._debuggee
        await self._before_detach()
        with contextlib.suppress(DebuggerLost):
            await self._disconnect(terminate=False)
        resources = debuggee.resources
        if resources is not None and resources.stdio is not None and not self._owns_program:
            self._detached_output = asyncio.ensure_future(self._close_after_exit(resources))
        self.lifetime.finish(Exit(how="detached"))

    async def _before_detach(self) -> None:
        """Undo in the program what a detach leaves behind."""

    async def _disconnect(self, *, terminate: bool) -> None:
        channel, arguments = self._debuggee.channel, {}
        if channel.capabilities.get("supportTerminateDebuggee"):
            arguments = {"terminateDebuggee": terminate}
        if not channel.disconnecting:
            channel.disconnecting = True
            await channel.request("disconnect", arguments, timeout_s=DISCONNECT_S)

    async def _close_after_exit(self, resources: DapResources) -> None:
        """Keep the program's output pipes open until it exits: SIGPIPE would kill it."""
        if self._debuggee.pid is not None:
            await gone(self._debuggee.pid, timeout_s=None)
        resources.close()

    @property
    def has_detached_output(self) -> bool:
        """Whether the program was detached and still writes into our pipes."""
        resources = self._debuggee.resources
        if self._detached_output is not None:
            return not self._detached_output.done()
        return self.lifetime.detached and resources is not None and resources.has_detached_output

    async def dispose(self) -> None:
        """Release all resources and kill what remains of a program that we started. Never raises.

        A second call waits for the first. Cancelling a caller does not interrupt the work.
        """
        await self.lifetime.dispose(self._dispose)

    async def _dispose(self, caller: asyncio.Task[Any] | None) -> None:
        debuggee = self._debuggee
        resources = debuggee.resources
        if resources is not None and resources.process is not None and debuggee.owns_resources:
            alive = resources.process.returncode is None
            ended = self.lifetime.ended and not self.lifetime.lost
            detached = self.lifetime.detached
            # A debugger that died may have left the program running. A program that has exited may
            # have left children running on purpose.
            died = not alive and not detached and not self._owns_program and not ended
            if died or (alive and not (detached and self._owns_program)):
                spare = {debuggee.pid} if detached and debuggee.pid is not None else set()
                spare |= debuggee.children.forked_pids
                daemons = not spare and (self.lifetime.kills_daemons or self.lifetime.lost)
                await resources.process.kill_tree(_KILL_S, spare=spare, daemons=daemons)
        debuggee.channel.close()
        if resources is not None and not self.has_detached_output:
            resources.release()
        debuggee.children.release()
        debuggee.tasks.cancel(caller)
