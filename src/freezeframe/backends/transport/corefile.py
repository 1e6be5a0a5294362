"""What a core file says of itself: whether it is one, whose, and of which build of the program."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, replace
from typing import BinaryIO

from freezeframe import files

_ELF = b"\x7fELF"
_OTHERS = (b"MDMP", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"PAGEDU")
_ET_CORE, _PT_NOTE, _PT_LOAD = 4, 4, 1
_NT_PRPSINFO, _NT_FILE, _NT_AUXV = 3, 0x46494C45, 6
_NT_GNU_BUILD_ID = 3
#: in the auxiliary vector: where the program itself begins, not its loader
_AT_ENTRY = 9
#: Notes are small; a file that claims more is broken.
_MAX_NOTES = 64 << 20
#: of a thread: its registers, and the signal it got
_NT_PRSTATUS = 1


@dataclass(frozen=True, slots=True)
class CoreFile:
    """The files that were mapped into the process, its executable among them, its name, and the
    number of the signal that ended it."""

    name: str | None = None
    files: tuple[str, ...] = ()
    signal: int | None = None
    #: the program's own file, as it was called then
    executable: str | None = None
    #: where that was loaded, and what its linker called this build of it
    base: int | None = None
    build_id: bytes | None = None

    def is_of(self, program: str) -> bool:
        """Whether the process ran *program*, as far as the file tells; yes where it does not.

        The kernel keeps 15 characters of a name; a program may have been moved since.
        """
        base = os.path.basename(os.path.realpath(program))
        if self.files:
            return base in (os.path.basename(file) for file in self.files)
        return self.name is None or base[:15] == self.name[:15]


def read(path: str) -> CoreFile | None:
    """Return what a core file tells; None for a file that is none."""
    try:
        with files.open_regular(path) as file:
            head = file.read(64)
            if head.startswith(_OTHERS):
                return CoreFile()
            if not head.startswith(_ELF) or len(head) < 64:
                return None
            order = "<" if head[5] == 1 else ">"
            if struct.unpack_from(order + "H", head, 16)[0] != _ET_CORE:
                return None
            if head[4] != 2:
                return CoreFile()  # 32 bits: its notes are laid out otherwise
            offset = struct.unpack_from(order + "Q", head, 32)[0]
            size, count = struct.unpack_from(order + "HH", head, 54)
            segments = _segments(file, order, offset, size, count)
            for kind, where, _, length in segments:
                if kind == _PT_NOTE and length < _MAX_NOTES:
                    file.seek(where)
                    told = _from_notes(file.read(length), order)
                    return replace(told, build_id=_build_in_memory(file, order, segments, told))
    except (OSError, struct.error):
        return None
    return CoreFile()


def build_id(program: str) -> bytes | None:
    """Return what the linker called this build of an ELF program; None where it did not."""
    try:
        with files.open_regular(program) as file:
            head = file.read(64)
            if not head.startswith(_ELF) or len(head) < 64 or head[4] != 2:
                return None
            order = "<" if head[5] == 1 else ">"
            offset = struct.unpack_from(order + "Q", head, 32)[0]
            size, count = struct.unpack_from(order + "HH", head, 54)
            for kind, where, _, length in _segments(file, order, offset, size, count):
                if kind == _PT_NOTE and length < _MAX_NOTES:
                    file.seek(where)
                    if (found := _build_note(file.read(length), order)) is not None:
                        return found
    except (OSError, struct.error):
        return None
    return None


_Segment = tuple[int, int, int, int]


def _segments(file: BinaryIO, order: str, offset: int, size: int, count: int) -> list[_Segment]:
    """Return of each segment its kind, its place in the file, its address and its bytes there."""
    file.seek(offset)
    table = file.read(size * count)
    return [
        (
            struct.unpack_from(order + "I", table, index)[0],
            *struct.unpack_from(order + "2Q", table, index + 8),
            struct.unpack_from(order + "Q", table, index + 32)[0],
        )
        for index in range(0, len(table) - size + 1, size)
        if size >= 56
    ]


def _build_in_memory(
    file: BinaryIO, order: str, segments: list[_Segment], told: CoreFile
) -> bytes | None:
    """Return the build of the program that was loaded, from its headers, which are in memory."""
    base = told.base
    if base is None:
        return None

    def memory(address: int, length: int) -> bytes:
        for kind, where, begin, size in segments:
            if kind == _PT_LOAD and begin <= address < begin + size:
                file.seek(where + address - begin)
                return file.read(min(length, begin + size - address))
        return b""

    head = memory(base, 64)
    if not head.startswith(_ELF) or len(head) < 64:
        return None
    offset = struct.unpack_from(order + "Q", head, 32)[0]
    size, count = struct.unpack_from(order + "HH", head, 54)
    table = memory(base + offset, size * count)
    for index in range(0, len(table) - size + 1, max(size, 56)):
        kind = struct.unpack_from(order + "I", table, index)[0]
        (where,) = struct.unpack_from(order + "Q", table, index + 8)
        (length,) = struct.unpack_from(order + "Q", table, index + 32)
        # The first page of the file lies at its base as it is in the file.
        notes = memory(base + where, length) if kind == _PT_NOTE and length < _MAX_NOTES else b""
        if (found := _build_note(notes, order)) is not None:
            return found
    return None


def _build_note(notes: bytes, order: str) -> bytes | None:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(order + "3I", notes, at)
        begin = at + 12 + (name_size + 3 & ~3)
        if kind == _NT_GNU_BUILD_ID and notes[at + 12 : at + 15] == b"GNU":
            return notes[begin : begin + size]
        at = begin + (size + 3 & ~3)
    return None


def _from_notes(notes: bytes, order: str) -> CoreFile:
    name: str | None = None
    files: tuple[str, ...] = ()
    signal = entry = 0
    mapped: list[tuple[int, int, str]] = []
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(order + "3I", notes, at)
        begin = at + 12 + (name_size + 3 & ~3)
        body = notes[begin : begin + size]
        if kind == _NT_PRPSINFO and len(body) >= 56:
            name = body[40:56].split(b"\0")[0].decode("utf-8", "replace")
        elif kind == _NT_PRSTATUS and not signal and len(body) >= 14:
            # The thread that died is told first.
            (signal,) = struct.unpack_from(order + "H", body, 12)
        elif kind == _NT_FILE and len(body) >= 16:
            (count,) = struct.unpack_from(order + "Q", body, 0)
            texts = body[16 + 24 * count :].split(b"\0")
            names = [os.fsdecode(each) for each in texts]
            files = tuple(dict.fromkeys(filter(None, names)))
            for index in range(min(count, len(names))):
                begin_at, end_at, _ = struct.unpack_from(order + "3Q", body, 16 + 24 * index)
                mapped.append((begin_at, end_at, names[index]))
        elif kind == _NT_AUXV:
            for index in range(0, len(body) - 15, 16):
                key, value = struct.unpack_from(order + "2Q", body, index)
                entry = value if key == _AT_ENTRY else entry
        at = begin + (size + 3 & ~3)
    executable = next((file for low, high, file in mapped if low <= entry < high), None)
    base = min((low for low, _, file in mapped if file == executable), default=None)
    return CoreFile(name, files, signal or None, executable, base)
