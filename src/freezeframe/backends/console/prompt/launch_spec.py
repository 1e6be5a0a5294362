"""How a debugger is started: its command, its control transport, and where the program runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from freezeframe.backends.transport.streams import Stream


class ControlTransport(Enum):
    """How commands reach the debugger."""

    #: the debugger's standard input and output
    STDIO = "stdio"
    #: two pipes; `{read}` and `{write}` in its arguments are their descriptors, `{cut}` is a file
    #: that it creates where the program has closed them and a stop cannot be reported
    PIPES = "pipes"
    #: a terminal of its own; `{terminal}` in its arguments and environment is its name
    TERMINAL = "terminal"
    #: the debugger connects to our port; `{host}` and `{port}` in its arguments
    CALL = "call"


class DebuggeeHost(Enum):
    """Where the program runs, which decides what its standard streams are."""

    #: in the debugger's process, whose standard streams are the program's
    INSIDE = "inside"
    #: in a process that the debugger starts; `{stdin}`, `{stdout}` and `{stderr}` in a `run`
    #: command or a setting are files for it to open, `{socket}` is a name for a private socket
    LAUNCHED = "launched"
    #: in a process that we start (`LaunchSpec.program`) before the debugger, which attaches
    BESIDE = "beside"
    #: in a process that existed before, or in none (a core file)
    APART = "apart"
    #: in the debugger's process, which uses the same streams for its commands
    SHARED = "shared"
    #: in the debugger's process, whose streams are not the program's; the program opens the files
    FILES = "files"


class Connections(Stream, Protocol):
    """A stream over all connections of a debugger that connects again and again."""

    async def listen(self) -> tuple[str, int]:
        """Start to listen; return host and port."""


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """How a debugger is started on a target."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    line: ControlTransport = ControlTransport.STDIO
    home: DebuggeeHost = DebuggeeHost.LAUNCHED
    #: the program's command, if it runs in a process beside the debugger's
    program: tuple[str, ...] = ()
    program_env: Mapping[str, str] = field(default_factory=dict)
    #: commands that prepare the debugger; their answers are ignored
    settings: tuple[str, ...] = ()
    #: the stream that accepts the connections, if the debugger connects more than once
    connections: Connections | None = None
    #: how many arguments are the debugger's, and may contain placeholders; None: all
    own: int | None = None
