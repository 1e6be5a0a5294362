"""From nothing to a configured program, and back: the one start-up order, events, children, ends.

    initialize → (answer) → launch or attach sent, not awaited → `initialized`, which may come
    before or after → breakpoints, exception filters → configurationDone → the launch's answer

A launch failure, an adapter that dies, or a time-out ends it with the adapter's own words.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Sequence
from typing import Any, Protocol

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Attach,
    Backend,
    BoundBreakpoint,
    Configuration,
    Feature,
    Launch,
    Sink,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.transport.process import Process, exit_of
from freezeframe.backends.transport.streams import StdioStream, Stream
from freezeframe.backends.transport.tap import Tap
from freezeframe.backends.transport.tcp import dial
from freezeframe.config import Config
from freezeframe.errors import (
    DebuggerError,
    DebuggerLost,
    DebuggerTimeout,
    LaunchFailed,
    NotRunning,
    Unsupported,
)
from freezeframe.model.stops import ExceptionFilter, Exit

from . import translate
from .adapters._descriptor import (
    Adapter,
    ChildOffer,
    Dial,
    Found,
    Plan,
    Reverse,
    Spawn,
    Stdio,
    Surroundings,
)
from .channel import Channel
from .ground import Ground
from .messages import Event

log = logging.getLogger(__name__)

#: How long an exit status may come after `terminated` (js-debug and others send it late).
_EXIT_STATUS_S = 0.5
_DISCONNECT_S = 2.0
_KILL_S = 3.0
TAP_VARIABLE = "FREEZEFRAME_DAP_TAP"


class _MakeBackend(Protocol):
    def __call__(self, link: Link) -> Backend: ...


class Link:
    """The line to one debugged process: made whole by `start`, cut by `terminate` or `detach`."""

    def __init__(self, adapter: Adapter, found: Found, config: Config) -> None:
        self.adapter = adapter
        self.found = found
        self.config = config
        self.capabilities: dict[str, Any] = {}
        self.features: frozenset[Feature] = frozenset()
        self.command: tuple[str, ...] = found.command
        self.interpreter: str | None = None
        self.target: Target = Attach()
        self.pid: int | None = None
        self._ppid: int | None = None
        self._ground: Ground | None = None
        self._around: Surroundings | None = None
        self._plan: Plan | None = None
        self._channel: Channel | None = None
        self._stream: Stream | None = None
        self._tap: Tap | None = None
        self._sink: Sink = lambda event: None
        self._make_backend: _MakeBackend | None = None
        self._parent: Link | None = None
        #: who hears what arrives here: another link, once this one took over its process
        self._owner: Link = self
        #: links of children by pid, on the root's link
        self._kin: dict[int, Link] = {}
        self._initialized = asyncio.Event()
        self._breakpoint_ids: dict[int, tuple[int, ...]] = {}
        self._exit: Exit | None = None
        self._ended = False
        self._replaced = False
        self._detached = False
        self._disposed = False
        self._killing = False
        self._greeted = False
        self._configuration = Configuration()
        self._tasks: set[asyncio.Task[None]] = set()

    # --- start

    async def start(
        self,
        target: Target,
        configuration: Configuration,
        sink: Sink,
        make_backend: _MakeBackend,
    ) -> list[BoundBreakpoint]:
        """Bring the program up, everything in *configuration* in place before it runs."""
        self.target = target
        self._sink = sink
        self._make_backend = make_backend
        self._configuration = configuration
        if self._stream is None and self._channel is None:
            await self._bring_up(target)
        if self._channel is None:
            self._open_channel()
        await self._greet()
        return await self._configure(configuration)

    async def _bring_up(self, target: Target) -> None:
        ground = self._ground = await Ground.open(self.adapter, target)
        ground.on_text = self._printed
        self._around = Surroundings(
            self.found, self.config.adapter(self.adapter.name), ground.endpoint, ground.directory
        )
        plan = self._plan = self.adapter.plan(target, self._around)
        self.interpreter = plan.interpreter
        process: Process | None = None
        if plan.spawn is not None:
            self.command = plan.spawn.argv
            process = ground.spawn(plan.spawn, target)
            if plan.spawn.role == "program":
                self.pid = process.pid
                self._emit(events.ProcessStarted(process.pid))
                process.on_exit(self._program_ended)
        if isinstance(plan.stream, Dial):
            limit_s = (
                self.config.timeouts.initialize_s if process else self.config.timeouts.connect_s
            )
            self._stream = await dial(
                plan.stream.host, plan.stream.port, timeout_s=limit_s, retry=process is not None
            )
        elif isinstance(plan.stream, Stdio):
            assert process is not None
            self._stream = StdioStream(process)
        else:
            self._stream = await self._called_back(ground, process)
            ground.on_stream = self._child_connected

    async def _called_back(self, ground: Ground, process: Process | None) -> Stream:
        """Wait for the debugger to connect, or for the process that should bring it to fail."""
        limit_s = self.config.timeouts.initialize_s
        arriving = asyncio.ensure_future(ground.accept())
        ending = asyncio.ensure_future(self._injector_failed(ground, process))
        try:
            done, _ = await asyncio.wait(
                {arriving, ending}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
            )
            if arriving in done:
                return arriving.result()
            ground.drain()
            words = str(ground.words)
            if ending in done:
                status = ending.result()
                raise LaunchFailed(
                    f"{self.adapter.name} ended with {status} before it could debug."
                    + (f"\n{words}" if words else ""),
                    next="dbg doctor",
                )
            raise DebuggerTimeout(
                f"{self.adapter.name} did not connect within {limit_s:g} s."
                + (f"\n{words}" if words else ""),
                next="dbg doctor",
            )
        finally:
            arriving.cancel()
            ending.cancel()

    async def _injector_failed(self, ground: Ground, process: Process | None) -> str:
        """Return how the process ended that should have called; an injector may end well."""
        if process is None:
            await asyncio.Event().wait()
            raise AssertionError
        status = await process.wait()
        injector = self._plan is not None and self._plan.spawn is not None
        if injector and self._plan.spawn.role == "injector" and status == 0:  # type: ignore[union-attr]
            await asyncio.Event().wait()
        ended = exit_of(status)
        return ended.signal or f"exit code {ended.code}"

    def _open_channel(self) -> None:
        assert self._stream is not None
        path = self.target.env.get(TAP_VARIABLE)
        if path:
            self._tap = Tap(path)
        self._channel = Channel(
            self._stream,
            name=self.adapter.name,
            on_event=lambda event: self._owner._on_event(event),
            handlers={
                "runInTerminal": self._run_in_terminal,
                "startDebugging": self._start_debugging,
            },
            on_lost=lambda error: self._owner._on_lost(error),
            last_words=self._last_words,
            observe=self._tap.observer(f"{id(self):x}") if self._tap else None,
            timeout_s=self.config.timeouts.request_s,
        )

    async def _greet(self) -> None:
        if self._greeted:
            return
        self._greeted = True
        endpoint = self._ground.endpoint if self._ground is not None else None
        for greeting in self.adapter.greet(endpoint):
            body = await self.request(greeting.command, greeting.arguments)
            wrong = greeting.check(body)
            if wrong is not None:
                raise DebuggerLost(wrong)
            pid, ppid = self.adapter.read_identity(body)
            self.pid = pid or self.pid
            self._ppid = ppid or self._ppid

    async def _configure(self, configuration: Configuration) -> list[BoundBreakpoint]:
        assert self._channel is not None
        timeouts = self.config.timeouts
        capabilities = await self.request(
            "initialize",
            {
                "clientID": "freezeframe",
                "clientName": "Freezeframe",
                "adapterID": self.adapter.adapter_id,
                "locale": "en-US",
                "linesStartAt1": True,
                "columnsStartAt1": True,
                "pathFormat": "path",
                "supportsVariableType": True,
                "supportsVariablePaging": True,
                "supportsRunInTerminalRequest": True,
                "supportsStartDebuggingRequest": True,
                "supportsMemoryReferences": True,
            },
            timeout_s=timeouts.initialize_s,
        )
        self._learn(capabilities)
        request, arguments = self._start_request()
        launching = self.send(request, arguments)
        await self._until_initialized(launching)
        self._emit(events.Initialized())
        bound = await self._set_everything(configuration)
        if self.capabilities.get("supportsConfigurationDoneRequest"):
            await self.request("configurationDone")
        async with asyncio.timeout(timeouts.request_s):
            try:
                await launching
            except DebuggerError as error:
                raise LaunchFailed(error.message, next=error.next) from None
        return bound

    def _start_request(self) -> tuple[str, dict[str, Any]]:
        if self._plan is not None:
            return self._plan.request, self._plan.arguments
        assert self.adapter.child_arguments is not None
        assert self._around is not None
        return "attach", self.adapter.child_arguments(self.target, self._around)

    async def _until_initialized(self, launching: asyncio.Future[dict[str, Any]]) -> None:
        """Wait for `initialized`; a launch that fails first ends the wait in the adapter's words."""
        waiting = asyncio.ensure_future(self._initialized.wait())
        pending: set[asyncio.Future[Any]] = {waiting, launching}
        try:
            async with asyncio.timeout(self.config.timeouts.request_s):
                while not self._initialized.is_set():
                    done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                    if launching in done:
                        try:
                            launching.result()
                        except DebuggerLost:
                            raise
                        except DebuggerError as error:
                            raise LaunchFailed(error.message, next=error.next) from None
        except TimeoutError:
            raise DebuggerTimeout(
                f"{self.adapter.name} did not get ready within "
                f"{self.config.timeouts.request_s:g} s.",
                next="dbg logs",
            ) from None
        finally:
            waiting.cancel()

    async def _set_everything(self, configuration: Configuration) -> list[BoundBreakpoint]:
        """Prime the process and send every breakpoint; all of it in flight together."""
        priming = []
        if self._around is not None:
            priming = [
                self.send(
                    "evaluate",
                    {"expression": expression, "context": self.adapter.expression_context},
                )
                for expression in self.adapter.prime(self.target, self._around)
            ]
        files: dict[str, list[WantedBreakpoint]] = {}
        functions: list[WantedBreakpoint] = []
        addresses: list[WantedBreakpoint] = []
        for wanted in configuration.breakpoints:
            if wanted.location.file is not None:
                files.setdefault(wanted.location.file, []).append(wanted)
            elif wanted.location.address is not None:
                addresses.append(wanted)
            else:
                functions.append(wanted)
        work = [self.set_breakpoints(path, wanted) for path, wanted in files.items()]
        if functions:
            work.append(self.set_function_breakpoints(functions))
        if addresses:
            work.append(self.set_address_breakpoints(addresses))
        bound = [entry for entries in await asyncio.gather(*work) for entry in entries]
        filters = configuration.filters
        if filters is None:
            filters = [f for f in translate.filters(self.capabilities) if f.default]
        if self.capabilities.get("exceptionBreakpointFilters"):
            await self.set_filters(filters)
        for primed in priming:
            primed.add_done_callback(_note_failure)
        return bound

    def _learn(self, capabilities: dict[str, Any]) -> None:
        self.capabilities.update(capabilities)
        found = set(translate.features(self.capabilities, self.adapter))
        if self._ground is not None and self._ground.stdin is not None:
            found.add(Feature.STDIN)
        self.features = frozenset(found)

    # --- breakpoints

    async def set_breakpoints(
        self, path: str, wanted: Sequence[WantedBreakpoint]
    ) -> list[BoundBreakpoint]:
        usable, refused = self._usable(wanted)
        entries = self.adapter.wire_breakpoints(usable, self._fifo)
        body = await self.request(
            "setBreakpoints",
            {
                "source": {"path": path, "name": os.path.basename(path)},
                "breakpoints": [
                    {"line": entry.wanted.location.line, **entry.fields} for entry in entries
                ],
            },
        )
        return translate.bound(entries, body, self.adapter, self._breakpoint_ids) + refused

    async def set_function_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> list[BoundBreakpoint]:
        if Feature.FUNCTION_BREAKPOINTS not in self.features:
            return [
                BoundBreakpoint(
                    w.id, False, message=f"{self.adapter.name} has no function breakpoints",
                    rejected=True,
                )
                for w in wanted
            ]  # fmt: skip
        usable, refused = self._usable(wanted)
        entries = self.adapter.wire_breakpoints(usable, self._fifo)
        body = await self.request(
            "setFunctionBreakpoints",
            {
                "breakpoints": [
                    {"name": _function_name(entry.wanted), **entry.fields} for entry in entries
                ]
            },
        )
        return translate.bound(entries, body, self.adapter, self._breakpoint_ids) + refused

    async def set_address_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> list[BoundBreakpoint]:
        if Feature.ADDRESS_BREAKPOINTS not in self.features:
            return [
                BoundBreakpoint(
                    w.id, False, message=f"{self.adapter.name} has no address breakpoints",
                    rejected=True,
                )
                for w in wanted
            ]  # fmt: skip
        entries = self.adapter.wire_breakpoints(wanted, self._fifo)
        body = await self.request(
            "setInstructionBreakpoints",
            {
                "breakpoints": [
                    {"instructionReference": f"{entry.wanted.location.address:#x}", **entry.fields}
                    for entry in entries
                ]
            },
        )
        return translate.bound(entries, body, self.adapter, self._breakpoint_ids)

    @property
    def _fifo(self) -> str | None:
        ground = self._ground
        return ground.fifo.path if ground is not None and ground.fifo is not None else None

    def _usable(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> tuple[list[WantedBreakpoint], list[BoundBreakpoint]]:
        """Tell breakpoints that can be set from those whose condition can never be evaluated."""
        usable, refused = [], []
        for want in wanted:
            wrong = self.adapter.check_condition(want.condition) if want.condition else None
            if wrong is None:
                usable.append(want)
            else:
                refused.append(BoundBreakpoint(want.id, False, message=wrong, rejected=True))
        return usable, refused

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        offered = {f.name for f in translate.filters(self.capabilities)}
        await self.request(
            "setExceptionBreakpoints", {"filters": [f.name for f in filters if f.name in offered]}
        )

    # --- requests

    async def request(
        self,
        command: str,
        arguments: dict[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        if self._channel is None:
            raise DebuggerLost(f"{self.adapter.name} is not connected.")
        return await self._channel.request(command, arguments, timeout_s=timeout_s)

    def send(self, command: str, arguments: dict[str, Any]) -> asyncio.Future[dict[str, Any]]:
        if self._channel is None:
            raise DebuggerLost(f"{self.adapter.name} is not connected.")
        return self._channel.send_nowait(command, arguments)

    # --- what the adapter reports

    def _emit(self, event: events.Event) -> None:
        self._sink(event)

    def _printed(self, stream: str, text: str) -> None:
        self._emit(events.Printed(stream, text))

    def drain(self) -> None:
        if self._ground is not None:
            self._ground.drain()

    def _on_event(self, event: Event) -> None:
        body = event.body
        match event.event:
            case "initialized":
                self._initialized.set()
            case "stopped":
                # What was printed before the stop belongs to it.
                self.drain()
                self._emit(translate.stopped(body, self._breakpoint_ids))
            case "continued":
                all_threads = body.get("allThreadsContinued", True)
                self._emit(events.Continued(body.get("threadId"), bool(all_threads)))
            case "output":
                self._on_output(body)
            case "process":
                pid = body.get("systemProcessId")
                self.pid = pid if pid is not None else self.pid
                self._emit(events.ProcessStarted(self.pid, body.get("name")))
            case "breakpoint":
                answer = body.get("breakpoint") or {}
                for id in self._breakpoint_ids.get(answer.get("id", -1), ()):
                    self._emit(events.BreakpointMoved(translate.bound_one(id, answer)))
            case "capabilities":
                self._learn(body.get("capabilities") or {})
                self._emit(events.CapabilitiesChanged())
            case "exited":
                if self.adapter.is_replaced(body):
                    self._replaced = True
                else:
                    self._exit = Exit(code=body.get("exitCode"))
            case "terminated":
                self._spawn(self._after_terminated())
            case name if name == self.adapter.child_event:
                offer = self.adapter.read_child_offer(body)
                if offer is not None:
                    self._offer_child(offer)

    def _on_output(self, body: dict[str, Any]) -> None:
        category = body.get("category") or "console"
        if category in self.adapter.ignored_output or not body.get("output"):
            return
        stream = category if category in ("stdout", "stderr") else "console"
        self._emit(events.Printed(stream, body["output"]))

    # --- the adapter's own requests

    async def _run_in_terminal(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Start the program that the adapter asks for, on pipes that we own."""
        assert self._ground is not None
        env = dict(self.target.env)
        for key, value in (arguments.get("env") or {}).items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = value
        cwd = arguments.get("cwd") or self.target.cwd
        process = self._ground.spawn_in_terminal(Spawn(tuple(arguments["args"]), cwd, env))
        self._learn({})
        return {"processId": process.pid}

    async def _start_debugging(self, arguments: dict[str, Any]) -> dict[str, Any]:
        configuration = dict(arguments.get("configuration") or {})
        self._offer_child(
            ChildOffer(
                configuration, arguments.get("request", "launch"), name=configuration.get("name")
            )
        )
        return {}

    # --- children

    def _offer_child(self, offer: ChildOffer) -> None:
        """Join a child that the adapter announced, over a connection of its own."""
        if self._make_backend is None or self._plan is None:
            return
        link = self._kindred()
        stream: Stdio | Reverse | Dial = self._plan.stream
        if offer.host is not None and offer.port is not None:
            stream = Dial(offer.host, offer.port)
        elif isinstance(stream, Dial):
            stream = Dial(stream.host, stream.port)
        spawn = self._plan.spawn if isinstance(stream, Stdio) else None
        link._plan = Plan(stream, offer.request, offer.arguments, spawn)
        link.pid = offer.pid
        self._emit(
            events.ChildStarted(self._make_backend(link), self.target, offer.pid, offer.name)
        )

    def _kindred(self) -> Link:
        """Return a link that shares our ground."""
        link = Link(self.adapter, self.found, self.config)
        link.target = self.target
        link._parent = self
        link._around = self._around
        link.interpreter = self.interpreter
        return link

    def _child_connected(self, stream: Stream) -> None:
        """A process called our port by itself: a child, or this one after it replaced itself."""
        self._spawn(self._take_in(stream))

    async def _take_in(self, stream: Stream) -> None:
        link = self._kindred()
        link._ground = self._ground
        link._stream = stream
        link._open_channel()
        try:
            await link._greet()
        except DebuggerError as error:
            # A stranger, or a child that ended at once: nobody waits for it.
            log.info("a connection was dropped: %s", error)
            await link.dispose()
            return
        if link.pid is not None and link.pid == self.pid and self._replaced:
            await self._rejoin(link)
            return
        assert self._ground is not None
        self._ground.hold()
        parent = self._relative(link._ppid)
        if link.pid is not None:
            self._kin[link.pid] = link
        assert self._make_backend is not None
        parent._emit(events.ChildStarted(self._make_backend(link), self.target, link.pid, None))

    def _relative(self, ppid: int | None) -> Link:
        found = self._kin.get(ppid) if ppid is not None else None
        return found if found is not None and not found._ended else self

    async def _rejoin(self, fresh: Link) -> None:
        """The process is another program now, with a debugger of its own: go on with that."""
        channel, stream = fresh._channel, fresh._stream
        assert channel is not None
        self._replaced = False
        self._initialized.clear()
        self._channel, self._stream = channel, stream
        fresh._owner = self
        saved, self._plan = self._plan, None
        try:
            await self._configure(self._configuration)
        except DebuggerError as error:
            log.info("the replaced program could not be debugged: %s", error)
        finally:
            self._plan = saved

    # --- ends

    @property
    def _owns_program(self) -> bool:
        plan = self._plan
        return plan is not None and plan.spawn is not None and plan.spawn.role == "program"

    def _program_ended(self, status: int) -> None:
        """The program that we started is gone; its status is the truth about its end."""
        if self._killing:
            self._finish(Exit(signal=None, how="killed"))
        elif self._detached:
            assert self._ground is not None
            self._ground.close()
        else:
            self._finish(exit_of(status))

    def _on_lost(self, error: DebuggerLost) -> None:
        if self._owns_program:
            # Its exit status follows; a program that goes on without its debugger is lost.
            self._spawn(self._watch_orphan(error))
        elif self._parent is not None or self._exit is not None or self._killing:
            self._finish(self._exit or Exit())
        elif self._detached:
            pass
        else:
            self._finish(Exit(how="lost", reason=error.message))

    async def _watch_orphan(self, error: DebuggerLost) -> None:
        assert self._ground is not None
        process = self._ground.process
        if process is None or self._replaced or self._detached:
            return
        try:
            await process.wait(self.config.timeouts.initialize_s)
        except DebuggerTimeout:
            self._finish(Exit(how="lost", reason=error.message))

    async def _after_terminated(self) -> None:
        if self._owns_program or self._replaced:
            return
        for _ in range(10):
            if self._exit is not None or self._ended:
                break
            await asyncio.sleep(_EXIT_STATUS_S / 10)
        self._finish(self._exit or Exit())

    def _finish(self, exit: Exit) -> None:
        if self._ended:
            return
        self._ended = True
        self.drain()
        self._emit(events.Ended(exit))

    async def terminate(self) -> None:
        """End the program; one that we joined is left running."""
        if isinstance(self.target, Attach) and self._parent is None:
            await self.detach()
            return
        self._killing = True
        if self._owns_program or self._parent is not None:
            await self._kill()
        else:
            with contextlib.suppress(DebuggerError):
                arguments = {}
                if self.capabilities.get("supportTerminateDebuggee"):
                    arguments = {"terminateDebuggee": True}
                await self.request("disconnect", arguments, timeout_s=_DISCONNECT_S)
        self._finish(Exit(how="killed"))

    async def _kill(self) -> None:
        ground = self._ground
        if self._owns_program and ground is not None and ground.process is not None:
            await ground.process.kill_tree(_KILL_S)
        elif self.pid is not None and self._channel is not None and self._channel.lost is None:
            # While it is connected to us its pid is its own.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)

    async def detach(self) -> None:
        """Leave the program running."""
        self._detached = True
        if self.adapter.farewell is not None:
            with contextlib.suppress(DebuggerError):
                await self.request(
                    "evaluate",
                    {
                        "expression": self.adapter.farewell,
                        "context": self.adapter.expression_context,
                    },
                    timeout_s=_DISCONNECT_S,
                )
        arguments: dict[str, Any] = {}
        if self.capabilities.get("supportTerminateDebuggee"):
            arguments = {"terminateDebuggee": False}
        with contextlib.suppress(DebuggerLost):
            await self.request("disconnect", arguments, timeout_s=_DISCONNECT_S)
        self._finish(Exit(how="detached"))

    @property
    def lingering(self) -> bool:
        return self._detached and self._ground is not None and self._ground.lingering

    async def dispose(self) -> None:
        """Release everything, kill what is left of a program of ours. Never raises."""
        if self._disposed:
            return
        self._disposed = True
        ground = self._ground
        if ground is not None and ground.process is not None and self._parent is None:
            alive = ground.process.returncode is None
            if alive and not (self._detached and self._owns_program):
                await ground.process.kill_tree(_KILL_S)
        if self._channel is not None:
            self._channel.close()
        if ground is not None and not self.lingering:
            ground.release()
        if self._tap is not None:
            self._tap.close()
        current = asyncio.current_task()
        for task in list(self._tasks):
            if task is not current:
                task.cancel()

    def _last_words(self) -> str:
        return (
            str(self._ground.words) if self._ground is not None and not self._owns_program else ""
        )

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s", self.adapter.name, exc_info=error)

    # --- program input

    async def write_stdin(self, data: bytes) -> None:
        await self._feeder().write(data)

    async def close_stdin(self) -> None:
        self._feeder().end()

    def _feeder(self) -> Any:
        feeder = self._ground.stdin if self._ground is not None else None
        if feeder is None:
            if isinstance(self.target, Launch) and self.target.stdin is not None:
                raise NotRunning(f"the program reads its input from {self.target.stdin}.")
            raise Unsupported("the program's input is not ours to write.")
        return feeder


def _function_name(wanted: WantedBreakpoint) -> str:
    location = wanted.location
    return f"{location.module}!{location.function}" if location.module else location.function or ""


def _note_failure(primed: asyncio.Future[dict[str, Any]]) -> None:
    if not primed.cancelled() and (error := primed.exception()) is not None:
        log.info("the probe was not taken: %s", error)
