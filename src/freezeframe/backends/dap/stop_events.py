"""Complete and filter the adapter's stops before the session sees them.

Theory of operation. A `stopped` event passes these stages, each a method; a stage hands it to the
next one, ends it, or resumes the program (`_resume`), and then nothing is reported:

    on_stop      a brief halt of ours ends here; the end of a step is noted
    _handle      after a step out, what the function returned is read first
    _queue       of threads that stop at the same time one goes on, the others wait
    _identify    which breakpoints: named by the adapter, or found by the location
    _decide      conditions, hit counts and logpoints that the adapter leaves to us
    _classify    what kind: exception filter, entry, the stop of an attach, our pause, signal
    _on_…        what the adapter reports only on request: watchpoint, signal, exception
    _report      watchpoints whose variable has gone out of scope
    _emit        one `Stopped` event

What was requested of the program is the table of `backends/thread_stops.py` (`requested`): a pause
stays requested until `_emit`, and a stop that would not be reported is reported as the pause.
`resuming` is called before a request that resumes the program, `resumed` when it runs: both drop
what belongs to the stop. A debugger's subclass overrides single stages (`adapters/`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from freezeframe.backends import backend as events
from freezeframe.backends.thread_stops import ProgramEvent, ThreadStops
from freezeframe.backends.transport import corefile
from freezeframe.backends.transport.process import signal_name
from freezeframe.model.stops import ExceptionInfo, StopReason

from .messages import ErrorResponse
from .stop_queries import (
    evaluate_condition,
    evaluate_text,
    innermost,
    line_before,
    run_exception_query,
    run_raw_command,
)
from .stop_queue import StopQueue

if TYPE_CHECKING:
    from .debuggee import Debuggee


class StopHandler:
    """The stops of one debuggee."""

    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        #: the exception of the current stop, where it was read here
        self.exception: ExceptionInfo | None = None
        #: the exception as given by the `stopped` event, in the form of an `exceptionInfo` answer
        self.exception_fields: dict[str, str] | None = None
        #: why conditions that were evaluated at the current stop failed, by breakpoint
        self.failures: dict[int, str] = {}
        #: the last signal the program stopped for
        self.last_signal: str | None = None
        #: what was requested of the program; the signal of a pause is not the program's
        self.requested = ThreadStops()
        self._signalled = False
        #: stops of several threads at the same time
        self.queue = StopQueue(self._identify)
        #: a step was requested, and no stop has reported its end
        self.stepping = False

    @property
    def may_have_exception_info(self) -> bool:
        """Whether the adapter may describe the exception of the stop: not for a signal."""
        return not self._signalled

    def on_stop(self, stopped: events.Stopped, watch: int | None, *, first: bool = True) -> None:
        """Report a stop, or resume if it is not to be reported.

        *first*: the adapter focuses on this one of several threads that stop together.
        """
        if self._debuggee.brief_halt.on_stop(stopped):
            return
        self.requested.on(ProgramEvent.STOPPED)
        if stopped.reason is StopReason.STEP:
            self.stepping = False
        self._handle(stopped, watch, first=first)

    def on_module_unloaded(self) -> None:
        """Note that a module was unloaded: the process may have called exec."""

    async def _finish_function(
        self, stopped: events.Stopped, watch: int | None, *, first: bool
    ) -> None:
        """Handle a stop during a step out whose return value is to be read."""
        await self._debuggee.returns.on_stop(stopped)
        self._queue(stopped, watch, first=first)

    def _handle(self, stopped: events.Stopped, watch: int | None, *, first: bool) -> None:
        if self._debuggee.returns.expected:
            self._debuggee.spawn_task(self._finish_function(stopped, watch, first=first))
        else:
            self._queue(stopped, watch, first=first)

    def _queue(self, stopped: events.Stopped, watch: int | None, *, first: bool) -> None:
        """Queue a stop, where several threads may stop at the same time."""
        self._identify(stopped, watch)

    async def unreported(self, stopped: events.Stopped) -> list[events.Stopped]:
        """Return the stops of other threads at the time of a stop, which the adapter left out."""
        return []

    def resuming(self, thread: int | None) -> None:
        """Note that the program is about to resume: only *thread*, if possible, or all threads."""
        self.resumed()
        self.queue.resumed(thread)

    def resumed(self) -> None:
        """Note that the program runs: drop stops that were not reported."""
        self.requested.on(ProgramEvent.RESUMED)
        self.queue.runs()
        self._debuggee.returns.resumed()
        self.failures = {}

    @contextlib.contextmanager
    def request_pause(self) -> Iterator[None]:
        """Note that the user's pause is sent; within it. A refusal is raised, if it is one."""
        self.requested.on(ProgramEvent.PAUSE)
        try:
            yield
        except ErrorResponse:
            # lldb-dap refuses it for a program that has stopped already.
            refused = self.requested.refuses_pause
            self.requested.on(ProgramEvent.PAUSE_REFUSED)
            if refused:
                raise

    def on_output(self, text: str) -> None:
        """Read what the debugger prints about the stop it has just reported."""

    @property
    def in_step(self) -> bool:
        """Whether a step is in progress."""
        return self.stepping or self._debuggee.returns.expected

    def check_step(self) -> None:
        """Raise DebuggerError if the last step is not finished."""

    def report_next(self) -> bool:
        """Report the next queued stop instead of resuming. Return whether there was one."""
        pending = self.queue.next()
        if pending is None:
            return False
        stopped, watch = pending
        self._debuggee.emit(events.Continued(stopped.thread))
        if stopped.description is None:
            stopped = replace(stopped, description="at the same time, nothing has run")
        self._identify(stopped, watch)
        return True

    async def _identify_by_location(self, stopped: events.Stopped, watch: int | None) -> None:
        """Find the breakpoints of a stop by its location, where the adapter names none."""
        frame = await innermost(self._debuggee.channel, stopped.thread) or {}
        ids = self._debuggee.breakpoints.at(
            (frame.get("source") or {}).get("path"), frame.get("line")
        )
        if ids:
            self._identify(replace(stopped, breakpoints=ids), watch)
        else:
            self._classify(stopped, watch)

    def _identify(self, stopped: events.Stopped, watch: int | None) -> None:
        unnamed = stopped.reason is StopReason.BREAKPOINT and not stopped.breakpoints
        if unnamed and self._debuggee.breakpoints.emulates_any:
            self._debuggee.spawn_task(self._identify_by_location(stopped, watch))
            return
        breakpoints = self._debuggee.breakpoints
        if breakpoints.shares(stopped) or breakpoints.counts(stopped):
            self._debuggee.spawn_task(self._decide(stopped, watch))
        else:
            self._classify(stopped, watch)

    async def _decide(self, stopped: events.Stopped, watch: int | None) -> None:
        """Report a stop for those of its breakpoints that stop here; resume if none does."""
        breakpoints = self._debuggee.breakpoints
        others = tuple(id for id in stopped.breakpoints if id not in breakpoints.hits)
        ids = [id for id in stopped.breakpoints if id in breakpoints.hits]
        hits = await self._hits(ids, stopped.thread, evaluated=not breakpoints.shares(stopped))
        if others or hits:
            self._classify(replace(stopped, breakpoints=others + hits), watch)
        else:
            await self._resume(stopped)

    async def _hits(
        self, ids: Iterable[int], thread: int | None, *, evaluated: bool
    ) -> tuple[int, ...]:
        """Return the breakpoints that stop at a hit of *ids*; write the messages of logpoints.

        *evaluated*: the adapter has evaluated the conditions.
        """
        channel = self._debuggee.channel
        frame = None if evaluated else await innermost(channel, thread)
        frame_id = frame["id"] if frame is not None else None

        async def render(code: str) -> str:
            value = await self._logged(code, frame_id)
            return value if value is not None else f"<{code} has no value>"

        decision = await self._debuggee.breakpoints.hits.decide(
            ids,
            None if frame is None else lambda code: evaluate_condition(channel, code, frame_id),
            render,
        )
        self.failures = decision.failures
        for message in decision.messages:
            text = self._debuggee.adapter.output.log_text(message)
            self._debuggee.emit(events.OutputEvent("log", text + "\n"))
        return decision.breakpoints

    async def _logged(self, code: str, frame: int | None) -> str | None:
        """Return a value as a logpoint writes it; None if it cannot be evaluated."""
        return await evaluate_text(self._debuggee.channel, code, frame)

    def _classify(self, stopped: events.Stopped, watch: int | None) -> None:
        breakpoints = self._debuggee.breakpoints
        for bound in breakpoints.confirmed_by_stop(stopped):
            self._debuggee.emit(events.BreakpointChanged(bound))
        stopped = _with_core_signal(stopped, self._debuggee.target)
        self.exception = None
        self.exception_fields = _exception_fields(stopped)
        name = breakpoints.filter_of(stopped)
        if name is not None:
            stopped = replace(
                stopped, reason=StopReason.EXCEPTION, description=name, breakpoints=()
            )
        if breakpoints.is_entry(stopped):
            if self._runs_to_entry(stopped):
                return
            stopped = replace(stopped, reason=StopReason.ENTRY, breakpoints=())
            self._debuggee.spawn_task(breakpoints.forget_entry())
        if self._is_attach_stop(stopped):
            return
        stopped = self._with_uncaught_exception(self._without_pause_signal(stopped))
        if stopped.reason is StopReason.WATCHPOINT and watch is not None:
            self._debuggee.spawn_task(self._on_watchpoint(stopped, watch))
        elif stopped.reason is StopReason.SIGNAL:
            self._on_signal(stopped)
        elif stopped.reason is StopReason.EXCEPTION and self.exception is None:
            self._debuggee.spawn_task(self._on_exception(stopped))
        else:
            self._deliver(stopped)

    def _is_attach_stop(self, stopped: events.Stopped) -> bool:
        """Whether attaching stopped the process, which resumes once breakpoints are set."""
        target = self._debuggee.target
        if not isinstance(target, events.Attach) or self._debuggee.configured:
            return False
        if target.stay_stopped and self._debuggee.adapter.holds:
            return False
        return stopped.reason is StopReason.PAUSE or stopped.description in ("SIGSTOP", "SIGTRAP")

    def _without_pause_signal(self, stopped: events.Stopped) -> events.Stopped:
        """Return the stop of a pause that was requested, where the adapter reports its signal."""
        if self.requested.pausing and (stopped.description or "").startswith("SIGSTOP"):
            return replace(stopped, reason=StopReason.PAUSE, description=None)
        return stopped

    def _with_uncaught_exception(self, stopped: events.Stopped) -> events.Stopped:
        """Return the stop for a signal as the exception after which the runtime raised it."""
        self._signalled = stopped.reason is StopReason.SIGNAL
        if not self._signalled or not stopped.description:
            return stopped
        self.last_signal = stopped.description.split(":")[0]
        read = self._debuggee.adapter.exceptions.read_uncaught_exception
        self.exception = read(self.last_signal, self._stderr_tail())
        if self.exception is None:
            return stopped
        return replace(stopped, reason=StopReason.EXCEPTION)

    def _runs_to_entry(self, stopped: events.Stopped) -> bool:
        """Resume from the entry breakpoint if the program begins elsewhere. Return whether."""
        return False

    def _on_signal(self, stopped: events.Stopped) -> None:
        self._deliver(stopped)

    def _deliver(self, stopped: events.Stopped) -> None:
        if self._debuggee.watches.scoped:
            self._debuggee.spawn_task(self._report(stopped))
        else:
            self._emit(stopped)

    def _emit(self, stopped: events.Stopped) -> None:
        self.requested.on(ProgramEvent.REPORTED)
        self._debuggee.emit(stopped)

    async def _report(self, stopped: events.Stopped) -> None:
        """Report a stop, with the watchpoints whose variable has gone out of scope."""
        breakpoints = self._debuggee.breakpoints
        hit_ids = breakpoints.without_scopes(stopped)
        only_ended = not hit_ids and bool(stopped.breakpoints)
        ended = await self._debuggee.watches.end_scopes(stopped.thread)
        for hit in ended:
            await breakpoints.forget_scope(hit.id)
        if only_ended and not ended:
            # Another call of the same function, or another thread in it.
            await self._resume(stopped)
            return
        stopped = replace(stopped, breakpoints=hit_ids)
        watch = stopped.watch
        if ended and (only_ended or (watch is not None and watch.id in [hit.id for hit in ended])):
            stopped = replace(stopped, reason=StopReason.WATCHPOINT)
            watch = None
        if ended and watch is not None:
            watch = replace(watch, also=(*watch.also, *ended))
        elif ended:
            watch = replace(ended[0], also=tuple(ended[1:]))
        stopped = replace(stopped, watch=watch)
        self._emit(stopped)

    def _stderr_tail(self) -> str:
        """Return the last lines of the program's standard error."""
        resources = self._debuggee.children.shared_resources or self._debuggee.resources
        return "\n".join(resources.io.stderr_tail.lines(400)) if resources is not None else ""

    async def _on_watchpoint(self, stopped: events.Stopped, id: int) -> None:
        hits = await self._debuggee.watches.hits(id, stopped.thread)
        hit_ids = await self._breakpoints_here(stopped)
        if not hits:
            # None of the watchpoints stops for such an access.
            if hit_ids:
                stopped = replace(stopped, reason=StopReason.BREAKPOINT, breakpoints=hit_ids)
                await self._report(replace(stopped, description=None))
            else:
                await self._resume(stopped)
            return
        if self._debuggee.adapter.stops.watches_after:
            location = await line_before(self._debuggee.channel, stopped.thread)
            if location is not None:
                hits = [replace(hit, path=location[0], line=location[1]) for hit in hits]
        watch = replace(hits[0], also=tuple(hits[1:]))
        await self._report(replace(stopped, watch=watch, breakpoints=hit_ids, description=None))

    async def _breakpoints_here(self, stopped: events.Stopped) -> tuple[int, ...]:
        """Return the breakpoints hit at a watchpoint's stop, where the adapter reports none."""
        return ()

    async def _hits_named(
        self, command: str, stopped: events.Stopped, *, evaluated: bool
    ) -> tuple[int, ...]:
        """Return the breakpoints that stop here, of those whose numbers a raw command prints.

        *evaluated*: the debugger has evaluated the conditions that it has.
        """
        breakpoints = self._debuggee.breakpoints
        answer = await run_raw_command(self._debuggee.channel, command, stopped.thread) or ""
        numbers = [int(word) for word in answer.split() if word.isdecimal()]
        if not numbers:
            return ()
        there = breakpoints.stopped({"reason": "breakpoint", "hitBreakpointIds": numbers})
        ids = [id for id in there.breakpoints if id in breakpoints.hits]
        evaluated = evaluated and not breakpoints.shares(there)
        return await self._hits(ids, stopped.thread, evaluated=evaluated)

    async def _on_exception(self, stopped: events.Stopped) -> None:
        """Read an exception that was thrown; resume if its type is not requested."""
        if self._debuggee.breakpoints.filter_is_off(stopped.description or ""):
            await self._resume(stopped)
            return
        query = self._debuggee.adapter.exceptions.examine(stopped.description or "")
        if query is not None:
            thrown = await run_exception_query(self._debuggee.channel, query, stopped.thread)
            label = stopped.description or ""
            matches = self._debuggee.breakpoints.filter_matches
            if thrown is not None and (thrown.known or not matches(label, thrown.types)):
                await self._resume(stopped)
                return
            if thrown is not None:
                mode = self._debuggee.breakpoints.filter_named(label)
                self.exception = replace(thrown.info, mode=thrown.info.mode or mode)
        function = self._debuggee.adapter.exceptions.functions.get(stopped.description or "")
        if self.exception is None and function is not None and function.read is not None:
            self.exception = function.read(self._stderr_tail())
        if self.exception is not None:
            complete = self._debuggee.adapter.exceptions.complete
            self.exception = complete(self.exception, self._stderr_tail())
        self._emit(stopped)

    async def _resume(self, stopped: events.Stopped) -> None:
        """Resume from a stop that is not reported; report the pause that was requested instead.

        The adapter may ignore a pause of a program that has stopped already.
        """
        if self.report_next():
            return
        if self.requested.pausing:
            self._emit(events.Stopped(StopReason.PAUSE, stopped.thread))
            return
        self.resuming(None)
        await self._debuggee.channel.request("continue", {"threadId": stopped.thread or 0})


def _exception_fields(stopped: events.Stopped) -> dict[str, str] | None:
    if stopped.reason is StopReason.EXCEPTION and stopped.description and stopped.text:
        return {"exceptionId": stopped.description, "description": stopped.text}
    return None


def _with_core_signal(stopped: events.Stopped, target: events.Target) -> events.Stopped:
    """Return the stop of a core file with the signal in it, where the debugger gives none."""
    if not isinstance(target, events.Core) or stopped.reason is not StopReason.ENTRY:
        return stopped
    core = corefile.read(target.core)
    if core is None or core.signal is None:
        return stopped
    return replace(stopped, reason=StopReason.SIGNAL, description=signal_name(core.signal))
