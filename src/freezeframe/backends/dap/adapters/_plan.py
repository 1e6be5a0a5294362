"""How a debug adapter is started and reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from freezeframe.backends.debugger import Found
from freezeframe.config import AdapterConfig
from freezeframe.model.records import dataclass


@dataclass(frozen=True, slots=True)
class Stdio:
    """The spawned process speaks DAP on its standard input and output."""


@dataclass(frozen=True, slots=True)
class Reverse:
    """We listen; the spawned process connects. Later connections are child processes."""


@dataclass(frozen=True, slots=True)
class Dial:
    """It listens already, or will when it has started."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Socket:
    """It listens at a path, or will when it has started."""

    path: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where we listen for a reverse connection, and the secret that proves a caller is ours."""

    host: str
    port: int
    token: str
    #: holds the token, for its owner alone; other users can read command lines, and not this
    token_file: str


@dataclass(frozen=True, slots=True)
class Spawn:
    """A process to start. Role `program`: it *is* the debuggee, so its standard streams are the
    program's and its exit status is the program's. Role `adapter`: its stderr is diagnostics.
    Role `host`: it starts the program and hands its own standard streams on to it.
    Role `injector`: it brings the debugger into a running process and ends.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    role: Literal["program", "adapter", "host", "injector"] = "adapter"
    #: what an injector reads from its standard input: a secret that must not stand in its argv
    input: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything needed to start or join one program."""

    stream: Stdio | Reverse | Dial | Socket
    request: Literal["launch", "attach"]
    arguments: dict[str, Any]
    spawn: Spawn | None = None
    interpreter: str | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a plan is made from."""

    found: Found
    config: AdapterConfig
    endpoint: Endpoint | None
    #: a private directory of this session, for FIFOs and the like
    directory: str
    #: paths that the program's standard input, output and error are to be connected to
    stdio: tuple[str, str, str] | None = None
    #: a free port of this machine, for one that must be told where to listen
    port: int = 0
    #: a terminal that gives the program a session of its own, where its children are followed
    terminal: str | None = None
