"""The life of one debugged process: start, events, ends."""

from __future__ import annotations

import asyncio
import os
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
from freezeframe.backends.chores import Chores
from freezeframe.backends.debugger import Found
from freezeframe.backends.transport.feeder import Feeder
from freezeframe.backends.transport.streams import Stream
from freezeframe.config import Config
from freezeframe.errors import DebuggerLost, NotRunning, Unsupported

from . import startup
from .adapters._descriptor import Adapter, Plan, Spawn, Surroundings
from .brief_halt import BriefHalt
from .ends import Ends
from .ground import Ground
from .kin import Kin, MakeBackend
from .marks import Marks
from .messages import Event
from .reach import reach
from .returns import ReturnValues
from .stops import Stops
from .voices import Voices
from .watches import Watches
from .wire import Wire

#: What can be asked of a program that is dead.
_OF_THE_DEAD = frozenset(
    {Feature.MEMORY_READ, Feature.REGISTERS, Feature.DISASSEMBLE, Feature.RAW, Feature.RESTART}
)
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
        self.returns = ReturnValues(self)
        self.brief_halt = BriefHalt(self)
        #: the process goes on as another program, which will connect anew
        self.replaced = False
        #: breakpoints and filters are in place, and the program runs
        self.configured = False
        self.ends = Ends(self)
        #: the ground that it stands on was made for it, not for its parent
        self.brought_up = False
        self.chores = Chores(adapter.name)
        self._stream = stream
        self._sink: Sink = lambda event: None
        self._configuration = Configuration()
        self.initialized = asyncio.Event()
        self._greeted = False

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
        try:
            await self.greet()
            bound = await self.configure(configuration)
        except DebuggerLost as error:
            raise await self.ends.killed(error) or error from None
        if self.plan is not None and self.plan.spawn is not None and self.ground is not None:
            await self.ground.injected(self.plan.spawn, _INJECTED_S)
        return bound

    async def _bring_up(self, target: Target) -> Stream:
        """Start what must be started and return the stream that DAP is spoken on."""
        ground = await Ground.open(self.adapter, target)
        if self.ends.disposed:
            ground.close()
            raise DebuggerLost("the program was ended before it was started.")
        self.ground = ground
        self.brought_up = True
        ground.on_text = lambda stream, text: self.emit(events.Printed(stream, text))
        self.around = Surroundings(
            self.found,
            self.config.adapter(self.adapter.name),
            ground.endpoint,
            ground.directory,
            ground.stdio,
            ground.port,
            ground.session.name if ground.session is not None else None,
        )
        if self.plan is None:
            self.plan = self.adapter.plan(target, self.around)
        self.interpreter = self.plan.interpreter or self.interpreter
        spawn = self.plan.spawn
        if spawn is not None:
            self.command = spawn.argv
            process = ground.spawn(spawn, target)
            if spawn.role == "program":
                self.pid = process.pid
                self.emit(events.ProcessStarted(process.pid))
                process.on_exit(self.ends.program_ended)
        stream = await reach(self.plan, ground, self.adapter, self.config.timeouts)
        ground.on_stream = lambda arrived: self.work(self.kin.take_in(arrived))
        return stream

    def open(self) -> None:
        """Begin to listen on the stream."""
        if self.wire.opened:
            return
        assert self._stream is not None
        self.wire.hear = self.hear
        self.wire.on_lost = self.ends.lost
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
        ground = self.kin.roof or self.ground
        stdin = ground is not None and ground.stdin is not None
        self.wire.learn(capabilities, *((Feature.STDIN,) if stdin else ()))
        if isinstance(self.target, Core):
            self.wire.features &= _OF_THE_DEAD
        elif not self.adapter.end.leaves(self.target):
            self.wire.features -= {Feature.DETACH}

    def _log_channel(self) -> str | None:
        ground = self.ground
        return ground.fifo.path if ground is not None and ground.fifo is not None else None

    def _last_words(self) -> str:
        if self.ground is None or self.owns_program:
            return ""
        self.ground.drain()
        return str(self.ground.words)

    # --- what the adapter reports

    def emit(self, event: events.Event) -> None:
        self._sink(event)

    def drain(self) -> None:
        for ground in (self.ground, self.kin.roof):
            if ground is not None:
                ground.drain()

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
                self.ends.learn(self.adapter.end.read_output(str(body.get("output") or "")))
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
                id, name = str(module.get("id")), str(module.get("name"))
                if body.get("reason") == "removed":
                    self.modules.pop(id, None)
                    self.stops.modules_went = True
                else:
                    # Of gdb 16 it is the whole path.
                    self.modules[id] = os.path.basename(name) or name
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
                    self.work(self.ends.on_exited(int(body.get("exitCode", 0))))
            case "terminated":
                self.work(self.ends.after_terminated())
            case name if name == self.adapter.children.event:
                offer = self.adapter.children.read_offer(body)
                if offer is not None:
                    self.kin.offer(offer)

    async def _run_in_terminal(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Start the program that the adapter asks for, on pipes that we own."""
        assert self.ground is not None
        self.kin.allow_one_more("runInTerminal")
        env = dict(self.target.env)
        for key, value in (arguments.get("env") or {}).items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = value
        cwd = arguments.get("cwd") or self.target.cwd
        process = self.ground.spawn_in_terminal(
            Spawn(tuple(arguments["args"]), cwd, env),
            tty=isinstance(self.target, Launch) and self.target.tty,
        )
        self.learn({})
        return {"processId": process.pid}

    # --- ends

    @property
    def owns_program(self) -> bool:
        """The process that we started is the program, not its debugger."""
        plan = self.plan
        return plan is not None and plan.spawn is not None and plan.spawn.role == "program"

    @property
    def ended(self) -> bool:
        return self.ends.told

    def take_over(self, wire: Wire, stream: Stream | None) -> None:
        """Go on with the wire of a process that replaced ours."""
        self.replaced = False
        self.initialized.clear()
        self.wire, self._stream = wire, stream
        self._configuration = self.marks.configuration
        self.marks = Marks(wire, self._log_channel)
        self.watches = Watches(wire)
        wire.hear = self.hear
        wire.on_lost = self.ends.lost

    async def configure_again(self) -> None:
        """Configure the program that replaced the first one."""
        plan, self.plan = self.plan, None
        try:
            await self.configure(self._configuration, again=True)
        finally:
            self.plan = plan

    def work(self, what: Coroutine[Any, Any, None]) -> None:
        """Do something beside."""
        self.chores.start(what)

    # --- program input

    def stdin(self) -> Feeder:
        """Return what writes the program's input. Raises when that is not ours to write."""
        ground = self.kin.roof or self.ground
        feeder = ground.stdin if ground is not None else None
        if feeder is None:
            if isinstance(self.target, Launch) and self.target.stdin is not None:
                raise NotRunning(f"the program reads its input from {self.target.stdin}.")
            raise Unsupported("the program's input is not ours to write.")
        return feeder
