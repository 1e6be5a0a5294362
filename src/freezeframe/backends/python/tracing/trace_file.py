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

from .composed_values import FIELDS, SET, Contents

# Kinds of records, as in `log_agent.py`.
VALUE, CODE, FRAME, STEP, WRITE, _, RETURN, RAISE, UNWIND, YIELD = range(10)
END, REMARK, PROCESS, SNAP, LOCAL, READS = range(10, 16)
#: integers of a record of each kind; those of a frame and of a snapshot are more
_SIZES = (5, 6, 12, 4, 8, 6, 4, 3, 3, 3, 6, 2, 5, 8, 4, 4)
#: where records of changes say whether a step made them
_BY_STEP = {WRITE: 7, SNAP: 2}
_KINDS = tuple(FrameKind)
_NAME = re.compile(r"(\d+)-(\d+)\.trace")
_MAX_FILE = 1 << 30
_MAX_TEXT = 4_000


class _Damaged(Exception):
    """A file has contents that no program of ours has written."""


@dataclass(slots=True)
class _Step:
    """A step whose records are still read."""

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
    segments: list[str]
    began_ns: int = 0
    frames: dict[int, TracedFrame] = field(default_factory=dict)
    steps: dict[int, _Step] = field(default_factory=dict)
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
    return _merged(sorted(processes, key=lambda each: each.began_ns))


def _began(segments: list[tuple[int, str]]) -> int:
    """Return when a process began, from the first record of its first file."""
    try:
        head = files.read_head(min(segments)[1], 1 << 20)
        for kind, block in _blocks(head):
            if kind == b"E":
                numbers = array("q", block[: 8 * _SIZES[PROCESS]])
                return numbers[3] if numbers[0] == PROCESS else 0
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _blocks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Iterate the kind and the contents of each block; one that is cut off is left out."""
    at = 0
    while at + 9 <= len(data):
        size = int.from_bytes(data[at + 1 : at + 9], "little")
        if at + 9 + size > len(data):
            return
        yield data[at : at + 1], data[at + 9 : at + 9 + size]
        at += 9 + size


class _Segment:
    """One file while it is read. Numbers of steps, frames and objects are moved behind those of
    the processes that began before.
    """

    def __init__(self, process: _Process, steps: int, frames: int, objects: int) -> None:
        self._process = process
        self._steps, self._frames = steps, frames
        self.contents = Contents(objects)
        self._texts: list[str] = []
        #: names of the source; their indices begin at -2 and go down
        self._names: list[str] = []
        #: frame → its variables → index of the value
        self._variables: dict[int, dict[str, int]] = {}
        self._codes: dict[int, tuple[str, str, int, FrameKind]] = {}
        #: the number of the current record
        self._moment = 0
        #: the records since which only writes were read: they were seen at the same moment
        self._settled = _Settled()

    def read(self, data: bytes) -> None:
        for kind, block in _blocks(data):
            if kind in (b"S", b"N"):
                text = block.decode("utf-8", "surrogatepass")
                table = self._texts if kind == b"S" else self._names
                table += [each[:_MAX_TEXT] for each in text.split("\0")]
            elif kind == b"E" and len(block) % 8 == 0:
                self._read_records(array("q", block))
            else:
                raise _Damaged

    def _read_records(self, numbers: array[int]) -> None:
        at, end = 0, len(numbers)
        is_beginning = False
        steps, first_step, first_frame = self._process.steps, self._steps, self._frames
        while at < end:
            kind = numbers[at]
            if not 0 <= kind < len(_SIZES):
                raise _Damaged
            size = _SIZES[kind]
            if kind == FRAME:
                size += 2 * numbers[at + 11]
            elif kind == SNAP:
                size += numbers[at + 5] + numbers[at + 7]
            elif kind == READS:
                size += numbers[at + 3]
            if size < 1 or at + size > end:
                raise _Damaged
            self._moment += 1
            if kind == STEP:
                self._settle()
                number = numbers[at + 1] + first_step
                steps[number] = _Step(number, numbers[at + 2] + first_frame, numbers[at + 3])
                self.contents.begin_step(number, self._moment)
                is_beginning = True
            else:
                by_step = numbers[at + _BY_STEP[kind]] if kind in _BY_STEP else 1
                if is_beginning and not by_step:
                    self.contents.delay_step(self._moment)
                else:
                    is_beginning = is_beginning and kind == VALUE
                self._read_record(kind, numbers[at + 1 : at + size])
            at += size

    def _read_record(self, kind: int, row: array[int]) -> None:
        if kind == WRITE:
            self._read_write(row)
        elif kind == VALUE:
            self._read_value(row)
        elif kind == LOCAL:
            self._read_local(row)
        elif kind == READS:
            self._read_reads(row)
        elif kind == SNAP:
            self._read_snapshot(row)
        else:
            self._settle()
            self._read_other(kind, row)

    def _text(self, index: int) -> str:
        if index >= 0:
            return self._texts[index]
        if index == -1:
            raise _Damaged
        return self._names[-2 - index]

    def _object(self, number: int) -> int | None:
        if number < 0:
            return None
        contents = self.contents
        moved = number + contents.first_object
        contents.last_object = max(contents.last_object, moved)
        return moved

    def _settle(self) -> None:
        """End the moment at which the writes since the last step were seen."""
        if self._settled.is_open:
            self._settled.moment = self._moment
            self._settled = _Settled()

    # --- values and parts

    def _read_value(self, row: array[int]) -> None:
        index, text, kind, number = row
        if text >= 0:
            value = TracedValue(self._text(text), self._text(kind), self._object(number))
            self.contents.values[index] = value
        else:
            self._object(number)
            self.contents.values[index] = (self._text(kind), number)

    def _read_write(self, row: array[int]) -> None:
        step_number, name_index, new, old, owner, frame, by_step = row
        settled, contents = self._open(), self.contents
        name = self._text(name_index)
        value = contents.value(new, settled.after) if new >= 0 else None
        before = None
        if old >= 0 and old in contents.values:
            before = contents.value(old, settled.began)
        if name == "{}":
            member = value or before
            name = f"{{{member.text if member is not None else ''}}}"
        if owner >= 0:
            contents.change(owner, self._moment, name, new)
        step = self._process.steps.get(step_number + self._steps)
        if step is not None:  # not in a segment that was dropped
            moved = frame + self._frames if frame >= 0 else None
            step.writes.append(
                Write(name, value, before, self._object(owner), moved, bool(by_step))
            )

    def _read_local(self, row: array[int]) -> None:
        step = self._process.steps.get(row[0] + self._steps)
        if step is None:
            return  # in a segment that was dropped
        settled = self._open()
        name, new = self._text(row[1]), row[2]
        variables = self._variables.setdefault(step.frame, {})
        old = variables.get(name)
        before = None if old is None else self.contents.value(old, settled.began)
        value = None
        if new >= 0:
            value = self.contents.value(new, settled.after)
            variables[name] = new
        else:
            variables.pop(name, None)
        step.writes.append(Write(name, value, before))

    def _open(self) -> _Settled:
        settled = self._settled
        if not settled.is_open:
            settled.is_open = True
            settled.began = self._moment - 1
        return settled

    def _read_reads(self, row: array[int]) -> None:
        step = self._process.steps.get(row[0] + self._steps)
        if step is None:
            return
        at = 3
        for each in self._text(row[1]).split("\2"):
            text, _, part = each.partition("\1")
            index, owner = row[at], row[at + 1]
            at += 2
            if not part:
                key, at = row[at], at + 1
                part = f"[{self.contents.value(key, self._moment).text}]" if key >= 0 else ""
            if index >= 0:
                value = self.contents.value(index, self._moment)
                step.reads.append(
                    Read(text, value, self._object(owner), part if owner >= 0 else "")
                )

    def _read_snapshot(self, row: array[int]) -> None:
        step_number, by_step, number, shape, count, is_cut, named = row[:7]
        if count < 0 or named not in (0, count) or len(row) != 7 + count + named:
            raise _Damaged
        indices = row[7 : 7 + count]
        contents = self.contents
        if named:
            names = [self._text(each) for each in row[7 + count :]]
            if shape == FIELDS:
                names = ["." + name for name in names]
        elif shape == SET:
            names = [f"{{{contents.value(each, self._moment).text}}}" for each in indices]
        else:
            names = [f"[{at}]" for at in range(count)]
        contents.add(
            number, self._moment, shape, dict(zip(names, indices, strict=True)), bool(is_cut)
        )
        step = self._process.steps.get(step_number + self._steps)
        if step is None:
            return
        owner = self._object(number)
        for name, index in zip(names, indices, strict=True):
            value = contents.value(index, self._moment)
            step.writes.append(Write(name, value, None, owner, None, bool(by_step)))

    # --- frames and endings

    def _read_other(self, kind: int, row: array[int]) -> None:
        process = self._process
        if kind == CODE:
            if not 0 <= row[4] < len(_KINDS):
                raise _Damaged
            self._codes[row[0]] = (self._text(row[1]), self._text(row[2]), row[3], _KINDS[row[4]])
        elif kind == FRAME:
            self._read_frame(row)
        elif kind == RETURN:
            if frame := process.frames.get(row[0] + self._frames):
                frame.returned = self.contents.value(row[2], self._moment)
        elif kind == UNWIND:
            if frame := process.frames.get(row[0] + self._frames):
                frame.raised = self._text(row[1])
        elif kind in (RAISE, YIELD):
            step = process.steps.get(row[0] + self._steps)
            if step is not None and kind == RAISE:
                step.raised = self._text(row[1])
            elif step is not None:
                step.yielded = self.contents.value(row[1], self._moment)
        elif kind == END:
            process.end = (
                self._text(row[0]), self._text(row[1]), self._text(row[2]), row[3],
                row[4] + self._steps if row[4] >= 0 else -1,
            )  # fmt: skip
        elif kind == REMARK:
            process.remarks.append(self._text(row[0]))

    def _read_frame(self, row: array[int]) -> None:
        function, path, first_line, kind = self._codes[row[0]]
        number = row[1] + self._frames
        if number in self._process.frames:
            return  # written again at the beginning of a segment
        given = row[11:]
        self._variables[number] = {
            self._text(given[i]): given[i + 1] for i in range(0, len(given) - 1, 2)
        }
        site = (row[3], row[4], row[5], row[6])
        self._process.frames[number] = TracedFrame(
            number,
            function,
            path,
            first_line,
            kind,
            caller=row[2] + self._steps if row[2] >= 0 else None,
            call_site=site if min(site) >= 0 else None,
            thread=self._text(row[7]),
            task=self._text(row[8]) or None,
            namespace=self._object(row[9]),
            arguments=tuple(
                (self._text(given[i]), self.contents.value(given[i + 1], self._moment))
                for i in range(0, len(given) - 1, 2)
            ),
        )


class _Settled:
    """The moments before and after the writes that were seen together."""

    __slots__ = ("began", "is_open", "moment")

    def __init__(self) -> None:
        self.is_open = False
        self.began = 0
        self.moment = 1 << 62

    def after(self) -> int:
        return self.moment


# --- processes ----------------------------------------------------------------------------------


def _merged(processes: list[_Process]) -> Trace:
    """Return one trace with the steps of each process after those of the one before."""
    trace = Trace()
    remarks: list[str] = []
    dropped = last_step = last_frame = last_object = 0
    for at, process in enumerate(processes):
        first_step, first_object = last_step, last_object
        for path in process.segments:
            segment = _Segment(process, first_step, last_frame, first_object)
            try:
                segment.read(files.read_bytes(path, _MAX_FILE, timeout_s=60.0))
            except (OSError, _Damaged, IndexError, KeyError, ValueError, OverflowError):
                process.is_damaged = True
            last_object = max(last_object, segment.contents.last_object)
        for frame in process.frames.values():
            frame.process = process.pid if at else None
        trace.frames |= process.frames
        numbers = sorted(process.steps)
        trace.steps += [_finished(each) for number in numbers if (each := process.steps[number])
                        .frame in process.frames]  # fmt: skip
        if len(process.segments) > 1 and numbers:
            dropped += numbers[-1] - first_step - len(numbers)
        remarks += process.remarks
        if process.is_damaged:
            remarks.append("a part of the trace could not be read")
        elif process.end is None:
            remarks.append("the program was ended without notice: its last steps may be missing")
        if process.end is not None and (at == 0 or process.end[0] in ("reached", "raised")):
            trace.outcome = _outcome(process.end)
        last_step = max(last_step, numbers[-1] if numbers else 0)
        last_frame = max(trace.frames, default=0)
    trace.dropped = Dropped(dropped, "events") if dropped > 0 else Dropped()
    trace.remarks = tuple(dict.fromkeys(remarks))
    return trace


def _finished(step: _Step) -> TracedStep:
    return TracedStep(
        step.number,
        step.frame,
        step.line,
        tuple(step.writes),
        tuple(step.reads),
        step.raised,
        step.yielded,
    )


def _outcome(end: tuple[str, str, str, int, int]) -> Outcome:
    how, exception, path, line, step = end
    return Outcome(
        how,
        exception=exception or None,
        path=path or None,
        line=line if line >= 0 else None,
        step=step if step >= 0 else None,
    )
