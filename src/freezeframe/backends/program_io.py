"""The standard streams of a program: what it writes, as it arrives, and a writer for its input.

They carry nothing of the debugger's output, keep stdout and stderr apart (a terminal is one
stream), and input can be closed. `ProgramIO` reads descriptors of a program that we spawned;
`NamedProgramIO` has a name in the file system for each stream, for a debugger that opens them.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from collections.abc import Callable

from freezeframe import files, paths
from freezeframe.errors import LaunchFailed, NotRunning, Unsupported

from .transport.fd_reader import Tail, TextReader
from .transport.fd_writer import StdinWriter
from .transport.program import SpawnedProgram
from .transport.pty import Terminal
from .transport.refcounted import RefCounted

OnText = Callable[[str, str], None]

_NAMES = ("stdin", "stdout", "stderr")


class ProgramIO(RefCounted):
    """The streams of one program and of the children that inherit them.

    Every process that writes into them holds a reference: a child may keep printing after its
    parent has ended.
    """

    def __init__(self, on_text: OnText, on_end: Callable[[], None] = lambda: None) -> None:
        """*on_text* gets the name of a stream and its text; *on_end* is called when every writer
        has closed the streams.
        """
        super().__init__()
        #: the writer of the program's standard input; None where it is a file, or not ours
        self.stdin: StdinWriter | None = None
        #: the end of what the program wrote to its standard error, or to its terminal
        self.stderr_tail = Tail()
        self.on_text = on_text
        self._on_end = on_end
        self._readers: list[TextReader] = []
        #: the streams are one terminal
        self.is_terminal = False

    def adopt(self, program: SpawnedProgram) -> None:
        """Read the streams of a program that was spawned, and write to its input."""
        self.is_terminal = len(program.outputs) == 1
        if program.stdin is not None:
            self.stdin = program.stdin
        for fd, stream in program.outputs:
            self.read(fd, stream)

    def read(self, fd: int, stream: str) -> None:
        """Deliver what arrives on a descriptor, which is closed with the others."""
        self.read_with(TextReader(fd, lambda text: self.on_received(stream, text), self._one_ended))

    def read_with(self, reader: TextReader) -> None:
        """Start a reader, and drain and close it with the others."""
        self._readers.append(reader)
        reader.start()

    def on_received(self, stream: str, text: str) -> None:
        """Handle text as it was read."""
        self.deliver(stream, text)

    def deliver(self, stream: str, text: str) -> None:
        """Report text of the program."""
        if stream == "stderr" or self.is_terminal:
            self.stderr_tail.feed(text)
        self.on_text(stream, text)

    def _one_ended(self) -> None:
        if self.ended and not self._closed:
            self._on_end()

    def drain(self) -> None:
        """Report what was written before this call."""
        for reader in self._readers:
            reader.drain_now()

    async def wait_end(self, timeout_s: float) -> None:
        """Wait until all writers are gone, at most *timeout_s* for each stream: children may hold
        the streams open.
        """
        for reader in self._readers:
            await reader.wait_end(timeout_s)

    @property
    def ended(self) -> bool:
        """Whether every writer has closed the streams."""
        return self._closed or all(reader.ended for reader in self._readers)

    def _close(self) -> None:
        self.drain()
        for reader in self._readers:
            reader.close()
        if self.stdin is not None:
            self.stdin.close()


class NamedProgramIO(ProgramIO):
    """FIFOs in a private directory, and a terminal.

    The terminal gives the program a session of its own, so that what it sends to its process
    group does not reach its debugger. Until `started` we keep the program's ends open too, so that
    the program's open does not block and a program that has not opened them yet is not an EOF.
    """

    def __init__(
        self,
        on_text: OnText,
        stdin: str | None,
        on_end: Callable[[], None] = lambda: None,
        *,
        tty: bool = False,
    ) -> None:
        """*stdin* is a file to read from. With *tty* the terminal is the program's standard
        streams too.

        Raises LaunchFailed where the file cannot be read.
        """
        super().__init__(on_text, on_end)
        if stdin is not None:
            check_readable(stdin)
        self.directory = paths.scratch()
        self.terminal = Terminal(echo=False, lines=tty)
        self._stdin_file = stdin
        self.is_terminal = tty
        self._held: list[int] = []
        if tty:
            self.read(self.terminal.dup_controller(), "stdout")
            self.stdin = self.terminal.feeder() if stdin is None else None
            return
        for name in _NAMES if stdin is None else _NAMES[1:]:
            os.mkfifo(self._path(name), 0o600)
        for name in _NAMES[1:]:
            read_end = os.open(self._path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._held.append(os.open(self._path(name), os.O_WRONLY | os.O_CLOEXEC))
            self.read(read_end, name)
        if stdin is None:
            self._held.append(
                os.open(self._path("stdin"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            )
            self.stdin = StdinWriter(os.open(self._path("stdin"), os.O_WRONLY | os.O_CLOEXEC))

    def _path(self, name: str) -> str:
        return self.terminal.name if self.is_terminal else os.path.join(self.directory, name)

    @property
    def files(self) -> dict[str, str]:
        """The file behind each standard stream, for a debugger that opens them."""
        files = {name: self._path(name) for name in _NAMES}
        return files if self._stdin_file is None else {**files, "stdin": self._stdin_file}

    @property
    def redirections(self) -> str:
        """The shell redirections that connect a command to the streams."""
        stdin, stdout, stderr = (shlex.quote(self.files[name]) for name in _NAMES)
        return f"<{stdin} >{stdout} 2>{stderr}"

    def started(self) -> None:
        """Release the program's ends: the program has opened its own, and needs no names any
        more.
        """
        held, self._held = self._held, []
        for fd in held:
            os.close(fd)
        self.terminal.release_program()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _close(self) -> None:
        """Close our ends and remove the files."""
        self.drain()
        self.started()
        super()._close()
        with contextlib.suppress(OSError):
            self.terminal.close()


def writer_of(io: ProgramIO | None, stdin: str | None) -> StdinWriter:
    """Return the writer of a program's input. Raises when its input is a file, or not ours."""
    if io is not None and io.stdin is not None:
        return io.stdin
    if stdin is not None:
        raise NotRunning(f"the program reads its input from {stdin}.")
    raise Unsupported("the program's input is not ours to write.", next="dbg tool")


def check_readable(path: str) -> None:
    """Raise LaunchFailed where a file that is to be a program's input cannot be read."""
    try:
        os.close(files.open_input(path))
    except OSError as error:
        raise LaunchFailed(f"{path} cannot be read: {error.strerror}.") from None
