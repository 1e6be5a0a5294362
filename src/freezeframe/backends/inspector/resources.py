"""The resources of a launched program: its process, its pipes, the socket its children connect to.

Shared by the backends of a program and of its children; the last one to release them closes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from freezeframe.backends.backend import Launch
from freezeframe.backends.program_io import ProgramIO
from freezeframe.backends.transport.process import Process
from freezeframe.backends.transport.program import spawn_program
from freezeframe.backends.transport.refcounted import RefCounted
from freezeframe.backends.transport.unix import UnixListener

from . import agent_sessions
from .agent_sessions import WaitingProcess

_LISTENING = "Debugger listening on "
_HELP = "For help, see: "
_ATTACHED = "Debugger attached.\n"
_WAITING = "Waiting for the debugger to disconnect...\n"


class InspectorBannerFilter:
    """Remove the runtime's messages about its debugger from a program's standard error.

    Only as many as are expected: a program that prints the same text itself keeps it.
    """

    def __init__(self, on_text: Callable[[str], None], on_url: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._on_url = on_url
        self._held = ""
        #: the beginnings of expected lines; a whole line when it ends with a line break
        self._expected = [_LISTENING, _HELP]

    def expect_attached(self) -> None:
        """Expect the messages of a connection of ours, at its start and at its end."""
        self._expected += [_ATTACHED, _WAITING]

    def feed(self, text: str) -> None:
        text, self._held = self._held + text, ""
        while text:
            found = self._first(text)
            if found is None:
                break
            start, banner = found
            end = text.find("\n", start)
            if start:
                self._on_text(text[:start])
            if end < 0:
                self._held = text[start:]
                return
            self._expected.remove(banner)
            if banner == _LISTENING:
                self._on_url(text[start + len(banner) : end])
            text = text[end + 1 :]
        if not text:
            return
        keep = self._beginning(text)
        if keep < len(text):
            self._on_text(text[: len(text) - keep] if keep else text)
        self._held = text[len(text) - keep :] if keep else ""

    def _first(self, text: str) -> tuple[int, str] | None:
        found = [(text.find(banner), banner) for banner in set(self._expected)]
        return min(((at, banner) for at, banner in found if at >= 0), default=None)

    def _beginning(self, text: str) -> int:
        """Return how many characters at the end of *text* may be the beginning of an expected
        line."""
        longest = 0
        for banner in set(self._expected):
            for size in range(min(len(banner) - 1, len(text)), longest, -1):
                if text.endswith(banner[:size]):
                    longest = size
                    break
        return longest

    def flush(self) -> None:
        held, self._held = self._held, ""
        if held:
            self._on_text(held)


class NodeProgramIO(ProgramIO):
    """The streams of a program, without the runtime's messages about its debugger."""

    def __init__(self) -> None:
        super().__init__(lambda stream, text: None)
        self.on_url: Callable[[str], None] = lambda url: None
        self.banner_filter = InspectorBannerFilter(
            # A terminal does not distinguish the two streams.
            lambda text: self.deliver("stdout" if self.is_terminal else "stderr", text),
            lambda url: self.on_url(url),
        )

    def on_received(self, stream: str, text: str) -> None:
        if stream == "stderr" or self.is_terminal:
            self.banner_filter.feed(text)
        else:
            self.deliver(stream, text)

    def drain(self) -> None:
        super().drain()
        self.banner_filter.flush()


class NodeResources(RefCounted):
    """Resources of one session tree."""

    def __init__(self) -> None:
        super().__init__()
        self.process: Process | None = None
        self.io = NodeProgramIO()
        self.on_call: Callable[[WaitingProcess], None] = lambda call: call.socket.close()
        self._listener: UnixListener | None = None

    # --- the process

    def spawn(self, argv: Sequence[str], target: Launch, env: Mapping[str, str]) -> Process:
        """Start the program. Raises LaunchFailed."""
        program = spawn_program(argv, cwd=target.cwd, env=env, stdin=target.stdin, tty=target.tty)
        self.io.adopt(program)
        self.process = program.process
        return program.process

    # --- children

    async def listen(self) -> str:
        """Return the path of a socket that children connect to."""
        if self._listener is None:
            self._listener = await agent_sessions.listen(lambda caller: self.on_call(caller))
        return self._listener.path

    @property
    def socket_path(self) -> str | None:
        """The path of the socket that children connect to, if there is one."""
        return self._listener.path if self._listener is not None else None

    # --- closing

    @property
    def has_detached_output(self) -> bool:
        """Whether a detached program still writes into our pipes."""
        return not self._closed and self.process is not None and self.process.returncode is None

    def _close(self) -> None:
        """Close everything but the process, which the caller ends."""
        self.io.close()
        if self._listener is not None:
            self._listener.close()
        if self.process is not None:
            self.process.close()


_URL = re.compile(r"ws://(\[[^\]]+\]|[^:/\s]+):(\d+)(/\S*)")


def read_url(url: str) -> tuple[str, int, str] | None:
    """Return the host, port and path of an inspector's URL."""
    match = _URL.search(url)
    return (match[1].strip("[]"), int(match[2]), match[3]) if match else None
