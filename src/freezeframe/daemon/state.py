"""The daemon's identity, its pending notices, and its record of live sessions (sessions.json)."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from freezeframe import __version__, files
from freezeframe.daemon.supervisor import SupervisorLink
from freezeframe.model.fast_dataclass import dataclass

logger = logging.getLogger(__name__)

STATE = "sessions.json"
#: debuggees whose signals to the daemon are reported
_MAX_SIGNALLED = 50
_MAX_STATE = 1 << 20


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """What is reported of a session that was lost."""

    name: str
    program: str
    workspace: str = ""
    pid: int | None = None
    #: where the program was stopped, `app.py:12 in main`; empty while it ran
    place: str = ""


class DaemonState:
    """Implements `ops.DaemonControl`, and passes requests of sessions to the supervisor.

    `request_exit` calls `on_exit`, which main.py sets to the server's `shut_down`.
    """

    def __init__(
        self,
        directory: str,
        *,
        log_path: str = "",
        config_path: str = "",
        watch: SupervisorLink | None = None,
    ) -> None:
        self.pid = os.getpid()
        self.version = __version__
        self.started = time.monotonic()
        self.log_path = log_path
        self.config_path = config_path
        self.on_exit: Callable[[], None] = lambda: None
        #: why the daemon exits although no command requested it: a clause after "because"
        self.exit_reason = ""
        self._state_path = os.path.join(directory, STATE)
        self._watch = watch
        self._keeps_record = False
        self._signalled: set[int] = set()
        self._recorded: list[dict[str, Any]] = []
        self._notes = self._read_losses()

    def take_notes(self) -> tuple[str, ...]:
        """Return the notices not reported yet, each a sentence, and clear them."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def add_note(self, note: str) -> None:
        self._notes.append(note)

    def on_debuggee_signal(self, pid: int, what: str) -> None:
        """Add a notice that a debuggee signalled its parent, the daemon; once per process."""
        logger.warning("%s, a debuggee, was ignored", what)
        if pid not in self._signalled and len(self._signalled) < _MAX_SIGNALLED:
            self._signalled.add(pid)
            self.add_note(f"the debugger, which is the program's parent process, ignored {what}.")

    def request_exit(self) -> None:
        """Exit after the current answer, ending all sessions."""
        self.on_exit()

    # --- the record of live sessions ---

    def record(self, sessions: Iterable[SessionRecord]) -> None:
        """Write the live sessions to disk, so that the next daemon can report their loss."""
        if self._keeps_record:
            return
        self._recorded = [asdict(session) for session in sessions]
        if not self._recorded:
            self.forget()
            return
        self._write()

    def _write(self) -> None:
        content = json.dumps(
            {
                "pid": self.pid,
                "version": self.version,
                "why": self.exit_reason,
                "sessions": self._recorded,
            }
        )
        draft = f"{self._state_path}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        try:
            with os.fdopen(os.open(draft, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(content)
            os.replace(draft, self._state_path)
        except OSError as error:
            # A full disk costs a later notice, not the sessions.
            logger.warning("%s cannot be written: %s", self._state_path, error.strerror)
            with suppress(OSError):
                os.unlink(draft)

    def forget(self) -> None:
        """Delete the record: no session is live."""
        if self._keeps_record:
            return
        self._recorded = []
        with suppress(FileNotFoundError):
            os.unlink(self._state_path)

    def keep_record(self, why: str) -> None:
        """Freeze the record, because the daemon exits although no command requested it.

        *why* is a clause: "its supervisor process was killed".
        """
        if self._keeps_record:
            return
        self.exit_reason = why
        self._keeps_record = True
        if self._recorded:
            self._write()

    def _read_losses(self) -> list[str]:
        try:
            state = json.loads(files.read_bytes(self._state_path, _MAX_STATE))
            sessions = [_checked(record) for record in state["sessions"]]
            why = state.get("why")
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.forget()
            return ["the daemon ended unexpectedly, and its list of sessions cannot be read."]
        self.forget()
        how = f"because {why}" if why and isinstance(why, str) else "unexpectedly"
        return [f"the daemon ended {how}; {_lost(session)} was lost." for session in sessions]

    # --- processes that outlive the daemon or end with it ---

    def release(self, pid: int) -> None:
        """Keep the program *pid* and its subtree alive when the daemon ends."""
        if self._watch:
            self._watch.release(pid)

    def track(self, pgid: int) -> None:
        """End the process group *pgid* with the daemon, however the daemon ends."""
        if self._watch:
            self._watch.track(pgid)

    def untrack(self, pgid: int) -> None:
        if self._watch:
            self._watch.untrack(pgid)


def _checked(record: dict[str, Any]) -> SessionRecord:
    """Return a record as SessionRecord; raise TypeError if a daemon cannot have written it."""
    session = SessionRecord(**record)
    texts = (session.name, session.program, session.workspace, session.place)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a record holds what is not text")
    if not isinstance(session.pid, int | None):
        raise TypeError("a pid is not a number")
    return session


def _lost(session: SessionRecord) -> str:
    facts = [f"pid {session.pid}"] if session.pid else []
    facts.append(session.program)
    if session.place:
        facts.append(f"at {session.place}")
    return f"session {session.name} ({', '.join(facts)})"
