"""Launch, attach and exit of a program under a debugger with a prompt."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends import backend as events
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    BreakpointRequest,
    Configuration,
    Core,
    EventSink,
    Feature,
    Launch,
    Target,
)
from freezeframe.backends.console.base_backend import KILL_S, ConsoleBackend
from freezeframe.backends.console.command_channel import TAP_VARIABLE, CommandChannel
from freezeframe.backends.debugger import Found
from freezeframe.backends.lifetime import MISSED_STOPS
from freezeframe.backends.transport.process import Process, exit_of
from freezeframe.backends.transport.process_tree import ProcessTree
from freezeframe.config import Config
from freezeframe.errors import (
    BuildFailed,
    DebuggerError,
    DebuggerLost,
    DebuggerTimeout,
    LaunchFailed,
)
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter, Exit, StopReason

from .breakpoints import ConsoleBreakpoints
from .codec import UnsolicitedText
from .command_set import CommandSet, DebuggeeHost, LaunchSpec, StopInfo
from .execution import ConsoleExecution
from .frame_queries import FrameQueries
from .resources import ConsoleResources
from .variables import ConsoleVariables

#: for the last output of an exited program: its children may hold the pipes open
_OUTPUT_GRACE_S = 0.5
_DETACH_S = 2.0
#: for a process to exit after its debugger has closed the connection
_EXIT_S = 10.0


#: hosts whose process we have started
_SPAWNED = (DebuggeeHost.INSIDE, DebuggeeHost.SHARED, DebuggeeHost.FILES, DebuggeeHost.BESIDE)
#: fault signals, which a stopped program cannot raise by itself
_FAULTS = frozenset({"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"})


class PromptLifecycle(ConsoleBackend):
    """The lifecycle of one program under a debugger with a prompt."""

    def __init__(self, command_set: CommandSet, found: Found, config: Config) -> None:
        super().__init__(command_set.name, found, config)
        self._command_set = command_set
        self._resources = ConsoleResources(self.emit_text, self.on_streams_closed)
        #: the program and its checkpoints, if the debugger runs them in a session of their own
        self._checkpoints: ProcessTree | None = None
        self._console: CommandChannel[str, UnsolicitedText] = CommandChannel(
            command_set.name,
            command_set.codec(secrets.token_hex(6)),
            on_notice=self._on_unsolicited,
            on_lost=self._on_lost,
            timeout_s=config.timeouts.request_s,
        )
        self._queries = FrameQueries(
            self._console,
            command_set,
            config.timeouts,
            self._interrupt,
            lambda text: self._execution.on_text(UnsolicitedText(text)),
        )
        self._breakpoints = ConsoleBreakpoints(self._queries, command_set, self.emit)
        self._variables = ConsoleVariables(self._queries, command_set)
        self._execution = ConsoleExecution(
            self._queries,
            self._breakpoints,
            self._variables,
            command_set,
            emit=self.emit,
            drain=self.drain,
            finish=self.finish,
            work=self.work,
            interrupt=self._interrupt,
            on_loss=lambda: self.work(self._report_loss()),
        )
        self._spec: LaunchSpec | None = None

    @property
    def process(self) -> Process | None:
        return self._resources.process

    def _on_unsolicited(self, received: UnsolicitedText) -> None:
        made = self._command_set.read_bound(received.text)
        if made is None:
            self._execution.on_text(received)
            return
        for bound in self._breakpoints.rebind(made):
            self.emit(events.BreakpointChanged(bound))

    async def write_stdin(self, data: bytes) -> None:
        await super().write_stdin(data)
        self._execution.input_given = True

    def emit_text(self, stream: str, text: str) -> None:
        # Output of reverse execution was printed before; output caused by the debugger's exit is
        # not the program's own.
        leaving = self._lifetime.killing or self.ended
        if not self._execution.rewinding and not (
            leaving and self._command_set.discard_output_on_kill
        ):
            super().emit_text(stream, text)

    def _lacks(self, feature: Feature) -> DebuggerError:
        try:
            self.refuse(f"has no {feature.value}", self.unsupported_hint(feature))
        except DebuggerError as error:
            return error

    # --- launch and attach

    async def start(
        self, target: Target, configuration: Configuration, sink: EventSink
    ) -> Sequence[BoundBreakpoint]:
        self.target = target
        self._sink = sink
        guarded, config = self._resources.guarded(target), self._config.adapter(self._name)
        spec = self._spec = self._command_set.begin(guarded, config)
        if self._lifetime.disposed:
            raise DebuggerLost("the program was ended before it was started.")
        greeting = await self._wait_for_prompt(spec, target)
        if greeting is None:
            return []
        why = self._command_set.unreadable(greeting)
        if why is not None:
            raise BuildFailed(why)
        version = self._command_set.read_greeting(greeting)
        if version is not None:
            self._found = replace(self._found, version=version)
        for command in spec.settings:
            await self._queries.send(self._resources.fill(command))
        holder = self._resources.holder
        if spec.home in _SPAWNED and holder is not None:
            self.pid = holder.pid
            holder.on_exit(self._program_ended)
        self.emit(events.Initialized())
        self._execution.input_given = isinstance(target, Launch) and target.stdin is not None
        if isinstance(target, Launch):
            return await self._launch(target, configuration, greeting)
        return await self._attach(target, configuration, greeting)

    async def _open(self, spec: LaunchSpec, target: Target, limit_s: float) -> str:
        """Start the debugger; return what it prints before its first prompt."""
        try:
            stream = await self._resources.open(spec, target, limit_s)
        finally:
            self.io = self._resources.io
        assert self.process is not None
        self._command = self.process.argv
        self._console.open(self.process, stream, tap=target.env.get(TAP_VARIABLE))
        return await self._console.request("", timeout_s=limit_s)

    async def _wait_for_prompt(self, spec: LaunchSpec, target: Target) -> str | None:
        """Wait for the first prompt; return what came before it.

        None if the program exited first, because it could not even be loaded.
        """
        limit_s = self._config.timeouts.initialize_s
        try:
            return await self._open(spec, target, limit_s)
        except DebuggerTimeout:
            raise DebuggerTimeout(
                f"{self._name} did not come to its prompt within {limit_s:g} s.", next="dbg doctor"
            ) from None
        except DebuggerLost as error:
            status = (
                self._resources.process.returncode if self._resources.process is not None else None
            )
            if spec.home is not DebuggeeHost.INSIDE and status is not None and status < 0:
                # What the debugger printed before it was killed is not the reason.
                raise LaunchFailed(error.message, next="dbg doctor") from None
            text = str(self._console.stderr_tail)
            if self.io is not None:
                await self.io.wait_end(_OUTPUT_GRACE_S)
                text = text or str(self.io.stderr_tail)
            if spec.home is DebuggeeHost.LAUNCHED:
                text = text or str(self._console.output_tail)
            why = self._command_set.read_failure(text)
            holder = self._resources.holder
            if why is None and spec.home is DebuggeeHost.INSIDE and holder is not None:
                self.pid = holder.pid
                self.emit(events.Initialized())
                self._announce()
                self.finish(exit_of(await holder.wait(_EXIT_S)))
                return None
            text = why or f"{error.message.rstrip('.')}{f': {text}' if text else ''}"
            raise LaunchFailed(text, next="dbg doctor") from None

    async def _launch(
        self, target: Launch, configuration: Configuration, greeting: str
    ) -> Sequence[BoundBreakpoint]:
        early = [w for w in configuration.breakpoints if w.location.address is None]
        late = [w for w in configuration.breakpoints if w.location.address is not None]
        await self._set_filters(configuration.filters_among(self.filters))
        bound = await self._set_all(early)
        guarded = self._resources.guarded(target)
        run = self._command_set.run(guarded) if isinstance(guarded, Launch) else None
        needs_entry = bool(late) or target.stop_on_entry
        entry = await self._break_at_entry(target) if needs_entry and run is not None else None
        if run is None:
            halt = self._command_set.read_stop(greeting)
        elif self._command_set.run_goes_on:
            waiter = self._execution.next_stop() if entry is not None else None
            self._execution.resume_with(self._resources.fill(run))
            self._announce()
            halt = await self._await_first_stop(waiter) if waiter is not None else None
            if waiter is None or halt is None:
                return bound
        else:
            limit_s = self._command_set.run_limit_s(target)
            halt = self._stop_after_run(
                await self._queries.send(self._resources.fill(run), timeout_s=limit_s)
            )
            await self._query_pid()
            if entry is not None:
                waiter = self._execution.next_stop()
                self._execution.resume_with(self._command_set.resume(None))
                halt = await self._await_first_stop(waiter)
                if halt is None:
                    return bound
        self._resources.started()
        self._announce()
        if entry is not None:
            await self._queries.send(self._command_set.delete_breakpoint(entry))
        bound = [*bound, *await self._set_all(late)]
        await self._begin_execution(target, halt, entry)
        return bound

    def _stop_after_run(self, text: str) -> StopInfo | None:
        """Return the stop that the answer to `run` reports. Raises LaunchFailed."""
        halt = self._command_set.read_stop(text)
        if halt is None:
            raise self._launch_failed(self.target, text)
        return halt

    def _launch_failed(self, target: Target, text: str) -> LaunchFailed:
        why = self._command_set.explain(target, text)
        if why is not None:
            return LaunchFailed(why[0], next=why[1])
        if isinstance(target, Launch):
            return LaunchFailed(
                text.strip() or "the program could not be started.", next="dbg logs"
            )
        text = text.strip() or f"{self._name} could not attach to the program."
        return LaunchFailed(text, next="dbg doctor")

    async def _begin_execution(
        self, target: Launch, halt: StopInfo | None, entry: str | None
    ) -> None:
        """Report the first stop, or resume the program from it."""
        if halt is None:
            return
        if halt.exit is not None:
            self.finish(halt.exit)
            return
        stopped = self._command_set.stops_at_first_line or entry is not None
        self._execution.set_stopped(halt)
        if target.stop_on_entry and stopped:
            await self._execution.report(halt, StopReason.ENTRY)
        elif stopped and await self._execution.at_breakpoint(halt):
            await self._execution.report(halt, StopReason.BREAKPOINT)
        else:
            await self._execution.resume(None)

    async def _await_first_stop(self, waiter: asyncio.Future[StopInfo]) -> StopInfo | None:
        """Return the first stop; None if the program has exited or does not stop in time."""
        try:
            limit_s = self._config.timeouts.request_s
            return await self._execution.wait_for_stop(waiter, limit_s)
        except (DebuggerTimeout, DebuggerLost):
            return None

    async def _break_at_entry(self, target: Launch) -> str | None:
        location = self._command_set.entry(target)
        query = None if location is None else self._command_set.break_at(location, None)
        if query is None:
            return None
        try:
            return (await self._queries.run(query)).number
        except (DebuggerLost, DebuggerTimeout):
            raise
        except DebuggerError:
            return None

    async def _query_pid(self) -> None:
        query = self._command_set.pid()
        if query is not None:
            self.pid = await self._queries.run(query)
        if (
            self.pid is not None
            and self._command_set.forks_checkpoints
            and self.process is not None
        ):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                session = os.getsid(self.pid)
                # A session of its own holds only the program and its checkpoints.
                if session not in (os.getsid(0), self.process.pid):
                    self._checkpoints = ProcessTree(session)

    def _announce(self) -> None:
        self.emit(events.ProcessStarted(self.pid))

    async def _attach(
        self, target: Attach | Core, configuration: Configuration, greeting: str
    ) -> Sequence[BoundBreakpoint]:
        command = self._command_set.join(target)
        text = greeting if command is None else await self._queries.send(command)
        halt = self._command_set.read_stop(text)
        if halt is None or halt.exit is not None:
            raise self._launch_failed(target, text)
        self._execution.set_stopped(halt)
        if isinstance(target, Core):
            reason = halt.reason or StopReason.OTHER
            await self._execution.report(replace(halt, reason=reason), reason)
            return []
        self.pid = target.pid
        if self.pid is None:
            await self._query_pid()
        await self._set_filters(configuration.filters_among(self.filters))
        bound = await self._set_all(configuration.breakpoints)
        self._announce()
        if target.stay_stopped:
            await self._execution.report(halt, StopReason.PAUSE)
        else:
            # An attached program keeps running, whatever the debugger does by default.
            await self._execution.resume(None)
        return bound

    # --- exit

    def _on_lost(self, error: DebuggerLost) -> None:
        home = self._spec.home if self._spec is not None else DebuggeeHost.APART
        spawned = home in _SPAWNED
        if self.pid is None and spawned:
            return  # no prompt yet: the caller that waits for it gets the error
        requested = self._lifetime.killing or self._lifetime.detached
        if spawned and not requested:
            self.work(self._wait_for_exit(error))
            return
        exit = self._command_set.read_end(str(self._console.output_tail))
        if exit is not None:
            self.finish(exit)
        else:
            self.lost(error)

    async def _wait_for_exit(self, error: DebuggerLost) -> None:
        """Wait for the process that the program runs in; its exit status is the program's."""
        holder = self._resources.holder
        assert holder is not None
        try:
            await holder.wait(_EXIT_S)
        except DebuggerTimeout:
            self.lost(error)

    async def _report_loss(self) -> None:
        """Report the exit of a killed program; its debugger would continue with a checkpoint."""
        text = ""
        if self.io is not None:
            await self.io.wait_end(_OUTPUT_GRACE_S)
            text = str(self.io.stderr_tail)
        self.finish(self._command_set.read_loss(text))

    def _program_ended(self, returncode: int) -> None:
        exit = exit_of(returncode)
        inside = self._spec is not None and self._spec.home in (
            DebuggeeHost.INSIDE,
            DebuggeeHost.SHARED,
        )
        if exit.signal in _FAULTS and inside and not self._execution.running:
            why = f"the program was stopped then, with {self._command_set.name} in the same process"
            exit = replace(exit, reason=why)
        if self._resources.is_cut:
            exit = replace(exit, reason=MISSED_STOPS)
        self.work(self._finish_after_output(exit))

    async def _finish_after_output(self, exit: Exit) -> None:
        if self.io is not None:
            await self.io.wait_end(_OUTPUT_GRACE_S)
        self.finish(exit)

    async def _end_program(self) -> None:
        command = self._command_set.kill()
        if self._command_set.forks_checkpoints and self._execution.running:
            await self._execution.hold(_DETACH_S)
        if command is not None and not self._execution.running:
            await self._console.request(command, timeout_s=1.0)

    async def _detach(self) -> None:
        command = self._command_set.detach()
        if command is None:
            raise self._lacks(Feature.DETACH)
        if self._execution.running:
            await self._execution.hold(_DETACH_S)
        with contextlib.suppress(DebuggerLost):
            await self._console.request(command, timeout_s=_DETACH_S)

    def _close(self) -> None:
        self._console.close()
        self._resources.close()

    async def terminate(self) -> None:
        self._note_program_tree()
        await super().terminate()
        await self._kill_program_tree()

    async def dispose(self) -> None:
        if self.ended:
            # Kill checkpoints first, before they can fork others when the debugger exits.
            await self._kill_program_tree()
        self._note_program_tree()
        await super().dispose()
        await self._kill_program_tree()

    def _note_program_tree(self) -> None:
        if self._resources.program is not None:
            self._resources.program.note_descendants()
        if self._checkpoints is not None:
            self._checkpoints.refresh()

    async def _kill_program_tree(self) -> None:
        program = self._resources.program
        if program is not None and not self._lifetime.detached:
            await program.kill_tree(daemons=self._lifetime.kills_daemons)
        if self._checkpoints is not None and not self._lifetime.detached:
            await self._checkpoints.kill_all(KILL_S)

    def _spared(self) -> tuple[int, ...]:
        if isinstance(self.target, Attach) and self.target.pid is not None:
            return (self.target.pid,)
        return super()._spared()

    # --- configuration

    async def _set_all(self, requests: Sequence[BreakpointRequest]) -> list[BoundBreakpoint]:
        groups: dict[str, list[BreakpointRequest]] = {}
        for request in requests:
            groups.setdefault(_group(request.location), []).append(request)
        bound: list[BoundBreakpoint] = []
        for group, entries in groups.items():
            bound += await self._breakpoints.set(group, entries)
        return bound

    async def _set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        for command in self._command_set.set_filters(filters):
            await self._queries.send(command)

    def _interrupt(self, gently: bool = False) -> None:
        number = (
            self._command_set.soft_interrupt if gently else None
        ) or self._command_set.interrupt
        if self._command_set.interrupts_program and self.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)
        elif self.process is not None:
            self.process.signal(number)


def _group(location: Location) -> str:
    if location.address is not None:
        return "address"
    return location.file or "function"
