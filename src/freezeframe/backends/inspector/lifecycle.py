"""The lifecycle of one program under its inspector: launch, attach, workers, children, exit."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Attach,
    Backend,
    BoundBreakpoint,
    BreakpointRequest,
    Configuration,
    Core,
    EventSink,
    Launch,
    Target,
)
from freezeframe.backends.background_tasks import BackgroundTasks
from freezeframe.backends.debugger import Found
from freezeframe.backends.lifetime import DebuggeeLifetime
from freezeframe.backends.transport import websocket
from freezeframe.backends.transport.process import SIGKILL, exit_of, gone
from freezeframe.backends.transport.wire_log import WireLog
from freezeframe.config import Config
from freezeframe.errors import (
    DebuggerError,
    DebuggerLost,
    DebuggerTimeout,
    LaunchFailed,
    Unsupported,
)
from freezeframe.model.stops import ExceptionFilter, Exit, StopReason

from . import attach, bootstrap_script
from .agent_sessions import MessageSocket, WaitingProcess
from .channel import InspectorChannel
from .connection import InspectorEvent, Path
from .error_stacks import FILTERS
from .execution import V8Execution
from .isolate import Isolate
from .resources import NodeResources, read_url
from .runtime import Runtime
from .workers_and_children import NodeChildren, Workers

log = logging.getLogger(__name__)

#: Names a file that every message is written to, for us and for tests.
TAP_VARIABLE = "FREEZEFRAME_INSPECTOR_TAP"
_KILL_S = 3.0
#: factor on the usual start timeout for a process that is alive: the machine is busy
_BUSY_FACTOR = 6
_DETACH_S = 3.0
#: how long a thread may take to apply a change before it counts as busy
_BUSY_S = 1.0
#: how long a process may take to exit once its inspector is gone
_END_S = 10.0


class NodeProgram:
    """One program from its launch or attach to its exit."""

    def __init__(
        self,
        runtime: Runtime,
        found: Found,
        config: Config,
        *,
        parent: NodeProgram | None = None,
        call: WaitingProcess | None = None,
    ) -> None:
        self.runtime = runtime
        self.found = found
        self.config = config
        #: of a child: the program that started it, and its agent's first message
        self.parent = parent
        self._call = call
        self.target: Target = Attach()
        self.pid: int | None = call.pid if call is not None else None
        self.command: tuple[str, ...] = ()
        self.isolates: dict[Path, Isolate] = {}
        self.execution = V8Execution(self)
        self._workers = Workers(self)
        self._children = NodeChildren(self)
        self.lifetime = DebuggeeLifetime(self._report_exit)
        self.channel: InspectorChannel | None = None
        self.resources: NodeResources | None = parent.resources if parent is not None else None
        self._sink: EventSink = lambda event: None
        self._numbers = itertools.count(1)
        self._threads = itertools.count(1)
        self._lines: dict[str, list[BreakpointRequest]] = {}
        self._functions: list[BreakpointRequest] = []
        self._filters: list[ExceptionFilter] = []
        self._url: asyncio.Future[str] | None = None
        self._begun = asyncio.Event()
        self._exit_code: int | None = None
        #: live descendants of the program when it exited
        self._left_behind: list[int] = []
        #: whether our signal opened the inspector
        self._opened_inspector = False
        self._tasks = BackgroundTasks(runtime.name)

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
        self, target: Target, configuration: Configuration, sink: EventSink
    ) -> Sequence[BoundBreakpoint]:
        self.target = target
        self._sink = sink
        if isinstance(target, Core):
            name = self.runtime.name
            raise Unsupported(f"{name} does not open core files.", next="dbg start PROGRAM")
        if self._call is not None:
            self.emit(events.ProcessStarted(self.pid, command=self._call.argv))
            self._open(self._call.socket)
        elif isinstance(target, Launch):
            await self._launch(target)
        else:
            await self._attach(target)
        if self.lifetime.disposed:
            raise DebuggerLost("the program was ended before it was started.")
        await self._configure(configuration)
        return [self._bound(request) for request in configuration.breakpoints]

    async def _launch(self, target: Launch) -> None:
        config = self.config.adapter(self.runtime.name)
        self.command = self.runtime.argv(target, self.found, config)
        resources = self.resources = NodeResources()
        resources.io.on_text = self.on_output
        resources.on_call = self._children.called
        self._url = asyncio.get_running_loop().create_future()
        resources.io.on_url = self._on_url
        env = dict(target.env)
        process = resources.spawn(self.command, target, env)
        self.pid = process.pid
        self.emit(events.ProcessStarted(process.pid))
        process.on_exit(self._program_ended)
        limit_s = self.config.timeouts.initialize_s * _BUSY_FACTOR
        try:
            async with asyncio.timeout(limit_s):
                url = await self._url
        except TimeoutError:
            raise DebuggerTimeout(
                f"{self.runtime.name} did not listen for its debugger within {limit_s:g} s.",
                next="dbg logs",
            ) from None
        await self._connect(url)

    def _on_url(self, url: str) -> None:
        if self._url is not None and not self._url.done():
            self._url.set_result(url)

    async def _attach(self, target: Attach) -> None:
        limit_s = self.config.timeouts.initialize_s
        host, port = target.host, target.port
        if target.pid is not None:
            self.pid = target.pid
            host, port, self._opened_inspector = await attach.listening(
                target.pid, self.runtime, limit_s
            )
        assert host is not None
        assert port is not None
        url = await attach.find(host, port, self.config.timeouts.connect_s)
        if self._opened_inspector and await self._move_to_agent(url):
            return
        await self._connect(url)

    async def _move_to_agent(self, url: str) -> bool:
        """Close the port that our signal has opened; return False if there is no other way."""
        address = read_url(url)
        if address is None or self.pid is None:
            return False
        name, limit_s = self.runtime.name, self.config.timeouts.initialize_s
        socket = await attach.move_to_agent(address, self.pid, name, limit_s)
        if socket is None:
            text = (
                f"port {address[1]} of process {self.pid} is open to every user until `detach`.\n"
            )
            self.emit(events.OutputEvent("console", text))
            return False
        self._opened_inspector = False
        self._open(socket)
        return True

    async def _connect(self, url: str) -> None:
        address = read_url(url)
        if address is None:
            raise DebuggerLost(f"{url[:80]} is not the address of an inspector.")
        if self.resources is not None:
            self.resources.io.banner_filter.expect_attached()
        # The process listens already, so only a busy machine delays its answer.
        limit_s = self.config.timeouts.initialize_s
        self._open(await websocket.connect(*address, timeout_s=limit_s))

    def _open(self, socket: MessageSocket) -> None:
        env = self.target.env
        tap = WireLog(env[TAP_VARIABLE]) if env.get(TAP_VARIABLE) else None
        self.channel = InspectorChannel(
            socket,
            name=self.runtime.name,
            on_event=self._on_event,
            on_lost=self._lost,
            tap=tap,
            timeout_s=self.config.timeouts.request_s,
        )
        self.add_isolate((), "main")

    async def _configure(self, configuration: Configuration) -> None:
        main = self.main
        follow = not isinstance(self.target, Core) and self.target.follow_children
        self._filters = configuration.filters_among(FILTERS)
        for request in configuration.breakpoints:
            if request.location.file is not None:
                self._lines.setdefault(request.location.file, []).append(request)
            elif request.location.function is not None:
                self._functions.append(request)
        self.execution.just_my_code = not isinstance(self.target, Core) and self.target.just_my_code
        await main.configure(follow=follow)
        if self._call is not None or isinstance(self.target, Attach):
            # A child waits in its first lines, an attached program runs: code can be evaluated.
            await self._settle(main)
        # A running program may stop as soon as a breakpoint is set.
        self.emit(events.Initialized())
        await self.set_all(main)
        if isinstance(self.target, Attach) and self._call is None:
            self.emit(events.ProcessStarted(self.pid))
        if self.owns_program or self.target.enters_program:
            await main.breakpoints.script_load.expect_entry(first_line=not self.owns_program)
            await main.breakpoints.guard()
        self.execution.entering[main] = self._begin
        await main.request("Runtime.runIfWaitingForDebugger")
        if self.owns_program:
            # It stops by itself before its first line, and is resumed from there.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.config.timeouts.initialize_s):
                    await self._begun.wait()

    async def _settle(self, isolate: Isolate) -> None:
        code = bootstrap_script.REPORT_EXIT if self._call is not None else ""
        if isinstance(self.target, Launch):
            socket_path = None
            if self.owns_program and self.resources is not None and self.target.follow_children:
                socket_path = await self.resources.listen()
            options = self.runtime.child_options
            code = f"{code};{bootstrap_script.code(options, self.target, socket_path)}"
        facts = await isolate.install_agent(code)
        if facts:
            self.pid = self.pid or int(facts["pid"])
            self.found = replace(self.found, version=str(facts["version"]).removeprefix("v"))

    async def set_all(self, isolate: Isolate) -> None:
        self.execution.exception_stops.filters = {filter.name: filter for filter in self._filters}
        await isolate.set_filters(self._filters)
        await isolate.breakpoints.set_all(self._lines, self._functions)

    async def change(self, isolate: Isolate, coroutine: Coroutine[Any, Any, None]) -> None:
        """Apply a change to an isolate. A busy one applies it later.

        A thread that waits for another process handles no requests until that process has ended.
        """
        task = self._tasks.start(isolate.in_turn(coroutine))
        await asyncio.wait({task}, timeout=None if isolate.stack is not None else _BUSY_S)
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise error
        if not task.done():
            task.add_done_callback(lambda _: self._report_bound())

    def _report_bound(self) -> None:
        requests = [request for entries in self._lines.values() for request in entries]
        for request in (*requests, *self._functions):
            self.emit(events.BreakpointChanged(self._bound(request)))

    async def _begin(self, isolate: Isolate) -> events.Stopped | None:
        """Prepare the program, which is paused before its first line."""
        await self._settle(isolate)
        if isinstance(self.target, Attach) and self._call is None:
            self.emit(events.ProcessStarted(self.pid))
        await isolate.set_in_loaded_scripts()
        calls = isolate.stack.calls if isolate.stack is not None else []
        first = isolate.scripts.get(str(calls[0]["location"]["scriptId"])) if calls else None
        await isolate.choose_exception_scan(first)
        self._begun.set()
        if self.target.enters_program:
            return events.Stopped(StopReason.ENTRY, isolate.id)
        return None

    # --- workers and children

    def add_isolate(self, path: Path, name: str) -> Isolate:
        assert self.channel is not None
        isolate = Isolate(self.channel, path, next(self._threads), name, self, self._number)
        self.isolates[path] = isolate
        return isolate

    def worker_started(self, parent: Isolate, params: dict[str, Any]) -> None:
        self._workers.started(parent, params)

    def worker_ended(self, path: Path) -> None:
        self._workers.ended(path)

    def make_child(self, call: WaitingProcess) -> Backend:
        raise NotImplementedError

    @property
    def closing(self) -> bool:
        """Whether new child processes are not followed any more."""
        return self.lifetime.disposed or self.lifetime.detached or self.lifetime.killing

    # --- events

    def emit(self, event: events.Event) -> None:
        if isinstance(event, events.Stopped):
            self._begun.set()
        self._sink(event)

    def on_output(self, stream: str, text: str) -> None:
        self.emit(events.OutputEvent(stream, text))

    def drain(self) -> None:
        if self.resources is not None:
            self.resources.io.drain()

    def breakpoint_changed(self, bound: BoundBreakpoint) -> None:
        self.emit(events.BreakpointChanged(bound))

    def paused(self, isolate: Isolate, params: dict[str, Any]) -> None:
        self.execution.paused(isolate, params)

    def _on_event(self, event: InspectorEvent) -> None:
        isolate = self.isolates.get(event.path)
        if isolate is not None:
            isolate.on_event(event)

    def exiting(self, code: int) -> None:
        self._exit_code = code

    def _bound(self, request: BreakpointRequest) -> BoundBreakpoint:
        """Return the state of a breakpoint: bound if it is bound in any isolate."""
        bound = [isolate.breakpoints.bound(request) for isolate in self.isolates.values()]
        found = bound or [BoundBreakpoint(request.id, False)]
        return next((each for each in found if each.verified), found[0])

    # --- exit

    @property
    def owns_program(self) -> bool:
        return isinstance(self.target, Launch) and self._call is None

    def waiting_for_disconnect(self, isolate: Isolate) -> None:
        """Handle a program that has ended and waits for us to disconnect."""
        process = self.resources.process if self.resources is not None else None
        if process is not None and self.owns_program:
            # Later its remaining descendants cannot be distinguished from unrelated processes.
            self._left_behind = process.note_descendants()
        self.start_task(self._disconnect())

    async def _disconnect(self) -> None:
        # Its last messages may still be on the way.
        with contextlib.suppress(DebuggerError):
            await self.main.request("Runtime.getHeapUsage", timeout_s=1.0)
        if self.channel is not None:
            self.channel.close()
        if not self.owns_program:
            self.start_task(self._watch_end())

    def _lost(self, error: DebuggerLost) -> None:
        """Handle the loss of the connection."""
        self.start_task(self._watch_end(error))

    async def _watch_end(self, error: DebuggerLost | None = None) -> None:
        """Report the exit if nothing else will: with the exit of the process, or as lost."""
        if self.owns_program:
            process = self.resources.process if self.resources is not None else None
            if process is None or self.lifetime.detached:
                return
            with contextlib.suppress(DebuggerTimeout):
                await process.wait(_END_S)
                return
        elif self.pid is None or await gone(self.pid, timeout_s=_END_S):
            self.lifetime.finish(Exit(code=self._exit_code))
            return
        reason = error.message if error is not None else "it did not end when it said it would"
        self.lifetime.finish(Exit(how="lost", reason=reason))

    def _program_ended(self, status: int) -> None:
        self._begun.set()
        if self._url is not None and not self._url.done():
            self.drain()
            assert self.resources is not None
            message = str(self.resources.io.stderr_tail) or f"it ended with {status}"
            self._url.set_exception(LaunchFailed(message, next="dbg tool"))
            self._url.exception()
            return
        if self.lifetime.killing:
            self.lifetime.finish(exit_of(status))
        elif self.lifetime.detached:
            assert self.resources is not None
            self.resources.release()
        else:
            self.start_task(self._finish_after_children(exit_of(status)))

    async def _finish_after_children(self, exit: Exit) -> None:
        if self.resources is not None and self.resources.socket_path is not None:
            await self._children.settle(self._left_behind, self.resources.socket_path)
        self.lifetime.finish(exit)

    @property
    def ended(self) -> bool:
        return self.lifetime.ended

    def _report_exit(self, exit: Exit) -> None:
        self._begun.set()
        self.drain()
        if self.channel is not None:
            self.channel.close()
        self.emit(events.ExitedEvent(exit))

    async def terminate(self) -> None:
        """Kill the program; an attached one is left running."""
        if isinstance(self.target, Attach) and self._call is None:
            if not self.ended:
                await self.detach()
            return
        self.lifetime.begin_kill()
        process = self.resources.process if self.resources is not None else None
        if self._call is not None:
            if self.pid is not None and self.channel is not None and self.channel.lost is None:
                # While it is connected to us its pid has not been reused.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(self.pid, SIGKILL)
        elif process is not None:
            process.note_descendants()
            await process.kill_tree(_KILL_S, daemons=self.lifetime.kills_daemons)
        self.lifetime.finish(Exit(how="killed"))

    async def detach(self) -> None:
        """Disconnect, and leave the program running."""
        if self.ended:
            return
        self.lifetime.begin_detach()
        with contextlib.suppress(DebuggerLost, DebuggerTimeout, TimeoutError):
            await self._uninstall_agents()
        if self.channel is not None:
            self.channel.close()
        self.lifetime.finish(Exit(how="detached"))

    async def _uninstall_agents(self) -> None:
        async with asyncio.timeout(_DETACH_S):
            for isolate in list(self.isolates.values()):
                with contextlib.suppress(DebuggerError):
                    await isolate.uninstall_agent()
            if self._opened_inspector:
                # It was closed before we attached. `_debugEnd` closes the connection before it
                # answers; node 20 sometimes dies when we close the connection at the same time.
                await self.main.request("Runtime.evaluate", expression="process._debugEnd()")

    @property
    def has_detached_output(self) -> bool:
        resources = self.resources
        return self.lifetime.detached and resources is not None and resources.has_detached_output

    async def dispose(self) -> None:
        """Release everything, kill what is left of a program that we launched. Never raises."""
        await self.lifetime.dispose(self._dispose)

    async def _dispose(self, caller: asyncio.Task[Any] | None) -> None:
        resources = self.resources
        process = resources.process if resources is not None and self.owns_program else None
        if process is not None and process.returncode is None and not self.lifetime.detached:
            await process.kill_tree(_KILL_S)
        if self.channel is not None:
            self.channel.close()
        if resources is not None and not self.has_detached_output:
            resources.release()
        self._tasks.cancel(caller)

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background."""
        self._tasks.start(coroutine)
