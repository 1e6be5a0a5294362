"""The life of one debugged process: start, events, ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Coroutine
from typing import Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    Configuration,
    Core,
    Feature,
    Launch,
    Sink,
    Target,
)
from freezeframe.backends.debugger import Found
from freezeframe.backends.transport.feeder import Feeder
from freezeframe.backends.transport.process import exit_of, gone
from freezeframe.backends.transport.streams import Stream
from freezeframe.config import Config
from freezeframe.errors import (
    DebuggerError,
    DebuggerLost,
    DebuggerTimeout,
    NotRunning,
    Unsupported,
)
from freezeframe.model.stops import Exit

from . import startup, study
from .adapters._descriptor import Adapter, Plan, Spawn, Surroundings
from .ground import Ground
from .kin import Kin, MakeBackend
from .marks import Marks
from .messages import Event
from .reach import reach
from .stops import Stops
from .voices import Voices
from .watches import Watches
from .wire import Wire

log = logging.getLogger(__name__)

#: How long an exit status may come after `terminated` (js-debug and others send it late).
_EXIT_STATUS_S = 0.5
#: What can be asked of a program that is dead.
_OF_THE_DEAD = frozenset(
    {Feature.MEMORY_READ, Feature.REGISTERS, Feature.DISASSEMBLE, Feature.RAW, Feature.RESTART}
)
_DISCONNECT_S = 2.0
_KILL_S = 3.0
#: How long what brought the debugger into a process may hold on to it afterwards.
_INJECTED_S = 5.0


class Link:
    """The line to one process: made whole by `start`, cut by `terminate` or `detach`.

    A link that is handed a stream joins a process that connected by itself; one that is handed
    a plan joins a child that its adapter announced; any other makes its own plan.
    """

    def __init__(
        self,
        adapter: Adapter,
        found: Found,
        config: Config,
        *,
        parent: Link | None = None,
        plan: Plan | None = None,
        stream: Stream | None = None,
    ) -> None:
        self.adapter = adapter
        self.found = found
        self.config = config
        self.parent = parent
        self.plan = plan
        self.target: Target = parent.target if parent is not None else Attach()
        self.ground: Ground | None = None
        self.around: Surroundings | None = parent.around if parent is not None else None
        self.command: tuple[str, ...] = found.command
        self.interpreter: str | None = parent.interpreter if parent is not None else None
        self.pid: int | None = None
        self.process_told = asyncio.Event()
        #: a thread of the program, whichever was told of first
        self.thread: int | None = None
        #: names of modules by the debugger's ids of them
        self.modules: dict[str, str] = {}
        self.ppid: int | None = None
        self.wire = Wire(adapter, config)
        self.marks = Marks(self.wire, self._log_channel)
        self.watches = Watches(self.wire)
        self.kin = Kin(self)
        self.voices = Voices(adapter)
        self.stops = Stops(self)
        #: the process goes on as another program, which will connect anew
        self.replaced = False
        #: breakpoints and filters are in place, and the program runs
        self.configured = False
        self.ended = False
        self._stream = stream
        self._sink: Sink = lambda event: None
        self._configuration = Configuration()
        self.initialized = asyncio.Event()
        self._exit: Exit | None = None
        self._exit_known = asyncio.Event()
        self._detached = False
        self._disposed = False
        self._disposing: asyncio.Task[None] | None = None
        self._killing = False
        self._greeted = False
        self._tasks: set[asyncio.Task[None]] = set()

    # --- start

    async def start(
        self,
        target: Target,
        configuration: Configuration,
        sink: Sink,
        make_backend: MakeBackend,
    ) -> list[BoundBreakpoint]:
        """Bring the program up, everything in *configuration* in place before it runs."""
        self.target = target
        self._sink = sink
        self._configuration = configuration
        self.kin.make_backend = make_backend
        if self._stream is None and not self.wire.opened:
            self._stream = await self._bring_up(target)
        self.open()
        await self.greet()
        bound = await self.configure(configuration)
        if self.plan is not None and self.plan.spawn is not None and self.ground is not None:
            await self.ground.injected(self.plan.spawn, _INJECTED_S)
        return bound

    async def _bring_up(self, target: Target) -> Stream:
        """Start what must be started and return the stream that DAP is spoken on."""
        ground = await Ground.open(self.adapter, target)
        if self._disposed:
            ground.close()
            raise DebuggerLost("the program was ended before it was started.")
        self.ground = ground
        ground.on_text = lambda stream, text: self.emit(events.Printed(stream, text))
        self.around = Surroundings(
            self.found,
            self.config.adapter(self.adapter.name),
            ground.endpoint,
            ground.directory,
            ground.stdio,
            ground.port,
        )
        if self.plan is None:
            self.plan = self.adapter.plan(target, self.around)
        self.interpreter = self.plan.interpreter or self.interpreter
        spawn = self.plan.spawn
        if spawn is not None:
            secret = ground.endpoint.token if ground.endpoint is not None else None
            self.command = tuple("…" if word == secret else word for word in spawn.argv)
            process = ground.spawn(spawn, target)
            if spawn.role == "program":
                self.pid = process.pid
                self.emit(events.ProcessStarted(process.pid))
                process.on_exit(self._program_ended)
        stream = await reach(self.plan, ground, self.adapter, self.config.timeouts)
        ground.on_stream = lambda arrived: self.work(self.kin.take_in(arrived))
        return stream

    def open(self) -> None:
        """Begin to listen on the stream."""
        if self.wire.opened:
            return
        assert self._stream is not None
        self.wire.hear = self.hear
        self.wire.on_lost = self.lost
        self.wire.open(
            self._stream,
            self.target.env,
            {"runInTerminal": self._run_in_terminal, "startDebugging": self.kin.start_debugging},
            self._last_words,
        )

    async def greet(self) -> None:
        """Ask who is there. Raises DebuggerLost when it is a stranger."""
        if self._greeted:
            return
        self._greeted = True
        ground = self.ground
        for greeting in self.adapter.start.greet(ground.endpoint if ground is not None else None):
            body = await self.wire.request(greeting.command, greeting.arguments)
            wrong = greeting.check(body)
            if wrong is not None:
                raise DebuggerLost(wrong)
            pid, ppid = self.adapter.children.read_identity(body)
            self.pid = pid or self.pid
            self.ppid = ppid or self.ppid

    async def configure(
        self, configuration: Configuration, *, again: bool = False
    ) -> list[BoundBreakpoint]:
        """Go through the start-up order on an open wire; *again*: for a program that runs."""
        return await startup.configure(self, configuration, again=again)

    def learn(self, capabilities: dict[str, Any]) -> None:
        stdin = self.ground is not None and self.ground.stdin is not None
        self.wire.learn(capabilities, *((Feature.STDIN,) if stdin else ()))
        if isinstance(self.target, Core):
            self.wire.features &= _OF_THE_DEAD
        elif not self.adapter.end.leaves(self.target):
            self.wire.features -= {Feature.DETACH}

    def _log_channel(self) -> str | None:
        ground = self.ground
        return ground.fifo.path if ground is not None and ground.fifo is not None else None

    def _last_words(self) -> str:
        if self.ground is None or self._owns_program:
            return ""
        self.ground.drain()
        return str(self.ground.words)

    # --- what the adapter reports

    def emit(self, event: events.Event) -> None:
        self._sink(event)

    def drain(self) -> None:
        if self.ground is not None:
            self.ground.drain()

    def hear(self, event: Event) -> None:
        """Take in one event of the adapter."""
        body = event.body
        match event.event:
            case "initialized":
                self.initialized.set()
            case "stopped":
                # What was printed before the stop belongs to it.
                self.drain()
                first = not body.get("preserveFocusHint")
                self.stops.take(self.marks.stopped(body), self.watches.hit(body), first=first)
            case "continued":
                all_threads = body.get("allThreadsContinued", True)
                self.stops.resumed()
                self.emit(events.Continued(body.get("threadId"), bool(all_threads)))
            case "output":
                self._learn_exit(self.adapter.end.read_output(str(body.get("output") or "")))
                self.stops.hear(str(body.get("output") or ""))
                pid = self.adapter.start.read_pid(str(body.get("output") or ""))
                if pid is not None:
                    self.pid = pid
                    self.emit(events.ProcessStarted(pid, None))
                for stream, text in self.voices.hear(body):
                    self.kin.eldest.emit(events.Printed(stream, text))
            case "process":
                pid = body.get("systemProcessId")
                self.pid = pid if pid is not None else self.pid
                self.emit(events.ProcessStarted(self.pid, body.get("name")))
                self.process_told.set()
            case "module":
                module = body.get("module") or {}
                self.modules[str(module.get("id"))] = str(module.get("name"))
            case "thread":
                alive = body.get("reason") != "exited"
                self.thread = body.get("threadId") if self.thread is None else self.thread
                self.emit(events.ThreadChanged(body.get("threadId", -1), alive))
            case "breakpoint":
                for bound in self.marks.moved(body.get("breakpoint") or {}):
                    self.emit(events.BreakpointMoved(bound))
            case "capabilities":
                self.learn(body.get("capabilities") or {})
                self.emit(events.CapabilitiesChanged())
            case "exited":
                if self.adapter.children.is_replaced(body):
                    self.replaced = True
                else:
                    self.work(self._on_exited(int(body.get("exitCode", 0))))
            case "terminated":
                self.work(self._after_terminated())
            case name if name == self.adapter.children.event:
                offer = self.adapter.children.read_offer(body)
                if offer is not None:
                    self.kin.offer(offer)

    async def _on_exited(self, code: int) -> None:
        self._learn_exit(await study.end(self.wire, code, self.stops.last_signal, _EXIT_STATUS_S))

    def _learn_exit(self, exit: Exit | None) -> None:
        if exit is not None:
            self._exit = exit
            self._exit_known.set()

    async def _run_in_terminal(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Start the program that the adapter asks for, on pipes that we own."""
        assert self.ground is not None
        env = dict(self.target.env)
        for key, value in (arguments.get("env") or {}).items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = value
        cwd = arguments.get("cwd") or self.target.cwd
        process = self.ground.spawn_in_terminal(Spawn(tuple(arguments["args"]), cwd, env))
        self.learn({})
        return {"processId": process.pid}

    # --- ends

    @property
    def _owns_program(self) -> bool:
        plan = self.plan
        return plan is not None and plan.spawn is not None and plan.spawn.role == "program"

    def _program_ended(self, status: int) -> None:
        """The program that we started is gone; its status is the truth about its end."""
        if self._killing:
            self._finish(Exit(how="killed"))
        elif self._detached:
            assert self.ground is not None
            self.ground.close()
        else:
            self.work(self._finish_after_kin(exit_of(status)))

    async def _finish_after_kin(self, exit: Exit) -> None:
        await (self.parent or self).kin.settle()
        self._finish(exit)

    @property
    def left(self) -> bool:
        """The program was left to itself."""
        return self._detached

    def lost(self, error: DebuggerLost) -> None:
        """The adapter is gone."""
        if self._owns_program:
            # Its exit status follows; a program that goes on without its debugger is lost.
            self.work(self._watch_orphan(error))
        elif self._killing:
            self._finish(self._exit or Exit())
        elif self.parent is not None or self._exit is not None:
            self.work(self._finish_after_kin(self._exit or Exit()))
        elif not self._detached:
            self.work(self._watch_joined(error))

    async def _watch_joined(self, error: DebuggerLost) -> None:
        """The debugger of a process that we joined is gone: with it, or without?"""
        if self.pid is not None and await gone(self.pid, timeout_s=_EXIT_STATUS_S):
            self._finish(Exit())
        else:
            self._finish(Exit(how="lost", reason=error.message))

    async def _watch_orphan(self, error: DebuggerLost) -> None:
        process = self.ground.process if self.ground is not None else None
        if process is None or self.replaced or self._detached:
            return
        try:
            await process.wait(self.config.timeouts.initialize_s)
        except DebuggerTimeout:
            self._finish(Exit(how="lost", reason=error.message))

    async def _after_terminated(self) -> None:
        if self._owns_program or self.replaced:
            return
        if self.adapter.end.told_at_leave and self._exit is None:
            with contextlib.suppress(DebuggerError):
                await self._disconnect(terminate=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_STATUS_S):
                await self._exit_known.wait()
        if self.ground is not None:
            await self.ground.settle()
        self._finish(self._exit or Exit())

    def _finish(self, exit: Exit) -> None:
        if self.ended:
            return
        self.ended = True
        self.drain()
        self.emit(events.Ended(exit))

    async def terminate(self) -> None:
        """End the program; one that we joined is left running."""
        if isinstance(self.target, Attach) and self.parent is None:
            await self.detach()
            return
        self._killing = True
        ground = self.ground
        if self._owns_program and ground is not None and ground.process is not None:
            await ground.process.kill_tree(_KILL_S)
        elif self.parent is not None and self.pid is not None and self.wire.alive:
            # While it is connected to us its pid is its own.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)
        elif not self.ended:
            with contextlib.suppress(DebuggerError):
                await self._disconnect(terminate=True)
        self._finish(Exit(how="killed"))

    async def detach(self) -> None:
        """Leave the program running."""
        if self.ended:
            return
        self._detached = True
        farewell = self.adapter.end.farewell(self.target)
        if farewell is not None:
            with contextlib.suppress(DebuggerError):
                await self.wire.request(
                    "evaluate",
                    {
                        "expression": farewell,
                        "context": self.adapter.expressions.context,
                    },
                    timeout_s=_DISCONNECT_S,
                )
        with contextlib.suppress(DebuggerLost):
            await self._disconnect(terminate=False)
        self._finish(Exit(how="detached"))

    async def _disconnect(self, *, terminate: bool) -> None:
        arguments: dict[str, Any] = {}
        if self.wire.capabilities.get("supportTerminateDebuggee"):
            arguments = {"terminateDebuggee": terminate}
        await self.wire.request("disconnect", arguments, timeout_s=_DISCONNECT_S)

    @property
    def lingering(self) -> bool:
        """The program was left to itself and still writes into our pipes."""
        return self._detached and self.ground is not None and self.ground.lingering

    async def dispose(self) -> None:
        """Release everything, kill what is left of a program of ours. Never raises.

        Called again it waits for the same end, which no cancelled caller leaves half done.
        """
        if self._disposing is None:
            self._disposed = True
            self._disposing = asyncio.ensure_future(self._dispose(asyncio.current_task()))
        await asyncio.shield(self._disposing)

    async def _dispose(self, caller: asyncio.Task[Any] | None) -> None:
        ground = self.ground
        if ground is not None and ground.process is not None and self.parent is None:
            alive = ground.process.returncode is None
            if alive and not (self._detached and self._owns_program):
                await ground.process.kill_tree(_KILL_S)
        self.wire.close()
        if ground is not None and not self.lingering:
            ground.release()
        for task in list(self._tasks):
            if task is not caller:
                task.cancel()

    def take_over(self, wire: Wire, stream: Stream | None) -> None:
        """Go on with the wire of a process that replaced ours."""
        self.replaced = False
        self.initialized.clear()
        self.wire, self._stream = wire, stream
        self._configuration = self.marks.configuration
        self.marks = Marks(wire, self._log_channel)
        self.watches = Watches(wire)
        wire.hear = self.hear
        wire.on_lost = self.lost

    async def configure_again(self) -> None:
        """Configure the program that replaced the first one."""
        plan, self.plan = self.plan, None
        try:
            await self.configure(self._configuration, again=True)
        finally:
            self.plan = plan

    def work(self, what: Coroutine[Any, Any, None]) -> None:
        """Do something beside; a failure is a bug and logged."""
        task = asyncio.ensure_future(what)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s", self.adapter.name, exc_info=error)

    # --- program input

    def stdin(self) -> Feeder:
        """Return what writes the program's input. Raises when that is not ours to write."""
        feeder = self.ground.stdin if self.ground is not None else None
        if feeder is None:
            if isinstance(self.target, Launch) and self.target.stdin is not None:
                raise NotRunning(f"the program reads its input from {self.target.stdin}.")
            raise Unsupported("the program's input is not ours to write.")
        return feeder
