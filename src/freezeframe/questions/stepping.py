"""Record a trace by stepping: into the workspace's own functions, over everything else.

The driver for every debugger that steps. The program's stops are captured without variables
meanwhile; the driver reads those of the frames that it traces. A breakpoint that is hit on the way
is counted, as always, and passed; the recording says so.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from freezeframe.backends.backend import StepKind
from freezeframe.backends.capabilities import (
    ArgumentNames,
    SelectableGlobals,
    SelectableReturns,
)
from freezeframe.errors import DebuggerError
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.stops import Frame, StopReason
from freezeframe.model.trace import Dropped, Outcome, Trace
from freezeframe.model.values import ScopeKind, Value
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.source_cache import function_block
from freezeframe.session.stop_capture import read_selected_frame
from freezeframe.session.stop_state import FrameView, StopState, inlined_into
from freezeframe.session.stop_wait import seen_stops, wait_for_stop

from .own_functions import OwnFunctions
from .selected_calls import SelectedCalls, Site
from .source_patterns import CLOSING, CLOSURE, code_of
from .stepped_trace import SteppedFrame, SteppedTrace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

#: How long to wait for the end of a step although another process of the program has stopped.
_STEP_S = 0.3
#: Frames that are counted where the debugger does not report how many there are.
_DEEPEST = 5000
#: How long a call may run to its end after the limit of its recording was reached.
_FINISH_S = 5.0
#: Steps out of nested calls on the way to the end of the traced call.
_MOST_FINISHES = 200

#: Stops of the program's own: the recording passes them.
_PASSED = frozenset({StopReason.BREAKPOINT, StopReason.WATCHPOINT})
#: Stops that end a recording.
_FAILURES = frozenset({StopReason.EXCEPTION, StopReason.SIGNAL})


@dataclass(frozen=True, slots=True)
class StepLimits:
    """Where a recording ends although the call has not returned."""

    steps: int = 2000
    bytes: int = 4_000_000
    seconds: float = 20.0


@dataclass(slots=True)
class RecordedCall:
    """A trace of one call, and where the program is after it."""

    trace: Trace
    #: the session of the traced process; it is stopped unless the program runs or has ended
    session: Session
    #: the call has returned
    finished: bool = False
    #: the frame that called it
    called_from: Frame | None = None
    #: breakpoints that were hit and passed, and how often
    passed: Counter[int] = field(default_factory=Counter)
    #: the stop that was asked for was reached
    reached: bool = False
    #: the line that it ended at
    site: Site = ()


#: Whether a stop, with the variables of its frame, is the one to end the recording at.
Until = Callable[[StopState, Frame, Sequence[Value]], bool]


@asynccontextmanager
async def frames_only(session: Session) -> AsyncIterator[None]:
    """Capture stops without their variables; at the end, read those of the current stop."""
    root = session.root
    root.captures_frames_only = True
    await _read_globals(session, on=False)
    try:
        yield
    finally:
        root.captures_frames_only = False
        await _read_globals(session, on=True)
        stop = session.current_stop
        if stop is not None and stop.view is None and session.live:
            session.frame_snapshots.clear()
            frames = stop.fetched_frames()
            try:
                if frames:
                    await read_selected_frame(session, stop, frames)
            except DebuggerError as error:
                stop.error = error.message


async def _read_globals(session: Session, *, on: bool) -> None:
    """Tell a debugger that reads globals with each frame whether it should."""
    backend: object = session.backend
    if not isinstance(backend, SelectableGlobals) or session.phase is not Phase.STOPPED:
        return
    with suppress(DebuggerError):  # then they are read, and each step takes longer
        await backend.read_globals(on=on)


async def record_call(
    session: Session,
    roots: Sequence[str],
    *,
    limits: StepLimits | None = None,
    into: bool = True,
    until: Until | None = None,
    own: OwnFunctions | None = None,
    selected: SelectedCalls | None = None,
) -> RecordedCall:
    """Record the call that the program is stopped in, from here to its return.

    The recording ends early at the stop that *until* accepts, at an exception or signal, at the
    program's end and at a limit; the call is then run to its end if it returns in a few seconds.
    Without *into* every call is stepped over, with *selected* every other one. Holds the session's
    lock. Raises NotStopped.
    """
    driver = _Driver(session, tuple(roots), limits or StepLimits(), into, until, own, selected)
    async with session.exclusive(), frames_only(session):
        return await driver.record()


class _Driver:
    def __init__(
        self,
        session: Session,
        roots: tuple[str, ...],
        limits: StepLimits,
        into: bool,
        until: Until | None,
        own: OwnFunctions | None,
        selected: SelectedCalls | None = None,
    ) -> None:
        self._session = session
        self._roots = roots
        self._limits = limits
        self._into = into
        self._until = until
        self._ends_at = time.monotonic() + limits.seconds
        self._thread = -1
        self._base = 0
        self._function = ""
        self._own_path: str | None = None
        #: the program is stopped in code that is not traced
        self._in_library = False
        #: the lines of the traced function
        self._lines = range(0)
        self._own = own or OwnFunctions(roots)
        self._selected = selected
        self._built = SteppedTrace(session.sources.line)
        self._recording = RecordedCall(Trace(), session)

    async def record(self) -> RecordedCall:
        stop = await self._session.require_stopped()
        self._thread = stop.thread.id
        self._built.joint = stop.backend.tool.joint
        self._built.thread = stop.thread.name
        frame, depth = await self._shown(stop)
        self._base, self._own_path, self._function = depth, frame.path, frame.function
        self._lines = self._function_lines(frame.path or "", frame.line or 0, frame.function)
        frames = await stop.frames(frame.index + 2)
        self._recording.called_from = (
            frames[frame.index + 1] if frame.index + 1 < len(frames) else None
        )
        await self._add(stop, frame, depth, None)
        outcome = await self._steps(stop)
        trace = self._recording.trace
        trace.frames, trace.steps = self._built.frames, self._built.steps()
        trace.outcome = replace(outcome, step=self._built.current)
        return self._recording

    async def _steps(self, stop: StopState) -> Outcome:
        """Step until the recording ends; return how it did."""
        kind = self._kind(library=False)
        while True:
            now = await self._go(kind)
            if now is None:
                self._recording.site = self._built.site()
                return self._ended()
            if now.event.reason in _FAILURES or now.thread.id != self._thread:
                return await self._failed(now)
            if now.event.reason is StopReason.PAUSE:
                return Outcome("killed")
            frame, depth = await self._shown(now)
            if depth < self._base:
                await self._returned(now, frame, depth, kind)
                return Outcome("exited")
            if not self._is_own(frame, depth):
                kind = self._kind(library=True)
                continue
            if await self._land(now, frame, depth, kind):
                self._recording.reached = True
                return Outcome("reached", path=frame.path, line=frame.line)
            limit = self._limit()
            if limit is not None:
                self._recording.trace.dropped = Dropped(limit=limit)
                self._recording.site = self._built.site()
                return await self._finish(depth)
            kind = self._kind(library=False)

    def _kind(self, *, library: bool) -> StepKind:
        self._in_library = library
        if library:
            return StepKind.OUT
        at = self._built.position()
        text = code_of(self._session.sources.line(at.path, at.line) or "")
        if at.depth > self._base and not self._into:
            # A block or closure: a step out would leave the library that calls it, too.
            return StepKind.INTO
        if self._selected is not None:
            enters = self._selected.enters(self._built.site(), text)
        elif self._into:
            enters = self._own.may_be_called(text, at.path)
        else:
            enters = CLOSURE.search(text) is not None
        is_entered = self._into and (self._selected is None or enters)
        if self._built.is_returning(into=is_entered) or self._is_last_line(at, text):
            return StepKind.OUT
        return StepKind.INTO if enters else StepKind.OVER

    def _is_last_line(self, at: SteppedFrame, text: str) -> bool:
        """Whether a function ends with this line: what it returned is known after it."""
        if text not in CLOSING:
            return False
        lines = self._lines
        if at.depth != self._base:
            lines = self._function_lines(at.path, at.first, at.function)
        return at.line == lines.stop - 1

    def _function_lines(self, path: str, line: int, function: str) -> range:
        """Return the lines of the function around a line; none where it is not found."""
        try:
            lines = self._session.sources.lines(path)
        except OSError:
            return range(0)
        return function_block(lines, line, function)

    def _limit(self) -> str | None:
        if self._built.count >= self._limits.steps:
            return "steps"
        if self._built.bytes >= self._limits.bytes:
            return "bytes"
        return "seconds" if time.monotonic() >= self._ends_at else None

    async def _go(self, kind: StepKind, seconds: float | None = None) -> StopState | None:
        """Step, and return the next stop; None when the program has ended or the time is up."""
        session = self._session
        seen = seen_stops(session)
        seen[session] = session.stop_number
        await self._step(kind)
        while True:
            left_s = self._ends_at - time.monotonic() if seconds is None else seconds
            got = await wait_for_stop(session, seen, max(0.0, left_s), prefer_self_s=_STEP_S)
            if got is None:
                return None
            member, stop = got
            self._recording.passed.update(id for id in stop.event.breakpoints if id > 0)
            other = member is not session or stop.thread.id != self._thread
            if not other or stop.event.reason not in _PASSED:
                return stop
            seen[member] = stop.number
            # A step that another thread's stop interrupted goes on.
            await member.resume()

    async def _step(self, kind: StepKind) -> None:
        """Step; what a library's function returned is not read."""
        session = self._session
        backend: object = session.backend
        if not self._in_library or not isinstance(backend, SelectableReturns):
            await session.step(kind)
            return
        backend.read_returns(on=False)
        try:
            await session.step(kind)
        finally:
            backend.read_returns(on=True)

    async def _shown(self, stop: StopState) -> tuple[Frame, int]:
        """Return the frame to trace at a stop and its depth, 1 for the outermost."""
        frames = stop.fetched_frames()
        depth = stop.depth
        if depth is None:
            depth = len(await stop.frames(_DEEPEST))
        index = 0
        if frames and self._session.sources.unreadable(frames[0]):
            index = inlined_into(frames) or 0
        return await stop.frame(index), depth - index

    def _is_own(self, frame: Frame, depth: int) -> bool:
        """Whether a frame is traced: the workspace's; without `into`, a part of the function."""
        if frame.path is None or frame.line is None or frame.source_reference:
            return False
        if depth == self._base:
            return True
        if not self._into:
            in_function = frame.path == self._own_path and frame.line in self._lines
            return in_function and frame.function != self._function
        below = any(_is_below(frame.path, root) for root in self._roots)
        if frame.path != self._own_path and (frame.library or not below):
            return False
        return self._session.sources.line(frame.path, frame.line) is not None

    def _at(self, stop: StopState, frame: Frame, depth: int) -> SteppedFrame:
        frames = stop.fetched_frames()
        caller = frames[frame.index + 1] if frame.index + 1 < len(frames) else None
        return SteppedFrame(
            depth,
            frame.function,
            frame.path or "",
            frame.line or 0,
            frame.column,
            called_by_library=caller is None or caller.library or caller.path is None,
        )

    async def _land(self, stop: StopState, frame: Frame, depth: int, kind: StepKind) -> bool:
        """Add a stop in traced code; return whether it is the one to end at."""
        at = self._at(stop, frame, depth)
        left = self._built.left(depth)
        returned = left or kind is StepKind.OUT
        if self._built.is_block(at):
            view = await stop.read_frame(frame.index)
            values = [value for scope in view.scopes for value in scope.values]
            if self._built.is_called_again(at, values):
                self._built.leave(depth, at)
                return await self._add(stop, frame, depth, kind, again=True)
        if self._built.is_rest_of_line(at, returned=returned):
            result = None
            if left and kind is StepKind.OUT:
                result = (await stop.read_frame(frame.index)).returned
            self._built.leave(depth, at, result)
            return False
        return await self._add(stop, frame, depth, kind)

    async def _add(
        self,
        stop: StopState,
        frame: Frame,
        depth: int,
        kind: StepKind | None,
        *,
        again: bool = False,
    ) -> bool:
        view = await stop.read_frame(frame.index)
        values = [value for scope in view.scopes for value in scope.values]
        at = replace(self._at(stop, frame, depth), again=again)
        arguments = await self._arguments(stop, view) if self._built.enters(at) else None
        result = view.returned if kind is StepKind.OUT else None
        self._built.add(at, values, arguments, result)
        return kind is not None and self._until is not None and self._until(stop, frame, values)

    async def _arguments(self, stop: StopState, view: FrameView) -> list[str] | None:
        """Return the names of a frame's parameters; None if the debugger does not tell them."""
        scopes = [scope for scope in view.scopes if scope.kind is ScopeKind.ARGUMENTS]
        if scopes:
            return [value.name for scope in scopes for value in scope.values]
        if isinstance(stop.backend, ArgumentNames):
            names = await stop.backend.argument_names(stop.frame_id(view.frame.index))
            return list(names) if names is not None else None
        return None

    async def _returned(self, stop: StopState, frame: Frame, depth: int, kind: StepKind) -> None:
        """Close the traced call: the program is in its caller."""
        result = None
        if kind is StepKind.OUT and depth == self._base - 1:
            try:
                result = (await stop.read_frame(frame.index)).returned
            except DebuggerError:
                pass  # a caller without variables: the returned value stays unknown
        at = self._at(stop, frame, depth)
        caller = self._recording.called_from
        if depth < self._base - 1 and caller is not None and not caller.library:
            self._built.raised("an exception")  # it has left the caller, too
        self._built.leave(depth, at if frame.path else None, result)
        self._recording.finished = True

    async def _failed(self, stop: StopState) -> Outcome:
        """End at an exception or a signal."""
        error = stop.exception
        what = f"{error.type}: {error.message}".rstrip(": ") if error is not None else None
        what = what or stop.event.description or stop.event.reason.value
        frame, depth = await self._shown(stop)
        if stop.thread.id == self._thread:
            for each in await stop.frames(_DEEPEST):
                inner = depth - (each.index - frame.index)
                if inner >= self._base and self._is_own(each, inner):
                    await self._see(stop, each, inner)
                    break
            self._built.raised(what)
            self._built.unwound(what)
        return Outcome("raised", exception=what, path=frame.path, line=frame.line)

    async def _see(self, stop: StopState, frame: Frame, depth: int) -> None:
        """Read what the line of a failure had changed before it failed."""
        at = self._at(stop, frame, depth)
        view = await stop.read_frame(frame.index)
        values = [value for scope in view.scopes for value in scope.values]
        self._built.leave(depth, at)
        if self._built.is_rest_of_line(at, returned=True):
            self._built.see(at, values)
        else:
            self._built.add(at, values)

    async def _finish(self, depth: int) -> Outcome:
        """Run the traced call to its end after a limit, without recording."""
        self._built.is_ended = True
        ends_at = time.monotonic() + _FINISH_S
        for _ in range(_MOST_FINISHES):
            now = await self._go(StepKind.OUT, ends_at - time.monotonic())
            if now is None or now.event.reason in _FAILURES or now.thread.id != self._thread:
                return self._ended() if now is None else await self._failed(now)
            frame, depth = await self._shown(now)
            if depth < self._base:
                await self._returned(now, frame, depth, StepKind.OUT)
                break
            self._built.leave(depth)
            if time.monotonic() >= ends_at:
                break
        return Outcome("timeout")

    def _ended(self) -> Outcome:
        session = self._session
        if session.live:
            return Outcome("timeout")
        exit = session.exit
        return Outcome("exited", exit_code=exit.code if exit is not None else None)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
