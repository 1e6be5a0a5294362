"""Stops on their way to the session: what is found out about them first, and which count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from freezeframe.backends import backend as events
from freezeframe.backends.transport import corefile
from freezeframe.backends.transport.process import signal_name
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import ExceptionInfo, StopReason

from .simultaneous import unreported
from .study import ask_raw, evaluated, filled, innermost, inquire, line_before
from .together import Together

if TYPE_CHECKING:
    from .link import Link


#: What a condition that does not hold is, in one language or another.
_FALSE = frozenset({"0", "false", "False", "nil", "null", "None", "undefined"})


class Stops:
    """The stops of one link."""

    def __init__(self, link: Link) -> None:
        self._link = link
        #: the exception behind the current stop, where it was found out here
        self.exception: ExceptionInfo | None = None
        #: what the stop event itself says of the exception, as an `exceptionInfo` answer would
        self.words: dict[str, str] | None = None
        #: the signal that the program stopped for last
        self.last_signal: str | None = None
        #: a pause was asked for, so that its signal is ours
        self.pausing = False
        self._signalled = False
        self._redirected = False
        #: threads that stop at the same moment
        self.together = Together(self._sort)
        #: a step was interrupted by a stop of another thread, and goes on when the program does
        self._unfinished = False
        #: a step was begun, and no stop has said that it is over
        self.stepping = False
        #: such a step has gone on
        self._step_resumed = False
        #: modules were unloaded since the last stop: the process may be another program
        self.modules_went = False

    @property
    def may_tell_more(self) -> bool:
        """The adapter may know an exception that is not known here: not behind a signal."""
        return not self._signalled

    def take(self, stopped: events.Stopped, watch: int | None, *, first: bool = True) -> None:
        """Report a stop, or go on where nobody wants it.

        *first*: the adapter means this one, of several threads that stop together.
        """
        if self._link.brief_halt.take(stopped):
            return
        self._step_resumed = False
        if stopped.reason is StopReason.STEP:
            self.stepping = False
        if self.modules_went and (command := self._link.adapter.raw.fresh_frames) is not None:
            self._link.work(self._look_again(command, stopped, watch, first=first))
        else:
            self._group(stopped, watch, first=first)

    async def _look_again(
        self, command: str, stopped: events.Stopped, watch: int | None, *, first: bool
    ) -> None:
        # Another thread's stop that comes meanwhile waits here too, behind this one.
        await ask_raw(self._link.wire, command, stopped.thread)
        self.modules_went = False
        self._group(stopped, watch, first=first)

    async def _finish(self, stopped: events.Stopped, watch: int | None, *, first: bool) -> None:
        """Take in a stop while a function is finished whose returned value is to be read."""
        if not await self._link.returns.passed(stopped):
            self._group(stopped, watch, first=first, returning=True)
            return
        for each in await unreported(self._link, stopped):
            self.together.take(each, None, first=True)
        if not self.together.any:
            await self._link.wire.request("stepOut", {"threadId": stopped.thread})

    def _group(
        self,
        stopped: events.Stopped,
        watch: int | None,
        *,
        first: bool,
        returning: bool = False,
    ) -> None:
        if self._link.returns.expected and not returning:
            self._link.work(self._finish(stopped, watch, first=first))
            return
        one = self._link.adapter.stops.was_running is not None
        if one and stopped.reason is StopReason.BREAKPOINT:
            self._link.work(self._with_unreported(stopped, watch))
        elif self._link.adapter.stops.together or one:
            self.together.take(stopped, watch, first=first)
        else:
            self._sort(stopped, watch)

    async def _with_unreported(self, stopped: events.Stopped, watch: int | None) -> None:
        others = await unreported(self._link, stopped)
        if others and stopped.description is None:
            count = "another thread is" if len(others) == 1 else f"{len(others)} more threads are"
            stopped = replace(stopped, description=f"{count} at a breakpoint too")
        self.together.take(stopped, watch, first=True)
        for each in others:
            self.together.take(each, None, first=False)

    def resuming(self, thread: int | None) -> None:
        """The program is let run: one *thread* of it, as far as that can be, or all."""
        self._step_resumed = self._unfinished
        self.resumed()
        self.together.resumed(thread)

    def resumed(self) -> None:
        """The program runs: stops that were not told are gone."""
        self.together.runs()
        self._link.returns.resumed()
        self._unfinished = False

    def hear(self, text: str) -> None:
        """Take in what the debugger says about the stop that it has just told."""
        if self._link.adapter.stops.leaves_step(text):
            self._unfinished = True

    @property
    def in_step(self) -> bool:
        """Whether the program runs to the end of a step."""
        return self.stepping or self._step_resumed or self._link.returns.expected

    def check_step(self) -> None:
        """Raise when the debugger has not done with the last step."""
        if self._unfinished:
            raise DebuggerError(
                "this stop came in the middle of another thread's step, which goes on first.",
                code="step-unfinished",
                next="dbg continue",
            )

    def tell_next(self) -> bool:
        """Report a stop that another thread came to at the same time, instead of going on."""
        pending = self.together.next()
        if pending is None:
            return False
        stopped, watch = pending
        self._link.emit(events.Continued(stopped.thread))
        if stopped.description is None:
            stopped = replace(stopped, description="at the same time, nothing has run")
        self._sort(stopped, watch)
        return True

    async def _look_around(self, stopped: events.Stopped, watch: int | None) -> None:
        """Find out by the place which breakpoints a stop is for, where the adapter names none."""
        frame = await innermost(self._link.wire, stopped.thread) or {}
        ids = self._link.marks.at((frame.get("source") or {}).get("path"), frame.get("line"))
        if ids:
            self._sort(replace(stopped, breakpoints=ids), watch)
        else:
            self._take(stopped, watch)

    def _sort(self, stopped: events.Stopped, watch: int | None) -> None:
        nameless = stopped.reason is StopReason.BREAKPOINT and not stopped.breakpoints
        if nameless and self._link.marks.helps_out:
            self._link.work(self._look_around(stopped, watch))
            return
        sharing = self._link.marks.sharing(stopped)
        if sharing:
            self._link.work(self._sort_out(stopped, sharing))
        else:
            self._take(stopped, watch)

    async def _sort_out(
        self, stopped: events.Stopped, sharing: Sequence[events.WantedBreakpoint]
    ) -> None:
        """Tell which of the breakpoints of one place hold; logpoints among them speak."""
        passed: list[int] = [
            id for id in stopped.breakpoints if id not in {want.id for want in sharing}
        ]
        wire = self._link.wire
        frame = await innermost(wire, stopped.thread)
        for want in sharing:
            if want.condition is not None and frame is not None:
                held = await evaluated(wire, want.condition, frame["id"])
                if held in _FALSE:
                    continue
            if want.log is None:
                passed.append(want.id)
            elif self._link.marks.counts(replace(stopped, breakpoints=(want.id,))):
                text = await filled(wire, want.log, frame["id"] if frame is not None else None)
                self._link.emit(events.Printed("log", text + "\n"))
        if passed:
            self._take(replace(stopped, breakpoints=tuple(passed)), None)
        else:
            await self._go_on(stopped.thread if stopped.thread is not None else 0)

    def _take(self, stopped: events.Stopped, watch: int | None) -> None:
        if not self._link.marks.counts(stopped):
            # A pass that its hit count does not want: nobody is to know.
            thread = stopped.thread if stopped.thread is not None else 0
            self._link.work(self._go_on(thread))
            return
        for bound in self._link.marks.proven(stopped):
            self._link.emit(events.BreakpointMoved(bound))
        stopped = _of_the_dead(stopped, self._link.target)
        self.exception = None
        self.words = None
        if stopped.reason is StopReason.EXCEPTION and stopped.description and stopped.text:
            self.words = {"exceptionId": stopped.description, "description": stopped.text}
        name = self._link.marks.filter_of(stopped)
        if name is not None:
            stopped = replace(
                stopped, reason=StopReason.EXCEPTION, description=name, breakpoints=()
            )
        if self._link.marks.is_entry(stopped):
            address = self._link.adapter.start.entry_address(self._link.target)
            if address is not None and not self._redirected:
                self._redirected = True
                self._link.work(self._enter(address, stopped))
                return
            stopped = replace(stopped, reason=StopReason.ENTRY, breakpoints=())
            self._link.work(self._link.marks.forget_entry())
        target = self._link.target
        held = isinstance(target, events.Attach) and target.hold and self._link.adapter.holds
        joining = isinstance(target, events.Attach) and not self._link.configured and not held
        paused = stopped.reason is StopReason.PAUSE
        if joining and (paused or stopped.description in ("SIGSTOP", "SIGTRAP")):
            # Joining a process stops it; it goes on once everything is in place.
            return
        pausing, self.pausing = self.pausing, False
        if pausing and (stopped.description or "").startswith("SIGSTOP"):
            stopped = replace(stopped, reason=StopReason.PAUSE, description=None)
        self._signalled = stopped.reason is StopReason.SIGNAL
        if stopped.reason is StopReason.SIGNAL and stopped.description:
            self.last_signal = stopped.description.split(":")[0]
            exceptions = self._link.adapter.exceptions
            self.exception = exceptions.read_last_words(self.last_signal, self._said())
            if self.exception is not None:
                # The signal is only how the runtime ends a program for an exception.
                stopped = replace(stopped, reason=StopReason.EXCEPTION)
        if stopped.reason is StopReason.WATCHPOINT and watch is not None:
            self._link.work(self._on_watched(stopped, watch))
        elif stopped.reason is StopReason.SIGNAL and (ask := self._signal_question(stopped)):
            self._link.work(self._on_signal(stopped, ask))
        elif stopped.reason is StopReason.EXCEPTION and self.exception is None:
            self._link.work(self._on_thrown(stopped))
        elif self._link.watches.scoped:
            self._link.work(self._tell(stopped))
        else:
            self._link.emit(stopped)

    async def _tell(self, stopped: events.Stopped) -> None:
        """Report a stop, with the watchpoint whose variable has gone since the last one."""
        marks = self._link.marks
        breakpoints = marks.without_scopes(stopped)
        only_left = not breakpoints and bool(stopped.breakpoints)
        left = await self._link.watches.leave(stopped.thread)
        for hit in left:
            await marks.forget_scope(hit.id)
        if only_left and not left:
            # Another call of the same function, or another thread in it.
            await self._go_on(stopped.thread if stopped.thread is not None else 0)
            return
        stopped = replace(stopped, breakpoints=breakpoints)
        watch = stopped.watch
        if left and (only_left or (watch is not None and watch.id in [hit.id for hit in left])):
            stopped = replace(stopped, reason=StopReason.WATCHPOINT)
            watch = None
        if left and watch is not None:
            watch = replace(watch, also=(*watch.also, *left))
        elif left:
            watch = replace(left[0], also=tuple(left[1:]))
        stopped = replace(stopped, watch=watch)
        self._link.emit(stopped)

    async def _enter(self, expression: str, stopped: events.Stopped) -> None:
        """Go on to where the program begins: an address that is known only now."""
        wire, marks = self._link.wire, self._link.marks
        frame = await innermost(wire, stopped.thread)
        found = await evaluated(wire, expression, frame["id"]) if frame is not None else None
        await marks.move_entry(found)
        await self._go_on(stopped.thread if stopped.thread is not None else 0)

    def _said(self) -> str:
        """Return the end of what the program wrote to its standard error."""
        ground = self._link.kin.roof or self._link.ground
        return "\n".join(ground.words.lines(100)) if ground is not None else ""

    async def _on_watched(self, stopped: events.Stopped, id: int) -> None:
        hits = await self._link.watches.seen(id, stopped.thread)
        if not hits:
            # Such an access is nothing that one of them waits for.
            await self._go_on(stopped.thread if stopped.thread is not None else 0)
            return
        if self._link.adapter.stops.watches_after:
            place = await line_before(self._link.wire, stopped.thread)
            if place is not None:
                hits = [replace(hit, path=place[0], line=place[1]) for hit in hits]
        watch = replace(hits[0], also=tuple(hits[1:]))
        await self._tell(replace(stopped, watch=watch, breakpoints=(), description=None))

    def _signal_question(self, stopped: events.Stopped) -> str | None:
        return self._link.adapter.stops.ask_signal(stopped.description or "")

    async def _on_signal(self, stopped: events.Stopped, command: str) -> None:
        """Report a signal with what its debugger tells of it only when it is asked."""
        told = await ask_raw(self._link.wire, command, stopped.thread)
        if told is not None:
            words = self._link.adapter.stops.read_signal(stopped.description or "", told)
            stopped = replace(stopped, description=words)
        await self._tell(stopped)

    async def _on_thrown(self, stopped: events.Stopped) -> None:
        """Look at an exception that was thrown; one of a type that nobody wants runs on."""
        if self._link.marks.lets_pass(stopped.description or ""):
            await self._go_on(stopped.thread if stopped.thread is not None else 0)
            return
        inquiry = self._link.adapter.exceptions.examine(stopped.description or "")
        if inquiry is not None:
            thrown = await inquire(self._link.wire, inquiry, stopped.thread)
            label = stopped.description or ""
            wanted = self._link.marks.wants
            if thrown is not None and (thrown.known or not wanted(label, thrown.types)):
                await self._go_on(stopped.thread if stopped.thread is not None else 0)
                return
            if thrown is not None:
                mode = self._link.marks.filter_named(label)
                self.exception = replace(thrown.info, mode=thrown.info.mode or mode)
        function = self._link.adapter.exceptions.functions.get(stopped.description or "")
        if self.exception is None and function is not None and function.read is not None:
            self.exception = function.read(self._said())
        self._link.emit(stopped)

    async def _go_on(self, thread: int) -> None:
        if self.tell_next():
            return
        self.resuming(None)
        await self._link.wire.request("continue", {"threadId": thread})


def _of_the_dead(stopped: events.Stopped, target: events.Target) -> events.Stopped:
    """Return why a dead program stopped, where its debugger only says that it looks at one."""
    if not isinstance(target, events.Core) or stopped.reason is not StopReason.ENTRY:
        return stopped
    told = corefile.read(target.core)
    if told is None or told.signal is None:
        return stopped
    return replace(stopped, reason=StopReason.SIGNAL, description=signal_name(told.signal))
