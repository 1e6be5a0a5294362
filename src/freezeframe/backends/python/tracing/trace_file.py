"""Read the files that a traced program has written (`log_agent.py`) into a `Trace`.

The files are those of a program that may have been killed while it wrote, or that may have changed
them: every number is checked, and what cannot be read ends the segment.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from freezeframe import files
from freezeframe.model.trace import (
    Dropped,
    FrameKind,
    Outcome,
    Read,
    Trace,
    TracedFrame,
    TracedStep,
    TracedValue,
    Write,
)

# Kinds of records, as in `log_agent.py`.
VALUE, CODE, FRAME, STEP, WRITE, READ, RETURN, RAISE, UNWIND, YIELD = range(10)
END, REMARK, PROCESS = range(10, 13)
#: integers of a record of each kind; a frame has two more for each argument
_SIZES = (5, 6, 12, 4, 8, 6, 4, 3, 3, 3, 6, 2, 5)
_KINDS = tuple(FrameKind)
_NAME = re.compile(r"(\d+)-(\d+)\.trace")
_MAX_FILE = 1 << 30
_MAX_TEXT = 4_000


class _Damaged(Exception):
    """A file has contents that no program of ours has written."""


@dataclass
class _Step:
    number: int
    frame: int
    line: int
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    raised: str | None = None
    yielded: TracedValue | None = None


@dataclass
class _Process:
    """What one process has written."""

    pid: int
    parent: int = 0
    began_ns: int = 0
    frames: dict[int, TracedFrame] = field(default_factory=dict)
    steps: dict[int, _Step] = field(default_factory=dict)
    end: tuple[str, str, str, int, int] | None = None
    remarks: list[str] = field(default_factory=list)
    is_damaged: bool = False
    segments: int = 0


def read_directory(directory: str) -> Trace:
    """Return the trace of all processes whose files are in *directory*; blocks."""
    processes: dict[int, _Process] = {}
    named = [
        (int(match[1]), int(match[2]), name)
        for name in os.listdir(directory)
        if (match := _NAME.fullmatch(name))
    ]
    for pid, _, name in sorted(named):
        process = processes.setdefault(pid, _Process(pid))
        process.segments += 1
        try:
            data = files.read_bytes(os.path.join(directory, name), _MAX_FILE, timeout_s=30.0)
            _Segment(process).read(data)
        except (OSError, _Damaged, IndexError, KeyError, ValueError, OverflowError):
            process.is_damaged = True
    return _merged(sorted(processes.values(), key=lambda each: each.began_ns))


class _Segment:
    """The tables of one file while it is read."""

    def __init__(self, process: _Process) -> None:
        self._process = process
        self._texts: list[str] = []
        self._values: dict[int, TracedValue] = {}
        self._codes: dict[int, tuple[str, str, int, FrameKind]] = {}

    def read(self, data: bytes) -> None:
        for kind, block in _blocks(data):
            if kind == b"S":
                text = block.decode("utf-8", "surrogatepass")
                self._texts += [each[:_MAX_TEXT] for each in text.split("\0")]
            elif kind == b"E" and len(block) % 8 == 0:
                numbers = array("q")
                numbers.frombytes(block)
                self._read_records(numbers)
            else:
                raise _Damaged

    def _read_records(self, numbers: array[int]) -> None:
        at, end = 0, len(numbers)
        steps, values, texts = self._process.steps, self._values, self._texts
        while at < end:
            kind = numbers[at]
            if not 0 <= kind < len(_SIZES):
                raise _Damaged
            size = _SIZES[kind]
            if kind == FRAME:
                size += 2 * numbers[at + 11]
            if size < 1 or at + size > end:
                raise _Damaged
            row = numbers[at + 1 : at + size]
            at += size
            if kind == STEP:
                steps[row[0]] = _Step(row[0], row[1], row[2])
            elif kind == VALUE:
                number = row[3] if row[3] >= 0 else None
                values[row[0]] = TracedValue(self._text(row[1]), self._text(row[2]), number)
            elif kind == WRITE:
                self._read_write(row)
            elif kind == READ:
                owner = row[3] if row[3] >= 0 else None
                step = steps.get(row[0])
                if step is not None:
                    step.reads.append(
                        Read(texts[row[1]], values[row[2]], owner, self._text(row[4]))
                    )
            else:
                self._read_other(kind, row)

    def _text(self, index: int) -> str:
        if index < 0:
            raise _Damaged
        return self._texts[index]

    def _read_write(self, row: array[int]) -> None:
        step = self._process.steps.get(row[0])
        if step is None:
            return  # in a segment that was dropped
        step.writes.append(
            Write(
                self._text(row[1]),
                self._values[row[2]] if row[2] >= 0 else None,
                self._values.get(row[3]) if row[3] >= 0 else None,
                row[4] if row[4] >= 0 else None,
                row[5] if row[5] >= 0 else None,
                bool(row[6]),
            )
        )

    def _read_other(self, kind: int, row: array[int]) -> None:
        process = self._process
        if kind == CODE:
            if not 0 <= row[4] < len(_KINDS):
                raise _Damaged
            self._codes[row[0]] = (self._text(row[1]), self._text(row[2]), row[3], _KINDS[row[4]])
        elif kind == FRAME:
            self._read_frame(row)
        elif kind == RETURN:
            if frame := process.frames.get(row[0]):
                frame.returned = self._values[row[2]]
        elif kind == UNWIND:
            if frame := process.frames.get(row[0]):
                frame.raised = self._text(row[1])
        elif kind in (RAISE, YIELD):
            step = process.steps.get(row[0])
            if step is not None and kind == RAISE:
                step.raised = self._text(row[1])
            elif step is not None:
                step.yielded = self._values[row[1]]
        elif kind == END:
            end = (self._text(row[0]), self._text(row[1]), self._text(row[2]), row[3], row[4])
            process.end = end
        elif kind == REMARK:
            process.remarks.append(self._text(row[0]))
        elif kind == PROCESS and row[3] == 0:
            process.parent, process.began_ns = row[1], row[2]

    def _read_frame(self, row: array[int]) -> None:
        function, path, first_line, kind = self._codes[row[0]]
        number = row[1]
        if number in self._process.frames:
            return  # written again at the beginning of a segment
        given = row[11:]
        site = (row[3], row[4], row[5], row[6])
        self._process.frames[number] = TracedFrame(
            number,
            function,
            path,
            first_line,
            kind,
            caller=row[2] if row[2] >= 0 else None,
            call_site=site if min(site) >= 0 else None,
            thread=self._text(row[7]),
            task=self._text(row[8]) or None,
            namespace=row[9] if row[9] >= 0 else None,
            arguments=tuple(
                (self._text(given[i]), self._values[given[i + 1]])
                for i in range(0, len(given) - 1, 2)
            ),
        )


def _blocks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Iterate the kind and the contents of each block; one that is cut off is left out."""
    at = 0
    while at + 9 <= len(data):
        size = int.from_bytes(data[at + 1 : at + 9], "little")
        if at + 9 + size > len(data):
            return
        yield data[at : at + 1], data[at + 9 : at + 9 + size]
        at += 9 + size


# --- processes ----------------------------------------------------------------------------------


def _merged(processes: list[_Process]) -> Trace:
    """Return one trace with the steps of each process after those of the one before."""
    trace = Trace()
    remarks: list[str] = []
    dropped = 0
    first_step = first_frame = first_object = 0
    for at, process in enumerate(processes):
        move = _Renumbering(first_step, first_frame, first_object)
        for frame in process.frames.values():
            moved = move.frame(frame)
            moved.process = process.pid if at else None
            trace.frames[moved.number] = moved
        numbers = sorted(process.steps)
        for number in numbers:
            if process.steps[number].frame in process.frames:
                trace.steps.append(move.step(process.steps[number]))
        if process.segments > 1 and numbers:
            dropped += numbers[-1] - len(numbers)
        remarks += process.remarks
        if process.is_damaged:
            remarks.append("a part of the trace could not be read")
        elif process.end is None:
            remarks.append("the program was ended without notice: its last steps may be missing")
        if process.end is not None and (at == 0 or process.end[0] in ("reached", "raised")):
            trace.outcome = _outcome(process.end, first_step)
        first_step += numbers[-1] if numbers else 0
        first_frame += max(process.frames, default=0)
        first_object = move.last_object
    trace.dropped = Dropped(dropped, "events") if dropped > 0 else Dropped()
    trace.remarks = tuple(dict.fromkeys(remarks))
    return trace


def _outcome(end: tuple[str, str, str, int, int], first_step: int) -> Outcome:
    how, exception, path, line, step = end
    return Outcome(
        how,
        exception=exception or None,
        path=path or None,
        line=line if line >= 0 else None,
        step=first_step + step if step >= 0 else None,
    )


class _Renumbering:
    """Numbers of one process in the trace of all."""

    def __init__(self, step: int, frame: int, number: int) -> None:
        self._step, self._frame, self._object = step, frame, number
        self.last_object = number
        self._values: dict[int, TracedValue] = {}

    def _moved(self, number: int | None) -> int | None:
        if number is None:
            return None
        moved = number + self._object
        self.last_object = max(self.last_object, moved)
        return moved

    def _value(self, value: TracedValue | None) -> TracedValue | None:
        if value is None or value.object is None:
            return value
        self.last_object = max(self.last_object, value.object + self._object)
        if not self._object:
            return value
        moved = self._values.get(id(value))
        if moved is None:
            moved = TracedValue(value.text, value.type, value.object + self._object)
            self._values[id(value)] = moved
        return moved

    def frame(self, frame: TracedFrame) -> TracedFrame:
        frame.number += self._frame
        frame.caller = None if frame.caller is None else frame.caller + self._step
        frame.namespace = self._moved(frame.namespace)
        frame.arguments = tuple((name, self._value(each) or each) for name, each in frame.arguments)
        frame.returned = self._value(frame.returned)
        return frame

    def step(self, step: _Step) -> TracedStep:
        return TracedStep(
            step.number + self._step,
            step.frame + self._frame,
            step.line,
            tuple(self._write(each) for each in step.writes),
            tuple(
                Read(
                    each.expression,
                    self._value(each.value) or each.value,
                    self._moved(each.owner),
                    each.name,
                )
                for each in step.reads
            ),
            step.raised,
            self._value(step.yielded),
        )

    def _write(self, write: Write) -> Write:
        frame = None if write.frame is None else write.frame + self._frame
        return Write(
            write.name,
            self._value(write.new),
            self._value(write.old),
            self._moved(write.owner),
            frame,
            write.by_step,
        )
