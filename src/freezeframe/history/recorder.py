"""Record the stops of every session.

Only what the capture of a stop has already read is recorded: recording sends no request to the
debugger, so it never runs code of the program or delays it. A stop is recorded after it was
reported (`flush`), when the program resumes, or shortly after where no caller waits.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Attach, Core, Launch
from freezeframe.model.answers import Chunk
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.history import Watched
from freezeframe.model.runs import Logpoint
from freezeframe.model.stops import StopReason
from freezeframe.session.broadcast import Broadcast
from freezeframe.session.session import Session
from freezeframe.session.stop_capture import stop_of
from freezeframe.session.stop_state import FIRST_FRAMES, StopState

from . import inserts, location_keys
from .event_log import EventLog, describe_exit
from .inserts import RunRow, StopRow
from .redaction import Secrets
from .store import Store

if TYPE_CHECKING:
    import sqlite3

log = logging.getLogger(__name__)

#: A stop that no caller waits for is recorded after this.
_UNREPORTED_S = 0.05
#: How often old runs are removed.
_PRUNE_S = 3600.0
#: Characters of one run's output that are recorded.
_MAX_OUTPUT = 1_000_000


@dataclass(slots=True)
class _RecordedRun:
    """The recording state of one run of one session."""

    row: RunRow
    started: float
    recorded: bool
    #: the session's output cursor when the run began, and up to where output is recorded
    base: int
    saved: int
    kept: int = 0
    stops: int = 0
    pending_stop: StopState | None = None
    at_s: float = 0.0
    command: str = ""
    files: set[str] = field(default_factory=set)
    stored: tuple[object, ...] = ()
    #: every logpoint that the run had, in order
    logpoints: dict[Logpoint, None] = field(default_factory=dict)
    ended: bool = False
    pid: int | None = None


class Recorder:
    """Records all sessions. `on_event` is an `EventObserver` of the sessions."""

    def __init__(self, store: Store, workspace_of: Callable[[Session], str]) -> None:
        self.store = store
        self._workspace_of = workspace_of
        self._runs: dict[Session, _RecordedRun] = {}
        self._event_logs: dict[str, EventLog] = {}
        #: counts what a person who watches can see; `published` is notified of each change
        self.version = 1
        self.published = Broadcast()
        self._pruned: float | None = None
        self._secrets: tuple[tuple[str, ...], Secrets] = ((), Secrets(()))

    def event_log(self, workspace: str) -> EventLog:
        return self._event_logs.setdefault(workspace, EventLog())

    def publish(self) -> None:
        """Wake those who watch. A stop is published when it is recorded, after its answer."""
        self.version += 1
        self.published.notify_all()

    def run_of(self, session: Session) -> RunRow | None:
        """Return the current or last run of a session; None if it is not recorded."""
        run = self._runs.get(session)
        return run.row if run is not None and run.recorded else None

    def live_runs(self) -> set[int]:
        """Return the ids of the runs that have not ended."""
        return {
            run.row.id
            for run in list(self._runs.values())
            if run.row.id is not None and not run.ended
        }

    # --- events

    def on_event(self, session: Session, event: events.Event) -> None:
        """Handle an event. Never blocks, never raises."""
        try:
            self._event(session, event)
        except Exception:
            # A failure to record must not affect the session.
            log.exception("recording %s", session.name)

    def _event(self, session: Session, event: events.Event) -> None:
        run = self._current_run(session, event)
        event_log = self.event_log(run.row.workspace)
        if not isinstance(event, events.Stopped):
            asyncio.get_running_loop().call_soon(self.publish)
        match event:
            case events.Stopped():
                self._record(session, run)
                stop = session.current_stop
                if stop is None:
                    return
                run.pending_stop = stop
                run.at_s = time.time() - run.started
                run.command = session.last_command or session.root.last_command
                stop.ready.add_done_callback(lambda _: self._on_captured(session, run, stop))
            case events.Continued():
                if session.current_stop is None:
                    self._record(session, run)
                    event_log.add(session.name, "resume", session.last_command)
            case events.OutputEvent(_, text):
                event_log.add(session.name, "output", f"{len(text)} characters")
                if run.ended and run.recorded:
                    self._save_output(session, run)
            case events.ProcessStarted(pid):
                if pid != run.pid or pid is None:
                    run.pid = pid
                    event_log.add(session.name, "start", f"pid {pid}" if pid else "")
            case events.BreakpointChanged(bound):
                where = (
                    location_keys.format_location(bound.path, bound.line)
                    if bound.verified
                    else bound.message
                )
                event_log.add(session.name, "breakpoint", f"{bound.id}: {where or 'pending'}")
            case events.ChildStarted(_, _, pid):
                event_log.add(session.name, "child", f"pid {pid}" if pid else "")
            case events.ExitedEvent(exit):
                self._record(session, run)
                run.ended = True
                event_log.add(session.name, "exit", describe_exit(exit))
                if run.recorded and (run.stops or exit.how != "lost"):
                    self._save_output(session, run)
                    self._save_run(session, run)
                    row, ended = run.row, time.time()
                    self.store.put(lambda c: inserts.finish_run(c, row, ended, exit))

    def _current_run(self, session: Session, event: events.Event) -> _RecordedRun:
        """Return the run that an event belongs to; a restarted session gets a new one."""
        run = self._runs.get(session)
        if run is not None and run.started == session.started:
            return run
        for other in [s for s, each in self._runs.items() if each.ended and s.disposed]:
            del self._runs[other]
        parent = self._runs.get(session.parent) if session.parent is not None else None
        workspace = parent.row.workspace if parent else self._workspace_of(session)
        end = session.output.end
        # The session has already appended the output of this event.
        base = end - (len(event.text) if isinstance(event, events.OutputEvent) else 0)
        row = RunRow(
            workspace=workspace,
            name=session.name,
            program=_program(session, self._redaction(session)),
            args=self._redaction(session).redact_arguments(getattr(session.target, "args", ())),
            started=session.started,
            parent=parent.row if parent else None,
        )
        run = _RecordedRun(row, session.started, session.root.recorded, base, base)
        self._runs[session] = run
        if run.recorded:
            self._prune(session)
        return run

    def _on_captured(self, session: Session, run: _RecordedRun, stop: StopState) -> None:
        frame = stop.thread.frame
        where = ""
        if frame is not None:
            path = location_keys.relative(frame.path, run.row.workspace)
            where = f" at {location_keys.format_location(path, frame.line, frame.function)}"
        self.event_log(run.row.workspace).add(
            session.name, "stop", f"{stop_of(stop).reason.value}{where}"
        )
        if run.pending_stop is stop:
            loop = asyncio.get_running_loop()
            loop.call_later(_UNREPORTED_S, self._record_late, session, run, stop)

    def _record_late(self, session: Session, run: _RecordedRun, stop: StopState) -> None:
        if run.pending_stop is stop:
            self._record(session, run)

    def flush(self) -> None:
        """Record every captured stop: its report was sent."""
        for session, run in self._runs.items():
            if run.pending_stop is not None and run.pending_stop.ready.done():
                self._record(session, run)

    def save_messages(self) -> None:
        """Store the logpoints and the output of the runs that have not ended."""
        for session, run in self._runs.items():
            if run.recorded and not run.ended:
                self._save_run(session, run)
                self._save_output(session, run)

    # --- writing

    def _record(self, session: Session, run: _RecordedRun) -> None:
        """Record the pending stop, if there is one."""
        state, run.pending_stop = run.pending_stop, None
        if state is None or not run.recorded:
            return
        frames = tuple(state.fetched_frames()[:FIRST_FRAMES])
        if not state.ready.done() or not frames or _is_intermediate(session, state):
            return
        run.stops += 1
        view, stop = state.view, stop_of(state)
        error = stop.exception
        row = StopRow(
            number=run.stops,
            at_s=run.at_s,
            reason=stop.reason.value,
            thread=stop.thread.id,
            thread_name=stop.thread.name,
            frames=frames,
            shown=view.frame.index if view is not None else 0,
            depth=state.depth,
            scopes=view.scopes if view is not None else (),
            cursor=session.output.end - run.base,
            command=run.command,
            description=stop.description,
            exception=f"{error.type}: {error.message}" if error is not None else None,
            breakpoints=stop.breakpoints,
            watched=_watched(session, state),
            entry=_is_function_entry(session, stop.breakpoints),
        )
        self._save_output(session, run)
        for frame in frames:
            if frame.index == 0 or not frame.library:  # a replay shows recorded sources only
                self._save_source(session, run, frame.path)
        if view is not None:
            self._save_source(session, run, view.frame.path)
        self._save_run(session, run)
        run_row, secrets = run.row, self._redaction(session)
        self.store.put(lambda c: inserts.add_stop(c, run_row, row, secrets))
        self.publish()

    def _prune(self, session: Session) -> None:
        """Remove old runs, at most once an hour."""
        now = time.monotonic()
        if self._pruned is not None and now - self._pruned < _PRUNE_S:
            return
        self._pruned, settings = now, session.config.history

        def work(connection: sqlite3.Connection) -> None:
            from . import retention

            retention.prune(connection, settings.max_age_days, settings.max_mb, self.live_runs())

        self.store.put(work)

    def _save_run(self, session: Session, run: _RecordedRun) -> None:
        """Store the debugger, breakpoints and logpoints of a run if they have changed."""
        debugger = str(session.backend.tool) if session.backend is not None else None
        locations = []
        for entry in session.breakpoints:
            if not entry.enabled:
                continue
            bound = session.bound_breakpoints.get(entry.id)
            path = (bound.path if bound else None) or entry.location.file
            line = (bound.line if bound else None) or entry.location.line
            location = location_keys.format_location(path, line, str(entry.location))
            if entry.log is None:
                locations.append(location)
            else:
                # Kept when the logpoint is deleted: its messages are in the recorded output.
                run.logpoints[Logpoint(location, entry.log, entry.location.function)] = None
        logpoints = tuple(run.logpoints)
        facts = (debugger, logpoints, *locations)
        if facts != run.stored:
            run.stored, row = facts, run.row
            self.store.put(lambda c: inserts.update_run(c, row, debugger, locations, logpoints))

    def _save_output(self, session: Session, run: _RecordedRun) -> None:
        ring, row = session.output, run.row
        if ring.end <= run.saved:
            return
        limit = max(0, _MAX_OUTPUT - run.kept)
        found = ring.read(run.saved, limit=limit)
        run.saved = found.end
        size = sum(len(chunk.text) for chunk in found.chunks)
        run.kept += size
        start, printed = found.end - run.base - size, found.end - run.base
        secrets = self._redaction(session)
        # Masked text has the same length: cursors count characters.
        chunks = [Chunk(each.stream, secrets.mask(each.text)) for each in found.chunks]
        self.store.put(lambda c: inserts.add_output(c, row, start, chunks, printed))

    def _save_source(self, session: Session, run: _RecordedRun, path: str | None) -> None:
        if path is None or path in run.files or not os.path.isabs(path):
            return
        run.files.add(path)
        try:
            text = "\n".join(session.sources.lines(path))
        except OSError:
            return
        row = run.row
        self.store.put(lambda c: inserts.add_source(c, row, path, text))

    def _redaction(self, session: Session) -> Secrets:
        patterns = session.config.history.exclude
        if self._secrets[0] != patterns:
            self._secrets = (patterns, Secrets(patterns))
        return self._secrets[1]


def _is_intermediate(session: Session, stop: StopState) -> bool:
    """Whether a step only passes through library code whose source cannot be read."""
    frame = stop.thread.frame
    stepped = stop.event.reason is StopReason.STEP
    return stepped and frame is not None and session.sources.unreadable(frame)


def _is_function_entry(session: Session, breakpoints: tuple[int, ...]) -> bool:
    """Whether one of the breakpoints is a function breakpoint."""
    entries = [session.breakpoints.entries.get(id) for id in breakpoints]
    return any(e is not None and e.location.function is not None for e in entries)


def _watched(session: Session, stop: StopState) -> tuple[Watched, ...]:
    """Return the watched expressions whose values are known from the stop."""
    known = {}
    if stop.view is not None:
        known = {v.name: v.text for scope in stop.view.scopes for v in scope.values}
    hit = stop.event.watch
    if hit is not None and hit.new is not None:
        known[hit.expression] = hit.new
    names = [w.expression for w in session.watchpoints.values()]
    return tuple(Watched(name, known[name]) for name in names if name in known)


def _program(session: Session, secrets: Secrets) -> str:
    target = session.target
    if session.command:
        return " ".join(secrets.redact_arguments(session.command))
    if isinstance(target, Launch | Core):
        return target.program
    if isinstance(target, Attach):
        return target.program or (f"pid {target.pid}" if target.pid else f"port {target.port}")
    return session.name
