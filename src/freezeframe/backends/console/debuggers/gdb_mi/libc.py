"""Where the C library of a process has what we call in it. Looks at files only.

gdb finds a function by its name too, but reads the library's whole debug information for that.
"""

from __future__ import annotations

import functools
import os
import re
import struct
from typing import BinaryIO

_LIBRARY = re.compile(r"/libc(?:\.so\.6|-2\.\d+\.so)$")
_ENTRY = struct.Struct("<IBBHQQ")  # of the table of symbols that others are linked to, 64 bits
_DYNSYM = 11


def addresses(pid: int, names: tuple[str, ...]) -> list[int] | None:
    """Return where those symbols of the C library lie in a process; None where that is unknown."""
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


@functools.lru_cache(maxsize=8)
def _exported(path: str, stamp: int, names: tuple[str, ...]) -> list[int] | None:
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            return None
        (start,) = struct.unpack_from("<Q", head, 40)
        size, count = struct.unpack_from("<HH", head, 58)
        file.seek(start)
        table = file.read(size * count)
        # Of each section: its kind, where it lies, how long it is, and the one that it refers to.
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
    wanted = [found.get(name.encode()) for name in names]
    return [each for each in wanted if each is not None] if None not in wanted else None


def _bytes(file: BinaryIO, section: tuple[int, ...]) -> bytes:
    file.seek(section[1])
    return file.read(section[2])
