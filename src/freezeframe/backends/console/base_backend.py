"""What every console backend shares: streams, exits, refusals.

A debugger's file subclasses `ConsoleBackend` and implements the operations that the debugger has.
The others are refused as unsupported, with the raw command that comes nearest.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NoReturn

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    BreakpointRequest,
    Core,
    EventSink,
    Feature,
    Launch,
    Target,
    ToolInfo,
    alternative,
)
from freezeframe.backends.background_tasks import BackgroundTasks
from freezeframe.backends.breakpoint_hits import log_problem
from freezeframe.backends.debugger import Found
from freezeframe.backends.lifetime import DebuggeeLifetime
from freezeframe.backends.program_io import ProgramIO, writer_of
from freezeframe.backends.transport.fd_writer import StdinWriter
from freezeframe.backends.transport.process import Process
from freezeframe.config import Config
from freezeframe.errors import DebuggerError, DebuggerLost, NotRunning, Unsupported
from freezeframe.model.stops import ExceptionFilter, Exit

log = logging.getLogger(__name__)

KILL_S = 3.0


class ConsoleBackend:
    """One program under a console debugger. See `backends.backend.Backend`."""

    def __init__(self, name: str, found: Found, config: Config) -> None:
        self._name = name
        self._found = found
        self._config = config
        self.target: Target = Attach()
        self.pid: int | None = None
        self.io: ProgramIO | None = None
        self._sink: EventSink = lambda event: None
        self._command: tuple[str, ...] = found.command
        self._lifetime = DebuggeeLifetime(self._report_exit)
        self._tasks = BackgroundTasks(name)

    # --- implemented by each debugger

    @property
    def process(self) -> Process | None:
        """The debugger's process."""
        raise NotImplementedError

    def _close(self) -> None:
        """Close the channel to the debugger; the caller kills its process."""
        raise NotImplementedError

    async def _end_program(self) -> None:
        """Ask the debugger to kill the program, so that the program's parent reaps it."""

    async def _detach(self) -> None:
        """Detach the debugger, leaving the program running."""
        raise NotImplementedError

    async def _set(
        self, group: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        """Make *requests* the breakpoints of a group: a file, `function` or `address`."""
        raise NotImplementedError

    # --- identity and capabilities

    @property
    def tool(self) -> ToolInfo:
        return ToolInfo(self._name, self._found.version, "console", self._command)

    @property
    def features(self) -> frozenset[Feature]:
        return frozenset()

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        return ()

    @property
    def advertised(self) -> Mapping[str, object]:
        return {}

    def unsupported_hint(self, feature: Feature) -> str:
        return alternative(feature, {})

    def refuse(self, what: str, next: str | None = None) -> NoReturn:
        raise Unsupported(f"{self.tool} {what}.", next=next or "dbg tool")

    def _alive(self) -> None:
        """Raise unless the program can still run."""
        if self.ended:
            raise DebuggerLost("the program has ended.", next="dbg restart")
        if isinstance(self.target, Core):
            raise NotRunning(
                "this is a core file: the program is dead and cannot run.",
                next="dbg start PROGRAM",
            )

    # --- breakpoints

    async def set_breakpoints(
        self, path: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        return await self._set(path, requests)

    async def set_function_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        return await self._set("function", requests)

    # --- events

    def emit(self, event: events.Event) -> None:
        self._sink(event)

    def emit_text(self, stream: str, text: str) -> None:
        self.emit(events.OutputEvent(stream, text))

    def drain(self) -> None:
        if self.io is not None:
            self.io.drain()

    def work(self, what: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background."""
        self._tasks.start(what)

    # --- exits

    @property
    def owns_program(self) -> bool:
        """Freezeframe started the program, directly or not: it is killed with its debugger."""
        return not isinstance(self.target, Attach)

    @property
    def ended(self) -> bool:
        return self._lifetime.ended

    def finish(self, exit: Exit) -> None:
        """Report that the program exited or was detached from. Only the first call counts."""
        self._lifetime.finish(exit)

    def _report_exit(self, exit: Exit) -> None:
        self.drain()
        self.emit(events.ExitedEvent(exit))

    def lost(self, error: DebuggerLost) -> None:
        """Report the exit: the debugger is gone, and the programs that it started with it."""
        self.finish(Exit(how="lost", reason=error.message))

    async def terminate(self) -> None:
        """Kill the program; an attached one is left running."""
        if not self.owns_program and not self.ended:
            try:
                await self.detach()
            except DebuggerError as error:
                # The debugger cannot detach by itself; killing the debugger remains.
                log.info("%s: detach: %s", self._name, error)
                self.finish(Exit(how="detached"))
            return
        ended = self.ended
        self._lifetime.begin_kill()
        if self.process is not None and not self._lifetime.detached:
            self.process.note_descendants()
            if not ended:
                with contextlib.suppress(DebuggerError):
                    await self._end_program()
            await self.process.kill_tree(KILL_S, daemons=self._lifetime.kills_daemons)
        self.finish(Exit(how="killed"))

    async def detach(self) -> None:
        """Leave the program running."""
        if self.ended:
            return
        self._lifetime.begin_detach()
        try:
            await self._detach()
        except DebuggerError:
            self._lifetime.detach_refused()
            raise
        self.finish(Exit(how="detached"))

    def on_streams_closed(self) -> None:
        """Every writer has closed the program's streams."""
        if self._lifetime.detached and self.io is not None:
            self.io.close()

    @property
    def has_detached_output(self) -> bool:
        """The program was detached from and still writes into our pipes."""
        return self._lifetime.detached and self.io is not None and not self.io.ended

    async def dispose(self) -> None:
        """Release everything and kill what is left of a launched program. Never raises."""
        await self._lifetime.dispose(self._dispose)

    async def _dispose(self, caller: asyncio.Task[Any] | None) -> None:
        process = self.process
        if process is not None:
            spare = self._spared()
            process.note_descendants()
            await process.kill_tree(KILL_S, spare=spare)
        self._close()
        if self.io is not None and not self.has_detached_output:
            self.io.release()
        self._tasks.cancel(caller)

    def _spared(self) -> tuple[int, ...]:
        return (self.pid,) if self._lifetime.detached and self.pid is not None else ()

    # --- program input

    def _stdin(self) -> StdinWriter:
        return writer_of(self.io, self.target.stdin if isinstance(self.target, Launch) else None)

    async def write_stdin(self, data: bytes) -> None:
        await self._stdin().write(data)

    async def close_stdin(self) -> None:
        self._stdin().end()

    # --- checks before the program runs

    def check_condition(self, expression: str) -> str | None:
        return None

    def check_log(self, message: str) -> str | None:
        return log_problem(message)
