"""Find symbols in the C library of a process. Reads files only.

gdb can find a function by name too, but reads the library's whole debug information for that.
"""

from __future__ import annotations

import functools
import os
import re
import struct
from typing import BinaryIO

from freezeframe import files

_LIBRARY = re.compile(r"/libc(?:\.so\.6|-2\.\d+\.so)$")
_ENTRY = struct.Struct("<IBBHQQ")  # an entry of the dynamic symbol table, 64 bits
_DYNSYM = 11
_INTERP = 3
#: makes glibc's standard output line-buffered: the flag that setvbuf sets
BY_LINE = "*(unsigned*)&_IO_2_1_stdout_ |= 0x200"


def addresses(pid: int, names: tuple[str, ...]) -> list[int] | None:
    """Return the addresses of C library symbols in a process; None if unknown."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            found = next((row.split() for row in file if _LIBRARY.search(row.strip())), None)
        if found is None or int(found[2], 16) != 0:
            return None
        offsets = _exported(found[5], os.stat(found[5]).st_mtime_ns, names)
    except (OSError, ValueError, struct.error):
        return None
    base = int(found[0].partition("-")[0], 16)
    return None if offsets is None else [base + offset for offset in offsets]


def of_program(path: str, name: str) -> tuple[str, int] | None:
    """Return the C library that a program will load, and the offset of a symbol in it.

    Only if it is the library of this process: programs with the same loader share the library.
    """
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            library = next((row.split()[5] for row in file if _LIBRARY.search(row.strip())), None)
        loader = _loader(path)
        if library is None or loader is None:
            return None
        if os.path.dirname(os.path.realpath(loader)) != os.path.dirname(library):
            return None
        offsets = _exported(library, os.stat(library).st_mtime_ns, (name,))
    except (OSError, ValueError, struct.error):
        return None
    return None if offsets is None else (library, offsets[0])


def _loader(path: str) -> str | None:
    """Return the dynamic loader of a program; None if it needs none."""
    with files.open_regular(path) as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            return None
        (start,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(start)
        table = file.read(size * count)
        for at in range(0, len(table), size):
            kind, offset, length = struct.unpack_from("<I4xQ16xQ", table, at)
            if kind == _INTERP:
                file.seek(offset)
                return os.fsdecode(file.read(length).rstrip(b"\0"))
    return None


@functools.lru_cache(maxsize=8)
def _exported(path: str, stamp: int, names: tuple[str, ...]) -> list[int] | None:
    with files.open_regular(path) as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            return None
        (start,) = struct.unpack_from("<Q", head, 40)
        size, count = struct.unpack_from("<HH", head, 58)
        file.seek(start)
        table = file.read(size * count)
        # Of each section: type, offset, size, and the index of the linked section.
        sections = [
            struct.unpack_from("<4xI16xQQI", table, at) for at in range(0, len(table), size)
        ]
        listed = next((each for each in sections if each[0] == _DYNSYM), None)
        if listed is None:
            return None
        symbols, strings = (_bytes(file, each) for each in (listed, sections[listed[3]]))
    found: dict[bytes, int] = {}
    for name, _, _, section, value, _ in _ENTRY.iter_unpack(symbols):
        if section:
            found[strings[name : strings.index(b"\0", name)]] = value
    values = [found.get(name.encode()) for name in names]
    return [each for each in values if each is not None] if None not in values else None


def _bytes(file: BinaryIO, section: tuple[int, ...]) -> bytes:
    file.seek(section[1])
    return file.read(section[2])
