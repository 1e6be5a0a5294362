"""What surrounds an operation: who asked, from where, and the house it happens in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from freezeframe.config import Config
from freezeframe.errors import NoSession
from freezeframe.history.archive import Archive
from freezeframe.model.answers import Chunk
from freezeframe.session.hub import Hub, Workspace
from freezeframe.session.session import Session

#: beyond the caller's time limit, for a stop that came within it to be looked at
MARGIN_S = 3.0


@dataclass(frozen=True, slots=True)
class Caller:
    """The client's side of a request."""

    cwd: str
    env: Mapping[str, str]
    #: stdout is a terminal that wants colour; its width
    terminal: bool = False
    width: int = 0
    #: reads the caller's standard input to its end; None for callers that have none
    read_stdin: Callable[[], Awaitable[bytes]] | None = None
    #: `time.monotonic()` when this caller has no patience left; waits end before it
    until: float | None = None
    #: seconds that a wait lasts that names no time of its own; None: as the settings say
    wait_s: float | None = None


class House(Protocol):
    """The daemon, as operations see it."""

    pid: int
    version: str
    started: float  # time.monotonic()
    log_path: str
    config_path: str

    def take_notes(self) -> tuple[str, ...]:
        """Notices not told yet: what an earlier daemon lost."""

    def request_exit(self) -> None:
        """Leave after the current answer, ending all sessions."""

    def release(self, pid: int) -> None:
        """Let a program and its children outlive the daemon."""


@dataclass(slots=True)
class Context:
    """Handed to every operation as `ctx`."""

    hub: Hub
    house: House
    config: Config
    caller: Caller
    workspace: Workspace
    history: Archive
    #: the command as it was typed
    typed: str = ""
    #: name given by --session or DBG_SESSION
    session_name: str | None = None
    #: the session spoken to, where the operation needs one
    found: Session | None = None
    #: shows a piece of an answer before the operation ends (`output --follow`)
    emit: Callable[[Chunk], Awaitable[None]] | None = None
    #: tells a person how far a long operation is; no part of the answer
    progress: Callable[[str], Awaitable[None]] | None = None

    @property
    def session(self) -> Session:
        """The session that the operation speaks to. Raises NoSession."""
        if self.found is None:
            raise NoSession("this operation speaks to no session.", next="dbg sessions")
        return self.found
