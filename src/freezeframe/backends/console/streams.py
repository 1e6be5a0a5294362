"""The standard streams of a program: pipes of a process of ours, or FIFOs for a debugger to open.

The debugger's own words stay out of them, stdout and stderr are told apart, input can be ended.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable

from freezeframe import files
from freezeframe.backends.transport.drain import Drain, Tail
from freezeframe.backends.transport.feeder import Feeder
from freezeframe.backends.transport.held import Held
from freezeframe.backends.transport.program import SpawnedProgram
from freezeframe.backends.transport.pty import Terminal
from freezeframe.errors import LaunchFailed

_NAMES = ("stdin", "stdout", "stderr")


class ProgramStreams(Held):
    """What a program writes, told as it comes, and a way to its input."""

    def __init__(
        self, on_text: Callable[[str, str], None], on_end: Callable[[], None] = lambda: None
    ) -> None:
        """*on_end* is called when nobody writes any more."""
        super().__init__()
        #: the end of what the program wrote to its standard error
        self.words = Tail()
        self.feeder: Feeder | None = None
        self._on_text = on_text
        self._on_end = on_end
        self._drains: list[Drain] = []

    def _show(self, fd: int, stream: str) -> None:
        drain = Drain(fd, lambda text: self._text(stream, text), self._one_ended)
        self._drains.append(drain)
        drain.start()

    def _text(self, stream: str, text: str) -> None:
        if stream == "stderr":
            self.words.feed(text)
        self._on_text(stream, text)

    def _one_ended(self) -> None:
        if self.ended and not self._closed:
            self._on_end()

    def drain(self) -> None:
        """Report what has been written before this call."""
        for drain in self._drains:
            drain.drain_now()

    async def wait_end(self, timeout_s: float) -> None:
        """Wait until nobody writes any more, or *timeout_s*: children may hold them open."""
        for drain in self._drains:
            await drain.wait_end(timeout_s)

    @property
    def ended(self) -> bool:
        """Nobody writes any more."""
        return self._closed or all(drain.ended for drain in self._drains)

    def _close(self) -> None:
        self.drain()
        for drain in self._drains:
            drain.close()
        if self.feeder is not None:
            self.feeder.close()


class Pipes(ProgramStreams):
    """The pipes of a process that was spawned with one for each standard stream."""

    def adopt(self, program: SpawnedProgram) -> None:
        """Take the program's streams over; standard input may be a file instead."""
        for fd, stream in program.outputs:
            self._show(fd, stream)
        self.feeder = program.stdin


class Streams(ProgramStreams):
    """FIFOs in a directory of their own (mode 0700), and a terminal.

    The terminal gives the program a session of its own, so that what it sends to its process
    group does not reach its debugger. Until `started` we keep the far ends open too, so that
    neither the program's opening blocks nor its not having come yet looks like an end.
    """

    def __init__(
        self,
        on_text: Callable[[str, str], None],
        stdin: str | None,
        on_end: Callable[[], None] = lambda: None,
        *,
        tty: bool = False,
    ) -> None:
        """*stdin* is a file to read from; *on_end* is called when nobody writes any more.

        With *tty* the terminal is the program's standard streams too.

        Raises LaunchFailed where the file cannot be read.
        """
        super().__init__(on_text, on_end)
        if stdin is not None:
            check_readable(stdin)
        self.directory = tempfile.mkdtemp(prefix="freezeframe-")
        self.terminal = Terminal(echo=False, lines=tty)
        self._stdin = stdin
        self._tty = tty
        self._held: list[int] = []
        if tty:
            self._show(self.terminal.take_ours(), "stdout")
            self.feeder = self.terminal.feeder() if stdin is None else None
            return
        for name in _NAMES if stdin is None else _NAMES[1:]:
            os.mkfifo(self._path(name), 0o600)
        for name in _NAMES[1:]:
            read = os.open(self._path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._held.append(os.open(self._path(name), os.O_WRONLY | os.O_CLOEXEC))
            self._show(read, name)
        if stdin is None:
            self._held.append(
                os.open(self._path("stdin"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            )
            self.feeder = Feeder(os.open(self._path("stdin"), os.O_WRONLY | os.O_CLOEXEC))

    def _path(self, name: str) -> str:
        return self.terminal.name if self._tty else os.path.join(self.directory, name)

    @property
    def files(self) -> dict[str, str]:
        """The file behind each standard stream, for a debugger that opens them."""
        files = {name: self._path(name) for name in _NAMES}
        return files if self._stdin is None else {**files, "stdin": self._stdin}

    @property
    def redirections(self) -> str:
        """What stands behind a command in a shell to connect it."""
        source = self._stdin or self._path("stdin")
        return (
            f"<{shlex.quote(source)} >{shlex.quote(self._path('stdout'))} "
            f"2>{shlex.quote(self._path('stderr'))}"
        )

    def started(self) -> None:
        """The program has opened them: from now on an end is an end, and no name is needed."""
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


def check_readable(path: str) -> None:
    """Raise LaunchFailed where a file that is to be a program's input cannot be read."""
    try:
        os.close(files.open_input(path))
    except OSError as error:
        raise LaunchFailed(f"{path} cannot be read: {error.strerror}.") from None
