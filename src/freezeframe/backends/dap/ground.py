"""What one launched or joined program stands on: its process, its pipes, the port it calls.

Shared by the backend of a program and those of its children, and let go when the last of them
is done: a child may go on printing after its parent has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shutil
from collections.abc import Callable

from freezeframe import paths
from freezeframe.backends.backend import Attach, Launch, Target
from freezeframe.backends.forks import Forks
from freezeframe.backends.transport.drain import Drain, Tail
from freezeframe.backends.transport.feeder import Feeder
from freezeframe.backends.transport.fifo import Fifo
from freezeframe.backends.transport.held import Held
from freezeframe.backends.transport.process import PIPE, Process
from freezeframe.backends.transport.program import SpawnedProgram, spawn_program
from freezeframe.backends.transport.pty import Terminal
from freezeframe.backends.transport.streams import Stream
from freezeframe.backends.transport.tcp import Listener, free_port
from freezeframe.errors import DebuggerTimeout

from .adapters._descriptor import Adapter, Endpoint, Spawn

OnText = Callable[[str, str], None]

#: How long the last words of a program that has ended may take through its terminal.
_SETTLE_S = 0.3


class Ground(Held):
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
        self.stdin: Feeder | None = None
        self.stdio: tuple[str, str, str] | None = None
        self.port = 0
        #: nothing is read from it or written to it
        self.session: Terminal | None = None
        self._terminal: Terminal | None = None
        self._screen: Drain | None = None
        #: the end of what the debugger wrote to its standard error
        self.words = Tail()
        self.on_text: OnText = lambda stream, text: None
        self.on_stream: Callable[[Stream], None] | None = None
        self._drains: list[Drain] = []
        self._arrived: asyncio.Queue[Stream] = asyncio.Queue()
        #: what comes from its standard streams is the debugger's: the program does not run yet
        self._hosting = False

    @classmethod
    async def open(cls, adapter: Adapter, target: Target) -> Ground:
        ground = cls(adapter, paths.scratch())
        if adapter.start.reverse(target):
            caller = target.pid if isinstance(target, Attach) else None
            ground.listener = await Listener.open(ground._connected, caller=caller)
            token, file = os.urandom(16).hex(), os.path.join(ground.directory, "token")
            with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as secret:
                secret.write(token)
            ground.endpoint = Endpoint(ground.listener.host, ground.listener.port, token, file)
        if adapter.start.needs_port(target):
            ground.port = free_port()
        if adapter.start.stdio_fifos and isinstance(target, Launch):
            ground._open_stdio(target)
        if adapter.output.log_channel:
            ground.fifo = Fifo(lambda text: ground.on_text("log", text))
            ground.fifo.start()
        return ground

    def _open_stdio(self, target: Launch) -> None:
        """Make FIFOs for the program's standard streams, so that they are live and apart."""
        if target.tty:
            self._open_terminal(target)
            return
        paths = []
        if target.stdin is None:
            path = os.path.join(self.directory, "stdin")
            os.mkfifo(path, 0o600)
            # Open for reading too: the other side may open its end before or after this.
            self.stdin = Feeder(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
            paths.append(path)
        else:
            paths.append(target.stdin)
        if target.forks is Forks.BOTH:
            # In its debugger's session the end of a program would wake and end a child that stands.
            self.session = Terminal(echo=False)
        # A terminal for the output, or the C library keeps it back until its buffer is full.
        self._terminal = Terminal(echo=False)
        self._screen = self._show(self._terminal.take_ours(), "stdout")
        fifo = Fifo(functools.partial(self._text, "stderr"), name="stderr")
        fifo.start()
        self._drains.append(fifo)
        self.stdio = (paths[0], self._terminal.name, fifo.path)

    def _open_terminal(self, target: Launch) -> None:
        self._terminal = self.session = Terminal(lines=True)
        self._screen = self._show(self._terminal.take_ours(), "stdout")
        name = self._terminal.name
        if target.stdin is None:
            self.stdin = self._terminal.feeder()
        self.stdio = (target.stdin or name, name, name)

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
            _hand_over(self.process.take_stdin(), spawn.input)
            self._collect(self.process.take_stdout())
            self._collect(self.process.take_stderr())
        else:
            self.process = Process.spawn(
                spawn.argv, cwd=spawn.cwd, env=spawn.env, stdin=PIPE, stdout=PIPE, stderr=PIPE
            )
            if self.stdio is not None:
                self.process.gave(self.stdio if self.stdin is not None else self.stdio[1:])
            self._collect(self.process.take_stderr())
        return self.process

    async def injected(self, spawn: Spawn, timeout_s: float) -> None:
        """Wait until an injector has let go of the process; no one else can trace it before."""
        if spawn.role == "injector" and self.process is not None:
            with contextlib.suppress(DebuggerTimeout):
                await self.process.wait(timeout_s)

    def _spawn_program(self, spawn: Spawn, target: Target) -> Process:
        launched = target if isinstance(target, Launch) else None
        return self._adopt(
            spawn_program(
                spawn.argv,
                cwd=spawn.cwd,
                env=spawn.env,
                stdin=launched.stdin if launched is not None else None,
                tty=launched is not None and launched.tty,
            )
        )

    def _adopt(self, program: SpawnedProgram) -> Process:
        self.stdin = program.stdin if program.stdin is not None else self.stdin
        for fd, stream in program.outputs:
            self._show(fd, stream)
        return program.process

    def spawn_in_terminal(self, spawn: Spawn, *, tty: bool) -> Process:
        """Start a program that an adapter asked us to run; its output is the program's."""
        return self._adopt(spawn_program(spawn.argv, cwd=spawn.cwd, env=spawn.env, tty=tty))

    def _show(self, fd: int, stream: str) -> Drain:
        drain = Drain(fd, lambda text: self._text(stream, text))
        self._drains.append(drain)
        drain.start()
        return drain

    def begin(self) -> None:
        """The program is about to run: from now on its streams are its own."""
        if self._hosting:
            self.drain()
            self._hosting = False

    def _text(self, stream: str, text: str) -> None:
        if self._hosting:
            self.words.feed(text)
            stream = "console"
        if stream == "stderr":
            self.words.feed(text)
        self.on_text(stream, text)

    def _collect(self, fd: int) -> None:
        drain = Drain(fd, self.words.feed)
        self._drains.append(drain)
        drain.start()

    async def settle(self) -> None:
        """Wait until everything is here that a program which has ended wrote to its terminal.

        The kernel passes it on a moment later; children that hold the terminal cost a short wait.
        """
        if self._terminal is not None and self._screen is not None:
            self._terminal.release_program()
            await self._screen.wait_end(_SETTLE_S)

    def drain(self) -> None:
        """Report what has been written before this call."""
        for drain in self._drains:
            drain.drain_now()
        if self.fifo is not None:
            self.fifo.drain_now()

    # --- life

    @property
    def lingering(self) -> bool:
        """A program that was left to itself still writes into our pipes."""
        return not self._closed and self.process is not None and self.process.returncode is None

    def _close(self) -> None:
        """Close everything but the process, which is the caller's to end."""
        self.drain()
        if self.listener is not None:
            self.listener.close()
        while not self._arrived.empty():
            self._arrived.get_nowait().close()
        for drain in self._drains:
            drain.close()
        if self.fifo is not None:
            self.fifo.close()
        if self.stdin is not None:
            self.stdin.close()
        if self.process is not None:
            self.process.close()
        for terminal in (self._terminal, self.session):
            if terminal is not None:
                terminal.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def _hand_over(pipe: int, text: str) -> None:
    """Write a few words into a pipe that nobody has read from yet, and close it."""
    try:
        os.write(pipe, text.encode())
    except BrokenPipeError:
        pass  # it ended at once, and says why
    finally:
        os.close(pipe)
