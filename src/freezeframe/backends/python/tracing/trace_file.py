"""Read the files that a traced program has written (`log_agent.py`) into a `Trace`.

The files are those of a program that may have been killed while it wrote, or that may have changed
them: every number is checked, and what cannot be read ends the segment (`trace_segment.py`).
"""

from __future__ import annotations

import gc
import os
import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

from freezeframe import files
from freezeframe.model.trace import (
    Dropped,
    Outcome,
    Read,
    Trace,
    TracedFrame,
    TracedStep,
    TracedValue,
    Write,
)

from .trace_segment import PROCESS, SIZES, Damaged, Segment, blocks

_T = TypeVar("_T")
_NAME = re.compile(r"(\d+)-(\d+)\.trace")
_MAX_FILE = 1 << 30
#: numbers of objects between those of one process and the next
_OBJECTS = 1 << 40


class RecordedStep(TracedStep):
    """A step whose changes and reads are decoded when they are asked for."""

    __slots__ = ("_process",)
    _process: _Process

    def __init__(
        self, number: int, frame: int, line: int, raised: str | None,
        yielded: TracedValue | None, process: _Process,
    ) -> None:  # fmt: skip
        put = object.__setattr__
        put(self, "number", number)
        put(self, "frame", frame)
        put(self, "line", line)
        put(self, "raised", raised)
        put(self, "yielded", yielded)
        put(self, "_process", process)

    @property
    def writes(self) -> tuple[Write, ...]:
        read = self._process.read
        return tuple(each for segment in read for each in segment.writes_of(self.number))

    @property
    def reads(self) -> tuple[Read, ...]:
        read = self._process.read
        return tuple(each for segment in read for each in segment.reads_of(self.number))

    @property
    def variables(self) -> tuple[str, ...]:
        read = self._process.read
        return tuple(
            each for segment in read for each in segment.variables_of(self.number, self.frame)
        )


@dataclass
class _Process:
    """What one process has written."""

    pid: int
    segments: list[str]
    began_ns: int = 0
    read: list[Segment] = field(default_factory=list)
    frames: dict[int, TracedFrame] = field(default_factory=dict)
    steps: list[TracedStep] = field(default_factory=list)
    end: tuple[str, str, str, int, int] | None = None
    remarks: list[str] = field(default_factory=list)
    is_damaged: bool = False


def read_directory(directory: str) -> Trace:
    """Return the trace of all processes whose files are in *directory*; blocks."""
    named: dict[int, list[tuple[int, str]]] = {}
    for name in os.listdir(directory):
        if match := _NAME.fullmatch(name):
            named.setdefault(int(match[1]), []).append(
                (int(match[2]), os.path.join(directory, name))
            )
    processes = [
        _Process(pid, [path for _, path in sorted(each)], _began(each))
        for pid, each in named.items()
    ]
    # Hundreds of thousands of objects are made, and none of them becomes garbage: looking for
    # cycles among them again and again would take as long as reading.
    gc.disable()
    try:
        return _merged(sorted(processes, key=lambda each: each.began_ns))
    finally:
        gc.enable()


def _began(segments: list[tuple[int, str]]) -> int:
    """Return when a process began, from the first record of its first file."""
    try:
        head = files.read_head(min(segments)[1], 1 << 20)
        for kind, block in blocks(head):
            if kind == b"E":
                numbers = array("q", block[: 8 * SIZES[PROCESS]])
                return numbers[3] if numbers[0] == PROCESS else 0
    except (OSError, ValueError, IndexError):
        pass
    return 0


# --- processes ----------------------------------------------------------------------------------


def _merged(processes: list[_Process]) -> Trace:
    """Return one trace with the steps of each process after those of the one before."""
    trace = Trace(changes=_RecordedChanges(processes))
    remarks: list[str] = []
    dropped = last_step = last_frame = 0
    for at, process in enumerate(processes):
        for path in process.segments:
            segment = Segment(last_step, last_frame, at * _OBJECTS)
            process.read.append(segment)
            try:
                segment.read(files.read_bytes(path, _MAX_FILE, timeout_s=60.0))
            except (OSError, Damaged):
                process.is_damaged = True
        _add_frames(process, process.pid if at else None)
        numbers = _add_steps(process)
        trace.frames |= process.frames
        trace.steps += process.steps
        if len(process.segments) > 1 and numbers:
            dropped += numbers[-1] - len(numbers)
        remarks += process.remarks
        if process.is_damaged:
            remarks.append("a part of the trace could not be read")
        elif process.end is None:
            remarks.append("the program was ended without notice: its last steps may be missing")
        if process.end is not None and (at == 0 or process.end[0] in ("reached", "raised")):
            trace.outcome = _outcome(process.end)
        last_step += max(numbers[-1], 0) if numbers else 0
        last_frame = max(trace.frames, default=0)
    trace.dropped = Dropped(dropped, "events") if dropped > 0 else Dropped()
    trace.remarks = tuple(dict.fromkeys(remarks))
    return trace


def _add_frames(process: _Process, pid: int | None) -> None:
    """Add the frames of all segments, in which those that were alive are written again."""
    for segment in process.read:
        for frame in segment.frames.values():
            known = process.frames.setdefault(frame.number, frame)
            known.process = pid
            known.returned = frame.returned or known.returned
            known.raised = frame.raised or known.raised
        process.end = segment.end or process.end
        process.remarks += segment.remarks


def _add_steps(process: _Process) -> list[int]:
    """Add the steps of all segments; return their numbers in this process, in order."""
    frames, steps = process.frames, process.steps
    numbers: list[int] = []
    # An exception may leave a step after the next segment has begun.
    raised = _joined(each.raised for each in process.read)
    yielded = _joined(each.yielded for each in process.read)
    for segment in process.read:
        numbers += segment.steps
        for number, moved, frame, line in segment.lines():
            if frame in frames:
                step = RecordedStep(
                    moved, frame, line, raised.get(number), yielded.get(number), process
                )
                steps.append(step)
    steps.sort(key=attrgetter("number"))
    numbers.sort()
    return numbers


def _joined(tables: Iterable[dict[int, _T]]) -> dict[int, _T]:
    found: dict[int, _T] = {}
    for each in tables:
        found |= each
    return found


class _RecordedChanges:
    """Which steps changed an object, or variables of another frame, without decoding them."""

    def __init__(self, processes: list[_Process]) -> None:
        self._processes = processes

    def of_object(self, owner: int) -> list[int]:
        process, number = divmod(owner, _OBJECTS)
        if process >= len(self._processes):
            return []
        return [
            segment.step_at(at)
            for segment in self._processes[process].read
            for at in segment.changes.get(number, ())
        ]

    def of_frame(self, frame: int) -> list[int]:
        return [
            segment.step_at(at)
            for process in self._processes
            if frame in process.frames
            for segment in process.read
            for at in segment.outside_of(frame)
        ]


def _outcome(end: tuple[str, str, str, int, int]) -> Outcome:
    how, exception, path, line, step = end
    return Outcome(
        how,
        exception=exception or None,
        path=path or None,
        line=line if line >= 0 else None,
        step=step if step >= 0 else None,
    )
