"""One stop and everything that was read from the debugger about it.

Frame ids and value references become invalid when the program resumes, so everything read about a
stop is cached here and dropped with it. The program is not resumed before its stop is captured
(`ready`), so an answer never mixes two stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends.backend import Backend, RawFrame, RawScope, RawValue, Stopped
from freezeframe.errors import DebuggerError, DebuggerLost, NotFound
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.stops import ExceptionInfo, Frame, StopReason, Thread
from freezeframe.model.trace import Trace
from freezeframe.model.values import Scope, ScopeKind, Value

from .handles import Handles

#: Frames fetched at once; a stop report seldom needs more.
FIRST_FRAMES = 20
#: Frames searched for the user's code above library frames that failed or hang.
_MAX_LIBRARY_FRAMES = 200
#: Variables of one scope fetched for a stop report.
FIRST_VALUES = 100
#: Children fetched of one value whose text does not show them.
FIRST_CHILDREN = 50
#: Values expanded in one scope, so that a frame with many objects stays cheap; nested values
#: expanded inside each of those, and inside all of them.
_MAX_EXPANDED = 60
_MAX_INSIDE_ONE = 12
_MAX_INSIDE = 80
#: A count that no container in memory has: LLDB reports it for too many elements to count.
_UNCOUNTED = (1 << 32) - 1
#: A container with more elements than this, none of them readable, is not initialized.
_MANY = 100
#: How deep nested objects are expanded.
_MAX_DEPTH = 3

_SHOWN = frozenset({ScopeKind.ARGUMENTS, ScopeKind.LOCALS})
#: Stops that are reported at the innermost frame of the user's code.
_REPORTED_IN_USER_CODE = frozenset(
    {StopReason.EXCEPTION, StopReason.SIGNAL, StopReason.PAUSE, StopReason.ENTRY}
)


@dataclass(slots=True)
class _ExpansionBudget:
    """Values of one scope that were expanded so far."""

    top: int = 0
    inside_one: int = 0
    inside: int = 0

    def allows(self, depth: int) -> bool:
        """Count one more value at *depth*; return whether it may be expanded."""
        if depth == 1:
            self.top, self.inside_one = self.top + 1, 0
            return self.top <= _MAX_EXPANDED
        self.inside_one, self.inside = self.inside_one + 1, self.inside + 1
        return self.inside_one <= _MAX_INSIDE_ONE and self.inside <= _MAX_INSIDE


@dataclass(slots=True)
class FrameView:
    """The variables of one frame."""

    frame: Frame
    scopes: tuple[Scope, ...] = ()
    returned: Value | None = None
    #: the debugger itself has marked the changes
    compared: bool = False


@dataclass(slots=True)
class StopState:
    """A stop and what was read about it."""

    number: int
    event: Stopped
    backend: Backend
    thread: Thread
    handles: Handles
    #: index of the frame that commands without a frame argument use
    selected: int = 0
    #: index of the frame that was selected when the stop was captured
    first_selected: int = 0
    exception: ExceptionInfo | None = None
    #: the variables of the selected frame, with changes marked
    view: FrameView | None = None
    #: the innermost frames belong to a library and are inlined into the user frame that is shown
    inlined: bool = False
    #: why the capture is incomplete
    error: str | None = None
    #: facts about the cause of the stop
    notes: tuple[str, ...] = ()
    #: when the stop event arrived, to order the stops of several sessions
    event_order: float = 0.0
    #: a request to resume from here was sent, and the debugger has not answered it
    resume_unanswered: bool = False
    #: this stop was reported to a caller
    reported: bool = False
    #: code ran or a value was assigned since `view` was read: it may be out of date
    invalidated: bool = False
    #: the user changed the program since `view` was read
    user_changed: bool = False
    #: the trace of a second run of the program up to this stop, once a question needed one
    second_run: Trace | None = None
    ready: asyncio.Future[None] = field(default_factory=asyncio.Future)
    _frames: list[RawFrame] = field(default_factory=list)
    _total: int | None = None
    _complete: bool = False
    _scopes: dict[int, Sequence[RawScope]] = field(default_factory=dict)
    _budget: _ExpansionBudget = field(default_factory=lambda: _ExpansionBudget())

    async def for_thread(self, thread: Thread) -> tuple[StopState, list[Frame]]:
        """Return this stop with *thread* selected, and the innermost frames of that thread."""
        other = StopState(self.number, self.event, self.backend, thread, self.handles)
        other.event_order = self.event_order
        other.reported = True
        other.ready.set_result(None)
        frames = await other.frames(FIRST_FRAMES)
        other.thread = replace(thread, frame=frames[0] if frames else None, current=True)
        if frames:
            other.view = await other.read_frame(0)
        return other, frames

    # --- frames

    async def frames(self, count: int, *, thread: int | None = None) -> list[Frame]:
        """Return up to *count* frames of the stop's thread (or of another), innermost first."""
        if thread is not None and thread != self.thread.id:
            raw, _ = await self.backend.frames(thread, 0, count)
            return [_frame(index, frame, None) for index, frame in enumerate(raw)]
        while len(self._frames) < count and not self._complete:
            start = len(self._frames)
            limit = max(count - start, FIRST_FRAMES if not start else 1)
            raw, total = await self.backend.frames(self.thread.id, start, limit)
            self._frames.extend(raw)
            self._total = total
            if len(raw) < limit or (total is not None and len(self._frames) >= total):
                self._complete = True
                self._total = len(self._frames)
            if not raw:
                break
        return self.fetched_frames()[:count]

    async def read_thread(
        self, thread: int, count: int, with_variables: int, *, libraries: bool
    ) -> tuple[list[Frame], dict[int, tuple[Value, ...]]]:
        """Return frames of another thread, and the variables of up to *with_variables* of them."""
        raw, _ = await self.backend.frames(thread, 0, count)
        frames = [_frame(index, each, None) for index, each in enumerate(raw)]
        values: dict[int, tuple[Value, ...]] = {}
        for frame, each in zip(frames, raw, strict=True):
            if len(values) >= with_variables or (frame.library and not libraries):
                continue
            found: list[Value] = []
            for scope in await self.backend.scopes(each.id):
                if scope.kind in _SHOWN and not scope.expensive:
                    raws = await self.backend.children(scope.ref)
                    shown, _ = await self._scope(scope, raws, 0, FIRST_VALUES, expand=True)
                    found += shown.values
            values[frame.index] = tuple(found)
        return frames, values

    def fetched_frames(self) -> list[Frame]:
        """Return the frames fetched so far."""
        return [
            _frame(index, frame, self.handles.frame(index, frame.id))
            for index, frame in enumerate(self._frames)
        ]

    @property
    def depth(self) -> int | None:
        """The number of frames; None if it is unknown."""
        return self._total if self._total is not None or not self._complete else len(self._frames)

    async def frame(self, index: int) -> Frame:
        """Return one frame by index. Raises NotFound beyond the outermost."""
        frames = await self.frames(index + 1)
        if index >= len(frames):
            raise NotFound(
                f"there is no frame {index}; the stack has {len(frames)} frames.",
                next="dbg backtrace",
            )
        return frames[index]

    def frame_id(self, index: int) -> int:
        return self._frames[index].id

    async def current_frame(self) -> Frame:
        """Return the selected frame. Raises NotFound when the stop has no frames."""
        return await self.frame(self.selected)

    # --- variables

    async def scopes(self, index: int) -> Sequence[RawScope]:
        if index not in self._scopes:
            await self.frame(index)
            self._scopes[index] = await self.backend.scopes(self.frame_id(index))
        return self._scopes[index]

    def invalidate(self, *, by_user: bool = False) -> None:
        """Read variables again: something may have changed the stopped program.

        *by_user*: on request; the next step is not to be blamed for it.
        """
        self.invalidated = True
        self.user_changed = self.user_changed or by_user
        # delve and rdbg return the old values for an old scope reference.
        self._scopes.clear()

    async def read_frame(self, index: int, *, expand: bool = True) -> FrameView:
        """Return the arguments and locals of a frame, objects expanded within the budget.

        A thread that did not cause the stop may have frames and no variables; `error` says so.
        """
        frame = await self.frame(index)
        view = FrameView(frame)
        try:
            await self._fill(view, index, expand)
        except DebuggerLost:
            raise
        except DebuggerError as error:
            if self.thread.id == self.event.thread:
                raise
            # The thread is blocked in a call (a lock, a read) that its debugger does not interrupt.
            blocked = "the thread has not stopped, so its variables cannot be read"
            self.error = error.message if self.event.thread is None else blocked
        return view

    async def _fill(self, view: FrameView, index: int, expand: bool) -> None:
        scopes: list[Scope] = []
        for raw in await self.scopes(index):
            if raw.kind not in _SHOWN or raw.expensive:
                continue
            raws = await self.backend.children(raw.ref)
            view.compared = view.compared or any(each.changed is not None for each in raws)
            scope, returned = await self._scope(raw, raws, 0, FIRST_VALUES, expand)
            scopes.append(scope)
            view.returned = returned or view.returned
        view.scopes = tuple(scopes)

    async def scope(
        self,
        raw: RawScope,
        start: int,
        count: int,
        *,
        expand: bool = False,
        definitions: bool = False,
    ) -> tuple[Scope, Value | None]:
        """Return a range of values of a scope, and the value that a function returned.

        Without *definitions* the functions, classes and modules of a module are only counted.
        """
        raws = await self.backend.children(raw.ref)
        return await self._scope(raw, raws, start, count, expand, definitions)

    async def _scope(
        self,
        scope: RawScope,
        raws: Sequence[RawValue],
        start: int,
        count: int,
        expand: bool,
        definitions: bool = False,
    ) -> tuple[Scope, Value | None]:
        self._budget = _ExpansionBudget()
        there = [raw for raw in raws if not raw.returned and not raw.gone]
        plain = [raw for raw in there if definitions or not raw.definition]
        shown = plain[start : start + count]
        expanded = [await self.expand(raw, 1) if expand else self.value(raw) for raw in shown]
        returned = None
        for raw in raws:
            if raw.returned:
                returned = await self.expand(raw, 1) if expand else self.value(raw)
        return (
            Scope(
                scope.name,
                scope.kind,
                tuple(expanded),
                more=max(0, len(plain) - start - len(shown)),
                start=start,
                definitions=len(there) - len(plain),
                gone=tuple(self.value(raw) for raw in raws if raw.gone),
            ),
            returned,
        )

    def reset_expansion_budget(self) -> None:
        """Start a new expansion budget, for a new answer."""
        self._budget = _ExpansionBudget()

    async def expand(self, raw: RawValue, depth: int = 1) -> Value:
        """Return the value, with its children if its text does not show them."""
        value = self.value(raw)
        if not raw.opaque or not raw.ref or depth > _MAX_DEPTH:
            return value
        if not self._budget.allows(depth):
            return value
        try:
            children = await self.backend.children(raw.ref, count=FIRST_CHILDREN)
        except DebuggerError:
            return value
        children = children[:FIRST_CHILDREN]
        if _is_implausible(raw, children):
            return replace(value, text=_implausible(raw), has_children=False, opaque=False)
        # Key and value of a map entry are on the level of the entry.
        entry = depth > 1 and [child.name for child in children] == ["first", "second"]
        below = depth if entry else depth + 1
        inner = [await self.expand(child, below) for child in children]
        return replace(value, children=tuple(inner))

    def value(self, raw: RawValue) -> Value:
        """Return a debugger's value as answers show it."""
        return Value(
            name=raw.name,
            text=raw.text,
            type=raw.type,
            has_children=bool(raw.ref),
            count=raw.count,
            handle=self.handles.value(raw.ref),
            expression=raw.expression,
            address=raw.address,
            changed=bool(raw.changed) or raw.gone,
            was=raw.was,
            opaque=raw.opaque,
            failed=raw.failed,
            parts=tuple(self.value(part) for part in raw.parts),
            more_parts=raw.more_parts,
            same_change_as=raw.same_change_as,
            gone=raw.gone,
            declared=raw.declared,
        )

    @property
    def user_frame(self) -> Frame | None:
        """The frame of the stop; at the entry or inlined into user code, the user's frame."""
        if self.view is not None and (self.inlined or self.event.reason is StopReason.ENTRY):
            return self.view.frame
        return self.thread.frame

    async def choose_frame(self, frames: list[Frame]) -> int:
        """Return the index of the frame to report.

        That is the innermost frame of the user's code after an exception, a signal, a pause or at
        the entry, and the innermost frame after a step or at a breakpoint.
        """
        if self.event.reason not in _REPORTED_IN_USER_CODE:
            return 0
        if all(frame.library for frame in frames):
            frames = await self.frames(_MAX_LIBRARY_FRAMES)
        return next((frame.index for frame in frames if not frame.library), 0)


def _is_implausible(raw: RawValue, children: Sequence[RawValue]) -> bool:
    """Whether a container is memory that no constructor has written to yet."""
    count = raw.count or 0
    return count >= _UNCOUNTED or (
        count > _MANY and bool(children) and all(child.failed for child in children)
    )


def _implausible(raw: RawValue) -> str:
    many = f"{_UNCOUNTED} or more" if raw.count == _UNCOUNTED else raw.count
    return f"<claims {many} elements: perhaps not constructed yet>"


def inlined_into(frames: Sequence[Frame]) -> int | None:
    """Return the user frame that the innermost frame, of a library, is inlined into (same
    address).
    """
    first = frames[0]
    for frame in frames:
        if first.address is None or frame.address != first.address:
            return None
        if not frame.library:
            return frame.index or None
    return None


def _frame(index: int, raw: RawFrame, handle: str | None) -> Frame:
    return Frame(
        index=index,
        function=raw.function,
        path=raw.path,
        line=raw.line,
        column=raw.column,
        module=raw.module,
        address=raw.address,
        library=raw.library,
        handle=handle,
        source_reference=raw.source_reference,
        arguments=raw.arguments,
        waits=raw.waits,
        optimized=raw.optimized,
        task=raw.task,
        suspended=raw.suspended,
    )
