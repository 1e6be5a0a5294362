"""The steps of a trace as stops: what a debugger that stopped at each line would have shown."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import overload

from freezeframe.model.history import RecordedStop
from freezeframe.model.stops import Frame, StopReason
from freezeframe.model.trace import FrameKind, Trace, TracedFrame, TracedStep, TracedValue
from freezeframe.model.values import Scope, ScopeKind, Value

from .trace_index import TraceIndex
from .traced_values import SILENT_TYPES

#: frames of one stop
_MOST_FRAMES = 20
#: variables of one frame
_MOST_VALUES = 100


class TracedStops(Sequence[RecordedStop]):
    """The stops of a trace, made when they are looked at: a trace may have a million steps."""

    def __init__(
        self, trace: Trace, upto: int | None = None, first: int = 0, *, is_left: bool = False
    ) -> None:
        """*upto* is the number of the last step, *first* how many are left out before.

        With *is_left* the line of step *upto* was left by an exception at the end of the trace:
        that moment is one more stop, behind the steps of what the line called.
        """
        self._trace = trace
        steps = trace.steps
        if upto is not None and is_left:
            line = steps[bisect_left(steps, upto, key=attrgetter("number"))]
            raised = TracedStep(steps[-1].number + 1, line.frame, line.line, reads=line.reads)
            steps = [*steps, raised]
        elif upto is not None:
            steps = steps[: bisect_right(steps, upto, key=attrgetter("number"))]
        self._steps: Sequence[TracedStep] = steps[first:]
        self._threads: dict[str, int] = {}
        self._depths: dict[int, int] = {}
        #: frame → the step of the first write of each of its variables, in order
        self._names: dict[int, list[tuple[int, str]]] = {}

    @cached_property
    def _index(self) -> TraceIndex:
        # A pass over all steps: not before a stop is looked at.
        return TraceIndex(self._trace)

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> RecordedStop: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[RecordedStop]: ...

    def __getitem__(self, index: int | slice) -> RecordedStop | Sequence[RecordedStop]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        return self._stop(at)

    def __iter__(self) -> Iterator[RecordedStop]:
        return (self._stop(at) for at in range(len(self)))

    def step(self, at: int) -> TracedStep:
        return self._steps[at]

    def location(self, at: int) -> tuple[str, int]:
        """Return file and line of a stop, without making the stop."""
        step = self._steps[at]
        return self._index.frames[step.frame].path, step.line

    def _stop(self, at: int) -> RecordedStop:
        step = self._steps[at]
        frame = self._index.frames[step.frame]
        stack = self.stack(at)
        name = f"{frame.thread} {frame.task}" if frame.task else frame.thread
        return RecordedStop(
            number=at + 1,
            at_s=0.0,
            reason=StopReason.STEP.value,
            thread=self.thread(at),
            thread_name=name,
            frames=tuple(
                Frame(index, each.function, each.path, line.line)
                for index, (each, line) in enumerate(stack)
            ),
            depth=self.depth(at),
            scopes=self.scopes(at, 0),
            command="",
            entry=self._is_entry(step),
        )

    def _is_entry(self, step: TracedStep) -> bool:
        frame = self._index.frames[step.frame]
        own = self._index.steps_of(step.frame)
        return (
            frame.kind is not FrameKind.COMPREHENSION and bool(own) and own[0].number == step.number
        )

    def thread(self, at: int) -> int:
        frame = self._index.frames[self._steps[at].frame]
        key = f"{frame.process} {frame.thread} {frame.task}"
        return self._threads.setdefault(key, len(self._threads) + 1)

    def stack(self, at: int) -> list[tuple[TracedFrame, TracedStep]]:
        """Return the traced frames around a step, innermost first, each with its current step."""
        found: list[tuple[TracedFrame, TracedStep]] = []
        step: TracedStep | None = self._steps[at]
        while step is not None and len(found) < _MOST_FRAMES:
            frame = self._index.frames[step.frame]
            found.append((frame, step))
            step = self._index.step(frame.caller)
        return found

    def depth(self, at: int) -> int:
        """Return the number of traced frames."""
        chain: list[int] = []
        number: int | None = self._steps[at].frame
        while number is not None and number not in self._depths:
            chain.append(number)
            caller = self._index.step(self._index.frames[number].caller)
            number = caller.frame if caller is not None else None
        depth = self._depths[number] if number is not None else 0
        for each in reversed(chain):
            depth += 1
            self._depths[each] = depth
        return self._depths[self._steps[at].frame]

    def scopes(self, at: int, level: int) -> tuple[Scope, ...]:
        """Return the variables of a frame of a stop; empty if there is no such frame."""
        stack = self.stack(at)
        if level >= len(stack):
            return ()
        frame = stack[level][0]
        values = list(self._values(frame, self._steps[at].number))
        more = max(0, len(values) - _MOST_VALUES)
        return (Scope("Locals", ScopeKind.LOCALS, tuple(values[:_MOST_VALUES]), more),)

    def _values(self, frame: TracedFrame, moment: int) -> Iterator[Value]:
        """Yield the variables of a frame at a moment, in the order in which they were set."""
        seen = set()
        for name, _ in frame.arguments:
            seen.add(name)
            if (value := self._value(frame, name, moment)) is not None:
                yield value
        for number, name in self._first_writes(frame.number):
            if number >= moment or name in seen:
                continue
            seen.add(name)
            if (value := self._value(frame, name, moment)) is not None:
                yield value
        if frame.kind is FrameKind.MODULE and frame.namespace is not None:
            yield from self._globals(frame.namespace, moment)

    def _globals(self, namespace: int, moment: int) -> Iterator[Value]:
        """Yield the global variables: parts of the module's namespace."""
        found: dict[str, TracedValue | None] = {}
        for each in self._index.writes_of_parts(namespace, moment):
            found[each.write.name] = each.write.new
        for name, value in found.items():
            plain = name.removeprefix(".")
            if value is not None and value.type not in SILENT_TYPES and plain.isidentifier():
                yield _shown(plain, value, moment)

    def global_value(self, at: int, name: str) -> Value | None:
        """Return a global variable of the innermost frame's module, if it was recorded."""
        step = self._steps[at]
        namespace = self._index.frames[step.frame].namespace
        if namespace is None:
            return None
        value = self._index.part_seen(namespace, f".{name}", step.number)
        return None if value is None else _shown(name, value, step.number)

    def _value(self, frame: TracedFrame, name: str, moment: int) -> Value | None:
        value = self._index.value_of_variable(frame.number, name, moment)
        if value is None or value.type in SILENT_TYPES:
            return None
        return _shown(name, value, moment)

    def _first_writes(self, frame: int) -> list[tuple[int, str]]:
        known = self._names.get(frame)
        if known is None:
            first: dict[str, int] = {}
            for step in self._index.steps_of(frame):
                for name in step.variables:
                    first.setdefault(name, step.number)
            # A driver that steps gives paths as well: `cart.total`.
            known = [(number, name) for name, number in first.items() if name.isidentifier()]
            self._names[frame] = known
        return known


def _shown(name: str, value: TracedValue, moment: int) -> Value:
    return Value(name, value.text_at(moment) or value.text, value.type or None)
