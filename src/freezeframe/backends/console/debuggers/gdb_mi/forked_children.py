"""Follow processes that the program forks.

gdb holds a new process stopped while its parent runs on, so no step is interrupted. gdb's own mode
for both processes can only stop and resume them together, so each process gets its own gdb: the
first gdb sends it SIGSTOP and detaches, and the new gdb attaches before the process runs a line.
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
from freezeframe.backends.console.base_backend import ConsoleBackend
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields
from freezeframe.backends.debugger import Found
from freezeframe.backends.fork_modes import ForkMode
from freezeframe.backends.program_io import NamedProgramIO
from freezeframe.backends.transport.process import Process
from freezeframe.config import Config
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import Exit

from .mi_channel import MiChannel

log = logging.getLogger(__name__)

#: the thread group of the process that gdb debugs
_FIRST = "i1"
#: maximum number of processes followed at once: each costs a gdb
_MOST = 16


class ForkedChildren:
    """The forked children of one process."""

    def __init__(
        self,
        channel: MiChannel,
        adopt: Callable[[int], None],
        report: Callable[[str], None],
    ) -> None:
        """*adopt* receives a stopped process that waits for a debugger to attach."""
        self._channel = channel
        self._adopt = adopt
        self._report = report
        #: gdb holds new processes for us
        self.followed = False
        #: adopted children that are alive
        self.live: set[int] = set()
        self._pending: set[asyncio.Task[None]] = set()

    def is_other_process(self, fields: Fields) -> bool:
        """Whether a record concerns a process that this gdb does not debug."""
        group = fields.get("group-id", fields.get("id"))
        return self.followed and str(group).startswith("i") and group != _FIRST

    def on_started(self, fields: Fields) -> None:
        """gdb holds a new process."""
        task = asyncio.ensure_future(self._take(str(fields["id"]), int(fields["pid"])))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _take(self, group: str, pid: int) -> None:
        hold = len(self.live) < _MOST
        try:
            output = await self._channel.cli(
                f"python print(freezeframe_detach({group[1:]}, {hold}))"
            )
        except DebuggerError as error:
            log.info("process %d was not detached: %s", pid, error)
            return
        if output.split()[-1:] == ["True"]:
            self.live.add(pid)
            self._adopt(pid)
        elif not hold:
            self._report(f"process {pid} is not followed: {_MOST} are.")

    async def settle(self) -> None:
        """Wait until all held processes are detached from gdb; they would end with it."""
        while self._pending:
            await asyncio.gather(*self._pending)

    @property
    def pending(self) -> bool:
        return bool(self._pending)

    def cancel(self) -> None:
        for task in self._pending:
            task.cancel()


class GdbProcessTree(ConsoleBackend):
    """One process of the program's process tree."""

    io: NamedProgramIO | None

    def __init__(self, name: str, found: Found, config: Config, channel: MiChannel) -> None:
        super().__init__(name, found, config)
        self._channel = channel
        #: the backend of the parent process, for a forked process
        self._parent: GdbProcessTree | None = None
        #: gdb has attached to its process
        self._attached = False
        self._children = ForkedChildren(
            channel, self._adopt, lambda text: self.emit_text("console", f"{text}\n")
        )

    @property
    def process(self) -> Process | None:
        return self._channel.process

    def _close(self) -> None:
        self._channel.close()

    def _new_backend(self) -> GdbProcessTree:
        """Return a new backend for a child."""
        raise NotImplementedError

    def _adopt(self, pid: int) -> None:
        """Offer a forked process to the session."""
        child = self._new_backend()
        child._parent = self
        child.pid = pid
        if self.io is not None:
            self.io.hold()
            child.io = self.io
        try:
            # The process may have called exec since the fork.
            program: str | None = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            program = self.target.program
        target = Attach(
            pid=pid,
            program=program,
            cwd=self.target.cwd,
            env=self.target.env,
            forks=ForkMode.BOTH,
        )
        self.emit(ChildStarted(cast(Backend, child), target, pid))

    # --- ends

    @property
    def owns_program(self) -> bool:
        return self._parent is not None or super().owns_program

    def _on_exit(self, exit: Exit) -> None:
        """The program ended; gdb may still hold children of it."""
        if self._children.pending:
            self.work(self._finish_after_children(exit))
        else:
            self.finish(exit)

    async def _finish_after_children(self, exit: Exit) -> None:
        await self._children.settle()
        self.finish(exit)

    def finish(self, exit: Exit) -> None:
        if self._parent is not None and self.pid is not None:
            self._parent._children.live.discard(self.pid)
        super().finish(exit)

    async def _end_program(self) -> None:
        if isinstance(self.target, Core):
            return
        try:
            await self._channel.cli("kill", timeout_s=1.0)
        finally:
            if self._parent is not None and not self.ended:
                self._send(signal.SIGKILL)

    async def detach(self) -> None:
        await super().detach()
        if self._parent is not None:
            self._send(signal.SIGCONT)  # gdb leaves it as it was: stopped

    @property
    def has_detached_output(self) -> bool:
        # A child writes to its parent's streams.
        return self._parent is None and super().has_detached_output

    async def dispose(self) -> None:
        self._children.cancel()
        await super().dispose()
        if self._parent is not None and not self._attached:
            self._send(signal.SIGCONT)  # it still waits for a debugger

    def _send(self, number: int) -> None:
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)

    def _spared(self) -> tuple[int, ...]:
        if isinstance(self.target, Attach) and self.target.pid is not None:
            return (self.target.pid, *self._children.live)
        return (*super()._spared(), *self._children.live)
