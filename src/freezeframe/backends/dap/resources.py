"""Resources of a launched or attached program: process, pipes, terminal, listening port.

Shared by the backends of a program and its children, and closed when the last of them is done: a
child may keep printing after its parent has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable

from freezeframe import paths
from freezeframe.backends.backend import Attach, Launch, Target
from freezeframe.backends.fork_modes import ForkMode
from freezeframe.backends.program_io import NamedProgramIO, OnText, ProgramIO
from freezeframe.backends.transport.fd_reader import TextReader
from freezeframe.backends.transport.fifo import Fifo
from freezeframe.backends.transport.process import PIPE, Process
from freezeframe.backends.transport.program import spawn_program
from freezeframe.backends.transport.refcounted import RefCounted
from freezeframe.backends.transport.streams import Stream
from freezeframe.backends.transport.tcp import Listener, free_port
from freezeframe.errors import DebuggerTimeout

from .adapters._descriptor import Adapter, Endpoint, Spawn

#: How long the last output of a program that has ended may take through its terminal.
_SETTLE_S = 0.3


class DapResources(RefCounted):
    """Resources of one session tree."""

    def __init__(self, adapter: Adapter, directory: str) -> None:
        """Use `open`."""
        super().__init__()
        self.adapter = adapter
        self.directory = directory
        self.endpoint: Endpoint | None = None
        self.listener: Listener | None = None
        self.process: Process | None = None
        self.fifo: Fifo | None = None
        self.io = ProgramIO(self._text)
        self.port = 0
        self.on_text: OnText = lambda stream, text: None
        self.on_stream: Callable[[Stream], None] | None = None
        self._arrived: asyncio.Queue[Stream] = asyncio.Queue()
        #: the program does not run yet, so the standard streams carry the debugger's output
        self._hosting = False

    @classmethod
    async def open(cls, adapter: Adapter, target: Target) -> DapResources:
        resources = cls(adapter, paths.scratch())
        if adapter.start.reverse(target):
            caller = target.pid if isinstance(target, Attach) else None
            resources.listener = await Listener.open(resources._connected, caller=caller)
            token, file = os.urandom(16).hex(), os.path.join(resources.directory, "token")
            with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as secret:
                secret.write(token)
            resources.endpoint = Endpoint(
                resources.listener.host, resources.listener.port, token, file
            )
        if adapter.start.needs_port(target):
            resources.port = free_port()
        if adapter.start.stdio_fifos and isinstance(target, Launch):
            resources.io = NamedProgramIO(resources._text, target.stdin, tty=target.tty)
        if adapter.output.log_channel:
            resources.fifo = Fifo(lambda text: resources.on_text("log", text))
            resources.fifo.start()
        return resources

    @property
    def stdio(self) -> tuple[str, str, str] | None:
        """The files behind the program's standard streams, if its debugger opens them."""
        if not isinstance(self.io, NamedProgramIO):
            return None
        files = self.io.files
        return files["stdin"], files["stdout"], files["stderr"]

    def session_terminal(self, target: Target) -> str | None:
        """Return the controlling terminal of the program's session; None for the debugger's own.

        In its debugger's session the end of a program would wake and end a stopped child.
        """
        own = isinstance(target, Launch) and (target.tty or target.forks is ForkMode.BOTH)
        return self.io.terminal.name if own and isinstance(self.io, NamedProgramIO) else None

    def _connected(self, stream: Stream) -> None:
        if self.on_stream is not None:
            self.on_stream(stream)
        else:
            self._arrived.put_nowait(stream)

    async def accept(self) -> Stream:
        """Return the first connection; later ones go to `on_stream`."""
        return await self._arrived.get()

    # --- the process

    def spawn(self, spawn: Spawn, target: Target) -> Process:
        """Start the program, the adapter or the injector. Raises LaunchFailed."""
        self._hosting = spawn.role == "host"
        if spawn.role in ("program", "host"):
            self.process = self._spawn_program(spawn, target)
        elif spawn.role == "injector":
            self.process = Process.spawn(
                spawn.argv, cwd=spawn.cwd, env=spawn.env, stdin=PIPE, stdout=PIPE, stderr=PIPE
            )
            _write_and_close(self.process.take_stdin(), spawn.input)
            self._collect(self.process.take_stdout())
            self._collect(self.process.take_stderr())
        else:
            self.process = Process.spawn(
                spawn.argv, cwd=spawn.cwd, env=spawn.env, stdin=PIPE, stdout=PIPE, stderr=PIPE
            )
            if (stdio := self.stdio) is not None:
                self.process.gave(stdio if self.io.stdin is not None else stdio[1:])
            self._collect(self.process.take_stderr())
        return self.process

    async def wait_for_injector(self, spawn: Spawn, timeout_s: float) -> None:
        """Wait until an injector has detached from the process, so that others can trace it."""
        if spawn.role == "injector" and self.process is not None:
            with contextlib.suppress(DebuggerTimeout):
                await self.process.wait(timeout_s)

    def _spawn_program(self, spawn: Spawn, target: Target) -> Process:
        launched = target if isinstance(target, Launch) else None
        program = spawn_program(
            spawn.argv,
            cwd=spawn.cwd,
            env=spawn.env,
            stdin=launched.stdin if launched is not None else None,
            tty=launched is not None and launched.tty,
        )
        self.io.adopt(program)
        return program.process

    def spawn_in_terminal(self, spawn: Spawn, *, tty: bool) -> Process:
        """Start a program that an adapter asked us to run; its output is the program's."""
        program = spawn_program(spawn.argv, cwd=spawn.cwd, env=spawn.env, tty=tty)
        self.io.adopt(program)
        return program.process

    def begin(self) -> None:
        """Note that the program is about to run: from now on the streams carry its output."""
        if self._hosting:
            self.drain()
            self._hosting = False

    def _text(self, stream: str, text: str) -> None:
        if self._hosting and not (stream == "stderr" or self.io.is_terminal):
            self.io.stderr_tail.feed(text)
        self.on_text("console" if self._hosting else stream, text)

    def _collect(self, fd: int) -> None:
        """Keep the end of what a debugger prints; it is not the program's output."""
        self.io.read_with(TextReader(fd, self.io.stderr_tail.feed))

    async def settle(self) -> None:
        """Wait for the last terminal output of a program that has ended.

        The kernel delivers it a moment later; children that hold the terminal cost a short wait.
        """
        if isinstance(self.io, NamedProgramIO) and self.io.is_terminal:
            self.io.terminal.release_program()
            await self.io.wait_end(_SETTLE_S)

    def drain(self) -> None:
        """Report all output written before this call."""
        self.io.drain()
        if self.fifo is not None:
            self.fifo.drain_now()

    # --- lifecycle

    @property
    def has_detached_output(self) -> bool:
        """Whether a detached program still writes into our pipes."""
        return not self._closed and self.process is not None and self.process.returncode is None

    def _close(self) -> None:
        """Close everything except the process, which the caller ends."""
        self.drain()
        if self.listener is not None:
            self.listener.close()
        while not self._arrived.empty():
            self._arrived.get_nowait().close()
        self.io.close()
        if self.fifo is not None:
            self.fifo.close()
        if self.process is not None:
            self.process.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def _write_and_close(pipe: int, text: str) -> None:
    """Write a short text into a pipe that has no reader yet, and close it."""
    try:
        os.write(pipe, text.encode())
    except BrokenPipeError:
        pass  # the process ended at once, and its stderr says why
    finally:
        os.close(pipe)
