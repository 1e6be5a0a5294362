"""One stop, looked at: everything the debugger is asked about it, once.

Frame ids and value references die when the program resumes, so what was learned about a stop
is kept here and goes away with it. Nobody resumes the program before the first look at its stop
is complete (`ready`), so an answer never mixes two stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from freezeframe.backends.backend import Backend, RawFrame, RawScope, RawValue, Stopped
from freezeframe.errors import DebuggerError, DebuggerLost, NotFound
from freezeframe.model.stops import ExceptionInfo, Frame, StopReason, Thread
from freezeframe.model.values import Scope, ScopeKind, Value

from .handles import Handles

#: Frames fetched at once; a stop report never needs more.
FIRST_FRAMES = 20
#: Variables of one scope fetched for a stop report.
FIRST_VALUES = 100
#: Children fetched of one value whose own text does not show them.
FIRST_CHILDREN = 50
#: Values opened of one scope, so that a frame full of objects stays cheap; inside of each of
#: those, and inside of all of them.
_MAX_OPENED = 60
_MAX_INSIDE_ONE = 12
_MAX_INSIDE = 80
#: Elements that no container in a program's memory has: what LLDB calls too many to count.
_UNCOUNTED = (1 << 32) - 1
#: Elements that no container has of which not even the first can be read.
_MANY = 100
#: How deep objects within objects are opened.
_MAX_DEPTH = 3

_SHOWN = frozenset({ScopeKind.ARGUMENTS, ScopeKind.LOCALS})
#: Stops that a library's frame says little about.
_SPEAK_OF_USERS = frozenset(
    {StopReason.EXCEPTION, StopReason.SIGNAL, StopReason.PAUSE, StopReason.ENTRY}
)


@dataclass(slots=True)
class _Opened:
    """Values of one scope that were opened so far."""

    top: int = 0
    inside_one: int = 0
    inside: int = 0

    def allows(self, depth: int) -> bool:
        """Count one more, at that depth; whether it may be opened."""
        if depth == 1:
            self.top, self.inside_one = self.top + 1, 0
            return self.top <= _MAX_OPENED
        self.inside_one, self.inside = self.inside_one + 1, self.inside + 1
        return self.inside_one <= _MAX_INSIDE_ONE and self.inside <= _MAX_INSIDE


@dataclass(slots=True)
class FrameView:
    """The variables of one frame, as first seen."""

    frame: Frame
    scopes: tuple[Scope, ...] = ()
    returned: Value | None = None
    #: the debugger itself has told what changed
    compared: bool = False


@dataclass(slots=True)
class Moment:
    """A stop and what is known about it."""

    number: int
    event: Stopped
    backend: Backend
    thread: Thread
    handles: Handles
    #: index of the frame that commands without a frame of their own speak of
    selected: int = 0
    #: the one that the report of the stop spoke of, before anybody selected another
    first_selected: int = 0
    exception: ExceptionInfo | None = None
    #: the variables of the selected frame, changes marked
    view: FrameView | None = None
    #: the innermost frames are a library's, inlined into the user's that is shown
    inlined: bool = False
    #: why the look at it is incomplete
    trouble: str | None = None
    #: what the reader must know about why it stopped
    remarks: tuple[str, ...] = ()
    #: when it was reported, to tell which of several stops came first
    event_order: float = 0.0
    #: a report of this stop went out
    reported: bool = False
    #: code ran, or was asked to assign, since the view was read: it may be of the past
    touched: bool = False
    ready: asyncio.Future[None] = field(default_factory=asyncio.Future)
    _frames: list[RawFrame] = field(default_factory=list)
    _total: int | None = None
    _complete: bool = False
    _scopes: dict[int, Sequence[RawScope]] = field(default_factory=dict)
    _opened: _Opened = field(default_factory=lambda: _Opened())

    # --- frames

    async def frames(self, count: int, *, thread: int | None = None) -> list[Frame]:
        """Return up to *count* frames of the stop's thread (or of another), innermost first."""
        if thread is not None and thread != self.thread.id:
            raw, _ = await self.backend.frames(thread, 0, count)
            return [_frame(index, frame, None) for index, frame in enumerate(raw)]
        while len(self._frames) < count and not self._complete:
            start = len(self._frames)
            want = max(count - start, FIRST_FRAMES if not start else 1)
            raw, total = await self.backend.frames(self.thread.id, start, want)
            self._frames.extend(raw)
            self._total = total
            if len(raw) < want or (total is not None and len(self._frames) >= total):
                self._complete = True
                self._total = len(self._frames)
            if not raw:
                break
        return self.known_frames()[:count]

    async def look_at_thread(
        self, thread: int, count: int, looks: int, *, libraries: bool
    ) -> tuple[list[Frame], dict[int, tuple[Value, ...]]]:
        """Return frames of another thread, and the variables of up to *looks* of them."""
        raw, _ = await self.backend.frames(thread, 0, count)
        frames = [_frame(index, each, None) for index, each in enumerate(raw)]
        values: dict[int, tuple[Value, ...]] = {}
        for frame, each in zip(frames, raw, strict=True):
            if len(values) >= looks or (frame.library and not libraries):
                continue
            found: list[Value] = []
            for scope in await self.backend.scopes(each.id):
                if scope.kind in _SHOWN and not scope.expensive:
                    raws = await self.backend.children(scope.ref)
                    shown, _ = await self._scope(scope, raws, 0, FIRST_VALUES, open_values=True)
                    found += shown.values
            values[frame.index] = tuple(found)
        return frames, values

    def known_frames(self) -> list[Frame]:
        """Return the frames fetched so far."""
        return [
            _frame(index, frame, self.handles.frame(index, frame.id))
            for index, frame in enumerate(self._frames)
        ]

    @property
    def depth(self) -> int | None:
        """How many frames there are, where that is known."""
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

    def touch(self) -> None:
        """Something may have changed the program where it stands: what was read is read again."""
        self.touched = True
        # delve and rdbg keep what the reference of a scope stood for.
        self._scopes.clear()

    async def look(self, index: int, *, open_values: bool = True) -> FrameView:
        """Return the arguments and locals of a frame, objects opened as far as is cheap.

        Of a thread that did not stop itself there may be frames and nothing more: `trouble`
        says so then.
        """
        frame = await self.frame(index)
        view = FrameView(frame)
        try:
            await self._fill(view, index, open_values)
        except DebuggerLost:
            raise
        except DebuggerError as error:
            if self.thread.id == self.event.thread:
                raise
            # It waits inside a call (a lock, a read) that its debugger does not interrupt.
            waits = "it has not come to a stop, so its variables cannot be read"
            self.trouble = error.message if self.event.thread is None else waits
        return view

    async def _fill(self, view: FrameView, index: int, open_values: bool) -> None:
        scopes: list[Scope] = []
        for raw in await self.scopes(index):
            if raw.kind not in _SHOWN or raw.expensive:
                continue
            raws = await self.backend.children(raw.ref)
            view.compared = view.compared or any(each.changed is not None for each in raws)
            scope, returned = await self._scope(raw, raws, 0, FIRST_VALUES, open_values)
            scopes.append(scope)
            view.returned = returned or view.returned
        view.scopes = tuple(scopes)

    async def scope(
        self,
        raw: RawScope,
        start: int,
        count: int,
        *,
        open_values: bool = False,
        definitions: bool = False,
    ) -> tuple[Scope, Value | None]:
        """Return some values of a scope, and what a function returned with.

        Without *definitions* what a module defines is only counted.
        """
        raws = await self.backend.children(raw.ref)
        return await self._scope(raw, raws, start, count, open_values, definitions)

    async def _scope(
        self,
        scope: RawScope,
        raws: Sequence[RawValue],
        start: int,
        count: int,
        open_values: bool,
        definitions: bool = False,
    ) -> tuple[Scope, Value | None]:
        self._opened = _Opened()
        there = [raw for raw in raws if not raw.returned and not raw.gone]
        plain = [raw for raw in there if definitions or not raw.definition]
        shown = plain[start : start + count]
        opened = [await self.open(raw, 1) if open_values else self.value(raw) for raw in shown]
        returned = None
        for raw in raws:
            if raw.returned:
                returned = await self.open(raw, 1) if open_values else self.value(raw)
        return (
            Scope(
                scope.name,
                scope.kind,
                tuple(opened),
                more=max(0, len(plain) - start - len(shown)),
                start=start,
                definitions=len(there) - len(plain),
                gone=tuple(self.value(raw) for raw in raws if raw.gone),
            ),
            returned,
        )

    def open_anew(self) -> None:
        """Count the values that are opened from here on: another answer begins."""
        self._opened = _Opened()

    async def open(self, raw: RawValue, depth: int = 1) -> Value:
        """Return the value with its children when its own text does not show them."""
        value = self.value(raw)
        if not raw.opaque or not raw.ref or depth > _MAX_DEPTH:
            return value
        if not self._opened.allows(depth):
            return value
        try:
            children = await self.backend.children(raw.ref, count=FIRST_CHILDREN)
        except DebuggerError:
            return value
        children = children[:FIRST_CHILDREN]
        if _is_implausible(raw, children):
            return replace(value, text=_implausible(raw), has_children=False, opaque=False)
        inner = [await self.open(child, depth + 1) for child in children]
        return replace(value, children=tuple(inner))

    def value(self, raw: RawValue) -> Value:
        """Return the reader's form of a debugger's value."""
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
            gone=raw.gone,
            declared=raw.declared,
        )

    @property
    def standing(self) -> Frame | None:
        """Where the program stands: where it begins or is inlined, in the user's own code."""
        if self.view is not None and (self.inlined or self.event.reason is StopReason.ENTRY):
            return self.view.frame
        return self.thread.frame

    def choose_frame(self, frames: list[Frame]) -> int:
        """Return the frame a report speaks of: the user's where it broke, hung or began.

        After a step or at a breakpoint that is where the program stands, whoever wrote it.
        """
        if self.event.reason not in _SPEAK_OF_USERS:
            return 0
        return next((frame.index for frame in frames if not frame.library), 0)


def _is_implausible(raw: RawValue, children: Sequence[RawValue]) -> bool:
    """Whether a container is none yet: memory that no constructor has written to."""
    count = raw.count or 0
    return count >= _UNCOUNTED or (
        count > _MANY and bool(children) and all(child.failed for child in children)
    )


def _implausible(raw: RawValue) -> str:
    many = f"{_UNCOUNTED} or more" if raw.count == _UNCOUNTED else raw.count
    return f"<claims {many} elements: perhaps not constructed yet>"


def inlined_into(frames: Sequence[Frame]) -> int | None:
    """Return the user's frame that the innermost, a library's, is inlined into: one address."""
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
