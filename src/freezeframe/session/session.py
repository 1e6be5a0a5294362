"""One debug session: a backend with its phase, breakpoints, stops, output and children.

Every backend event passes through `on_event`, in order, and is recorded and broadcast there.
Commands that talk to the debugger take turns (`exclusive`). Waiting for a stop does not hold the
lock, so status, pause, output and stop always get through.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from typing import Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Backend,
    BreakpointRequest,
    Configuration,
    Core,
    Feature,
    Launch,
    StepKind,
    Target,
)
from freezeframe.backends.capabilities import implements, set_address_breakpoints
from freezeframe.config import Config
from freezeframe.errors import DebuggerError, FreezeframeError, NotRunning, Unsupported
from freezeframe.model.stops import ExceptionFilter, Exit, Frame, Thread, Watchpoint

from . import errors
from .breakpoints import BoundBreakpoints, LogicalBreakpoint, LogicalBreakpoints
from .broadcast import Broadcast
from .control import Control
from .edited_files import EditedFiles, with_edit_notes
from .frame_snapshots import FrameSnapshots
from .handles import Handles
from .liveness import Liveness
from .output import OutputRing
from .phase import Phase, PhaseEvent, advance
from .resume_requests import send_resume
from .source_cache import Sources
from .stepped_watches import SteppedWatch
from .stop_capture import capture_stop
from .stop_state import FrameView, StopState

log = logging.getLogger(__name__)

MakeBackend = Callable[[], Backend]
#: Called with every event of a session after the session has handled it; must not block.
EventObserver = Callable[["Session", events.Event], None]


async def dispose_backend(backend: Backend) -> None:
    """Dispose of *backend*. Never raises: a failure is logged, so that the first error survives."""
    try:
        await backend.dispose()
    except Exception:
        log.exception("%s could not be disposed of", backend.tool)


class Session:
    """A program under a debugger, from start to exit. A session can be restarted."""

    def __init__(
        self,
        name: str,
        *,
        breakpoints: LogicalBreakpoints,
        config: Config,
        sources: Sources,
        make_backend: MakeBackend,
        reason: str,
        parent: Session | None = None,
        on_change: Callable[[Session], None] = lambda session: None,
        apply_to_workspace: Callable[[list[LogicalBreakpoint]], Awaitable[None]] | None = None,
        filters: Callable[[], list[ExceptionFilter] | None] = lambda: None,
        observer: EventObserver = lambda session, event: None,
    ) -> None:
        self.name, self.config, self.sources = name, config, sources
        self.reason = reason  # why this debugger was selected
        self.parent, self.children = parent, list[Session]()
        self.control: Control = Control() if parent is None else parent.control
        self.breakpoints = breakpoints.of(self.root.name)
        self.bound_breakpoints = BoundBreakpoints()
        self.edited_files = EditedFiles()
        self.output = OutputRing(config.output.max_events, config.output.max_bytes)
        self.changed = Broadcast()
        self.phase = Phase.IDLE
        self.target: Target | None = None
        self.backend: Backend | None = None
        self.pid: int | None = None
        self.command: tuple[str, ...] = ()  # of a child, where its debugger reports it
        self.exit: Exit | None = None
        self.stop_number = 0
        #: None while the program runs
        self.current_stop: StopState | None = None
        #: the newest stop, kept after the program resumes, for callers that wait for it
        self.last_stop: StopState | None = None
        #: breakpoints of an operation such as `until`, removed at the next stop
        self.internal_breakpoints: list[LogicalBreakpoint] = []
        self.watchpoints: dict[int, Watchpoint] = {}
        #: those that the debugger does not have: the program is stepped for them
        self.stepped_watches: dict[int, SteppedWatch] = {}
        self.created = self.started = time.time()
        self._make_backend, self._filters = make_backend, filters
        self._on_change, self._observer = on_change, observer
        #: applies changed breakpoints to every session of the workspace
        self.apply_to_workspace = apply_to_workspace or self.apply
        self._lock = asyncio.Lock()
        self._generation = 0
        #: ended for good: the session must not start again
        self.disposed = False
        #: of a root: a clause that says why the daemon ended the session without a command
        self.end_reason = ""
        #: how often `end` was called: `start` compares it to detect an end in the meantime
        self._ends = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.liveness = Liveness(self, self.on_event)
        self.thread_names: dict[int, str] = {}
        #: ids of live threads, as far as the debugger reports them
        self.threads: set[int] = set()
        self.frame_snapshots = FrameSnapshots()
        self._children_made = 0
        #: the stop where a step out of a function began: the value returned is that function's
        self.step_out_origin: StopState | None = None
        #: shows the past of the program at a stop; see `ops/_past.py`
        self.past: tuple[Session, StopState] | None = None
        #: of a root: the session of its tree that was reported last
        self.last_reported: Session | None = None
        #: the last command that resumed the program, as typed
        self.last_command = ""
        #: of a root: stops are captured without variables; a driver that steps reads its own
        self.captures_frames_only = False
        #: of a root: its stops and those of its children are recorded
        self.recorded: bool = parent is None or parent.recorded

    # --- the tree

    @property
    def root(self) -> Session:
        return self if self.parent is None else self.parent.root

    def tree(self) -> Iterator[Session]:
        """Yield this session and all its descendants."""
        yield self
        for child in self.children:
            yield from child.tree()

    @property
    def live(self) -> bool:
        return self.phase.alive

    @property
    def launched(self) -> bool:
        """Whether the program was launched here, not attached to."""
        return isinstance(self.target, Launch)

    @property
    def any_live(self) -> bool:
        return any(member.live for member in self.tree())

    def focus(self) -> Session:
        """Return the session of the tree that a command without a session name applies to.

        That is the one reported last while it is stopped, then this one if it is stopped, then
        the earliest stopped one, then a live one.
        """
        stopped = [m for m in self.tree() if m.phase is Phase.STOPPED and m.current_stop]
        if (reported := self.root.last_reported) in stopped and reported is not None:
            return reported
        if self.phase is Phase.STOPPED:
            return self
        if stopped:
            return min(stopped, key=lambda m: m.current_stop.event_order if m.current_stop else 0)
        if self.live:
            return self
        return next((m for m in self.tree() if m.live), self)

    @property
    def _ended_by_itself(self) -> bool:
        return self.exit is not None and self.exit.how not in ("killed", "detached", "lost")

    # --- guards

    @contextlib.asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Lock the debugger for one command; other commands wait."""
        async with self._lock:
            yield

    def require_backend(self) -> Backend:
        if self.backend is None or not self.live:
            raise errors.ended(self)
        return self.backend

    async def require_stopped(self, *, to_resume: bool = False) -> StopState:
        """Return the current stop once it is captured. Raises NotStopped or NotRunning."""
        while True:
            stop = self.current_stop
            if stop is None or self.phase is not Phase.STOPPED:
                if to_resume and self.phase is Phase.RUNNING:
                    raise errors.already_running()
                raise errors.not_stopped(self)
            await asyncio.shield(stop.ready)
            if stop.resume_unanswered:
                raise errors.unanswered(self)
            if to_resume and isinstance(self.target, Core):
                raise errors.core_file()
            if stop is self.current_stop:
                return stop

    def require(self, feature: Feature) -> Backend:
        """Return the backend. Raises Unsupported when it lacks *feature*."""
        backend = self.require_backend()
        if self.phase is Phase.INITIALIZING:
            raise errors.starting()  # its capabilities are not known yet
        if feature not in backend.features or not implements(backend, feature):
            raise errors.unsupported(self.target, backend, feature)
        return backend

    # --- lifecycle

    async def start(self, target: Target) -> None:
        """Launch or attach to the program. Returns once it runs (or has stopped or exited)."""
        if self.disposed:
            raise errors.ended_early(self)
        self._advance(PhaseEvent.STARTED)
        ends = self._ends
        generation = self._generation = self._generation + 1
        self.target = target
        self.exit = self.pid = None
        self.current_stop = self.last_stop = None
        self.started = time.time()
        self.bound_breakpoints = BoundBreakpoints()
        for of_run in (self.internal_breakpoints, self.watchpoints, self.stepped_watches):
            of_run.clear()
        self.thread_names.clear()
        self.threads.clear()
        self.frame_snapshots.clear()
        backend = self.backend = self._make_backend()
        requested = self.breakpoints.enabled()
        configuration = Configuration(
            self.edited_files.begin(self.breakpoints, self.sources), self._filters()
        )

        def sink(event: events.Event) -> None:
            if generation == self._generation:
                self.on_event(event)

        try:
            bound = await backend.start(target, configuration, sink)
        except BaseException as error:
            await dispose_backend(backend)
            if self.live and generation == self._generation:
                reason = error.message if isinstance(error, FreezeframeError) else str(error)
                self.on_event(
                    events.ExitedEvent(Exit(how="lost", reason=reason or type(error).__name__))
                )
            if ends != self._ends and isinstance(error, FreezeframeError):
                raise errors.ended_early(self) from None
            raise
        self.bound_breakpoints.update(bound)
        if self.phase is Phase.INITIALIZING:
            self._advance(PhaseEvent.INITIALIZED)
        if self.phase in (Phase.CONFIGURING, Phase.STOPPED):
            self._advance(PhaseEvent.CONFIGURED)
        self._changed()
        if self.live and [r.id for r in self.breakpoints.enabled()] != [r.id for r in requested]:
            # A command changed the breakpoints while the debugger was being configured.
            await self.apply(list(self.breakpoints))

    async def restart(self) -> None:
        """End the program if it is alive and launch it again with the same target."""
        target = self.target
        if target is None:
            raise NotRunning("nothing was started here.", next="dbg start PROGRAM")
        if not isinstance(target, Launch):
            raise Unsupported(
                "the program was attached to, so it cannot be started again from here.",
                next="dbg start PROGRAM",
            )
        ends = self._ends
        await self.end()
        if self._ends != ends + 1:
            raise errors.ended_early(self)  # another command ended it
        self.children.clear()
        self._children_made = 0
        self.phase = advance(self.phase, PhaseEvent.CLEARED)
        await self.start(target)

    async def end(self, *, for_good: bool = False) -> None:
        """End the program, its children and its debugger. Bounded; never raises.

        With *for_good* the session cannot be started again, not even by a `restart` in progress.
        """
        self.disposed = self.disposed or for_good
        self._ends += 1
        for child in list(self.children):
            await child.end()
        owned = self.parent is None and (self.exit is None or self.exit.how != "detached")
        backend, generation = self.backend, self._generation
        if backend is not None and (self.live or owned):
            try:
                await backend.terminate()
            except DebuggerError as error:
                log.info("%s: terminate: %s", self.name, error)
            if self.live and generation == self._generation:
                self.on_event(events.ExitedEvent(Exit(how="killed")))
        if backend is not None:
            await dispose_backend(backend)

    async def detach(self) -> None:
        """Detach from the program and its children and leave them running."""
        for child in list(self.children):
            if child.live:
                await child.detach()
        backend = self.require(Feature.DETACH)
        await backend.detach()
        if self.live:
            self.on_event(events.ExitedEvent(Exit(how="detached")))

    async def dispose(self) -> None:
        """End the session for good and cancel its tasks. Never raises."""
        await self.end(for_good=True)
        for task in list(self._tasks):
            task.cancel()

    # --- events

    def on_event(self, event: events.Event) -> None:
        if self.phase is Phase.TERMINATED:
            late_child = isinstance(event, events.ChildStarted) and self._ended_by_itself
            if not late_child and not isinstance(event, events.OutputEvent):
                return
        match event:
            case events.OutputEvent(stream, text):
                self.output.append(stream, text)
                self.changed.notify_all()
            case events.Initialized():
                self._advance(PhaseEvent.INITIALIZED)
            case events.Stopped():
                self._stopped(event)
            case events.Continued():
                if self.phase is Phase.STOPPED and event.all_threads:
                    self._resumed()
            case events.ProcessStarted(pid):
                self.pid = pid if pid is not None else self.pid
                self.command = event.command or self.command
                self.liveness.watch(self.pid)
                self._changed()
            case events.ThreadChanged(thread, alive):
                (self.threads.add if alive else self.threads.discard)(thread)
            case events.BreakpointChanged(bound):
                self.bound_breakpoints.update([bound])
            case events.ChildStarted():
                self._adopt(event)
            case events.ExitedEvent(exit):
                event = events.ExitedEvent(self.liveness.correct_exit(exit))
                self._end(event.exit)
            case events.CapabilitiesChanged():
                pass
        self._observer(self, event)

    def _advance(self, event: PhaseEvent) -> None:
        self.phase = advance(self.phase, event)
        self._changed()

    def _changed(self) -> None:
        root = self.root
        self.changed.notify_all()
        if root is not self:
            root.changed.notify_all()
        self._on_change(self)

    def _stopped(self, event: events.Stopped) -> None:
        assert self.backend is not None
        self._advance(PhaseEvent.STOPPED)
        self.stop_number += 1
        thread = Thread(event.thread if event.thread is not None else -1, "", current=True)
        stop = StopState(self.stop_number, event, self.backend, thread, Handles(self.stop_number))
        stop.event_order = time.monotonic()
        self.current_stop = self.last_stop = stop
        # The location is known once the stop is captured.
        stop.ready.add_done_callback(lambda ready: self._on_change(self))
        self._spawn(capture_stop(self, stop))
        self._changed()

    def _resumed(self) -> None:
        self._advance(PhaseEvent.RESUMED)
        self.current_stop = None

    def _end(self, exit: Exit) -> None:
        self._advance(PhaseEvent.ENDED)
        if (why := self.root.end_reason) and exit.how in ("killed", "lost"):
            exit = Exit(exit.code, exit.signal, "killed", f"the daemon ended because {why}")
        self.exit = exit
        self.liveness.close()
        if self.current_stop is not None and not self.current_stop.ready.done():
            self.current_stop.error = "the program ended"
        self.current_stop = None
        if self.backend is not None:
            self._spawn(dispose_backend(self.backend))
        self._changed()

    def _adopt(self, event: events.ChildStarted) -> None:
        root = self.root
        root._children_made += 1
        child = Session(
            f"{root.name}/{root._children_made}",
            breakpoints=self.breakpoints,
            config=self.config,
            sources=self.sources,
            make_backend=lambda: event.backend,
            reason="follows its parent",
            parent=self,
            on_change=self._on_change,
            apply_to_workspace=self.apply_to_workspace,
            filters=self._filters,
            observer=self._observer,
        )
        child.pid = event.pid
        self.children.append(child)
        self._spawn(self._start_child(child, event.target))

    async def _start_child(self, child: Session, target: Target) -> None:
        try:
            await child.start(target)
        except FreezeframeError as error:
            # A child that exits before it is configured is not a failure of the program.
            log.info("child %s: %s", child.name, error)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("session %s", self.name, exc_info=error)

    # --- breakpoints

    async def apply(self, changed: Iterable[LogicalBreakpoint]) -> None:
        """Send *changed* breakpoints (added, altered or removed) to the debugger."""
        if self.backend is None or self.phase not in (Phase.RUNNING, Phase.STOPPED):
            return
        changed = list(changed)
        present = {w.id for w in self.breakpoints} | {w.id for w in self.internal_breakpoints}
        self.bound_breakpoints.forget(w.id for w in changed if w.id not in present)
        for path in {w.location.file for w in changed if w.location.file is not None}:
            bound = await self.backend.set_breakpoints(path, self._for_file(path))
            self.bound_breakpoints.update(with_edit_notes(bound, path, self.started))
        internal = [w.to_request() for w in self.internal_breakpoints]
        if any(w.location.function is not None for w in changed):
            functions = self.breakpoints.for_functions()
            functions += [each for each in internal if each.location.function is not None]
            self.bound_breakpoints.update(await self.backend.set_function_breakpoints(functions))
        if any(w.location.address is not None for w in changed):
            addresses = self.breakpoints.for_addresses()
            addresses += [each for each in internal if each.location.address is not None]
            self.bound_breakpoints.update(await set_address_breakpoints(self.backend, addresses))

    def _for_file(self, path: str) -> list[BreakpointRequest]:
        internal = [w.to_request() for w in self.internal_breakpoints if w.location.file == path]
        return self.edited_files.relocate(self.breakpoints.for_file(path) + internal)

    # --- execution

    async def resume(self, *, only: bool = False) -> None:
        """Resume the program from its current stop."""
        stop = await self.require_stopped()
        backend = self.require_backend()
        self.step_out_origin = None
        await send_resume(self, backend.resume(stop.thread.id, only=only), stop)

    async def step(self, kind: StepKind, *, instruction: bool = False) -> None:
        stop = await self.require_stopped()
        backend = self.require_backend()
        self.step_out_origin = stop if kind is StepKind.OUT else None
        await send_resume(self, backend.step(kind, stop.thread.id, instruction=instruction), stop)

    async def select(self, index: int) -> FrameView:
        """Select a frame and read its variables."""
        stop = await self.require_stopped()
        view = await stop.read_frame(index)
        stop.selected = index
        stop.view = view
        return view

    async def select_thread(self, thread: int) -> Frame | None:
        """Select a thread at the current stop; return its innermost frame."""
        stop = await self.require_stopped()
        threads = {each.id: each for each in await stop.backend.threads()}
        other, frames = await stop.for_thread(threads[thread])
        self.current_stop = self.last_stop = other
        return frames[0] if frames else None
