"""Read the header of a core file: its process, signal, mapped files and build id."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from typing import BinaryIO

from freezeframe import files
from freezeframe.model.fast_dataclass import dataclass

_ELF = b"\x7fELF"
_OTHERS = (b"MDMP", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"PAGEDU")
_ET_CORE, _PT_NOTE, _PT_LOAD = 4, 4, 1
_NT_PRPSINFO, _NT_FILE, _NT_AUXV = 3, 0x46494C45, 6
_NT_GNU_BUILD_ID = 3
#: in the auxiliary vector: the entry point of the program itself, not of its loader
_AT_ENTRY = 9
#: Notes are small; a file that claims more is damaged.
_MAX_NOTES = 64 << 20
#: per thread: its registers and the signal it received
_NT_PRSTATUS = 1


@dataclass(frozen=True, slots=True)
class CoreFile:
    """The process name, the files that were mapped into the process (its executable included) and
    the number of the signal that ended it."""

    name: str | None = None
    files: tuple[str, ...] = ()
    signal: int | None = None
    #: the path of the program's executable when the core was written
    executable: str | None = None
    #: the load address of the executable, and its build id
    base: int | None = None
    build_id: bytes | None = None

    def is_of(self, program: str) -> bool:
        """Return whether the process ran *program*; True where the core file does not say.

        The kernel keeps 15 characters of a name; a program may have been moved since.
        """
        base = os.path.basename(os.path.realpath(program))
        if self.files:
            return base in (os.path.basename(file) for file in self.files)
        return self.name is None or base[:15] == self.name[:15]


def read(path: str) -> CoreFile | None:
    """Return the contents of a core file's header; None if *path* is not a core file."""
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
                return CoreFile()  # the notes of a 32-bit core have another layout
            offset = struct.unpack_from(order + "Q", head, 32)[0]
            size, count = struct.unpack_from(order + "HH", head, 54)
            segments = _segments(file, order, offset, size, count)
            for kind, file_offset, _, length in segments:
                if kind == _PT_NOTE and length < _MAX_NOTES:
                    file.seek(file_offset)
                    core = _from_notes(file.read(length), order)
                    return replace(core, build_id=_build_in_memory(file, order, segments, core))
    except (OSError, struct.error):
        return None
    return CoreFile()


def build_id(program: str) -> bytes | None:
    """Return the linker's build id of an ELF program; None where it has none."""
    try:
        with files.open_regular(program) as file:
            head = file.read(64)
            if not head.startswith(_ELF) or len(head) < 64 or head[4] != 2:
                return None
            order = "<" if head[5] == 1 else ">"
            offset = struct.unpack_from(order + "Q", head, 32)[0]
            size, count = struct.unpack_from(order + "HH", head, 54)
            for kind, file_offset, _, length in _segments(file, order, offset, size, count):
                if kind == _PT_NOTE and length < _MAX_NOTES:
                    file.seek(file_offset)
                    if (found := _build_note(file.read(length), order)) is not None:
                        return found
    except (OSError, struct.error):
        return None
    return None


_Segment = tuple[int, int, int, int]


def _segments(file: BinaryIO, order: str, offset: int, size: int, count: int) -> list[_Segment]:
    """Return the type, file offset, address and file size of each segment."""
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
    file: BinaryIO, order: str, segments: list[_Segment], core: CoreFile
) -> bytes | None:
    """Return the build id of the loaded program, read from its headers in memory."""
    base = core.base
    if base is None:
        return None

    def memory(address: int, length: int) -> bytes:
        for kind, file_offset, begin, size in segments:
            if kind == _PT_LOAD and begin <= address < begin + size:
                file.seek(file_offset + address - begin)
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
        (file_offset,) = struct.unpack_from(order + "Q", table, index + 8)
        (length,) = struct.unpack_from(order + "Q", table, index + 32)
        # The first page of the file is mapped unchanged at its base address.
        notes = (
            memory(base + file_offset, length) if kind == _PT_NOTE and length < _MAX_NOTES else b""
        )
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
            # The thread that died comes first.
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
