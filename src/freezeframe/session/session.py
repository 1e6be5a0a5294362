"""One debug session: joins backend, phase, breakpoints, output and children.

Everything that happens reaches `_on_event`, in order; that is the one place where it can be
recorded and broadcast. Commands that talk to the debugger take turns (`turn`); waiting for a
stop holds no turn, so status, pause, output and stop always get through.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import replace
from typing import Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Backend,
    Configuration,
    Core,
    Feature,
    Launch,
    StepKind,
    Target,
    WantedBreakpoint,
)
from freezeframe.config import Config
from freezeframe.errors import DebuggerError, FreezeframeError, NotRunning, Unsupported
from freezeframe.model.stops import ExceptionFilter, Exit, Frame, Thread, Watchpoint

from . import refusals
from .bell import Bell
from .breakpoints import Bindings, Book, Wanted
from .edits import Edits, judged
from .handles import Handles
from .liveness import Liveness
from .looking import look
from .memory import FrameMemory
from .moment import FIRST_FRAMES, FrameView, Moment
from .output import OutputRing
from .phase import Occurrence, Phase, advance
from .release import release
from .sources import Sources

log = logging.getLogger(__name__)

MakeBackend = Callable[[], Backend]
#: told of every event of a session, after the session has taken it in; must not wait
Witness = Callable[["Session", events.Event], None]


class Session:
    """A program under a debugger, from start to end; it can be started again."""

    def __init__(
        self,
        name: str,
        *,
        book: Book,
        config: Config,
        sources: Sources,
        make_backend: MakeBackend,
        reason: str,
        parent: Session | None = None,
        on_change: Callable[[Session], None] = lambda session: None,
        tell: Callable[[list[Wanted]], Awaitable[None]] | None = None,
        filters: Callable[[], list[ExceptionFilter] | None] = lambda: None,
        witness: Witness = lambda session, event: None,
    ) -> None:
        self.name = name
        self.config = config
        self.sources = sources
        #: why this debugger was taken
        self.reason = reason
        self.parent = parent
        self.children: list[Session] = []
        self.book = book
        self.bindings = Bindings()
        self.edits = Edits()
        self.output = OutputRing(config.output.max_events, config.output.max_bytes)
        self.bell = Bell()
        self.phase = Phase.IDLE
        self.target: Target | None = None
        self.backend: Backend | None = None
        self.pid: int | None = None
        #: of a child: its own command line, where its debugger tells
        self.command: tuple[str, ...] = ()
        self.exit: Exit | None = None
        self.stop_number = 0
        #: the stop the program stands at; None while it runs
        self.moment: Moment | None = None
        #: the last stop there was, for those who waited for it
        self.last_moment: Moment | None = None
        #: breakpoints of an operation such as `until`, gone at the next stop
        self.private: list[Wanted] = []
        self.watchpoints: dict[int, Watchpoint] = {}
        self.created = time.time()
        self.started = time.time()
        self._make_backend = make_backend
        self._filters = filters
        self._on_change = on_change
        self._witness = witness
        #: tells every session that shares the breakpoints about changed ones
        self.tell = tell or self.apply
        self._lock = asyncio.Lock()
        self._generation = 0
        #: ended for good: it must not start again
        self.forgotten = False
        #: of a root: why the daemon ended it without a command, a clause
        self.end_reason = ""
        #: how often it was put an end to; whoever starts it looks whether that happened meanwhile
        self._ends = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.liveness = Liveness(self, self._on_event)
        self.thread_names: dict[int, str] = {}
        #: ids of living threads, as far as the debugger tells
        self.threads: set[int] = set()
        self.memory = FrameMemory()
        self._children_made = 0
        #: the last step was out of a function: what is returned then is that function's
        self.finishing = False
        #: of a root: the session of its tree that was reported last
        self.speaker: Session | None = None
        #: the command that set the program in motion last, as it was typed
        self.led_by = ""
        #: of a root: its stops, and those of its children, are kept
        self.recorded: bool = parent is None or parent.recorded

    # --- the tree

    @property
    def root(self) -> Session:
        return self if self.parent is None else self.parent.root

    def members(self) -> Iterator[Session]:
        """Yield this session and every one below it."""
        yield self
        for child in self.children:
            yield from child.members()

    @property
    def live(self) -> bool:
        return self.phase.alive

    @property
    def launched(self) -> bool:
        """The program was started here, not joined."""
        return isinstance(self.target, Launch)

    @property
    def tree_live(self) -> bool:
        return any(member.live for member in self.members())

    def focus(self) -> Session:
        """Return the session of the tree that a command without a name speaks to.

        That is the one that was reported last while it stands still, else this one unless it has
        nothing to show and another one does.
        """
        stopped = [m for m in self.members() if m.phase is Phase.STOPPED and m.moment]
        if (speaker := self.root.speaker) in stopped and speaker is not None:
            return speaker
        if self.phase is Phase.STOPPED:
            return self
        if stopped:
            return min(stopped, key=lambda m: m.moment.event_order if m.moment else 0)
        if self.live:
            return self
        return next((m for m in self.members() if m.live), self)

    @property
    def _ended_by_itself(self) -> bool:
        return self.exit is not None and self.exit.how not in ("killed", "detached", "lost")

    # --- guards

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold the debugger for one command; others wait their turn."""
        async with self._lock:
            yield

    def require_backend(self) -> Backend:
        if self.backend is None or not self.live:
            raise refusals.ended(self)
        return self.backend

    async def require_stopped(self, *, to_resume: bool = False) -> Moment:
        """Return the current stop, its first look complete. Raises NotStopped or NotRunning."""
        while True:
            moment = self.moment
            if moment is None or self.phase is not Phase.STOPPED:
                if to_resume and self.phase is Phase.RUNNING:
                    raise refusals.runs_already()
                raise refusals.not_stopped(self)
            await asyncio.shield(moment.ready)
            if to_resume and isinstance(self.target, Core):
                raise refusals.dead()
            if moment is self.moment:
                return moment

    def require(self, feature: Feature) -> Backend:
        """Return the backend. Raises Unsupported when it lacks *feature*."""
        backend = self.require_backend()
        if self.phase is Phase.INITIALIZING:
            raise refusals.starting()  # it has not said yet what it can do
        if feature not in backend.features:
            raise refusals.lacking(self.target, backend, feature)
        return backend

    # --- life

    async def start(self, target: Target) -> None:
        """Start or join the program. Returns when it runs (or has already stopped or ended)."""
        if self.forgotten:
            raise refusals.ended_early(self)
        self._advance(Occurrence.STARTED)
        ends = self._ends
        self._generation += 1
        generation = self._generation
        self.target = target
        self.exit = None
        self.pid = None
        self.moment = self.last_moment = None
        self.started = time.time()
        self.bindings = Bindings()
        self.private.clear()
        self.thread_names.clear()
        self.threads.clear()
        self.memory.clear()
        backend = self.backend = self._make_backend()
        given = self.book.enabled()
        configuration = Configuration(self.edits.begin(self.book, self.sources), self._filters())

        def sink(event: events.Event) -> None:
            if generation == self._generation:
                self._on_event(event)

        try:
            bound = await backend.start(target, configuration, sink)
        except BaseException as error:
            await release(backend)
            if self.live and generation == self._generation:
                words = error.message if isinstance(error, FreezeframeError) else str(error)
                self._on_event(events.Ended(Exit(how="lost", reason=words or type(error).__name__)))
            if ends != self._ends and isinstance(error, FreezeframeError):
                raise refusals.ended_early(self) from None
            raise
        self.bindings.update(bound)
        if self.phase is Phase.INITIALIZING:
            self._advance(Occurrence.INITIALIZED)
        if self.phase in (Phase.CONFIGURING, Phase.STOPPED):
            self._advance(Occurrence.CONFIGURED)
        self._changed()
        if self.live and [w.id for w in self.book.enabled()] != [w.id for w in given]:
            # Someone changed the breakpoints while the debugger was being configured.
            await self.apply(list(self.book))

    async def restart(self) -> None:
        """End the program if it lives and start it again, as it was started."""
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
            raise refusals.ended_early(self)  # that was someone else
        self.children.clear()
        self._children_made = 0
        self.phase = advance(self.phase, Occurrence.CLEARED)
        await self.start(target)

    async def end(self, *, for_good: bool = False) -> None:
        """End the program, its children and its debugger. Bounded; never raises.

        *for_good*: it cannot be started again, not even by a `restart` that is under way.
        """
        self.forgotten = self.forgotten or for_good
        self._ends += 1
        for child in list(self.children):
            await child.end()
        left = self.parent is None and (self.exit is None or self.exit.how != "detached")
        backend, generation = self.backend, self._generation
        if backend is not None and (self.live or left):
            try:
                await backend.terminate()
            except DebuggerError as error:
                log.info("%s: terminate: %s", self.name, error)
            if self.live and generation == self._generation:
                self._on_event(events.Ended(Exit(how="killed")))
        if backend is not None:
            await release(backend)

    async def detach(self) -> None:
        """Leave the program and its children running without a debugger."""
        for child in list(self.children):
            if child.live:
                await child.detach()
        backend = self.require(Feature.DETACH)
        await backend.detach()
        if self.live:
            self._on_event(events.Ended(Exit(how="detached")))

    async def dispose(self) -> None:
        """Let go of everything. Never raises."""
        await self.end(for_good=True)
        for task in list(self._tasks):
            task.cancel()

    # --- what happens

    def _on_event(self, event: events.Event) -> None:
        if self.phase is Phase.TERMINATED:
            late_child = isinstance(event, events.ChildStarted) and self._ended_by_itself
            if not late_child and not isinstance(event, events.Printed):
                return
        match event:
            case events.Printed(stream, text):
                self.output.append(stream, text)
                self.bell.ring()
            case events.Initialized():
                self._advance(Occurrence.INITIALIZED)
            case events.Stopped():
                self._stopped(event)
            case events.Continued():
                if self.phase is Phase.STOPPED and event.all_threads:
                    self._resumed()
            case events.ProcessStarted(pid):
                self.pid = pid if pid is not None else self.pid
                self.command = event.command or self.command
                self.liveness.follow(self.pid)
                self._changed()
            case events.ThreadChanged(thread, alive):
                (self.threads.add if alive else self.threads.discard)(thread)
            case events.BreakpointMoved(bound):
                self.bindings.update([bound])
            case events.ChildStarted():
                self._adopt(event)
            case events.Ended(exit):
                event = events.Ended(self.liveness.truth(exit))
                self._end(event.exit)
            case events.CapabilitiesChanged():
                pass
        self._witness(self, event)

    def _advance(self, occurrence: Occurrence) -> None:
        self.phase = advance(self.phase, occurrence)
        self._changed()

    def _changed(self) -> None:
        root = self.root
        self.bell.ring()
        if root is not self:
            root.bell.ring()
        self._on_change(self)

    def _stopped(self, event: events.Stopped) -> None:
        assert self.backend is not None
        self._advance(Occurrence.STOPPED)
        self.stop_number += 1
        thread = Thread(event.thread if event.thread is not None else -1, "", current=True)
        moment = Moment(self.stop_number, event, self.backend, thread, Handles(self.stop_number))
        moment.event_order = time.monotonic()
        self.moment = self.last_moment = moment
        # Where it stands is known when it was looked at.
        moment.ready.add_done_callback(lambda ready: self._on_change(self))
        self._spawn(look(self, moment))
        self._changed()

    def _resumed(self) -> None:
        self._advance(Occurrence.RESUMED)
        self.moment = None

    def _end(self, exit: Exit) -> None:
        self._advance(Occurrence.ENDED)
        if (why := self.root.end_reason) and exit.how in ("killed", "lost"):
            exit = Exit(exit.code, exit.signal, "killed", f"the daemon ended because {why}")
        self.exit = exit
        self.liveness.leave()
        if self.moment is not None and not self.moment.ready.done():
            self.moment.trouble = "the program ended"
        self.moment = None
        if self.backend is not None:
            self._spawn(release(self.backend))
        self._changed()

    def _adopt(self, event: events.ChildStarted) -> None:
        root = self.root
        root._children_made += 1
        child = Session(
            f"{root.name}/{root._children_made}",
            book=self.book,
            config=self.config,
            sources=self.sources,
            make_backend=lambda: event.backend,
            reason="follows its parent",
            parent=self,
            on_change=self._on_change,
            tell=self.tell,
            filters=self._filters,
            witness=self._witness,
        )
        child.pid = event.pid
        self.children.append(child)
        self._spawn(self._start_child(child, event.target))

    async def _start_child(self, child: Session, target: Target) -> None:
        try:
            await child.start(target)
        except FreezeframeError as error:
            # A child that ends before it was configured is no failure of the program.
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

    async def apply(self, changed: Iterable[Wanted]) -> None:
        """Tell the debugger about *changed* breakpoints: added, altered or removed ones."""
        if self.backend is None or self.phase not in (Phase.RUNNING, Phase.STOPPED):
            return
        changed = list(changed)
        present = {w.id for w in self.book} | {w.id for w in self.private}
        self.bindings.forget(w.id for w in changed if w.id not in present)
        for path in {w.location.file for w in changed if w.location.file is not None}:
            bound = await self.backend.set_breakpoints(path, self._for_file(path))
            self.bindings.update(judged(bound, path, self.started))
        if any(w.location.function is not None for w in changed):
            passing = [w.to_set() for w in self.private if w.location.function is not None]
            functions = self.book.for_functions() + passing
            self.bindings.update(await self.backend.set_function_breakpoints(functions))
        if any(w.location.address is not None for w in changed):
            addresses = self.book.for_addresses() + [
                w.to_set() for w in self.private if w.location.address is not None
            ]
            self.bindings.update(await self.backend.set_address_breakpoints(addresses))

    def _for_file(self, path: str) -> list[WantedBreakpoint]:
        passing = [w.to_set() for w in self.private if w.location.file == path]
        return self.edits.placed(self.book.for_file(path) + passing)

    # --- execution

    async def resume(self, *, only: bool = False) -> None:
        """Let the program run on from its stop."""
        moment = await self.require_stopped()
        backend = self.require_backend()
        self.finishing = False
        await self.go(backend.resume(moment.thread.id, only=only), moment)

    async def step(self, kind: StepKind, *, instruction: bool = False) -> None:
        moment = await self.require_stopped()
        backend = self.require_backend()
        self.finishing = kind is StepKind.OUT
        await self.go(backend.step(kind, moment.thread.id, instruction=instruction), moment)

    async def go(self, request: Coroutine[Any, Any, None], moment: Moment) -> None:
        """Send a resuming request; the debugger's `continued` may come with it or not at all."""
        await request
        if self.moment is moment and self.phase is Phase.STOPPED:
            self._on_event(events.Continued())

    async def select(self, index: int) -> FrameView:
        """Make a frame the current one and look at it."""
        moment = await self.require_stopped()
        view = await moment.look(index)
        moment.selected = index
        moment.view = view
        return view

    async def select_thread(self, thread: int) -> Frame | None:
        """Make a thread the current one at this stop."""
        moment = await self.require_stopped()
        known = {t.id: t for t in await moment.backend.threads()}
        chosen = known[thread]
        other = Moment(moment.number, moment.event, moment.backend, chosen, moment.handles)
        other.event_order = moment.event_order
        other.reported = True
        other.ready.set_result(None)
        frames = await other.frames(FIRST_FRAMES)
        other.thread = replace(chosen, frame=frames[0] if frames else None, current=True)
        if frames:
            other.view = await other.look(0)
        self.moment = self.last_moment = other
        return frames[0] if frames else None
