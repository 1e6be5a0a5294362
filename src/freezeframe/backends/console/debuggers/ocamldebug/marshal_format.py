"""Read the format of OCaml's `Marshal`, in which the compiler writes debug information.

Integers become int, strings bytes, floats float; a block becomes a `Block` of its fields. A shared
value becomes the same object again.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

_SMALL = 0x8495A6BE
_BIG = 0x8495A6BF

_INTEGERS = {0x00: ">b", 0x01: ">h", 0x02: ">i", 0x03: ">q"}
_SHARED = {0x04: ">B", 0x05: ">H", 0x06: ">I", 0x14: ">Q"}
_STRINGS = {0x09: ">B", 0x0A: ">I", 0x15: ">Q"}
_DOUBLES = {0x0B: ">d", 0x0C: "<d"}
_DOUBLE_ARRAYS = {0x0D: (">B", ">"), 0x0E: (">B", "<"), 0x0F: (">I", ">"), 0x07: (">I", "<")}
_BLOCK_32, _BLOCK_64 = 0x08, 0x13


class Block:
    """A block: its tag, which is that of its constructor, and its fields."""

    __slots__ = ("fields", "tag")

    def __init__(self, tag: int, fields: list[Value]) -> None:
        self.tag = tag
        self.fields = fields


Value: TypeAlias = "int | bytes | float | Block"


class UnreadableValue(ValueError):
    """The bytes cannot be read as a value; the message is the reason."""


def extent(data: bytes, start: int) -> tuple[int, int]:
    """Return where the body of the value at *start* begins, and where it ends."""
    magic = _number(">I", data, start)
    if magic == _SMALL:
        body = start + 20
        return body, body + _number(">I", data, start + 4)
    if magic == _BIG:
        body = start + 32
        return body, body + _number(">Q", data, start + 8)
    raise UnreadableValue("it is not in the form that OCaml up to 5.0 writes")


def read(data: bytes, start: int) -> Value:
    """Return the value at *start*. Raises UnreadableValue."""
    body, end = extent(data, start)
    return _Reader(data, body, end).read()


def peek(data: bytes, body: int, count: int) -> list[Value]:
    """Return the first *count* items of a value, in the order of the data."""
    reader = _Reader(data, body, len(data))
    return [reader.item()[0] for _ in range(count)]


def _number(form: str, data: bytes, at: int) -> int:
    try:
        (found,) = struct.unpack_from(form, data, at)
    except struct.error:
        raise UnreadableValue("it ends too early") from None
    return int(found)


class _Reader:
    def __init__(self, data: bytes, at: int, end: int) -> None:
        self._data = data
        self._at = at
        self._end = end
        self._objects: list[Value] = []

    def read(self) -> Value:
        # A list is nested as deep as it is long, so this does not recurse.
        root: list[Value] = []
        unfilled: list[tuple[list[Value], int]] = [(root, 1)]
        while unfilled:
            fields, size = unfilled[-1]
            if len(fields) == size:
                unfilled.pop()
                continue
            value, fresh = self.item()
            fields.append(value)
            if fresh:
                assert isinstance(value, Block)
                unfilled.append((value.fields, fresh))
        return root[0]

    def _take(self, form: str) -> int:
        value = _number(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return value

    def item(self) -> tuple[Value, int]:
        """Return the next value, and the number of its fields that follow."""
        if self._at >= self._end:
            raise UnreadableValue("it ends too early")
        code = self._data[self._at]
        self._at += 1
        if code >= 0x80:
            return self._block(code & 0xF, (code >> 4) & 0x7)
        if code >= 0x40:
            return code & 0x3F, 0
        if code >= 0x20:
            return self._string(code & 0x1F), 0
        if code in _INTEGERS:
            return self._take(_INTEGERS[code]), 0
        if code in _SHARED:
            return self._objects[len(self._objects) - self._take(_SHARED[code])], 0
        if code in (_BLOCK_32, _BLOCK_64):
            header = self._take(">I" if code == _BLOCK_32 else ">Q")
            return self._block(header & 0xFF, header >> 10)
        if code in _STRINGS:
            return self._string(self._take(_STRINGS[code])), 0
        if code in _DOUBLES:
            return self._shared_object(self._doubles(_DOUBLES[code], 1)[0]), 0
        if code in _DOUBLE_ARRAYS:
            count, order = _DOUBLE_ARRAYS[code]
            size = self._take(count)
            return self._shared_object(Block(254, list(self._doubles(f"{order}{size}d", size)))), 0
        raise UnreadableValue(f"it has a part of an unknown kind ({code:#x})")

    def _shared_object(self, value: Value) -> Value:
        self._objects.append(value)
        return value

    def _block(self, tag: int, size: int) -> tuple[Block, int]:
        block = Block(tag, [])
        if size:
            self._objects.append(block)
        return block, size

    def _string(self, size: int) -> Value:
        start, self._at = self._at, self._at + size
        return self._shared_object(self._data[start : self._at])

    def _doubles(self, form: str, size: int) -> Sequence[float]:
        found = struct.unpack_from(form, self._data, self._at)
        self._at += 8 * size
        return found
