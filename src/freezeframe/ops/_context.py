"""The context of an operation: the caller, the session and the daemon."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from freezeframe.config import Config
from freezeframe.errors import NoSession
from freezeframe.history.archive import Archive
from freezeframe.model.answers import Chunk, Output
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.session.control import SessionOwner
from freezeframe.session.registry import SessionRegistry, Workspace
from freezeframe.session.session import Session

#: added to the caller's time limit, to inspect a stop that happened within it
MARGIN_S = 3.0


@dataclass(frozen=True, slots=True)
class Caller:
    """The client's side of a request."""

    cwd: str
    env: Mapping[str, str]
    #: stdout is a terminal; its width
    terminal: bool = False
    width: int = 0
    #: reads the caller's standard input to its end; None for callers without one
    read_stdin: Callable[[], Awaitable[bytes]] | None = None
    #: finds the file that the caller's standard input was redirected from (`dbg start x < file`)
    redirected_input: Callable[[], str | None] = lambda: None
    #: `time.monotonic()` of the caller's deadline; waits end before it
    until: float | None = None
    #: default time limit of a wait in seconds; None: the configured one
    wait_s: float | None = None
    #: the person or editor that the request is of; None: an agent
    owner: SessionOwner | None = None
    #: somebody who looks on: what the answer shows stays new for the next caller
    peeks: bool = False


class DaemonControl(Protocol):
    """The daemon, as operations see it."""

    pid: int
    version: str
    started: float  # time.monotonic()
    log_path: str
    config_path: str

    def take_notes(self) -> tuple[str, ...]:
        """Return unreported notices, such as sessions that an earlier daemon lost."""

    def request_exit(self) -> None:
        """Exit after the current answer, ending all sessions."""

    def release(self, pid: int) -> None:
        """Let a program and its children outlive the daemon."""


@dataclass(slots=True)
class Context:
    """Handed to every operation as `ctx`."""

    hub: SessionRegistry
    daemon: DaemonControl
    config: Config
    caller: Caller
    workspace: Workspace
    history: Archive
    #: the command as it was typed
    typed: str = ""
    #: name given by --session or DBG_SESSION
    session_name: str | None = None
    #: the session of the operation, if it needs one
    found: Session | None = None
    #: shows a piece of an answer before the operation ends (`output --follow`)
    emit: Callable[[Chunk], Awaitable[None]] | None = None
    #: reports the progress of a long operation; not part of the answer
    progress: Callable[[str], Awaitable[None]] | None = None

    @property
    def session(self) -> Session:
        """The session of the operation. Raises NoSession."""
        if self.found is None:
            raise NoSession("this operation has no session.", next="dbg sessions")
        return self.found

    def take_output(self, session: Session, limit: int) -> Output:
        """Return the output of a root session that was not shown yet, and count it as shown."""
        ring = session.output
        return ring.read(ring.seen, limit=limit) if self.caller.peeks else ring.take_new(limit)

    async def announce(self, text: str) -> None:
        """Tell a person at a terminal what a long operation does now, in one line."""
        if self.progress is not None and self.caller.terminal:
            await self.progress(f"{text}\n")
