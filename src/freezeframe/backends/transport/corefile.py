"""What a core file says of itself: whether it is one, and whose."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

from freezeframe import files

_ELF = b"\x7fELF"
_OTHERS = (b"MDMP", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"PAGEDU")
_ET_CORE, _PT_NOTE = 4, 4
_NT_PRPSINFO, _NT_FILE = 3, 0x46494C45
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
            file.seek(offset)
            table = file.read(size * count)
            for index in range(0, len(table) - size + 1, size):
                kind = struct.unpack_from(order + "I", table, index)[0]
                where, _, _, length = struct.unpack_from(order + "4Q", table, index + 8)
                if kind == _PT_NOTE and length < _MAX_NOTES:
                    file.seek(where)
                    return _from_notes(file.read(length), order)
    except (OSError, struct.error):
        return None
    return CoreFile()


def _from_notes(notes: bytes, order: str) -> CoreFile:
    name: str | None = None
    files: tuple[str, ...] = ()
    signal = 0
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
            names = body[16 + 24 * count :].split(b"\0")
            files = tuple(dict.fromkeys(each.decode("utf-8", "replace") for each in names if each))
        at = begin + (size + 3 & ~3)
    return CoreFile(name, files, signal or None)
