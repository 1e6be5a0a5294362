"""How a program comes under a debugger with a prompt, and how it ends."""

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
    Configuration,
    Core,
    Feature,
    Launch,
    Sink,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.console.backend import KILL_S, ConsoleBackend
from freezeframe.backends.console.queue import TAP_VARIABLE, Console
from freezeframe.backends.debugger import Found
from freezeframe.backends.transport.process import Process, exit_of
from freezeframe.backends.transport.tree import Family
from freezeframe.config import Config
from freezeframe.errors import (
    BuildFailed,
    DebuggerError,
    DebuggerLost,
    DebuggerTimeout,
    LaunchFailed,
)
from freezeframe.model.places import Location
from freezeframe.model.stops import ExceptionFilter, Exit, StopReason

from .dialect import Said
from .ground import Ground
from .marks import Marks
from .motion import Motion
from .spelling import Begin, Halt, Home, Spelling
from .talk import Talk
from .values import Values

#: for the pipes of a program to run dry after its end: its children may hold them
_LAST_WORDS_S = 0.5
_LEAVE_S = 2.0
#: for a process to end whose debugger has stopped to speak
_END_S = 10.0


#: homes of a program whose process is one that we have started
_OURS = (Home.INSIDE, Home.SHARED, Home.FILES, Home.BESIDE)
#: signals of code that went wrong, which a program that stands still does not run
_FAULTS = frozenset({"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"})


class PromptLife(ConsoleBackend):
    """The start and the ends of one program under a debugger with a prompt."""

    def __init__(self, spelling: Spelling, found: Found, config: Config) -> None:
        super().__init__(spelling.name, found, config)
        self._spelling = spelling
        self._ground = Ground(self.emit_text, self.fell_silent)
        #: the program and what its debugger keeps of it, where that has put them apart from itself
        self._copies: Family | None = None
        self._console: Console[str, Said] = Console(
            spelling.name,
            spelling.dialect(secrets.token_hex(6)),
            hear=self._hear,
            on_lost=self._line_ended,
            timeout_s=config.timeouts.request_s,
        )
        self._talk = Talk(
            self._console,
            spelling,
            config.timeouts,
            self._interrupt,
            lambda text: self._motion.hear(Said(text)),
        )
        self._marks = Marks(self._talk, spelling, self.emit)
        self._values = Values(self._talk, spelling)
        self._motion = Motion(
            self._talk,
            self._marks,
            self._values,
            spelling,
            emit=self.emit,
            drain=self.drain,
            finish=self.finish,
            work=self.work,
            interrupt=self._interrupt,
            on_loss=lambda: self.work(self._tell_loss()),
        )
        self._begin: Begin | None = None

    @property
    def process(self) -> Process | None:
        return self._ground.process

    def _hear(self, said: Said) -> None:
        made = self._spelling.read_bound(said.text)
        if made is None:
            self._motion.hear(said)
            return
        for bound in self._marks.bound(made):
            self.emit(events.BreakpointMoved(bound))

    async def write_stdin(self, data: bytes) -> None:
        await super().write_stdin(data)
        self._motion.fed = True

    def emit_text(self, stream: str, text: str) -> None:
        # What it runs again it has printed before; what it says at its debugger's end is no
        # word of its own.
        leaving = self._killing or self.ended
        if not self._motion.rewinding and not (leaving and self._spelling.ends_noisily):
            super().emit_text(stream, text)

    def _lacks(self, feature: Feature) -> DebuggerError:
        try:
            self.refuse(f"has no {feature.value}", self.unsupported_hint(feature))
        except DebuggerError as error:
            return error

    # --- life

    async def start(
        self, target: Target, configuration: Configuration, sink: Sink
    ) -> Sequence[BoundBreakpoint]:
        self.target = target
        self._sink = sink
        guarded, config = self._ground.guarded(target), self._config.adapter(self._name)
        begin = self._begin = self._spelling.begin(guarded, config)
        if self._disposed:
            raise DebuggerLost("the program was ended before it was started.")
        greeting = await self._greeted(begin, target)
        if greeting is None:
            return []
        why = self._spelling.unreadable(greeting)
        if why is not None:
            raise BuildFailed(why)
        version = self._spelling.read_greeting(greeting)
        if version is not None:
            self._found = replace(self._found, version=version)
        for command in begin.settings:
            await self._talk.tell(self._ground.fill(command))
        holder = self._ground.holder
        if begin.home in _OURS and holder is not None:
            self.pid = holder.pid
            holder.on_exit(self._program_ended)
        self.emit(events.Initialized())
        self._motion.fed = isinstance(target, Launch) and target.stdin is not None
        if isinstance(target, Launch):
            return await self._launch(target, configuration, greeting)
        return await self._join(target, configuration, greeting)

    async def _open(self, begin: Begin, target: Target, limit_s: float) -> str:
        """Start the debugger; return what it says before its first prompt."""
        try:
            stream = await self._ground.open(begin, target, limit_s)
        finally:
            self.streams = self._ground.streams
        assert self.process is not None
        self._command = self.process.argv
        self._console.open(self.process, stream, tap=target.env.get(TAP_VARIABLE))
        return await self._console.ask("", timeout_s=limit_s)

    async def _greeted(self, begin: Begin, target: Target) -> str | None:
        """Wait for the first prompt; return what came before it.

        None when the program came to its end first: it could not even be read.
        """
        limit_s = self._config.timeouts.initialize_s
        try:
            return await self._open(begin, target, limit_s)
        except DebuggerTimeout:
            raise DebuggerTimeout(
                f"{self._name} did not come to its prompt within {limit_s:g} s.", next="dbg doctor"
            ) from None
        except DebuggerLost as error:
            status = self._ground.process.returncode if self._ground.process is not None else None
            if begin.home is not Home.INSIDE and status is not None and status < 0:
                # What it said before it was killed is no reason.
                raise LaunchFailed(error.message, next="dbg doctor") from None
            words = str(self._console.words)
            if self.streams is not None:
                await self.streams.wait_end(_LAST_WORDS_S)
                words = words or str(self.streams.words)
            if begin.home is Home.LAUNCHED:
                words = words or str(self._console.said)
            why = self._spelling.read_failure(words)
            holder = self._ground.holder
            if why is None and begin.home is Home.INSIDE and holder is not None:
                self.pid = holder.pid
                self.emit(events.Initialized())
                self._announce()
                self.finish(exit_of(await holder.wait(_END_S)))
                return None
            words = why or f"{error.message.rstrip('.')}{f': {words}' if words else ''}"
            raise LaunchFailed(words, next="dbg doctor") from None

    async def _launch(
        self, target: Launch, configuration: Configuration, greeting: str
    ) -> Sequence[BoundBreakpoint]:
        early = [w for w in configuration.breakpoints if w.location.address is None]
        late = [w for w in configuration.breakpoints if w.location.address is not None]
        await self._set_filters(configuration.filters_among(self.filters))
        bound = await self._set_all(early)
        guarded = self._ground.guarded(target)
        run = self._spelling.run(guarded) if isinstance(guarded, Launch) else None
        held = bool(late) or target.stop_on_entry
        entry = await self._break_at_entry(target) if held and run is not None else None
        if run is None:
            halt = self._spelling.read_stop(greeting)
        elif self._spelling.run_goes_on:
            waiter = self._motion.next_stop() if entry is not None else None
            self._motion.go(self._ground.fill(run))
            self._announce()
            halt = await self._arrived(waiter) if waiter is not None else None
            if waiter is None or halt is None:
                return bound
        else:
            halt = self._born(await self._talk.tell(self._ground.fill(run)))
            await self._learn_pid()
            if entry is not None:
                waiter = self._motion.next_stop()
                self._motion.go(self._spelling.resume(None))
                halt = await self._arrived(waiter)
                if halt is None:
                    return bound
        self._ground.started()
        self._announce()
        if entry is not None:
            await self._talk.tell(self._spelling.unbreak(entry))
        bound = [*bound, *await self._set_all(late)]
        await self._set_off(target, halt, entry)
        return bound

    def _born(self, text: str) -> Halt | None:
        """Look at what a program's start was answered with. Raises LaunchFailed."""
        halt = self._spelling.read_stop(text)
        if halt is None:
            raise self._failed(self.target, text)
        return halt

    def _failed(self, target: Target, text: str) -> LaunchFailed:
        why = self._spelling.explain(target, text)
        if why is not None:
            return LaunchFailed(why[0], next=why[1])
        if isinstance(target, Launch):
            return LaunchFailed(
                text.strip() or "the program could not be started.", next="dbg logs"
            )
        words = text.strip() or f"{self._name} could not join the program."
        return LaunchFailed(words, next="dbg doctor")

    async def _set_off(self, target: Launch, halt: Halt | None, entry: str | None) -> None:
        """Let the program go, from where it stands before anything of it has run."""
        if halt is None:
            return
        if halt.exit is not None:
            self.finish(halt.exit)
            return
        stands = self._spelling.stands_at_first or entry is not None
        self._motion.stand(halt)
        if target.stop_on_entry and stands:
            await self._motion.report(halt, StopReason.ENTRY)
        elif stands and await self._motion.meets(halt):
            await self._motion.report(halt, StopReason.BREAKPOINT)
        else:
            await self._motion.resume(None)

    async def _arrived(self, waiter: asyncio.Future[Halt]) -> Halt | None:
        """Return the first stop; None when the program has ended, or takes its time."""
        try:
            async with asyncio.timeout(self._config.timeouts.request_s):
                return await waiter
        except (TimeoutError, DebuggerLost):
            return None

    async def _break_at_entry(self, target: Launch) -> str | None:
        place = self._spelling.entry(target)
        asked = None if place is None else self._spelling.break_at(place, None)
        if asked is None:
            return None
        try:
            return (await self._talk.ask(asked)).number
        except (DebuggerLost, DebuggerTimeout):
            raise
        except DebuggerError:
            return None

    async def _learn_pid(self) -> None:
        asked = self._spelling.pid()
        if asked is not None:
            self.pid = await self._talk.ask(asked)
        if self.pid is not None and self._spelling.multiplies and self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                session = os.getsid(self.pid)
                # One of its own, in which there is nobody but the program and its copies.
                if session not in (os.getsid(0), self.process.pid):
                    self._copies = Family(session)

    def _announce(self) -> None:
        self.emit(events.ProcessStarted(self.pid))

    async def _join(
        self, target: Attach | Core, configuration: Configuration, greeting: str
    ) -> Sequence[BoundBreakpoint]:
        command = self._spelling.join(target)
        text = greeting if command is None else await self._talk.tell(command)
        halt = self._spelling.read_stop(text)
        if halt is None or halt.exit is not None:
            raise self._failed(target, text)
        self._motion.stand(halt)
        if isinstance(target, Core):
            reason = halt.reason or StopReason.OTHER
            await self._motion.report(replace(halt, reason=reason), reason)
            return []
        self.pid = target.pid
        if self.pid is None:
            await self._learn_pid()
        await self._set_filters(configuration.filters_among(self.filters))
        bound = await self._set_all(configuration.breakpoints)
        self._announce()
        if target.hold:
            await self._motion.report(halt, StopReason.PAUSE)
        else:
            # Joined programs go on running, whatever the debugger does by itself.
            await self._motion.resume(None)
        return bound

    # --- ends

    def _line_ended(self, error: DebuggerLost) -> None:
        home = self._begin.home if self._begin is not None else Home.APART
        known = home in _OURS
        if self.pid is None and known:
            return  # it has not come to its prompt: whoever waits for that is told
        if known and not (self._killing or self._detached):
            self.work(self._tell_end(error))
            return
        exit = self._spelling.read_end(str(self._console.said))
        if exit is not None and not (self._killing or self._detached):
            self.finish(exit)
        else:
            self.lost(error)

    async def _tell_end(self, error: DebuggerLost) -> None:
        """Wait for the process that the program runs in, which is how its end is known."""
        holder = self._ground.holder
        assert holder is not None
        try:
            await holder.wait(_END_S)
        except DebuggerTimeout:
            self.lost(error)

    async def _tell_loss(self) -> None:
        """The program was killed; its debugger would go on with a copy of it."""
        words = ""
        if self.streams is not None:
            await self.streams.wait_end(_LAST_WORDS_S)
            words = str(self.streams.words)
        self.finish(Exit(how="killed") if self._killing else self._spelling.read_loss(words))

    def _program_ended(self, returncode: int) -> None:
        exit = exit_of(returncode)
        inside = self._begin is not None and self._begin.home in (Home.INSIDE, Home.SHARED)
        if exit.signal in _FAULTS and inside and not self._motion.running:
            why = f"it stood still at a stop then, with {self._spelling.name} in the same process"
            exit = replace(exit, reason=why)
        self.work(self._end_with(exit))

    async def _end_with(self, exit: Exit) -> None:
        if self.streams is not None:
            await self.streams.wait_end(_LAST_WORDS_S)
        if self._killing:
            exit = Exit(how="killed")
        self.finish(Exit(how="detached") if self._detached else exit)

    async def _end_program(self) -> None:
        command = self._spelling.kill()
        if self._spelling.multiplies and self._motion.running:
            await self._motion.held(_LEAVE_S)
        if command is not None and not self._motion.running:
            await self._console.ask(command, timeout_s=1.0)

    async def _leave(self) -> None:
        command = self._spelling.detach()
        if command is None:
            raise self._lacks(Feature.DETACH)
        if self._motion.running:
            await self._motion.held(_LEAVE_S)
        with contextlib.suppress(DebuggerLost):
            await self._console.ask(command, timeout_s=_LEAVE_S)

    def _let_go(self) -> None:
        self._console.close()
        self._ground.close()

    async def terminate(self) -> None:
        self._note_beside()
        await super().terminate()
        await self._end_beside()

    async def dispose(self) -> None:
        if self.ended:
            # Copies of it that a debugger keeps, before they can make others at the end of that.
            await self._end_beside()
        self._note_beside()
        await super().dispose()
        await self._end_beside()

    def _note_beside(self) -> None:
        if self._ground.program is not None:
            self._ground.program.note_descendants()
        if self._copies is not None:
            self._copies.look()

    async def _end_beside(self) -> None:
        program = self._ground.program
        if program is not None and not self._detached:
            await program.kill_tree(daemons=self._takes_daemons)
        if self._copies is not None and not self._detached:
            await self._copies.kill_all(KILL_S)

    def _spared(self) -> tuple[int, ...]:
        if isinstance(self.target, Attach) and self.target.pid is not None:
            return (self.target.pid,)
        return super()._spared()

    # --- what is in place before it runs

    async def _set_all(self, wanted: Sequence[WantedBreakpoint]) -> list[BoundBreakpoint]:
        groups: dict[str, list[WantedBreakpoint]] = {}
        for want in wanted:
            groups.setdefault(_group(want.location), []).append(want)
        bound: list[BoundBreakpoint] = []
        for group, entries in groups.items():
            bound += await self._marks.set(group, entries)
        return bound

    async def _set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        for command in self._spelling.set_filters(filters):
            await self._talk.tell(command)

    def _interrupt(self, gently: bool = False) -> None:
        number = (self._spelling.gentle if gently else None) or self._spelling.interrupt
        if self._spelling.interrupts_program and self.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)
        elif self.process is not None:
            self.process.signal(number)


def _group(location: Location) -> str:
    if location.address is not None:
        return "address"
    return location.file or "function"
