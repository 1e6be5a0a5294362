"""Read ELF files of 64 bits: their sections, and the numbers of their debug information."""

from __future__ import annotations

import mmap
import struct
import zlib

_ELF = b"\x7fELF\x02"
_COMPRESSED = 0x800
#: bytes of a compressed section that are unpacked
_MAX_SECTION = 1 << 30


def read_leb(data: bytes, at: int) -> tuple[int, int]:
    """Return the number of many bytes at a place, and the place behind it."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if shift > 10 * 7:
            raise ValueError("no number is that long")
        if not byte & 0x80:
            return number, at


def is_elf(view: mmap.mmap) -> bool:
    """Whether a file is ELF of 64 bits: others are not read."""
    return view[:5] == _ELF


def byte_order(view: mmap.mmap) -> str:
    """Return the byte order of an ELF file as `struct` writes it."""
    return "<" if view[5] == 1 else ">"


def elf_sections(view: mmap.mmap, *wanted: str) -> dict[str, bytes]:
    """Return the contents of the sections of these names that there are."""
    order = byte_order(view)
    (table,) = struct.unpack_from(order + "Q", view, 40)
    size, count, names = struct.unpack_from(order + "HHH", view, 58)
    # Of each: its name, type, flags, address, offset and size.
    rows = [
        struct.unpack_from(order + "IIQQQQ", view, table + index * size) for index in range(count)
    ]
    found = {}
    for name, _, flags, _, offset, length in rows:
        begin = rows[names][4] + name
        word = view[begin : view.find(b"\0", begin)].decode("ascii", "replace")
        if word in wanted:
            data = view[offset : offset + length]
            found[word] = _inflated(data[24:]) if flags & _COMPRESSED else data
    return found


def _inflated(data: bytes) -> bytes:
    """Return what a compressed section holds. Raises ValueError where that is absurdly much."""
    inflate = zlib.decompressobj()
    found = inflate.decompress(data, _MAX_SECTION)
    if inflate.unconsumed_tail:
        raise ValueError("a section is too large")
    return found
