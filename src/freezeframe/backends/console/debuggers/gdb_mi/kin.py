"""Processes that a program forks, where they are followed.

gdb keeps a new process standing beside its parent, which runs on meanwhile: no step is broken off.
Its own way to debug both lets them stand and run together only; so each comes under a gdb of its
own. It is sent a stop, let go, and joined where it stands, before it ran a line.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable
from typing import cast

from freezeframe.backends.backend import Attach, Backend, ChildStarted, Core
from freezeframe.backends.console.backend import ConsoleBackend
from freezeframe.backends.console.reader import Fields
from freezeframe.backends.console.streams import Streams
from freezeframe.backends.debugger import Found
from freezeframe.backends.forks import Forks
from freezeframe.backends.transport.process import Process
from freezeframe.config import Config
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import Exit

from .line import Line

log = logging.getLogger(__name__)

#: the group of the process that gdb was told to debug
_FIRST = "i1"
#: processes that are followed at once: each costs a gdb
_MOST = 16


class Kin:
    """The children of one process."""

    def __init__(
        self,
        line: Line,
        adopt: Callable[[int], None],
        tell: Callable[[str], None],
    ) -> None:
        """*adopt* is given a process that stands and waits to be joined."""
        self._line = line
        self._adopt = adopt
        self._tell = tell
        #: gdb keeps new processes for us
        self.followed = False
        #: those that were adopted and live
        self.living: set[int] = set()
        self._coming: set[asyncio.Task[None]] = set()

    def is_strange(self, fields: Fields) -> bool:
        """Whether gdb speaks of a process that is not its own to debug."""
        group = fields.get("group-id", fields.get("id"))
        return self.followed and str(group).startswith("i") and group != _FIRST

    def began(self, fields: Fields) -> None:
        """gdb keeps a new process."""
        task = asyncio.ensure_future(self._take(str(fields["id"]), int(fields["pid"])))
        self._coming.add(task)
        task.add_done_callback(self._coming.discard)

    async def _take(self, group: str, pid: int) -> None:
        hold = len(self.living) < _MOST
        try:
            said = await self._line.cli(f"python print(freezeframe_let_go({group[1:]}, {hold}))")
        except DebuggerError as error:
            log.info("process %d was not let go: %s", pid, error)
            return
        if said.split()[-1:] == ["True"]:
            self.living.add(pid)
            self._adopt(pid)
        elif not hold:
            self._tell(f"process {pid} is not followed: {_MOST} are.")

    async def settle(self) -> None:
        """Wait until every process that gdb keeps was taken from it; without gdb they would end."""
        while self._coming:
            await asyncio.gather(*self._coming)

    @property
    def coming(self) -> bool:
        return bool(self._coming)

    def cancel(self) -> None:
        for task in self._coming:
            task.cancel()


class GdbFamily(ConsoleBackend):
    """One of the processes that come from one program."""

    streams: Streams | None

    def __init__(self, name: str, found: Found, config: Config, line: Line) -> None:
        super().__init__(name, found, config)
        self._line = line
        #: of a process that was forked: whose child it is
        self._parent: GdbFamily | None = None
        #: gdb has the process that it was told to join
        self._joined = False
        self._kin = Kin(line, self._adopt, lambda words: self.emit_text("console", f"{words}\n"))

    @property
    def process(self) -> Process | None:
        return self._line.process

    def _let_go(self) -> None:
        self._line.close()

    def _another(self) -> GdbFamily:
        """Return a gdb for a child, which has not begun yet."""
        raise NotImplementedError

    def _adopt(self, pid: int) -> None:
        """Offer a process that was forked to the session."""
        child = self._another()
        child._parent = self
        child.pid = pid
        if self.streams is not None:
            self.streams.hold()
            child.streams = self.streams
        try:
            # It may have become another one since it was started.
            program: str | None = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            program = self.target.program
        target = Attach(
            pid=pid,
            program=program,
            cwd=self.target.cwd,
            env=self.target.env,
            forks=Forks.BOTH,
        )
        self.emit(ChildStarted(cast(Backend, child), target, pid))

    # --- ends

    @property
    def is_ours(self) -> bool:
        return self._parent is not None or super().is_ours

    def _over(self, exit: Exit) -> None:
        """The program has ended by itself; gdb may still keep children that it made."""
        if self._kin.coming:
            self.work(self._finish_after_kin(exit))
        else:
            self.finish(exit)

    async def _finish_after_kin(self, exit: Exit) -> None:
        await self._kin.settle()
        self.finish(exit)

    def finish(self, exit: Exit) -> None:
        if self._parent is not None and self.pid is not None:
            self._parent._kin.living.discard(self.pid)
        super().finish(exit)

    async def _end_program(self) -> None:
        if isinstance(self.target, Core):
            return
        try:
            await self._line.cli("kill", timeout_s=1.0)
        finally:
            if self._parent is not None and not self.ended:
                self._send(signal.SIGKILL)

    async def detach(self) -> None:
        await super().detach()
        if self._parent is not None:
            self._send(signal.SIGCONT)  # gdb leaves a process as it found it: stopped

    @property
    def lingering(self) -> bool:
        # What a child writes into is its parent's.
        return self._parent is None and super().lingering

    async def dispose(self) -> None:
        self._kin.cancel()
        await super().dispose()
        if self._parent is not None and not self._joined:
            self._send(signal.SIGCONT)  # it still waits to be joined

    def _send(self, number: int) -> None:
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)

    def _spared(self) -> tuple[int, ...]:
        if isinstance(self.target, Attach) and self.target.pid is not None:
            return (self.target.pid, *self._kin.living)
        return (*super()._spared(), *self._kin.living)
