"""Lookups in a trace: steps of a frame, calls of a step, writes of a variable or of a part.

A *moment* is the number of a step: the state just before that step. A write of a step is complete
when everything that the step called has ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from operator import attrgetter, itemgetter

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.trace import FrameKind, Trace, TracedFrame, TracedStep, TracedValue, Write

#: later than every step
NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class StepWrite:
    step: TracedStep
    write: Write
    #: the last step that happened inside of `step`
    end: int


class TraceIndex:
    """A trace with the lookups that provenance needs.

    What every question needs is built in one pass over the steps, the rest when it is needed: a
    trace may have a million steps.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.frames = trace.frames
        self._of_frame: dict[int, list[TracedStep]] = {}
        self._called: dict[int, list[TracedFrame]] = {}
        self._changes = trace.changes or _ChangesOfSteps(trace)
        #: owner → (step, write), in the order of the steps
        self._owners: dict[int, list[tuple[TracedStep, Write]]] = {}
        self._sorted: dict[int, list[StepWrite]] = {}
        self._parts: dict[tuple[int, str], list[StepWrite]] = {}
        #: frame → name → (end, step), in the order of the ends
        self._variables: dict[int, dict[str, list[tuple[int, TracedStep]]]] = {}
        of_frame = self._of_frame
        for step in trace.steps:
            kept = of_frame.get(step.frame)
            if kept is None:
                of_frame[step.frame] = [step]
            else:
                kept.append(step)
        for frame in trace.frames.values():
            if frame.caller is not None:
                self._called.setdefault(frame.caller, []).append(frame)
        self._running = self._not_ended()

    def _not_ended(self) -> set[int]:
        """Return the steps that had not ended: the last one of each thread, and its callers."""
        last: dict[tuple[str, str | None], TracedStep] = {}
        for number, steps in self._of_frame.items():
            frame = self.frames[number]
            known = last.get((frame.thread, frame.task))
            if known is None or known.number < steps[-1].number:
                last[frame.thread, frame.task] = steps[-1]
        found: set[int] = set()
        for step in last.values():
            at: TracedStep | None = step
            while at is not None and at.number not in found:
                frame = self.frames[at.frame]
                if frame.returned is not None:
                    break
                if frame.raised is None or at is step:
                    found.add(at.number)
                at = self.step(frame.caller)
        return found

    # --- lookups

    def step(self, number: int | None) -> TracedStep | None:
        """Return the step of that number; None if it was not kept."""
        return None if number is None else self.trace.step(number)

    def end(self, step: TracedStep) -> int:
        """Return the last step that happened inside of *step*, `NEVER` if it had not ended."""
        while True:
            if step.number in self._running:
                return NEVER
            inner = [
                frame
                for frame in self._called.get(step.number, ())
                if frame.kind is not FrameKind.GENERATOR and frame.number in self._of_frame
            ]
            if not inner:
                return step.number
            step = self._of_frame[inner[-1].number][-1]

    def steps_of(self, frame: int) -> list[TracedStep]:
        return self._of_frame.get(frame, [])

    def calls_of(self, step: int) -> list[TracedFrame]:
        """Return the frames that *step* called, in order."""
        return self._called.get(step, [])

    def last_before(self, frame: int, moment: int) -> int:
        """Return the index in `steps_of(frame)` of the last step before *moment*, or -1."""
        return bisect_left(self.steps_of(frame), moment, key=attrgetter("number")) - 1

    def variable_write(self, frame: int, name: str, moment: int) -> StepWrite | None:
        """Return the last write of a variable before *moment*."""
        written = self._variables.get(frame)
        if written is None:
            written = self._variables[frame] = self._writes_of(frame)
        writes = written.get(name, [])
        index = bisect_left(writes, moment, key=itemgetter(0))
        if not index:
            return None
        end, step = writes[index - 1]
        frames = (None, frame) if step.frame == frame else (frame,)
        for write in reversed(step.writes):
            if write.name == name and write.owner is None and write.frame in frames:
                return StepWrite(step, write, end)
        return None

    def _writes_of(self, frame: int) -> dict[str, list[tuple[int, TracedStep]]]:
        found: dict[str, list[tuple[int, TracedStep]]] = {}
        for step in self.steps_of(frame):
            for name in step.variables:
                found.setdefault(name, []).append((step.number, step))
        for step in self._changed(self._changes.of_frame(frame)):
            for write in step.writes:
                if write.owner is None and write.frame == frame != step.frame:
                    found.setdefault(write.name, []).append((self.end(step), step))
        for writes in found.values():
            writes.sort(key=itemgetter(0))
        return found

    def _changed(self, numbers: Iterable[int]) -> list[TracedStep]:
        """Return the steps of those numbers that were kept, in order."""
        found = [self.trace.step(number) for number in sorted(set(numbers))]
        return [step for step in found if step is not None]

    def part_write(self, owner: int, name: str, moment: int) -> StepWrite | None:
        """Return the last write of a part of an object before *moment*, by any frame.

        None if the part is as it was when the object was first seen.
        """
        found = self._writes_of_part(owner, name)
        index = bisect_left(found, moment, key=attrgetter("end"))
        if not index or self.is_first_sight(found[index - 1]):
            return None
        return found[index - 1]

    def last_write(self, owner: int, name: str, moment: int) -> StepWrite | None:
        """Return the last record of a part before *moment*: a write, or its first sight."""
        found = self._writes_of_part(owner, name)
        index = bisect_left(found, moment, key=attrgetter("end"))
        return found[index - 1] if index else None

    def part_seen(self, owner: int, name: str, moment: int) -> TracedValue | None:
        """Return the value that a part had at *moment*, if it was recorded."""
        found = self._writes_of_part(owner, name)
        index = bisect_left(found, moment, key=attrgetter("end"))
        if index:
            return found[index - 1].write.new
        # An object that a statement made is recorded at its end, and was like that before.
        later = found[0] if found else None
        return later.write.new if later is not None and self.is_first_sight(later) else None

    def is_first_sight(self, written: StepWrite) -> bool:
        """Whether a part was not written, but recorded with its object when it was first seen."""
        write = written.write
        if write.by_step or write.old is not None or write.owner is None:
            return False
        return self._of_owner(write.owner)[0][0].number == written.step.number

    def _of_owner(self, owner: int) -> list[tuple[TracedStep, Write]]:
        found = self._owners.get(owner)
        if found is None:
            found = self._owners[owner] = [
                (step, write)
                for step in self._changed(self._changes.of_object(owner))
                for write in step.writes
                if write.owner == owner
            ]
        return found

    def _writes_of_part(self, owner: int, name: str) -> list[StepWrite]:
        if owner not in self._sorted:
            for each in self._writes_of_owner(owner):
                self._parts.setdefault((owner, each.write.name), []).append(each)
        return self._parts.get((owner, name), [])

    def _writes_of_owner(self, owner: int) -> list[StepWrite]:
        found = self._sorted.get(owner)
        if found is None:
            found = [StepWrite(s, w, self.end(s)) for s, w in self._of_owner(owner)]
            found.sort(key=attrgetter("end"))
            self._sorted[owner] = found
        return found

    def writes_of_parts(self, owner: int, moment: int) -> list[StepWrite]:
        """Return the writes of all parts of an object before *moment*, oldest first."""
        self._writes_of_part(owner, "")
        found = self._sorted[owner]
        return found[: bisect_left(found, moment, key=attrgetter("end"))]

    def value_of_variable(self, frame: int, name: str, moment: int) -> TracedValue | None:
        """Return the value that a variable of *frame* had at *moment*, if it was recorded."""
        written = self.variable_write(frame, name, moment)
        if written is not None:
            return written.write.new
        return dict(self.frames[frame].arguments).get(name)


class _ChangesOfSteps:
    """The steps that changed objects and other frames, of a driver that keeps no table of them."""

    def __init__(self, trace: Trace) -> None:
        self._objects: dict[int, list[int]] = {}
        self._frames: dict[int, list[int]] = {}
        for step in trace.steps:
            for write in step.writes:
                if write.owner is not None:
                    self._objects.setdefault(write.owner, []).append(step.number)
                elif write.frame is not None and write.frame != step.frame:
                    self._frames.setdefault(write.frame, []).append(step.number)

    def of_object(self, owner: int) -> list[int]:
        return self._objects.get(owner, [])

    def of_frame(self, frame: int) -> list[int]:
        return self._frames.get(frame, [])
