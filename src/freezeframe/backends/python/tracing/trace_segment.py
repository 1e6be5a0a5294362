"""One file of a trace: where its records are, and what they say, decoded when it is asked for.

A trace has millions of records, and a question looks at some hundreds: reading a file finds the
records and decodes only frames. A *moment* is the position of a record in the file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from freezeframe.model.trace import FrameKind, Read, TracedFrame, TracedValue, Write

from .composed_values import FIELDS, SET, ComposedValue, Contents, Parts

# Kinds of records, as in `log_agent.py`.
VALUE, CODE, FRAME, STEP, WRITE, _, RETURN, RAISE, UNWIND, YIELD = range(10)
END, REMARK, PROCESS, SNAP, LOCAL, READS = range(10, 16)
#: integers of a record of each kind; those of a frame, of a snapshot and of reads are more
SIZES = (5, 6, 12, 4, 8, 6, 4, 3, 3, 3, 6, 2, 5, 8, 5, 4)
_LONGEST = max(SIZES)
_KINDS = tuple(FrameKind)
_MAX_TEXT = 4_000
#: what decoding a record of a damaged file raises
_UNREADABLE = (IndexError, KeyError, ValueError, OverflowError)


class Damaged(Exception):
    """A file has contents that no program of ours has written."""


def blocks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Iterate the kind and the contents of each block; one that is cut off is left out."""
    at = 0
    while at + 9 <= len(data):
        size = int.from_bytes(data[at + 1 : at + 9], "little")
        if at + 9 + size > len(data):
            return
        yield data[at : at + 1], data[at + 9 : at + 9 + size]
        at += 9 + size


class Segment:
    """The records of one file.

    Numbers of steps, frames and objects are moved behind those of the processes that began before;
    those in dictionaries here are not.
    """

    def __init__(self, steps: int, frames: int, objects: int) -> None:
        self._first_step, self._first_frame = steps, frames
        self.contents = Contents(objects, self)
        self._numbers = array("q")
        self._texts: list[str] = []
        #: names of the source; their indices begin at -2 and go down
        self._names: list[str] = []
        self._codes: dict[int, tuple[str, str, int, FrameKind]] = {}
        #: index of a value → its record, and those that were decoded
        self._values: dict[int, int] = {}
        self._decoded: dict[int, TracedValue | tuple[str, int]] = {}
        #: step → its record, and those of its reads and changes
        self.steps: dict[int, int] = {}
        self._rows: dict[int, int | list[int]] = {}
        #: object → the records of its changes
        self.changes: dict[int, list[int]] = {}
        #: frame → the records of steps of other frames that changed its variables
        self._outside: dict[int, list[int]] = {}
        #: step → the exception that left it, and what it yielded
        self.raised: dict[int, str] = {}
        self.yielded: dict[int, TracedValue] = {}
        self.frames: dict[int, TracedFrame] = {}
        self.end: tuple[str, str, str, int, int] | None = None
        self.remarks: list[str] = []
        #: records that end the moment at which changes were seen
        self._closings: list[int] = []

    def read(self, data: bytes) -> None:
        """Find the records of a file. Raises Damaged; what was found before stays."""
        try:
            for kind, block in blocks(data):
                if kind in (b"S", b"N"):
                    text = block.decode("utf-8", "surrogatepass")
                    table = self._texts if kind == b"S" else self._names
                    table += [each[:_MAX_TEXT] for each in text.split("\0")]
                elif kind == b"E" and len(block) % 8 == 0:
                    self._find_records(array("q", block))
                else:
                    raise Damaged
        except _UNREADABLE as error:
            raise Damaged from error

    def _find_records(self, found: array[int]) -> None:
        base = len(self._numbers)
        self._numbers.extend(found)
        row = found.tolist()
        at, end = 0, len(row)
        row += [-1] * _LONGEST  # a record that is cut off is found at the end
        steps, values, rows = self.steps, self._values, self._rows
        get_rows, close = rows.get, self._closings.append
        while at < end:
            kind = row[at]
            if kind == STEP:
                steps[row[at + 1]] = base + at
                close(base + at)
                at += 4
                continue
            if kind == VALUE:
                values[row[at + 1]] = base + at
                at += 5
                continue
            if kind == LOCAL:
                size = 5
            elif kind == READS and row[at + 3] >= 0:
                size = 4 + row[at + 3]
            elif kind in (WRITE, SNAP):
                size = self._find_change(kind, row, at, base)
            else:
                at += self._read_other(row, at, end, base)
                continue
            # Most steps have one or two: no list is made for them.
            known = get_rows(row[at + 1])
            if known is None:
                rows[row[at + 1]] = base + at
            elif isinstance(known, int):
                rows[row[at + 1]] = [known, base + at]
            else:
                known.append(base + at)
            at += size
        if at != end:
            self._numbers.extend([-1] * (at - end))
            raise Damaged

    def _find_change(self, kind: int, row: list[int], at: int, base: int) -> int:
        """Note the owner of a change; return the size of its record."""
        if kind == WRITE:
            owner, size = row[at + 5], 8
            if owner < 0:
                if row[at + 6] >= 0:
                    self._outside.setdefault(row[at + 6], []).append(base + at)
                return size
        else:
            owner, count, named = row[at + 3], row[at + 5], row[at + 7]
            size = 8 + count + named
            if count < 0 or named not in (0, count):
                raise Damaged
        known = self.changes.get(owner)
        if known is None:
            self.changes[owner] = [base + at]
        else:
            known.append(base + at)
        return size

    def _rows_of(self, step: int) -> list[int]:
        """Return the records of a step's reads and changes."""
        found = self._rows.get(step - self._first_step, [])
        return [found] if isinstance(found, int) else found

    # --- texts and values

    def _text(self, index: int) -> str:
        if index >= 0:
            return self._texts[index]
        if index == -1:
            raise IndexError(index)
        return self._names[-2 - index]

    def _object(self, number: int) -> int | None:
        if number < 0:
            return None
        return number + self.contents.first_object

    def found_value(self, index: int) -> TracedValue | tuple[str, int]:
        """Return a value whose text is known, or type and number of an object.

        Raises KeyError for an unknown index.
        """
        found = self._decoded.get(index)
        if found is None:
            at = self._values[index]
            _, _, text, kind, number = self._numbers[at : at + 5]
            if text >= 0:
                found = TracedValue(self._text(text), self._text(kind), self._object(number))
            else:
                found = (self._text(kind), number)
            self._decoded[index] = found
        return found

    def _value(self, index: int, moment: int) -> TracedValue:
        found = self.found_value(index)
        if isinstance(found, TracedValue):
            return found
        return ComposedValue(*found, self.contents, moment)

    # --- moments

    def _around(self, at: int) -> tuple[int, int]:
        """Return the moments before and after the changes that were seen together with one."""
        closings = self._closings
        behind = bisect_left(closings, at)
        end = closings[behind] if behind < len(closings) else len(self._numbers)
        first = closings[behind - 1] if behind else 0
        while first < at:
            if self._numbers[first] in (WRITE, LOCAL):
                break
            first = self._next(first)
        return first - 1, end

    def _next(self, at: int) -> int:
        """Return the position of the record after one."""
        numbers = self._numbers
        kind = numbers[at]
        size = SIZES[kind]
        if kind == FRAME:
            size += 2 * numbers[at + 11]
        elif kind == SNAP:
            size += numbers[at + 5] + numbers[at + 7]
        elif kind == READS:
            size += numbers[at + 3]
        return at + size

    def moment_of(self, step: int) -> int | None:
        """Return the moment at which a step (as in the trace) began; None for one of another
        segment.
        """
        at = self.steps.get(step - self._first_step)
        if at is None:
            return None
        # What code that is not traced had changed was seen when it began.
        moment, numbers = at, self._numbers
        at = self._next(at)
        while at < len(numbers):
            kind = numbers[at]
            if (kind == WRITE and not numbers[at + 7]) or (kind == SNAP and not numbers[at + 2]):
                moment = at
            elif kind != VALUE:
                break
            at = self._next(at)
        return moment

    # --- steps

    def lines(self) -> Iterator[tuple[int, int, int, int]]:
        """Iterate the steps: number here, number in the trace, frame and line."""
        numbers, first_step, first_frame = self._numbers, self._first_step, self._first_frame
        for number, at in self.steps.items():
            yield number, number + first_step, numbers[at + 2] + first_frame, numbers[at + 3]

    def step_at(self, at: int) -> int:
        """Return the step that a record of a change belongs to."""
        return self._numbers[at + 1] + self._first_step

    def outside_of(self, frame: int) -> list[int]:
        """Return the records of steps of other frames that changed variables of a frame."""
        return self._outside.get(frame - self._first_frame, [])

    def writes_of(self, step: int) -> Iterator[Write]:
        """Iterate what a step changed; records that cannot be decoded are left out."""
        for at in self._rows_of(step):
            kind = self._numbers[at]
            try:
                if kind == LOCAL:
                    yield self._local(at)
                elif kind == WRITE:
                    yield self._write(at)
                elif kind == SNAP:
                    yield from self._snapshot(at)
            except _UNREADABLE:
                continue

    def _local(self, at: int) -> Write:
        _, _, name, new, old = self._numbers[at : at + 5]
        before, after = self._around(at)
        return Write(
            self._text(name),
            self._value(new, after) if new >= 0 else None,
            self._value(old, before) if old in self._values else None,
        )

    def _write(self, at: int) -> Write:
        _, _, _, new, old, owner, frame, by_step = self._numbers[at : at + 8]
        before, after = self._around(at)
        return Write(
            self._part_name(at),
            self._value(new, after) if new >= 0 else None,
            self._value(old, before) if old in self._values else None,
            self._object(owner),
            frame + self._first_frame if frame >= 0 else None,
            bool(by_step),
        )

    def _part_name(self, at: int) -> str:
        """Return the name of the part that a record of a write is about."""
        name, new, old = self._numbers[at + 2 : at + 5]
        text = self._text(name)
        if text != "{}":
            return text
        member = new if new >= 0 else old
        return f"{{{self._value(member, at).text if member in self._values else ''}}}"

    def _snapshot(self, at: int) -> Iterator[Write]:
        numbers = self._numbers
        owner, by_step = self._object(numbers[at + 3]), bool(numbers[at + 2])
        for name, index in self._parts_at(at).items():
            yield Write(name, self._value(index, at), None, owner, None, by_step)

    def _parts_at(self, at: int) -> dict[str, int]:
        """Return the parts of an object in the record of a snapshot."""
        numbers = self._numbers
        shape, count, named = numbers[at + 4], numbers[at + 5], numbers[at + 7]
        indices = numbers[at + 8 : at + 8 + count]
        if named:
            names = [self._text(each) for each in numbers[at + 8 + count : at + 8 + 2 * count]]
            if shape == FIELDS:
                names = ["." + name for name in names]
        elif shape == SET:
            names = [f"{{{self._value(each, at).text}}}" for each in indices]
        else:
            names = [f"[{each}]" for each in range(count)]
        return dict(zip(names, indices, strict=True))

    def variables_of(self, step: int, frame: int) -> Iterator[str]:
        """Iterate the names of the variables of its own frame that a step changed."""
        numbers = self._numbers
        own = (-1, frame - self._first_frame)
        for at in self._rows_of(step):
            kind = numbers[at]
            if kind == LOCAL or (kind == WRITE and numbers[at + 5] < 0 and numbers[at + 6] in own):
                try:
                    yield self._text(numbers[at + 2])
                except IndexError:
                    continue

    def reads_of(self, step: int) -> Iterator[Read]:
        """Iterate what a step read; records that cannot be decoded are left out."""
        for at in self._rows_of(step):
            if self._numbers[at] == READS:
                try:
                    yield from self._reads(at)
                except _UNREADABLE:
                    continue

    def _reads(self, at: int) -> Iterator[Read]:
        row = self._numbers[at : at + 4 + self._numbers[at + 3]]
        next_at = 4
        for each in self._text(row[2]).split("\2"):
            text, _, part = each.partition("\1")
            index, owner = row[next_at], row[next_at + 1]
            next_at += 2
            if not part:
                key = row[next_at]
                next_at += 1
                part = f"[{self._value(key, at).text}]" if key >= 0 else ""
            if index >= 0:
                value = self._value(index, at)
                yield Read(text, value, self._object(owner), part if owner >= 0 else "")

    # --- objects

    def parts_of(self, number: int) -> Parts | None:
        """Return the parts of an object through the segment; None if nothing is known of them."""
        rows = self.changes.get(number, ())
        numbers = self._numbers
        # Before it was seen as a whole, nothing is known.
        first = next((at for at, row in enumerate(rows) if numbers[row] == SNAP), None)
        if first is None:
            return None
        found = Parts(numbers[rows[first] + 4])
        self.contents.keep(number, found)  # a set may contain what contains it
        for at in rows[first:]:
            try:
                if numbers[at] == SNAP:
                    found.shape, found.is_cut = numbers[at + 4], bool(numbers[at + 6])
                    change = self._parts_at(at)
                else:
                    change = {self._part_name(at): numbers[at + 3]}
            except _UNREADABLE:
                continue
            found.moments.append(at)
            found.changes.append(change)
        return found

    # --- frames and endings

    def _read_other(self, row: list[int], at: int, end: int, base: int) -> int:
        """Read a record of a frame, or of an ending; return its size."""
        kind = row[at]
        if not 0 <= kind < len(SIZES):
            raise Damaged
        size = SIZES[kind] + (2 * row[at + 11] if kind == FRAME else 0)
        if size < 1 or at + size > end:
            raise Damaged
        self._closings.append(base + at)
        self._read_ending(kind, row[at + 1 : at + size], base + at)
        return size

    def _read_ending(self, kind: int, row: list[int], at: int) -> None:
        if kind == CODE:
            if not 0 <= row[4] < len(_KINDS):
                raise Damaged
            self._codes[row[0]] = (self._text(row[1]), self._text(row[2]), row[3], _KINDS[row[4]])
        elif kind == FRAME:
            self._read_frame(row, at)
        elif kind == RETURN:
            if frame := self.frames.get(row[0]):
                frame.returned = self._value(row[2], at)
        elif kind == UNWIND:
            if frame := self.frames.get(row[0]):
                frame.raised = self._text(row[1])
        elif kind == RAISE:
            self.raised[row[0]] = self._text(row[1])
        elif kind == YIELD:
            self.yielded[row[0]] = self._value(row[1], at)
        elif kind == END:
            self.end = (
                self._text(row[0]), self._text(row[1]), self._text(row[2]), row[3],
                row[4] + self._first_step if row[4] >= 0 else -1,
            )  # fmt: skip
        elif kind == REMARK:
            self.remarks.append(self._text(row[0]))

    def _read_frame(self, row: list[int], at: int) -> None:
        function, path, first_line, kind = self._codes[row[0]]
        given = row[11:]
        site = (row[3], row[4], row[5], row[6])
        self.frames[row[1]] = TracedFrame(
            row[1] + self._first_frame,
            function,
            path,
            first_line,
            kind,
            caller=row[2] + self._first_step if row[2] >= 0 else None,
            call_site=site if min(site) >= 0 else None,
            thread=self._text(row[7]),
            task=self._text(row[8]) or None,
            namespace=self._object(row[9]),
            arguments=tuple(
                (self._text(given[i]), self._value(given[i + 1], at))
                for i in range(0, len(given) - 1, 2)
            ),
        )
