"""Lookups in a trace: steps of a frame, calls of a step, writes of a variable or of a part.

A *moment* is the number of a step: the state just before that step. A write of a step is complete
when everything that the step called has ended.
"""

from __future__ import annotations

from bisect import bisect_left

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
    """A trace with the lookups that provenance needs; built in one pass."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.frames = trace.frames
        self.steps: dict[int, TracedStep] = {}
        self._of_frame: dict[int, list[TracedStep]] = {}
        self._called: dict[int, list[TracedFrame]] = {}
        self._variables: dict[tuple[int, str], list[StepWrite]] = {}
        self._parts: dict[tuple[int, str], list[StepWrite]] = {}
        self._owners: dict[int, list[StepWrite]] = {}
        for step in trace.steps:
            self.steps[step.number] = step
            self._of_frame.setdefault(step.frame, []).append(step)
        for frame in trace.frames.values():
            if frame.caller is not None:
                self._called.setdefault(frame.caller, []).append(frame)
        self._ends = self._all_ends()
        for step in trace.steps:
            for write in step.writes:
                self._add(step, write)
        for found in (*self._variables.values(), *self._parts.values(), *self._owners.values()):
            found.sort(key=lambda each: each.end)

    def _add(self, step: TracedStep, write: Write) -> None:
        made = StepWrite(step, write, self._ends[step.number])
        if write.owner is not None:
            self._parts.setdefault((write.owner, write.name), []).append(made)
            self._owners.setdefault(write.owner, []).append(made)
        else:
            frame = step.frame if write.frame is None else write.frame
            self._variables.setdefault((frame, write.name), []).append(made)

    def _all_ends(self) -> dict[int, int]:
        """Return for each step the last one inside of it, `NEVER` if it had not ended."""
        ends: dict[int, int] = {}
        of_frame: dict[int, int] = {}
        running = self._running()
        for step in reversed(self.trace.steps):
            end = step.number
            for frame in self._called.get(step.number, ()):
                if frame.kind is not FrameKind.GENERATOR:
                    end = max(end, of_frame.get(frame.number, 0))
            if step.number in running:
                end = NEVER
            ends[step.number] = end
            of_frame[step.frame] = max(of_frame.get(step.frame, 0), end)
        return ends

    def _running(self) -> set[int]:
        """Return the steps that had not ended: the last one of each thread, and its callers."""
        last: dict[tuple[str, str | None], TracedStep] = {}
        for step in self.trace.steps:
            frame = self.frames[step.frame]
            last[frame.thread, frame.task] = step
        found: set[int] = set()
        for step in last.values():
            number: int | None = step.number
            while number is not None and number not in found and number in self.steps:
                frame = self.frames[self.steps[number].frame]
                if frame.returned is not None:
                    break
                if frame.raised is None or number == step.number:
                    found.add(number)
                number = frame.caller
        return found

    # --- lookups

    def end(self, step: int) -> int:
        """Return the last step that happened inside of *step*."""
        return self._ends.get(step, step)

    def steps_of(self, frame: int) -> list[TracedStep]:
        return self._of_frame.get(frame, [])

    def calls_of(self, step: int) -> list[TracedFrame]:
        """Return the frames that *step* called, in order."""
        return self._called.get(step, [])

    def last_before(self, frame: int, moment: int) -> int:
        """Return the index in `steps_of(frame)` of the last step before *moment*, or -1."""
        return bisect_left(self.steps_of(frame), moment, key=lambda each: each.number) - 1

    def variable_write(self, frame: int, name: str, moment: int) -> StepWrite | None:
        """Return the last write of a variable before *moment*."""
        found = self._variables.get((frame, name), [])
        for each in reversed(found):
            own = each.step.frame == frame
            if (each.step.number if own else each.end) < moment:
                return each
        return None

    def part_write(self, owner: int, name: str, moment: int) -> StepWrite | None:
        """Return the last write of a part of an object before *moment*, by any frame.

        None if the part is as it was when the object was first seen.
        """
        found = self._parts.get((owner, name), [])
        index = bisect_left(found, moment, key=lambda each: each.end)
        if not index or self.is_first_sight(found[index - 1]):
            return None
        return found[index - 1]

    def part_seen(self, owner: int, name: str, moment: int) -> TracedValue | None:
        """Return the value that a part had at *moment*, if it was recorded."""
        found = self._parts.get((owner, name), [])
        index = bisect_left(found, moment, key=lambda each: each.end)
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
        return self._owners[write.owner][0].step.number == written.step.number

    def writes_of_parts(self, owner: int, moment: int) -> list[StepWrite]:
        """Return the writes of all parts of an object before *moment*, oldest first."""
        found = self._owners.get(owner, [])
        return found[: bisect_left(found, moment, key=lambda each: each.end)]

    def value_of_variable(self, frame: int, name: str, moment: int) -> TracedValue | None:
        """Return the value that a variable of *frame* had at *moment*, if it was recorded."""
        written = self.variable_write(frame, name, moment)
        if written is not None:
            return written.write.new
        return dict(self.frames[frame].arguments).get(name)

    def frames_with(self, name: str) -> list[int]:
        """Return the frames that have a variable *name* that was written."""
        return [frame for frame, variable in self._variables if variable == name]
