"""The daemon as the rest of the program sees it: who it is, what an earlier one lost, its end."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass

from freezeframe import __version__
from freezeframe.daemon.supervisor import Watch

logger = logging.getLogger(__name__)

STATE = "sessions.json"


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """What is worth telling of a session that was lost."""

    name: str
    program: str
    workspace: str = ""
    pid: int | None = None
    #: where it stood, `app.py:12 in main`; empty while it ran
    place: str = ""


class DaemonHouse:
    """Satisfies `ops.House`, and carries what sessions must tell the supervisor.

    `on_exit` is called by `request_exit`; the server puts itself there.
    """

    def __init__(
        self,
        directory: str,
        *,
        log_path: str = "",
        config_path: str = "",
        watch: Watch | None = None,
    ) -> None:
        self.pid = os.getpid()
        self.version = __version__
        self.started = time.monotonic()
        self.log_path = log_path
        self.config_path = config_path
        self.on_exit: Callable[[], None] = lambda: None
        self._state_path = os.path.join(directory, STATE)
        self._watch = watch
        self._keeps_record = False
        self._notes = self._read_losses()

    def take_notes(self) -> tuple[str, ...]:
        """Notices not told yet, each a sentence; a second call returns nothing."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def add_note(self, note: str) -> None:
        self._notes.append(note)

    def request_exit(self) -> None:
        """Leave after the current answer, ending all sessions."""
        self.on_exit()

    # --- what an unexpected end would cost ---

    def record(self, sessions: Iterable[SessionRecord]) -> None:
        """Remember on disk that these sessions live, so that their loss can be told."""
        if self._keeps_record:
            return
        records = [asdict(session) for session in sessions]
        if not records:
            self.forget()
            return
        content = json.dumps({"pid": self.pid, "version": self.version, "sessions": records})
        draft = f"{self._state_path}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        try:
            with os.fdopen(os.open(draft, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(content)
            os.replace(draft, self._state_path)
        except OSError as error:
            # A full disk costs a later note, not the sessions.
            logger.warning("%s cannot be written: %s", self._state_path, error.strerror)
            with suppress(OSError):
                os.unlink(draft)

    def forget(self) -> None:
        """Nothing would be lost now."""
        if self._keeps_record:
            return
        with suppress(FileNotFoundError):
            os.unlink(self._state_path)

    def expect_loss(self) -> None:
        """Leave the record as it is: nobody asked for the end that is coming."""
        self._keeps_record = True

    def _read_losses(self) -> list[str]:
        try:
            with open(self._state_path, encoding="utf-8") as file:
                left = json.load(file)
            sessions = [SessionRecord(**record) for record in left["sessions"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError):
            self.forget()
            return ["the daemon ended unexpectedly, and its list of sessions cannot be read."]
        self.forget()
        return [
            f"the daemon ended unexpectedly; {_lost(session)} was lost." for session in sessions
        ]

    # --- what must outlive the daemon, and what must not ---

    def release(self, pid: int) -> None:
        """Let the program *pid* and its subtree live on when the daemon ends."""
        if self._watch:
            self._watch.release(pid)

    def track(self, pgid: int) -> None:
        """End the process group *pgid* with the daemon, however that ends."""
        if self._watch:
            self._watch.track(pgid)

    def untrack(self, pgid: int) -> None:
        if self._watch:
            self._watch.untrack(pgid)


def _lost(session: SessionRecord) -> str:
    facts = [f"pid {session.pid}"] if session.pid else []
    facts.append(session.program)
    if session.place:
        facts.append(f"at {session.place}")
    return f"session {session.name} ({', '.join(facts)})"
