"""Which parts of a native program were optimised, from its debug information (DWARF).

gcc records its options. clang and rustc do not, but their optimised code has location lists for
variables. rustc also writes some such lists for inlined code without optimisation: if there are
any, the function has to be examined.
"""

from __future__ import annotations

import functools
import os
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from freezeframe import files

from .elf import byte_order, elf_sections, is_elf, read_leb
from .raw_values import RawValue

GONE = "<optimized out>"

_COMPILE_UNIT, _VARIABLE, _PARAMETER = 0x11, 0x34, 0x05
_NAME, _DIRECTORY, _PRODUCER, _LOCATION, _STR_OFFSETS = 0x03, 0x1B, 0x25, 0x02, 0x72
_IMPLICIT = 0x21
#: Forms of a location list.
_LISTS = (0x06, 0x07, 0x17, 0x22)
#: Kind of unit → size of additional header fields (DWARF 5).
_MORE_HEADER = {0x02: 24, 0x06: 24, 0x04: 8, 0x05: 8}
_FIXED = {
    **dict.fromkeys((0x0B, 0x0C, 0x11, 0x25, 0x29), 1),
    **dict.fromkeys((0x05, 0x12, 0x26, 0x2A), 2),
    **dict.fromkeys((0x27, 0x2B), 3),
    **dict.fromkeys((0x06, 0x13, 0x28, 0x2C), 4),
    **dict.fromkeys((0x07, 0x14, 0x20), 8),
    0x1E: 16,
    0x19: 0,
    0x21: 0,
}
_OFFSETS = (0x0E, 0x10, 0x17, 0x1F, 0x1D, 0x1F20, 0x1F21)
_LEBS = (0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23)
_INDEXES = {0x1A: 0, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4}
_GCC = re.compile(r"GNU [A-Z].* (-O(?!0\b)\S*)")
#: Most units that are read; the rest of a very large program is ignored.
_MOST = 20_000
#: Code of the toolchain, which is always optimised, is ignored.
_TOOLCHAIN = ("/rustc/", "/rust/deps/", "/build/", "/usr/src/")


@dataclass(frozen=True, slots=True)
class Optimized:
    """Which parts of a program were optimised, as far as its compilers record that."""

    #: compile units that gcc optimised
    units: frozenset[str] = frozenset()
    #: the optimisation option of one of them
    option: str | None = None
    #: units of other compilers may be optimised: they have location lists
    perhaps: bool = False

    def __bool__(self) -> bool:
        return bool(self.units) or self.perhaps


@dataclass(frozen=True, slots=True)
class FrameCode:
    """How the code of a frame was compiled."""

    optimized: bool = False
    #: paths of values that are optimised out: `a.n`
    gone: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FrameNames:
    """Names of a frame whose values the debugger shows wrongly."""

    #: variables that have no value yet
    unset: frozenset[str] = frozenset()
    #: variables that may have no value yet
    perhaps: frozenset[str] = frozenset()
    #: arrays whose length the debugger does not read
    unsized: frozenset[str] = frozenset()
    #: variables that are listed twice, once in parentheses
    twice: frozenset[str] = frozenset()


UNKNOWN_NAMES = FrameNames()


def without(value: RawValue, gone: frozenset[str]) -> RawValue:
    """Return *value*, marked as optimised out if it is in *gone*."""
    if (value.expression or value.name) not in gone:
        return value
    return replace(value, text=GONE, ref=0, opaque=False, failed=False, count=None)


def optimized(program: str) -> Optimized:
    """Return which parts of *program* were optimised; none if it is not ELF or that is unknown."""
    try:
        return _optimized(program, os.stat(program).st_mtime_ns)
    except OSError:
        return Optimized()


@functools.lru_cache(maxsize=8)
def _optimized(program: str, stamp: int) -> Optimized:
    names = (".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str", ".debug_str_offsets")
    try:
        with files.mapped(program) as view:
            if not is_elf(view):
                return Optimized()
            found = dict(_Units(elf_sections(view, *names), byte_order(view)).optimized())
    except (OSError, ValueError, IndexError, KeyError, struct.error, zlib.error):
        return Optimized()
    units = {path: option for path, option in found.items() if option is not None}
    option = next(iter(units.values()), None)
    return Optimized(frozenset(units), option, len(units) < len(found))


class _Units:
    """The first entry of each compile unit, with its name and compiler."""

    def __init__(self, parts: dict[str, bytes], order: str) -> None:
        self._info = parts.get(".debug_info", b"")
        self._abbreviations = parts.get(".debug_abbrev", b"")
        self._strings = {
            0x0E: parts.get(".debug_str", b""),
            0x1F: parts.get(".debug_line_str", b""),
        }
        self._offsets = parts.get(".debug_str_offsets", b"")
        self._order = order
        self._lists: dict[int, bool] = {}

    def optimized(self) -> Iterator[tuple[str, str | None]]:
        """Yield the path of each unit that was or may be optimised, and gcc's option if known."""
        at = 0
        for _ in range(_MOST):
            if at >= len(self._info):
                return
            length, wide = self._number(at, 4), 4
            at += 4
            if length == 0xFFFFFFFF:
                length, wide = self._number(at, 8), 8
                at += 8
            end = at + length
            first = self._first(at, wide)
            at = end
            if first is None:
                continue
            table, entry = first
            producer = str(entry.get(_PRODUCER, ""))
            name = str(entry.get(_NAME, ""))
            path = os.path.normpath(os.path.join(str(entry.get(_DIRECTORY, "")), name))
            if path.startswith(_TOOLCHAIN):
                continue
            if producer.startswith("GNU "):
                if (option := _GCC.match(producer)) is not None:
                    yield path, option[1]
            elif self._has_lists(table):
                yield path, None

    def _first(self, at: int, wide: int) -> tuple[int, dict[int, int | str]] | None:
        version = self._number(at, 2)
        at += 2
        kind = 1
        if version >= 5:
            kind, size = self._number(at, 1), self._number(at + 1, 1)
            table = self._number(at + 2, wide)
            at += 2 + wide + _MORE_HEADER.get(kind, 0)
        else:
            table, size = self._number(at, wide), self._number(at + wide, 1)
            at += wide + 1
        code, at = read_leb(self._info, at)
        attributes = next(
            (
                attributes
                for number, tag, attributes in self._table(table)
                if number == code and tag == _COMPILE_UNIT
            ),
            None,
        )
        if attributes is None:
            return None
        entry: dict[int, int | str] = {}
        later: dict[int, int] = {}
        for attribute, form in attributes:
            value, at, indexed = self._value(form, at, wide, size)
            if indexed:
                later[attribute] = int(value)
            else:
                entry[attribute] = value
        base = int(entry.get(_STR_OFFSETS, 8))
        for attribute, index in later.items():
            (offset,) = struct.unpack_from(
                self._order + ("I" if wide == 4 else "Q"), self._offsets, base + index * wide
            )
            entry[attribute] = self._string(0x0E, offset)
        return table, entry

    def _table(self, at: int) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        data = self._abbreviations
        while True:
            code, at = read_leb(data, at)
            if not code:
                return
            tag, at = read_leb(data, at)
            at += 1
            attributes = []
            while True:
                attribute, at = read_leb(data, at)
                form, at = read_leb(data, at)
                if form == _IMPLICIT:
                    _, at = read_leb(data, at)
                if not attribute and not form:
                    break
                attributes.append((attribute, form))
            yield code, tag, attributes

    def _has_lists(self, table: int) -> bool:
        if table not in self._lists:
            self._lists[table] = any(
                tag in (_VARIABLE, _PARAMETER)
                and any(name == _LOCATION and form in _LISTS for name, form in attributes)
                for _, tag, attributes in self._table(table)
            )
        return self._lists[table]

    def _value(self, form: int, at: int, wide: int, size: int) -> tuple[int | str, int, bool]:
        """Return an attribute's value, the offset behind it, and whether it is a string index."""
        if form in self._strings:
            return self._string(form, self._number(at, wide)), at + wide, False
        if form == 0x08:
            end = self._info.index(b"\0", at)
            return self._info[at:end].decode("utf-8", "replace"), end + 1, False
        if form in _INDEXES:
            width = _INDEXES[form]
            if not width:
                number, at = read_leb(self._info, at)
                return number, at, True
            data = self._info[at : at + width]
            number = int.from_bytes(data, "little" if self._order == "<" else "big")
            return number, at + width, True
        if form == 0x01:
            return self._number(at, size), at + size, False
        if form in _OFFSETS:
            return self._number(at, wide), at + wide, False
        if form in _LEBS:
            number, at = read_leb(self._info, at)
            return number, at, False
        if form in (0x09, 0x18):
            number, at = read_leb(self._info, at)
            return 0, at + number, False
        if form in (0x0A, 0x03, 0x04):
            width = {0x0A: 1, 0x03: 2, 0x04: 4}[form]
            return 0, at + width + self._number(at, width), False
        return 0, at + _FIXED[form], False

    def _string(self, form: int, at: int) -> str:
        strings = self._strings[form]
        return strings[at : strings.index(b"\0", at)].decode("utf-8", "replace")

    def _number(self, at: int, size: int) -> int:
        kind = {1: "B", 2: "H", 4: "I", 8: "Q"}[size]
        (number,) = struct.unpack_from(self._order + kind, self._info, at)
        return int(number)
