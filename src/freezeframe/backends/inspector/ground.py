"""What a launched program stands on: its process, its pipes, the socket its children connect to.

Shared by the backend of a program and those of its children; the last one to go lets go of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from freezeframe.backends.backend import Launch
from freezeframe.backends.transport.drain import Drain, Tail
from freezeframe.backends.transport.feeder import Feeder
from freezeframe.backends.transport.held import Held
from freezeframe.backends.transport.process import Process
from freezeframe.backends.transport.program import spawn_program
from freezeframe.backends.transport.unix import UnixListener

from . import agent
from .agent import Caller

_LISTENING = "Debugger listening on "
_HELP = "For help, see: "
_ATTACHED = "Debugger attached.\n"
_WAITING = "Waiting for the debugger to disconnect...\n"


class Hush:
    """Takes out of a program's standard error what the runtime says there about its debugger.

    Only as much as is expected: a program that prints the same words by itself keeps them.
    """

    def __init__(self, on_text: Callable[[str], None], on_url: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._on_url = on_url
        self._held = ""
        #: what is still to come: the beginning of a line, whole when it ends with a line break
        self._expected = [_LISTENING, _HELP]

    def expect_attached(self) -> None:
        """Somebody of ours connects: it will be said, at the end too."""
        self._expected += [_ATTACHED, _WAITING]

    def feed(self, text: str) -> None:
        text, self._held = self._held + text, ""
        while text:
            found = self._first(text)
            if found is None:
                break
            start, words = found
            end = text.find("\n", start)
            if start:
                self._on_text(text[:start])
            if end < 0:
                self._held = text[start:]
                return
            self._expected.remove(words)
            if words == _LISTENING:
                self._on_url(text[start + len(words) : end])
            text = text[end + 1 :]
        if not text:
            return
        keep = self._beginning(text)
        if keep < len(text):
            self._on_text(text[: len(text) - keep] if keep else text)
        self._held = text[len(text) - keep :] if keep else ""

    def _first(self, text: str) -> tuple[int, str] | None:
        found = [(text.find(words), words) for words in set(self._expected)]
        return min(((at, words) for at, words in found if at >= 0), default=None)

    def _beginning(self, text: str) -> int:
        """Return how many characters at the end may be the beginning of something expected."""
        longest = 0
        for words in set(self._expected):
            for size in range(min(len(words) - 1, len(text)), longest, -1):
                if text.endswith(words[:size]):
                    longest = size
                    break
        return longest

    def flush(self) -> None:
        held, self._held = self._held, ""
        if held:
            self._on_text(held)


class Ground(Held):
    """Resources of one session tree."""

    def __init__(self) -> None:
        super().__init__()
        self.process: Process | None = None
        self.stdin: Feeder | None = None
        #: the end of what the program wrote to its standard error
        self.words = Tail()
        self.on_text: Callable[[str, str], None] = lambda stream, text: None
        self.on_url: Callable[[str], None] = lambda url: None
        self.on_call: Callable[[Caller], None] = lambda call: call.socket.close()
        self.hush = Hush(self._stderr, lambda url: self.on_url(url))
        self._listener: UnixListener | None = None
        self._drains: list[Drain] = []
        self._tty = False

    # --- the process

    def spawn(self, argv: Sequence[str], target: Launch, env: Mapping[str, str]) -> Process:
        """Start the program. Raises LaunchFailed."""
        self._tty = target.tty
        program = spawn_program(argv, cwd=target.cwd, env=env, stdin=target.stdin, tty=target.tty)
        self.stdin = program.stdin
        for fd, stream in program.outputs:
            if stream == "stderr" or target.tty:
                self._read(fd, self.hush.feed, self.hush.flush)
            else:
                self._read(fd, lambda text: self.on_text("stdout", text))
        process = program.process
        self.process = process
        return process

    def _read(
        self, fd: int, on_text: Callable[[str], None], on_end: Callable[[], None] | None = None
    ) -> None:
        drain = Drain(fd, on_text, on_end)
        self._drains.append(drain)
        drain.start()

    def _stderr(self, text: str) -> None:
        self.words.feed(text)
        # A terminal does not tell the two apart.
        self.on_text("stdout" if self._tty else "stderr", text)

    # --- children

    async def listen(self) -> str:
        """Return the path of a socket that children connect to."""
        if self._listener is None:
            self._listener = await agent.listen(lambda caller: self.on_call(caller))
        return self._listener.path

    @property
    def line(self) -> str | None:
        """The path of that socket, where there is one."""
        return self._listener.path if self._listener is not None else None

    # --- life

    def drain(self) -> None:
        """Report what has been written before this call."""
        for drain in self._drains:
            drain.drain_now()
        self.hush.flush()

    @property
    def lingering(self) -> bool:
        """A program that was left to itself still writes into our pipes."""
        return not self._closed and self.process is not None and self.process.returncode is None

    def _close(self) -> None:
        """Close everything but the process, which is the caller's to end."""
        self.drain()
        for drain in self._drains:
            drain.close()
        if self._listener is not None:
            self._listener.close()
        if self.stdin is not None:
            self.stdin.close()
        if self.process is not None:
            self.process.close()


_URL = re.compile(r"ws://(\[[^\]]+\]|[^:/\s]+):(\d+)(/\S*)")


def read_url(url: str) -> tuple[str, int, str] | None:
    """Return host, port and path of where an inspector is."""
    match = _URL.search(url)
    return (match[1].strip("[]"), int(match[2]), match[3]) if match else None
