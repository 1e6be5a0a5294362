"""Watches every session and records its stops.

What a stop's first look has fetched is what is kept: nothing is asked of the debugger for it, so
no capture ever runs code of the program or delays it. A stop is written down once its answer has
gone out (`settle`), when the program moves on, or a moment later where nobody waits.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Attach, Core, Launch
from freezeframe.model.answers import Chunk
from freezeframe.model.history import Watched
from freezeframe.model.stops import Exit, StopReason
from freezeframe.session.looking import stop_of
from freezeframe.session.moment import FIRST_FRAMES, Moment
from freezeframe.session.session import Session

from . import places, writing
from .journal import Journal
from .secrets import Secrets
from .store import Store
from .writing import RunRow, StopRow

if TYPE_CHECKING:
    import sqlite3

log = logging.getLogger(__name__)

#: A stop that nobody asks about is written down after this.
_UNWATCHED_S = 0.05
#: How often what is too old is looked for.
_TIDY_S = 3600.0
#: Characters of one run's output that are kept.
_OUTPUT = 1_000_000


@dataclass(slots=True)
class _Life:
    """One run of one session, as far as it has been recorded."""

    row: RunRow
    started: float
    recorded: bool
    #: the session's cursor when the run began, and up to where output is written down
    base: int
    saved: int
    kept: int = 0
    stops: int = 0
    moment: Moment | None = None
    at_s: float = 0.0
    command: str = ""
    files: set[str] = field(default_factory=set)
    told: tuple[object, ...] = ()
    ended: bool = False
    pid: int | None = None


class Recorder:
    """The one witness of all sessions. Satisfies `session.Witness` by `event`."""

    def __init__(self, store: Store, workspace_of: Callable[[Session], str]) -> None:
        self.store = store
        self._workspace_of = workspace_of
        self._lives: dict[Session, _Life] = {}
        self._journals: dict[str, Journal] = {}
        self._tidied: float | None = None
        self._secrets: tuple[tuple[str, ...], Secrets] = ((), Secrets(()))

    def journal(self, workspace: str) -> Journal:
        return self._journals.setdefault(workspace, Journal())

    def run_of(self, session: Session) -> RunRow | None:
        """Return the run that a session is at, or had last; None where nothing is recorded."""
        life = self._lives.get(session)
        return life.row if life is not None and life.recorded else None

    def live_runs(self) -> set[int]:
        """Return the ids of the runs that go on."""
        return {
            life.row.id
            for life in list(self._lives.values())
            if life.row.id is not None and not life.ended
        }

    # --- what happens

    def event(self, session: Session, event: events.Event) -> None:
        """Take in an event. Never waits, never raises."""
        try:
            self._event(session, event)
        except Exception:
            # Recording is a service: the session must not feel what goes wrong in it.
            log.exception("recording %s", session.name)

    def _event(self, session: Session, event: events.Event) -> None:
        life = self._life(session, event)
        journal = self.journal(life.row.workspace)
        match event:
            case events.Stopped():
                self._capture(session, life)
                moment = session.moment
                if moment is None:
                    return
                life.moment = moment
                life.at_s = time.time() - life.started
                life.command = session.led_by or session.root.led_by
                moment.ready.add_done_callback(lambda _: self._looked_at(session, life, moment))
            case events.Continued():
                if session.moment is None:
                    self._capture(session, life)
                    journal.add(session.name, "resume", session.led_by)
            case events.Printed(_, text):
                journal.add(session.name, "output", f"{len(text)} characters")
                if life.ended and life.recorded:
                    self._save_output(session, life)
            case events.ProcessStarted(pid):
                if pid != life.pid or pid is None:
                    life.pid = pid
                    journal.add(session.name, "start", f"pid {pid}" if pid else "")
            case events.BreakpointMoved(bound):
                where = places.place(bound.path, bound.line) if bound.verified else bound.message
                journal.add(session.name, "breakpoint", f"{bound.id}: {where or 'pending'}")
            case events.ChildStarted(_, _, pid):
                journal.add(session.name, "child", f"pid {pid}" if pid else "")
            case events.Ended(exit):
                self._capture(session, life)
                life.ended = True
                journal.add(session.name, "exit", _how(exit))
                if life.recorded and (life.stops or exit.how != "lost"):
                    self._save_output(session, life)
                    self._tell(session, life)
                    row, ended = life.row, time.time()
                    self.store.put(lambda c: writing.finish(c, row, ended, exit))

    def _life(self, session: Session, event: events.Event) -> _Life:
        """Return the run that an event belongs to; a session that was restarted has a new one."""
        life = self._lives.get(session)
        if life is not None and life.started == session.started:
            return life
        for other in [s for s, each in self._lives.items() if each.ended and s.forgotten]:
            del self._lives[other]
        parent = self._lives.get(session.parent) if session.parent is not None else None
        workspace = parent.row.workspace if parent else self._workspace_of(session)
        end = session.output.end
        # The session has taken in what was printed already.
        base = end - (len(event.text) if isinstance(event, events.Printed) else 0)
        row = RunRow(
            workspace=workspace,
            name=session.name,
            program=_program(session, self._hidden(session)),
            args=self._hidden(session).arguments(getattr(session.target, "args", ())),
            started=session.started,
            parent=parent.row if parent else None,
        )
        life = _Life(row, session.started, session.root.recorded, base, base)
        self._lives[session] = life
        if life.recorded:
            self._tidy(session)
        return life

    def _looked_at(self, session: Session, life: _Life, moment: Moment) -> None:
        frame = moment.thread.frame
        where = ""
        if frame is not None:
            path = places.relative(frame.path, life.row.workspace)
            where = f" at {places.place(path, frame.line, frame.function)}"
        self.journal(life.row.workspace).add(
            session.name, "stop", f"{stop_of(moment).reason.value}{where}"
        )
        if life.moment is moment:
            loop = asyncio.get_running_loop()
            loop.call_later(_UNWATCHED_S, self._capture_late, session, life, moment)

    def _capture_late(self, session: Session, life: _Life, moment: Moment) -> None:
        if life.moment is moment:
            self._capture(session, life)

    def settle(self) -> None:
        """Write down every stop that has been looked at: its answer has gone out."""
        for session, life in self._lives.items():
            if life.moment is not None and life.moment.ready.done():
                self._capture(session, life)

    # --- writing down

    def _capture(self, session: Session, life: _Life) -> None:
        """Write the stop down that the program stands at, unless that was done."""
        moment, life.moment = life.moment, None
        if moment is None or not life.recorded:
            return
        frames = tuple(moment.known_frames()[:FIRST_FRAMES])
        if not moment.ready.done() or not frames or _on_the_way(session, moment):
            return
        life.stops += 1
        view, stop = moment.view, stop_of(moment)
        error = stop.exception
        row = StopRow(
            number=life.stops,
            at_s=life.at_s,
            reason=stop.reason.value,
            thread=stop.thread.id,
            thread_name=stop.thread.name,
            frames=frames,
            shown=view.frame.index if view is not None else 0,
            depth=moment.depth,
            scopes=view.scopes if view is not None else (),
            cursor=session.output.end - life.base,
            command=life.command,
            description=stop.description,
            exception=f"{error.type}: {error.message}" if error is not None else None,
            breakpoints=stop.breakpoints,
            watched=_watched(session, moment),
            entry=_entered(session, stop.breakpoints),
        )
        self._save_output(session, life)
        for frame in frames:
            if frame.index == 0 or not frame.library:  # a replay shows nothing that is not kept
                self._save_source(session, life, frame.path)
        if view is not None:
            self._save_source(session, life, view.frame.path)
        self._tell(session, life)
        run, secrets = life.row, self._hidden(session)
        self.store.put(lambda c: writing.add_stop(c, run, row, secrets))

    def _tidy(self, session: Session) -> None:
        """Have old runs removed, now and then."""
        now = time.monotonic()
        if self._tidied is not None and now - self._tidied < _TIDY_S:
            return
        self._tidied, settings = now, session.config.history

        def work(connection: sqlite3.Connection) -> None:
            from . import keeping

            keeping.tidy(connection, settings.max_age_days, settings.max_mb, self.live_runs())

        self.store.put(work)

    def _tell(self, session: Session, life: _Life) -> None:
        """Write down which debugger it is and where breakpoints stand, when that has changed."""
        debugger = str(session.backend.tool) if session.backend is not None else None
        spots = []
        for entry in session.book:
            if entry.enabled and entry.log is None:
                bound = session.bindings.get(entry.id)
                path = (bound.path if bound else None) or entry.location.file
                line = (bound.line if bound else None) or entry.location.line
                spots.append(places.place(path, line, str(entry.location)))
        told = (debugger, *spots)
        if told != life.told:
            life.told, row = told, life.row
            self.store.put(lambda c: writing.tell(c, row, debugger, spots))

    def _save_output(self, session: Session, life: _Life) -> None:
        ring, row = session.output, life.row
        if ring.end <= life.saved:
            return
        room = max(0, _OUTPUT - life.kept)
        found = ring.read(life.saved, limit=room)
        life.saved = found.end
        size = sum(len(chunk.text) for chunk in found.chunks)
        life.kept += size
        start, printed = found.end - life.base - size, found.end - life.base
        hidden = self._hidden(session)
        # Of the same length: cursors count characters.
        chunks = [Chunk(each.stream, hidden.masked(each.text)) for each in found.chunks]
        self.store.put(lambda c: writing.add_output(c, row, start, chunks, printed))

    def _save_source(self, session: Session, life: _Life, path: str | None) -> None:
        if path is None or path in life.files or not os.path.isabs(path):
            return
        life.files.add(path)
        try:
            text = "\n".join(session.sources.lines(path))
        except OSError:
            return
        row = life.row
        self.store.put(lambda c: writing.add_source(c, row, path, text))

    def _hidden(self, session: Session) -> Secrets:
        patterns = session.config.history.exclude
        if self._secrets[0] != patterns:
            self._secrets = (patterns, Secrets(patterns))
        return self._secrets[1]


def _on_the_way(session: Session, moment: Moment) -> bool:
    """Whether a step only passes through: code of a library that nobody can read."""
    frame = moment.thread.frame
    if moment.event.reason is not StopReason.STEP or frame is None or not frame.library:
        return False
    if frame.source_reference:
        return False
    if frame.path is None or frame.line is None:
        return True
    return session.sources.line(frame.path, frame.line) is None


def _entered(session: Session, breakpoints: tuple[int, ...]) -> bool:
    """Whether one of the breakpoints stands on a function, not on a line."""
    entries = [session.book.wanted.get(id) for id in breakpoints]
    return any(e is not None and e.location.function is not None for e in entries)


def _watched(session: Session, moment: Moment) -> tuple[Watched, ...]:
    """Return the watched expressions whose values the stop itself tells."""
    known = {}
    if moment.view is not None:
        known = {v.name: v.text for scope in moment.view.scopes for v in scope.values}
    hit = moment.event.watch
    if hit is not None and hit.new is not None:
        known[hit.expression] = hit.new
    names = [w.expression for w in session.watchpoints.values()]
    return tuple(Watched(name, known[name]) for name in names if name in known)


def _program(session: Session, secrets: Secrets) -> str:
    target = session.target
    if session.command:
        return " ".join(secrets.arguments(session.command))
    if isinstance(target, Launch | Core):
        return target.program
    if isinstance(target, Attach):
        return target.program or (f"pid {target.pid}" if target.pid else f"port {target.port}")
    return session.name


def _how(exit: Exit) -> str:
    if exit.signal:
        return exit.signal
    return f"code {exit.code}" if exit.code is not None else exit.how
