"""Read 64-bit ELF files: sections, and LEB128 numbers."""

from __future__ import annotations

import mmap
import struct
import zlib

_ELF = b"\x7fELF\x02"
_COMPRESSED = 0x800
#: Most bytes of a compressed section that are unpacked.
_MAX_SECTION = 1 << 30


def read_leb(data: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned LEB128 number at an offset, and the offset behind it."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if shift > 10 * 7:
            raise ValueError("a LEB128 number is too long")
        if not byte & 0x80:
            return number, at


def is_elf(view: mmap.mmap) -> bool:
    """Whether a file is 64-bit ELF: others are not read."""
    return view[:5] == _ELF


def byte_order(view: mmap.mmap) -> str:
    """Return the byte order of an ELF file as `struct` writes it."""
    return "<" if view[5] == 1 else ">"


def elf_sections(view: mmap.mmap, *names: str) -> dict[str, bytes]:
    """Return the contents of the named sections that exist."""
    order = byte_order(view)
    (table,) = struct.unpack_from(order + "Q", view, 40)
    size, count, name_index = struct.unpack_from(order + "HHH", view, 58)
    # Each row: name, type, flags, address, offset and size.
    rows = [
        struct.unpack_from(order + "IIQQQQ", view, table + index * size) for index in range(count)
    ]
    found = {}
    for name, _, flags, _, offset, length in rows:
        begin = rows[name_index][4] + name
        section = view[begin : view.find(b"\0", begin)].decode("ascii", "replace")
        if section in names:
            data = view[offset : offset + length]
            found[section] = _inflated(data[24:]) if flags & _COMPRESSED else data
    return found


def _inflated(data: bytes) -> bytes:
    """Return the content of a compressed section. Raises ValueError if it is too large."""
    inflate = zlib.decompressobj()
    found = inflate.decompress(data, _MAX_SECTION)
    if inflate.unconsumed_tail:
        raise ValueError("a section is too large")
    return found
