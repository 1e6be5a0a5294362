"""How a debug adapter is started and connected to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from freezeframe.backends.debugger import Found
from freezeframe.config import AdapterConfig
from freezeframe.model.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Stdio:
    """The spawned process speaks DAP on its standard input and output."""


@dataclass(frozen=True, slots=True)
class Listen:
    """Freezeframe listens; the spawned process connects. Later connections are child processes."""


@dataclass(frozen=True, slots=True)
class Connect:
    """The adapter listens at a host and port, already or once started."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ConnectUnix:
    """The adapter listens on a Unix socket, already or once started."""

    path: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where Freezeframe listens for a reverse connection, and the secret that authenticates the
    peer."""

    host: str
    port: int
    token: str
    #: a file with the token that only its owner can read; command lines are visible to other users
    token_file: str


@dataclass(frozen=True, slots=True)
class Spawn:
    """A process to start.

    Role `program`: the process is the debuggee, so its standard streams and its exit status are the
    program's. Role `adapter`: its stderr is diagnostics. Role `host`: the process starts the
    program, which inherits its standard streams. Role `injector`: the process loads the debugger
    into a running process and exits.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    role: Literal["program", "adapter", "host", "injector"] = "adapter"
    #: standard input of an injector: a secret that must not appear in its argv
    input: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything needed to launch or attach to one program."""

    stream: Stdio | Listen | Connect | ConnectUnix
    request: Literal["launch", "attach"]
    arguments: dict[str, Any]
    spawn: Spawn | None = None
    interpreter: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchEnvironment:
    """The inputs of a launch plan."""

    found: Found
    config: AdapterConfig
    endpoint: Endpoint | None
    #: the session's private directory, for FIFOs and other files
    directory: str
    #: paths to connect the program's standard input, output and error to
    stdio: tuple[str, str, str] | None = None
    #: a free local port, for adapters that must be given a port to listen at
    port: int = 0
    #: a terminal that starts the program in its own session, where its children are followed
    terminal: str | None = None


@dataclass(frozen=True, slots=True)
class ChildAttachInfo:
    """A child process announced by an event or reverse request: how to attach to it."""

    arguments: dict[str, Any]
    request: Literal["launch", "attach"] = "attach"
    host: str | None = None
    port: int | None = None
    pid: int | None = None
    name: str | None = None
    #: the child was forked, stays stopped until attached, and writes to its parent's streams
    forked: bool = False
