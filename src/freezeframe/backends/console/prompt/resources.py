"""The debugger's process, the connection to it, and the program's streams."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace

from freezeframe.backends.backend import Launch, Target
from freezeframe.backends.program_io import NamedProgramIO, OnText, ProgramIO, check_readable
from freezeframe.backends.transport.process import (
    DEVNULL,
    PIPE,
    Process,
    inherited_number,
    pipe,
)
from freezeframe.backends.transport.program import spawn_program
from freezeframe.backends.transport.pty import Terminal
from freezeframe.backends.transport.streams import PairStream, StdioStream, Stream
from freezeframe.backends.transport.tcp import Listener
from freezeframe.errors import DebuggerLost

from .command_set import ControlTransport, DebuggeeHost, LaunchSpec


class ConsoleResources:
    """The processes, streams and files of one session; `close` releases them."""

    def __init__(self, on_text: OnText, on_end: Callable[[], None] = lambda: None) -> None:
        self._on_text = on_text
        self._on_end = on_end
        self.process: Process | None = None
        #: the program's process, if it runs beside the debugger's
        self.program: Process | None = None
        self.io: ProgramIO | None = None
        self._terminal: Terminal | None = None
        #: holds a socket between the debugger and its program, or the file of `{cut}`
        self._directory: str | None = None
        self._guard = "{" + secrets.token_hex(8)
        #: the user's environment: placeholders in it are not filled
        self._user_env: Mapping[str, str] = {}
        self._tty = False

    @property
    def holder(self) -> Process | None:
        """The process that the program runs in, if we started it."""
        return self.program or self.process

    async def open(self, spec: LaunchSpec, target: Target, timeout_s: float) -> Stream:
        """Start the debugger, and the program if it runs beside; return the stream to the debugger.

        Raises LaunchFailed; for a debugger that connects back, DebuggerLost if it exits first, and
        DebuggerTimeout.
        """
        self._user_env = target.env
        self._tty = isinstance(target, Launch) and target.tty
        stdin = target.stdin if isinstance(target, Launch) else None
        if stdin is not None:
            check_readable(stdin)
        if spec.home in (DebuggeeHost.LAUNCHED, DebuggeeHost.FILES):
            self.io = NamedProgramIO(self._on_text, stdin, self._on_end, tty=self._tty)
        if spec.home is DebuggeeHost.BESIDE:
            env = spec.program_env or spec.env
            argv = tuple(map(self._unguarded, spec.program))
            self.program = self._spawn_program(argv, spec.cwd, env, stdin)
        if spec.line is ControlTransport.PIPES:
            return self._over_pipes(spec, stdin)
        if spec.line is ControlTransport.TERMINAL:
            return self._over_terminal(spec, stdin)
        if spec.connections is not None:
            host, port = await spec.connections.listen()
            names = {"host": host, "port": str(port)}
            self.process = self._spawn(spec, names, stdin, ())
            return spec.connections
        if spec.line is ControlTransport.CALL:
            return await self._accept_debugger(spec, stdin, timeout_s)
        self.process = Process.spawn(
            tuple(map(self._unguarded, spec.argv)),
            cwd=spec.cwd,
            env={key: self._unguarded(value) for key, value in spec.env.items()},
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
        return StdioStream(self.process)

    def _over_pipes(self, spec: LaunchSpec, stdin: str | None) -> Stream:
        writer, debugger_in = pipe(reading=False)
        reader, debugger_out = pipe(reading=True)
        names = {
            "read": str(inherited_number(debugger_in)),
            "write": str(inherited_number(debugger_out)),
            "cut": self._path("cut"),
        }
        try:
            self.process = self._spawn(spec, names, stdin, (debugger_in, debugger_out))
        except BaseException:
            os.close(reader)
            os.close(writer)
            raise
        finally:
            os.close(debugger_in)
            os.close(debugger_out)
        return PairStream(reader, writer, self.process.name)

    def _over_terminal(self, spec: LaunchSpec, stdin: str | None) -> Stream:
        # Very wide, so that a debugger does not wrap its lines.
        self._terminal = Terminal(echo=False, columns=10_000, rows=10_000)
        self.process = self._spawn(spec, {"terminal": self._terminal.name}, stdin, ())
        pair = self._terminal.dup_controller(), self._terminal.dup_controller()
        return PairStream(*pair, self.process.name)

    async def _accept_debugger(
        self, spec: LaunchSpec, stdin: str | None, timeout_s: float
    ) -> Stream:
        listener = await Listener.open()
        try:
            names = {"host": listener.host, "port": str(listener.port)}
            process = self.process = self._spawn(spec, names, stdin, ())
            ended = asyncio.ensure_future(process.wait())
            accepting = asyncio.ensure_future(listener.accept(timeout_s=timeout_s))
            try:
                await asyncio.wait((accepting, ended), return_when=asyncio.FIRST_COMPLETED)
                if not accepting.done():
                    raise DebuggerLost(f"{process.name} ended before it could be debugged.")
                return accepting.result()
            finally:
                ended.cancel()
                accepting.cancel()
        finally:
            # A later connection is a child of the program, which runs without a debugger.
            listener.close()

    def _spawn(
        self, spec: LaunchSpec, names: Mapping[str, str], stdin: str | None, fds: tuple[int, ...]
    ) -> Process:
        count = len(spec.argv) if spec.own is None else spec.own
        filled = (*(_filled(arg, names) for arg in spec.argv[:count]), *spec.argv[count:])
        argv = tuple(map(self._unguarded, filled))
        env = {
            key: value
            if self._user_env.get(key) == value
            else self._unguarded(_filled(value, names))
            for key, value in spec.env.items()
        }
        if spec.home is DebuggeeHost.INSIDE:
            return self._spawn_program(argv, spec.cwd, env, stdin, fds)
        return Process.spawn(
            argv, cwd=spec.cwd, env=env, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, pass_fds=fds
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
        self.io = ProgramIO(self._on_text, self._on_end)
        self.io.adopt(program)
        return program.process

    def _path(self, name: str) -> str:
        """Return a path in a directory that only its owner can enter."""
        if self._directory is None:
            self._directory = tempfile.mkdtemp(prefix="freezeframe-")
        return os.path.join(self._directory, name)

    @property
    def is_cut(self) -> bool:
        """Whether the program has closed the debugger's pipes, and a stop was missed then."""
        return self._directory is not None and os.path.exists(self._path("cut"))

    def fill(self, command: str) -> str:
        """Fill the placeholders of the program's files in a command."""
        files = self.io.files if isinstance(self.io, NamedProgramIO) else {}
        if "{socket}" in command:
            files = {**files, "socket": self._path("socket")}
        return self._unguarded(_filled(command, files))

    def guarded(self, target: Target) -> Target:
        """Return *target* with the braces of its arguments escaped, so they are not placeholders.

        Filling placeholders removes the escapes.
        """
        if not isinstance(target, Launch):
            return target
        args = tuple(arg.replace("{", self._guard) for arg in target.args)
        return replace(target, args=args)

    def _unguarded(self, text: str) -> str:
        return text.replace(self._guard, "{")

    def started(self) -> None:
        """The program has opened its files."""
        if isinstance(self.io, NamedProgramIO):
            self.io.started()

    def close(self) -> None:
        """Close the terminal and the process handles. The streams stay open."""
        if self._terminal is not None:
            self._terminal.close()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
        for process in (self.program, self.process):
            if process is not None:
                process.close()


def _filled(text: str, names: Mapping[str, str]) -> str:
    """Fill the placeholders `{name}`; any other brace stays as it is."""
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return text
