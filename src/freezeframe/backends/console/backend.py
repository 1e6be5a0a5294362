"""What every console backend does in the same way: streams, ends, refusals.

A debugger's own file inherits from `ConsoleBackend` and spells the operations that it has. One
that it does not spell is refused as unsupported, with the raw command that comes nearest.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NoReturn

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    Core,
    Feature,
    Launch,
    Passed,
    RawValue,
    Sink,
    Target,
    ToolInfo,
    WantedBreakpoint,
)
from freezeframe.backends.chores import Chores
from freezeframe.backends.debugger import Found
from freezeframe.backends.transport.process import Process
from freezeframe.config import Config
from freezeframe.errors import DebuggerError, DebuggerLost, NotRunning, Unsupported
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit

from .streams import ProgramStreams

log = logging.getLogger(__name__)

KILL_S = 3.0


class ConsoleBackend:
    """The life of one program under a console debugger. See `backends.backend.Backend`."""

    def __init__(self, name: str, found: Found, config: Config) -> None:
        self._name = name
        self._found = found
        self._config = config
        self.target: Target = Attach()
        self.pid: int | None = None
        self.streams: ProgramStreams | None = None
        self.ended = False
        self._sink: Sink = lambda event: None
        self._command: tuple[str, ...] = found.command
        self._killing = False
        #: the program was ended before it was done: what it made into daemons ends too
        self._takes_daemons = False
        self._detached = False
        self._disposed = False
        self._chores = Chores(name)

    # --- what a debugger's own file tells

    @property
    def process(self) -> Process | None:
        """The debugger's process."""
        raise NotImplementedError

    def _let_go(self) -> None:
        """Close the line to the debugger; its process is ended by the caller."""
        raise NotImplementedError

    async def _end_program(self) -> None:
        """Ask the debugger to end the program, so that it is its parent who takes leave of it."""

    async def _leave(self) -> None:
        """Tell the debugger to leave the program running."""
        raise NotImplementedError

    async def _set(
        self, group: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        """Make *wanted* the breakpoints of a group: a file, `function` or `address`."""
        raise NotImplementedError

    # --- who it is

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

    def unsupported_hint(self, feature: Feature) -> str | None:
        return None

    def refuse(self, what: str, next: str | None = None) -> NoReturn:
        raise Unsupported(f"{self.tool} {what}.", next=next or "dbg tool")

    def _alive(self) -> None:
        """Raise where no program is left that could run."""
        if self.ended:
            raise DebuggerLost("the program has ended.", next="dbg restart")
        if isinstance(self.target, Core):
            raise NotRunning(
                "this is a core file: the program is dead and cannot run.",
                next="dbg start PROGRAM",
            )

    # --- breakpoints

    async def set_breakpoints(
        self, path: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        return await self._set(path, wanted)

    async def set_function_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        return await self._set("function", wanted)

    async def set_address_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        return await self._set("address", wanted)

    # --- events

    def emit(self, event: events.Event) -> None:
        self._sink(event)

    def emit_text(self, stream: str, text: str) -> None:
        self.emit(events.Printed(stream, text))

    def drain(self) -> None:
        if self.streams is not None:
            self.streams.drain()

    def work(self, what: Coroutine[Any, Any, None]) -> None:
        """Do something beside."""
        self._chores.start(what)

    # --- ends

    @property
    def is_ours(self) -> bool:
        """The program was started by us, or by one that was: it ends with its debugger."""
        return not isinstance(self.target, Attach)

    def finish(self, exit: Exit) -> None:
        """The program is gone, or we are from it. Only the first call counts."""
        if self.ended:
            return
        self.ended = True
        self.drain()
        self.emit(events.Ended(exit))

    def lost(self, error: DebuggerLost) -> None:
        """The debugger is gone; the programs that it started went with it."""
        if self._killing:
            self.finish(Exit(how="killed"))
        elif self._detached:
            self.finish(Exit(how="detached"))
        else:
            self.finish(Exit(how="lost", reason=error.message))

    async def terminate(self) -> None:
        """End the program; one that we joined is left running."""
        if not self.is_ours and not self.ended:
            try:
                await self.detach()
            except DebuggerError as error:
                # Its debugger does not let go by itself; the end of that one is what is left.
                log.info("%s: detach: %s", self._name, error)
                self._detached = True
                self.finish(Exit(how="detached"))
            return
        self._killing = True
        if self.process is not None and not self._detached:
            self.process.note_descendants()
            self._takes_daemons = not self.ended
            if not self.ended:
                with contextlib.suppress(DebuggerError):
                    await self._end_program()
            await self.process.kill_tree(KILL_S, daemons=self._takes_daemons)
        self.finish(Exit(how="killed"))

    async def detach(self) -> None:
        """Leave the program running."""
        if self.ended:
            return
        await self._leave()
        self._detached = True
        self.finish(Exit(how="detached"))

    def fell_silent(self) -> None:
        """Nobody writes into the program's streams any more."""
        if self._detached and self.streams is not None:
            self.streams.close()

    @property
    def lingering(self) -> bool:
        """The program was left to itself and still writes into our pipes."""
        return self._detached and self.streams is not None and not self.streams.ended

    async def dispose(self) -> None:
        """Release everything, kill what is left of a program of ours. Never raises."""
        if self._disposed:
            return
        self._disposed = True
        process = self.process
        if process is not None:
            spare = self._spared()
            process.note_descendants()
            await process.kill_tree(KILL_S, spare=spare)
        self._let_go()
        if self.streams is not None and not self.lingering:
            self.streams.release()
        self._chores.cancel()

    def _spared(self) -> tuple[int, ...]:
        return (self.pid,) if self._detached and self.pid is not None else ()

    # --- program input

    async def write_stdin(self, data: bytes) -> None:
        self._input()
        assert self.streams is not None
        assert self.streams.feeder is not None
        await self.streams.feeder.write(data)

    async def close_stdin(self) -> None:
        self._input()
        assert self.streams is not None
        assert self.streams.feeder is not None
        self.streams.feeder.end()

    def _input(self) -> None:
        if self.streams is None:
            raise Unsupported("the program's input is not ours to write.")
        if self.streams.feeder is None:
            stdin = self.target.stdin if isinstance(self.target, Launch) else None
            raise NotRunning(f"the program reads its input from {stdin}.")

    # --- what many consoles have no word for

    async def passed(self, breakpoints: Sequence[int]) -> Passed:
        return Passed(tuple(breakpoints))

    def check_condition(self, expression: str, path: str | None) -> str | None:
        return None

    def check_log(self, message: str, path: str | None) -> str | None:
        return None if message.count("{") == message.count("}") else "its braces do not match"

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        return None

    async def in_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        return None

    async def save_core(self, path: str) -> None:
        self.refuse("writes no core files")

    def slice_expression(self, expression: str, start: int, end: int) -> str | None:
        return None

    async def exception(self, thread: int) -> ExceptionInfo | None:
        return None

    async def source(self, reference: int, path: str | None) -> str:
        self.refuse("holds no sources of its own", f"dbg source {path}:1" if path else None)
