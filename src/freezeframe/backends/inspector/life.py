"""The life of one program under its inspector: start, joining, workers, children, ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Attach,
    Backend,
    BoundBreakpoint,
    Configuration,
    Core,
    Launch,
    Sink,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.chores import Chores
from freezeframe.backends.debugger import Found
from freezeframe.backends.transport import websocket
from freezeframe.backends.transport.process import exit_of, gone
from freezeframe.backends.transport.tap import Tap
from freezeframe.config import Config
from freezeframe.errors import (
    DebuggerError,
    DebuggerLost,
    DebuggerTimeout,
    LaunchFailed,
    Unsupported,
)
from freezeframe.model.stops import ExceptionFilter, Exit, StopReason

from . import disguise, joining
from .agent import Caller, MessageSocket
from .connection import Event, Path
from .exceptions import FILTERS
from .ground import Ground, read_url
from .isolate import Isolate
from .kin import Children, Workers
from .motion import Motion
from .runtime import Runtime
from .wire import Wire

log = logging.getLogger(__name__)

#: Names a file that every message is written to, for us and for tests.
TAP_VARIABLE = "FREEZEFRAME_INSPECTOR_TAP"
_KILL_S = 3.0
#: how many times the usual limit a program may take to start that is alive: the machine is busy
_LOADED = 6
_LEAVE_S = 3.0
#: how long a thread may take to hear of a change before it is said to be busy
_BUSY_S = 1.0
#: how long a process may take to end once its inspector is gone
_END_S = 10.0


class Life:
    """One program from its start or joining to its end."""

    def __init__(
        self,
        runtime: Runtime,
        found: Found,
        config: Config,
        *,
        parent: Life | None = None,
        call: Caller | None = None,
    ) -> None:
        self.runtime = runtime
        self.found = found
        self.config = config
        #: of a child: the program that started it, and what it said when it called
        self.parent = parent
        self._call = call
        self.target: Target = Attach()
        self.pid: int | None = call.pid if call is not None else None
        self.command: tuple[str, ...] = ()
        self.isolates: dict[Path, Isolate] = {}
        self.motion = Motion(self)
        self._workers = Workers(self)
        self._children = Children(self)
        self.ended = False
        self.wire: Wire | None = None
        self.ground: Ground | None = parent.ground if parent is not None else None
        self._sink: Sink = lambda event: None
        self._numbers = itertools.count(1)
        self._threads = itertools.count(1)
        self._lines: dict[str, list[WantedBreakpoint]] = {}
        self._functions: list[WantedBreakpoint] = []
        self._filters: list[ExceptionFilter] = []
        self._url: asyncio.Future[str] | None = None
        self._begun = asyncio.Event()
        self._exit_code: int | None = None
        #: processes of the program's that lived when it ended
        self._left_behind: list[int] = []
        self._killing = False
        self._detached = False
        self._disposed = False
        #: the inspector was started by a signal of ours
        self._opened_inspector = False
        self._chores = Chores(runtime.name)

    @property
    def root(self) -> str | None:
        return None if isinstance(self.target, Core) else self.target.cwd

    def _number(self) -> int:
        return next(self._numbers)

    @property
    def main(self) -> Isolate:
        if () not in self.isolates:
            raise DebuggerLost("the program is not connected.", next="dbg status")
        return self.isolates[()]

    # --- start

    async def start(
        self, target: Target, configuration: Configuration, sink: Sink
    ) -> Sequence[BoundBreakpoint]:
        self.target = target
        self._sink = sink
        if isinstance(target, Core):
            raise Unsupported(f"{self.runtime.name} opens no core files.", next="dbg start PROGRAM")
        if self._call is not None:
            self.emit(events.ProcessStarted(self.pid, command=self._call.argv))
            self._open(self._call.socket)
        elif isinstance(target, Launch):
            await self._launch(target)
        else:
            await self._join(target)
        if self._disposed:
            raise DebuggerLost("the program was ended before it was started.")
        await self._configure(configuration)
        return [self._joined(want) for want in configuration.breakpoints]

    async def _launch(self, target: Launch) -> None:
        config = self.config.adapter(self.runtime.name)
        self.command = self.runtime.argv(target, self.found, config)
        ground = self.ground = Ground()
        ground.on_text = self.printed
        ground.on_call = self._children.called
        self._url = asyncio.get_running_loop().create_future()
        ground.on_url = self._listens
        env = dict(target.env)
        process = ground.spawn(self.command, target, env)
        self.pid = process.pid
        self.emit(events.ProcessStarted(process.pid))
        process.on_exit(self._program_ended)
        limit_s = self.config.timeouts.initialize_s * _LOADED
        try:
            async with asyncio.timeout(limit_s):
                url = await self._url
        except TimeoutError:
            raise DebuggerTimeout(
                f"{self.runtime.name} did not listen for its debugger within {limit_s:g} s.",
                next="dbg logs",
            ) from None
        await self._connect(url)

    def _listens(self, url: str) -> None:
        if self._url is not None and not self._url.done():
            self._url.set_result(url)

    async def _join(self, target: Attach) -> None:
        limit_s = self.config.timeouts.initialize_s
        host, port = target.host, target.port
        if target.pid is not None:
            self.pid = target.pid
            host, port, self._opened_inspector = await joining.listening(
                target.pid, self.runtime, limit_s
            )
        assert host is not None
        assert port is not None
        url = await joining.find(host, port, self.config.timeouts.connect_s)
        if self._opened_inspector and await self._move_to_agent(url):
            return
        await self._connect(url)

    async def _move_to_agent(self, url: str) -> bool:
        """Leave the port that a signal of ours has opened; False when there is no other way."""
        where = read_url(url)
        if where is None or self.pid is None:
            return False
        name, limit_s = self.runtime.name, self.config.timeouts.initialize_s
        socket = await joining.move_to_agent(where, self.pid, name, limit_s)
        if socket is None:
            words = f"port {where[1]} of process {self.pid} is open to every user until `detach`.\n"
            self.emit(events.Printed("console", words))
            return False
        self._opened_inspector = False
        self._open(socket)
        return True

    async def _connect(self, url: str) -> None:
        where = read_url(url)
        if where is None:
            raise DebuggerLost(f"{url[:80]} is no address of an inspector.")
        if self.ground is not None:
            self.ground.hush.expect_attached()
        # It has said that it listens, so that only a busy machine keeps it from answering.
        limit_s = self.config.timeouts.initialize_s
        self._open(await websocket.connect(*where, timeout_s=limit_s))

    def _open(self, socket: MessageSocket) -> None:
        env = self.target.env
        tap = Tap(env[TAP_VARIABLE]) if env.get(TAP_VARIABLE) else None
        self.wire = Wire(
            socket,
            name=self.runtime.name,
            on_event=self._hear,
            on_lost=self._lost,
            tap=tap,
            timeout_s=self.config.timeouts.request_s,
        )
        self.add_isolate((), "main")

    async def _configure(self, configuration: Configuration) -> None:
        main = self.main
        follow = not isinstance(self.target, Core) and self.target.follow_children
        self._filters = configuration.filters_among(FILTERS)
        for want in configuration.breakpoints:
            if want.location.file is not None:
                self._lines.setdefault(want.location.file, []).append(want)
            elif want.location.function is not None:
                self._functions.append(want)
        self.motion.just_my_code = not isinstance(self.target, Core) and self.target.just_my_code
        await main.configure(follow=follow)
        if self._call is not None or isinstance(self.target, Attach):
            # A child waits in its first lines, a joined program runs: there is code to ask.
            await self._settle(main)
        # A program that runs may stop as soon as there is something to stop at.
        self.emit(events.Initialized())
        await self.set_all(main)
        if isinstance(self.target, Attach) and self._call is None:
            self.emit(events.ProcessStarted(self.pid))
        if self.owns_program:
            await main.marks.gates.expect_entry(first_line=False)
            await main.marks.guard()
        self.motion.entering[main] = self._begin
        await main.ask("Runtime.runIfWaitingForDebugger")
        if self.owns_program:
            # Before its first line it stops by itself, and is sent on from there.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.config.timeouts.initialize_s):
                    await self._begun.wait()

    async def _settle(self, isolate: Isolate) -> None:
        code = disguise.TELL_EXIT if self._call is not None else ""
        if isinstance(self.target, Launch):
            line = None
            if self.owns_program and self.ground is not None and self.target.follow_children:
                line = await self.ground.listen()
            code = f"{code};{disguise.code(self.runtime.child_options, self.target, line)}"
        facts = await isolate.settle_in(code)
        if facts:
            self.pid = self.pid or int(facts["pid"])
            self.found = replace(self.found, version=str(facts["version"]).removeprefix("v"))

    async def set_all(self, isolate: Isolate) -> None:
        self.motion.thrown.filters = {filter.name: filter for filter in self._filters}
        await isolate.set_filters(self._filters)
        await isolate.marks.set_all(self._lines, self._functions)

    async def change(self, isolate: Isolate, what: Coroutine[Any, Any, None]) -> None:
        """Make a change to an isolate. One that is busy takes it when it comes to it.

        A thread that waits for another process hears nothing until that one has ended.
        """
        task = self._chores.start(isolate.in_turn(what))
        await asyncio.wait({task}, timeout=None if isolate.stack is not None else _BUSY_S)
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise error
        if not task.done():
            task.add_done_callback(lambda _: self._tell_bound())

    def _tell_bound(self) -> None:
        wanted = [want for entries in self._lines.values() for want in entries]
        for want in (*wanted, *self._functions):
            self.emit(events.BreakpointMoved(self._joined(want)))

    async def _begin(self, isolate: Isolate) -> events.Stopped | None:
        """The program stands before its first line."""
        await self._settle(isolate)
        if isinstance(self.target, Attach) and self._call is None:
            self.emit(events.ProcessStarted(self.pid))
        await isolate.look_at_scripts()
        calls = isolate.stack.calls if isolate.stack is not None else []
        first = isolate.scripts.get(str(calls[0]["location"]["scriptId"])) if calls else None
        await isolate.foresee_in(first)
        self._begun.set()
        if self.owns_program and isinstance(self.target, Launch) and self.target.stop_on_entry:
            return events.Stopped(StopReason.ENTRY, isolate.id)
        return None

    # --- those whom it brings along

    def add_isolate(self, path: Path, name: str) -> Isolate:
        assert self.wire is not None
        isolate = Isolate(self.wire, path, next(self._threads), name, self, self._number)
        self.isolates[path] = isolate
        return isolate

    def worker_started(self, parent: Isolate, params: dict[str, Any]) -> None:
        self._workers.started(parent, params)

    def worker_ended(self, path: Path) -> None:
        self._workers.ended(path)

    def make_child(self, call: Caller) -> Backend:
        raise NotImplementedError

    @property
    def closing(self) -> bool:
        """Nobody follows a child any more."""
        return self._disposed or self._detached or self._killing

    # --- what is reported

    def emit(self, event: events.Event) -> None:
        if isinstance(event, events.Stopped):
            self._begun.set()
        self._sink(event)

    def printed(self, stream: str, text: str) -> None:
        self.emit(events.Printed(stream, text))

    def drain(self) -> None:
        if self.ground is not None:
            self.ground.drain()

    def moved(self, bound: BoundBreakpoint) -> None:
        self.emit(events.BreakpointMoved(bound))

    def paused(self, isolate: Isolate, params: dict[str, Any]) -> None:
        self.motion.paused(isolate, params)

    def _hear(self, event: Event) -> None:
        isolate = self.isolates.get(event.path)
        if isolate is not None:
            isolate.hear(event)

    def exiting(self, code: int) -> None:
        self._exit_code = code

    def _joined(self, want: WantedBreakpoint) -> BoundBreakpoint:
        """Return what became of a breakpoint: bound where any isolate has it."""
        found = [isolate.marks.bound(want) for isolate in self.isolates.values()]
        found = found or [BoundBreakpoint(want.id, False)]
        return next((each for each in found if each.verified), found[0])

    # --- ends

    @property
    def owns_program(self) -> bool:
        return isinstance(self.target, Launch) and self._call is None

    def leaving(self, isolate: Isolate) -> None:
        """The program has ended and waits for us to let go."""
        process = self.ground.process if self.ground is not None else None
        if process is not None and self.owns_program:
            # Those whom it leaves behind cannot be told from strangers later.
            self._left_behind = process.note_descendants()
        self.work(self._let_go())

    async def _let_go(self) -> None:
        # What it said last is on the way still.
        with contextlib.suppress(DebuggerError):
            await self.main.ask("Runtime.getHeapUsage", timeout_s=1.0)
        if self.wire is not None:
            self.wire.close()
        if not self.owns_program:
            self.work(self._watch_end())

    def _lost(self, error: DebuggerLost) -> None:
        """The connection is gone."""
        self.work(self._watch_end(error))

    async def _watch_end(self, error: DebuggerLost | None = None) -> None:
        """Say how it ended, where nobody else will: with its process, or without?"""
        if self.owns_program:
            process = self.ground.process if self.ground is not None else None
            if process is None or self._detached:
                return
            with contextlib.suppress(DebuggerTimeout):
                await process.wait(_END_S)
                return
        elif self.pid is None or await gone(self.pid, timeout_s=_END_S):
            self._finish(Exit(code=self._exit_code))
            return
        reason = error.message if error is not None else "it did not end when it said it would"
        self._finish(Exit(how="lost", reason=reason))

    def _program_ended(self, status: int) -> None:
        self._begun.set()
        if self._url is not None and not self._url.done():
            self.drain()
            assert self.ground is not None
            words = str(self.ground.words) or f"it ended with {status}"
            self._url.set_exception(LaunchFailed(words, next="dbg tool"))
            self._url.exception()
            return
        if self._killing:
            self._finish(Exit(how="killed"))
        elif self._detached:
            assert self.ground is not None
            self.ground.release()
        else:
            self.work(self._finish_after_children(exit_of(status)))

    async def _finish_after_children(self, exit: Exit) -> None:
        if self.ground is not None and self.ground.line is not None:
            await self._children.settle(self._left_behind, self.ground.line)
        self._finish(exit)

    def _finish(self, exit: Exit) -> None:
        if self.ended:
            return
        self.ended = True
        self._begun.set()
        self.drain()
        if self.wire is not None:
            self.wire.close()
        self.emit(events.Ended(exit))

    async def terminate(self) -> None:
        """End the program; one that we joined is left running."""
        if isinstance(self.target, Attach) and self._call is None:
            if not self.ended:
                await self.detach()
            return
        self._killing = True
        process = self.ground.process if self.ground is not None else None
        if self._call is not None:
            if self.pid is not None and self.wire is not None and self.wire.lost is None:
                # While it is connected to us its pid is its own.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(self.pid, signal.SIGKILL)
        elif process is not None:
            process.note_descendants()
            await process.kill_tree(_KILL_S, daemons=not self.ended)
        self._finish(Exit(how="killed"))

    async def detach(self) -> None:
        """Leave the program running without us."""
        if self.ended:
            return
        self._detached = True
        with contextlib.suppress(DebuggerLost, DebuggerTimeout, TimeoutError):
            await self._leave()
        if self.wire is not None:
            self.wire.close()
        self._finish(Exit(how="detached"))

    async def _leave(self) -> None:
        async with asyncio.timeout(_LEAVE_S):
            for isolate in list(self.isolates.values()):
                with contextlib.suppress(DebuggerError):
                    await isolate.leave()
            if self._opened_inspector:
                # It was closed before we came. It ends the connection, answer and all; node 20 dies
                # at times when we end it at the same moment.
                await self.main.ask("Runtime.evaluate", expression="process._debugEnd()")

    @property
    def lingering(self) -> bool:
        return self._detached and self.ground is not None and self.ground.lingering

    async def dispose(self) -> None:
        """Release everything, kill what is left of a program of ours. Never raises."""
        if self._disposed:
            return
        self._disposed = True
        ground = self.ground
        process = ground.process if ground is not None and self.owns_program else None
        if process is not None and process.returncode is None and not self._detached:
            await process.kill_tree(_KILL_S)
        if self.wire is not None:
            self.wire.close()
        if ground is not None and not self.lingering:
            ground.release()
        self._chores.cancel()

    def work(self, what: Coroutine[Any, Any, None]) -> None:
        """Do something beside."""
        self._chores.start(what)
