"""The lifecycle of one debugged process: start, adapter events, termination."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    Configuration,
    Core,
    EventSink,
    Feature,
    Launch,
    Target,
)
from freezeframe.backends.background_tasks import BackgroundTasks
from freezeframe.backends.debugger import Found
from freezeframe.backends.program_io import writer_of
from freezeframe.backends.transport.fd_writer import StdinWriter
from freezeframe.backends.transport.streams import Stream
from freezeframe.config import Config
from freezeframe.errors import DebuggerLost

from . import startup
from .adapter_channel import AdapterChannel
from .adapters._descriptor import Adapter, LaunchEnvironment, Plan, Spawn
from .breakpoints import AdapterBreakpoints
from .brief_pause import BriefHalt
from .child_processes import ChildProcesses, MakeBackend
from .connect import open_stream
from .messages import DapEvent
from .output_events import OutputClassifier
from .resources import DapResources
from .return_values import ReturnValues
from .stop_events import StopHandler
from .termination import Termination
from .watchpoints import WatchpointTable

#: Features available in a core file.
CORE_FILE_FEATURES = frozenset(
    {Feature.MEMORY_READ, Feature.REGISTERS, Feature.DISASSEMBLE, Feature.RAW, Feature.RESTART}
)
#: How long the injector may keep tracing the process after the debugger is in it.
_INJECTED_S = 5.0


class Debuggee:
    """One debugged process, from `start` to `terminate` or `detach`.

    With *stream*: a process that connected to us by itself. With *plan*: a child that its adapter
    announced. With neither, the adapter's descriptor makes the plan from the target.

    A debugger with ways of its own has a subclass in its package (`Adapter.backend` leads to it),
    which names the classes of the parts that differ.
    """

    channel_class: type[AdapterChannel] = AdapterChannel
    breakpoints_class: type[AdapterBreakpoints] = AdapterBreakpoints
    stops_class: type[StopHandler] = StopHandler
    returns_class: type[ReturnValues] = ReturnValues
    brief_halt_class: type[BriefHalt] = BriefHalt
    termination_class: type[Termination] = Termination

    def __init__(
        self,
        adapter: Adapter,
        found: Found,
        config: Config,
        *,
        parent: Debuggee | None = None,
        plan: Plan | None = None,
        stream: Stream | None = None,
    ) -> None:
        self.adapter = adapter
        self.found = found
        self.config = config
        self.parent = parent
        self.plan = plan
        self.target: Target = parent.target if parent is not None else Attach()
        self.resources: DapResources | None = None
        self.launch_environment: LaunchEnvironment | None = (
            parent.launch_environment if parent is not None else None
        )
        self.command: tuple[str, ...] = found.command
        self.interpreter: str | None = parent.interpreter if parent is not None else None
        self.pid: int | None = None
        self.process_reported = asyncio.Event()
        #: the first thread the adapter reported
        self.thread: int | None = None
        #: the debugger's module id → module name
        self.modules: dict[str, str] = {}
        self.ppid: int | None = None
        self.channel = self.channel_class(adapter, config)
        self.breakpoints = self.breakpoints_class(self.channel, self._log_channel)
        self.watches = WatchpointTable(self.channel)
        self.children = ChildProcesses(self)
        self.output = OutputClassifier(adapter)
        self.stops = self.stops_class(self)
        self.returns = self.returns_class(self)
        self.brief_halt = self.brief_halt_class(self)
        #: the process has called exec; the new program will connect again
        self.replaced = False
        #: breakpoints and filters are set, and the program runs
        self.configured = False
        self.termination = self.termination_class(self)
        #: `resources` were opened for this process, not for its parent
        self.owns_resources = False
        self.tasks = BackgroundTasks(adapter.name)
        self._stream = stream
        self._sink: EventSink = lambda event: None
        self._configuration = Configuration()
        self.initialized = asyncio.Event()
        self._authenticated = False

    def make_child(self, *, plan: Plan | None = None, stream: Stream | None = None) -> Debuggee:
        """Return the debuggee of a child process, by its plan or its connection to us."""
        return type(self)(
            self.adapter, self.found, self.config, parent=self, plan=plan, stream=stream
        )

    # --- start

    async def start(
        self,
        target: Target,
        configuration: Configuration,
        sink: EventSink,
        make_backend: MakeBackend,
    ) -> list[BoundBreakpoint]:
        """Start the program, with everything in *configuration* set before it runs."""
        self.target = target
        self._sink = sink
        self._configuration = configuration
        self.children.make_backend = make_backend
        if self._stream is None and not self.channel.opened:
            self._stream = await self._start_adapter(target)
        self.open()
        try:
            await self.authenticate()
            bound = await self.configure(configuration)
        except DebuggerLost as error:
            raise await self.termination.killed_by_signal(error) or error from None
        if self.plan is not None and self.plan.spawn is not None and self.resources is not None:
            await self.resources.wait_for_injector(self.plan.spawn, _INJECTED_S)
        return bound

    async def _start_adapter(self, target: Target) -> Stream:
        """Spawn what the plan asks for and return the DAP stream."""
        resources = await DapResources.open(self.adapter, target)
        if self.termination.lifetime.disposed:
            resources.close()
            raise DebuggerLost("the program was ended before it was started.")
        self.resources = resources
        self.owns_resources = True
        resources.on_text = lambda stream, text: self.emit(events.OutputEvent(stream, text))
        self.launch_environment = LaunchEnvironment(
            self.found,
            self.config.adapter(self.adapter.name),
            resources.endpoint,
            resources.directory,
            resources.stdio,
            resources.port,
            resources.session_terminal(target),
        )
        if self.plan is None:
            self.plan = self.adapter.plan(target, self.launch_environment)
        self.interpreter = self.plan.interpreter or self.interpreter
        spawn = self.plan.spawn
        if spawn is not None:
            self.command = spawn.argv
            process = resources.spawn(spawn, target)
            if spawn.role == "program":
                self.pid = process.pid
                self.emit(events.ProcessStarted(process.pid))
                process.on_exit(self.termination.program_ended)
        stream = await open_stream(self.plan, resources, self.adapter, self.config.timeouts)
        resources.on_stream = lambda arrived: self.spawn_task(self.children.accept(arrived))
        return stream

    def open(self) -> None:
        """Open the channel on the stream."""
        if self.channel.opened:
            return
        assert self._stream is not None
        self.channel.on_event = self.on_event
        self.channel.on_lost = self.termination.lost
        self.channel.open(
            self._stream,
            self.target.env,
            {
                "runInTerminal": self._run_in_terminal,
                "startDebugging": self.children.start_debugging,
            },
            self._last_output,
        )

    async def authenticate(self) -> None:
        """Check the identity of the peer. Raises DebuggerLost for an unrelated process."""
        if self._authenticated:
            return
        self._authenticated = True
        await self._identify_peer()

    async def _identify_peer(self) -> None:
        """Ask the peer who it is, before `initialize`. Raises DebuggerLost for an unrelated one."""

    def start_request(self) -> tuple[str, dict[str, Any]]:
        """Return the request for a process that connected to us, with its arguments."""
        return "attach", {}

    def inject(self) -> list[asyncio.Future[dict[str, Any]]]:
        """Send what must run in the process before the program does. Return the answers."""
        return []

    def injected(self, answers: Sequence[asyncio.Future[dict[str, Any]]]) -> None:
        """Read the answers to `inject`, of those that came in time."""

    async def inject_when_stopped(self) -> None:
        """Run what a process needs that attaching has stopped, before breakpoints are set."""

    async def wait_for_process(self) -> None:
        """Wait for the process, where the adapter answers `launch` before it exists."""

    async def configure(
        self, configuration: Configuration, *, again: bool = False
    ) -> list[BoundBreakpoint]:
        """Run the start-up sequence on an open channel; *again*: after an exec."""
        return await startup.configure(self, configuration, again=again)

    def update_capabilities(self, capabilities: dict[str, Any]) -> None:
        resources = self.children.shared_resources or self.resources
        stdin = resources is not None and resources.io.stdin is not None
        self.channel.update_capabilities(capabilities, *((Feature.STDIN,) if stdin else ()))
        if isinstance(self.target, Core):
            self.channel.features &= CORE_FILE_FEATURES
        elif not self.can_detach:
            self.channel.features -= {Feature.DETACH}

    @property
    def can_detach(self) -> bool:
        """Whether the debugger can detach and leave the program running."""
        return True

    def _log_channel(self) -> str | None:
        resources = self.resources
        return resources.fifo.path if resources is not None and resources.fifo is not None else None

    def _last_output(self) -> str:
        if self.resources is None or self.owns_program:
            return ""
        self.resources.drain()
        return str(self.resources.io.stderr_tail)

    # --- events of the adapter

    def emit(self, event: events.Event) -> None:
        self._sink(event)

    def drain(self) -> None:
        for resources in (self.resources, self.children.shared_resources):
            if resources is not None:
                resources.drain()

    def on_event(self, event: DapEvent) -> None:
        """Handle one event of the adapter."""
        body = event.body
        match event.event:
            case "initialized":
                self.initialized.set()
            case "stopped":
                # Output written before the stop is reported before it.
                self.drain()
                first = not body.get("preserveFocusHint")
                self.stops.on_stop(
                    self.breakpoints.stopped(body), self.watches.hit(body), first=first
                )
            case "continued":
                all_threads = body.get("allThreadsContinued", True)
                self.stops.resumed()
                self.emit(events.Continued(body.get("threadId"), bool(all_threads)))
            case "output":
                self.on_output(str(body.get("output") or ""))
                for stream, text in self.output.classify(body):
                    self.children.output_owner.emit(events.OutputEvent(stream, text))
            case "process":
                pid = body.get("systemProcessId")
                self.pid = pid if pid is not None else self.pid
                self.emit(events.ProcessStarted(self.pid, body.get("name")))
                self.process_reported.set()
            case "module":
                self._on_module(body)
            case "thread":
                alive = body.get("reason") != "exited"
                self.thread = body.get("threadId") if self.thread is None else self.thread
                self.emit(events.ThreadChanged(body.get("threadId", -1), alive))
            case "breakpoint":
                self._on_breakpoint(body)
            case "capabilities":
                self.update_capabilities(body.get("capabilities") or {})
                self.emit(events.CapabilitiesChanged())
            case "exited":
                self.on_exited(body)
            case "terminated":
                self.spawn_task(self.termination.after_terminated())
            case name if name == self.adapter.children.event:
                offer = self.adapter.children.read_offer(body)
                if offer is not None:
                    self.children.offer(offer)

    def on_exited(self, body: Mapping[str, Any]) -> None:
        self.spawn_task(self.termination.on_exited(int(body.get("exitCode", 0))))

    def on_output(self, text: str) -> None:
        """Read what the debugger itself says in an output event."""
        self.termination.set_exit(self.adapter.end.read_output(text))
        self.stops.on_output(text)

    def _on_breakpoint(self, body: Mapping[str, Any]) -> None:
        for bound in self.breakpoints.changed(body.get("breakpoint") or {}):
            self.emit(events.BreakpointChanged(bound))

    def _on_module(self, body: Mapping[str, Any]) -> None:
        module = body.get("module") or {}
        id, name = str(module.get("id")), str(module.get("name"))
        if body.get("reason") == "removed":
            self.modules.pop(id, None)
            self.stops.on_module_unloaded()
        else:
            # gdb 16 sends the full path as the name.
            self.modules[id] = os.path.basename(name) or name

    async def _run_in_terminal(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Start the program that the adapter asks for, on pipes that we own."""
        assert self.resources is not None
        self.children.check_process_limit("runInTerminal")
        env = dict(self.target.env)
        for key, value in (arguments.get("env") or {}).items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = value
        cwd = arguments.get("cwd") or self.target.cwd
        process = self.resources.spawn_in_terminal(
            Spawn(tuple(arguments["args"]), cwd, env),
            tty=isinstance(self.target, Launch) and self.target.tty,
        )
        self.update_capabilities({})
        return {"processId": process.pid}

    # --- termination

    @property
    def owns_program(self) -> bool:
        """Whether the process we spawned is the program itself, not its debugger."""
        plan = self.plan
        return plan is not None and plan.spawn is not None and plan.spawn.role == "program"

    @property
    def ended(self) -> bool:
        return self.termination.lifetime.ended

    def take_over(self, channel: AdapterChannel, stream: Stream | None) -> None:
        """Continue on the channel that the process opened after an exec."""
        self.replaced = False
        self.initialized.clear()
        self.channel, self._stream = channel, stream
        self._configuration = self.breakpoints.configuration
        self.breakpoints = self.breakpoints_class(channel, self._log_channel)
        self.watches = WatchpointTable(channel)
        channel.on_event = self.on_event
        channel.on_lost = self.termination.lost

    async def configure_again(self) -> None:
        """Configure the program that the process runs after an exec."""
        plan, self.plan = self.plan, None
        try:
            await self.configure(self._configuration, again=True)
        finally:
            self.plan = plan

    def spawn_task(self, work: Coroutine[Any, Any, None]) -> None:
        """Run *work* in the background, until `dispose`."""
        self.tasks.start(work)

    # --- program input

    def stdin(self) -> StdinWriter:
        """Return the writer of the program's standard input. Raises when it is not our pipe."""
        resources = self.children.shared_resources or self.resources
        io = resources.io if resources is not None else None
        return writer_of(io, self.target.stdin if isinstance(self.target, Launch) else None)
