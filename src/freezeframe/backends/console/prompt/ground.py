"""What a prompt stands on: the debugger's process, the line to it, the program's own streams."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace

from freezeframe.backends.backend import Launch, Target
from freezeframe.backends.console.streams import Pipes, ProgramStreams, Streams, check_readable
from freezeframe.backends.transport.process import DEVNULL, PIPE, Process
from freezeframe.backends.transport.program import spawn_program
from freezeframe.backends.transport.pty import Terminal
from freezeframe.backends.transport.streams import PairStream, StdioStream, Stream
from freezeframe.backends.transport.tcp import Listener
from freezeframe.errors import DebuggerLost

from .spelling import Begin, Home, Line


class Ground:
    """Everything that is opened for one program; `close` lets go of it."""

    def __init__(
        self, on_text: Callable[[str, str], None], on_silent: Callable[[], None] = lambda: None
    ) -> None:
        self._on_text = on_text
        self._on_silent = on_silent
        self.process: Process | None = None
        #: the program's, where it runs beside its debugger
        self.program: Process | None = None
        self.streams: ProgramStreams | None = None
        self._terminal: Terminal | None = None
        #: for a socket between the debugger and its program
        self._folder: str | None = None
        self._guard = "{" + secrets.token_hex(8)
        #: the user's own variables: nothing is put into them
        self._given: Mapping[str, str] = {}
        self._tty = False

    @property
    def holder(self) -> Process | None:
        """The process that the program runs in, where we have started it."""
        return self.program or self.process

    async def open(self, begin: Begin, target: Target, timeout_s: float) -> Stream:
        """Start what is to be started; return the line to the debugger.

        Raises LaunchFailed; of a debugger that is to call us, DebuggerLost when it has ended
        before, and DebuggerTimeout.
        """
        self._given = target.env
        self._tty = isinstance(target, Launch) and target.tty
        stdin = target.stdin if isinstance(target, Launch) else None
        if stdin is not None:
            check_readable(stdin)
        if begin.home in (Home.LAUNCHED, Home.FILES):
            self.streams = Streams(self._on_text, stdin, self._on_silent, tty=self._tty)
        if begin.home is Home.BESIDE:
            env = begin.program_env or begin.env
            words = tuple(map(self._plain, begin.program))
            self.program = self._spawn_program(words, begin.cwd, env, stdin)
        if begin.line is Line.PIPES:
            return self._over_pipes(begin, stdin)
        if begin.line is Line.TERMINAL:
            return self._over_terminal(begin, stdin)
        if begin.line is Line.CALL:
            return await self._called(begin, stdin, timeout_s)
        self.process = Process.spawn(
            tuple(map(self._plain, begin.argv)),
            cwd=begin.cwd,
            env={key: self._plain(value) for key, value in begin.env.items()},
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
        return StdioStream(self.process)

    def _over_pipes(self, begin: Begin, stdin: str | None) -> Stream:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        names = {"read": str(theirs_in), "write": str(theirs_out)}
        try:
            self.process = self._spawn(begin, names, stdin, (theirs_in, theirs_out))
        except BaseException:
            os.close(ours_in)
            os.close(ours_out)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        return PairStream(ours_in, ours_out, self.process.name)

    def _over_terminal(self, begin: Begin, stdin: str | None) -> Stream:
        # Wide: a debugger that wraps its lines for a reader must find no reason to.
        self._terminal = Terminal(echo=False, columns=10_000, rows=10_000)
        self.process = self._spawn(begin, {"terminal": self._terminal.name}, stdin, ())
        ours = self._terminal.take_ours(), self._terminal.take_ours()
        return PairStream(*ours, self.process.name)

    async def _called(self, begin: Begin, stdin: str | None, timeout_s: float) -> Stream:
        listener = await Listener.open()
        try:
            names = {"host": listener.host, "port": str(listener.port)}
            process = self.process = self._spawn(begin, names, stdin, ())
            ended = asyncio.ensure_future(process.wait())
            coming = asyncio.ensure_future(listener.accept(timeout_s=timeout_s))
            try:
                await asyncio.wait((coming, ended), return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    raise DebuggerLost(f"{process.name} ended before it could be debugged.")
                return coming.result()
            finally:
                ended.cancel()
                coming.cancel()
        finally:
            # Whoever comes later is none of ours: a child of the program runs on by itself.
            listener.close()

    def _spawn(
        self, begin: Begin, names: Mapping[str, str], stdin: str | None, fds: tuple[int, ...]
    ) -> Process:
        own = len(begin.argv) if begin.own is None else begin.own
        filled = (*(_filled(word, names) for word in begin.argv[:own]), *begin.argv[own:])
        argv = tuple(map(self._plain, filled))
        env = {
            key: value if self._given.get(key) == value else self._plain(_filled(value, names))
            for key, value in begin.env.items()
        }
        if begin.home is Home.INSIDE:
            return self._spawn_program(argv, begin.cwd, env, stdin, fds)
        return Process.spawn(
            argv, cwd=begin.cwd, env=env, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, pass_fds=fds
        )

    def _spawn_program(
        self,
        argv: tuple[str, ...],
        cwd: str,
        env: Mapping[str, str],
        stdin: str | None,
        fds: tuple[int, ...] = (),
    ) -> Process:
        program = spawn_program(argv, cwd=cwd, env=env, stdin=stdin, tty=self._tty, pass_fds=fds)
        pipes = Pipes(self._on_text, self._on_silent)
        pipes.adopt(program)
        self.streams = pipes
        return program.process

    def fill(self, command: str) -> str:
        """Put the names of the program's files into a command."""
        files = self.streams.files if isinstance(self.streams, Streams) else {}
        if "{socket}" in command:
            self._folder = self._folder or tempfile.mkdtemp(prefix="freezeframe-")
            files = {**files, "socket": os.path.join(self._folder, "socket")}
        return self._plain(_filled(command, files))

    def guarded(self, target: Target) -> Target:
        """Return a target to spell commands of: no name of ours is found in what is the user's.

        What is made of it is itself again once names have been put in.
        """
        if not isinstance(target, Launch):
            return target
        args = tuple(word.replace("{", self._guard) for word in target.args)
        return replace(target, args=args)

    def _plain(self, text: str) -> str:
        return text.replace(self._guard, "{")

    def started(self) -> None:
        """The program has opened its files."""
        if isinstance(self.streams, Streams):
            self.streams.started()

    def close(self) -> None:
        """Let go of the line's terminal and the program's process. The streams stay."""
        if self._terminal is not None:
            self._terminal.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        for process in (self.program, self.process):
            if process is not None:
                process.close()


def _filled(text: str, names: Mapping[str, str]) -> str:
    """Put names into `{…}`; any other brace stays as it is."""
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return text
