"""The source files of a native program, from its debug information, and those of an archive.

Reads the headers of an ELF program's line tables (DWARF 2 to 5), and the tags of its entries.
"""

from __future__ import annotations

import functools
import itertools
import mmap
import os
import struct
import zlib
from collections.abc import Iterator

from freezeframe import files

from .elf import byte_order, elf_sections, is_elf, read_leb

#: DW_TAG_base_type, and DW_FORM_implicit_const, whose value is in the abbreviation.
_BASE_TYPE, _IMPLICIT = 0x24, 0x21
#: Sizes of fixed-size forms in a file table (DWARF 5).
_SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
_STRING, _STRP, _LINE_STRP, _UDATA, _BLOCK = 0x08, 0x0E, 0x1F, 0x0F, 0x09
_PATH, _DIRECTORY = 1, 2
#: Most names read from one program, to bound the wait: each is repeated many times.
_MOST = 500_000


def source_files(program: str) -> tuple[str, ...]:
    """Return the paths of the source files of *program*, as far as they are known.

    Relative names are searched in the directories above the program. Those of a Python archive
    have its path before theirs. () for another file, or one without debug information.
    """
    try:
        return _source_files(program, os.stat(program).st_mtime_ns)
    except OSError:
        return ()


@functools.lru_cache(maxsize=8)
def _source_files(program: str, stamp: int) -> tuple[str, ...]:
    try:
        with files.mapped(program) as view:
            if not is_elf(view):
                return _archived(program)
            named = dict.fromkeys(itertools.islice(_Lines(view).files(), _MOST))
    except (OSError, ValueError, IndexError, KeyError, struct.error, zlib.error):
        return ()
    return tuple(dict.fromkeys(_absolute(name, program) for name in named))


def _archived(program: str) -> tuple[str, ...]:
    import zipfile  # few programs are archives

    if not zipfile.is_zipfile(program):
        return ()
    try:
        with zipfile.ZipFile(program) as archive:
            names = [each for each in archive.namelist() if each.endswith(".py")]
    except (OSError, ValueError, zipfile.BadZipFile):
        return ()
    return tuple(os.path.join(program, os.path.normpath(each)) for each in names[:_MOST])


def _absolute(name: str, program: str) -> str:
    if os.path.isabs(name):
        return os.path.normpath(name)
    above = os.path.dirname(os.path.realpath(program))
    while not os.path.isfile(path := os.path.join(above, name)):
        if above == (above := os.path.dirname(above)):
            return name
    return os.path.normpath(path)


def has_types(program: str) -> bool:
    """Whether a program's debug information has types, and so variables, not only lines."""
    try:
        return _has_types(program, os.stat(program).st_mtime_ns)
    except OSError:
        return False


@functools.lru_cache(maxsize=8)
def _has_types(program: str, stamp: int) -> bool:
    try:
        with files.mapped(program) as view:
            if not is_elf(view):
                return False
            abbreviations = elf_sections(view, ".debug_abbrev").get(".debug_abbrev", b"")
        return _BASE_TYPE in _tags(abbreviations)
    except (OSError, ValueError, IndexError, struct.error, zlib.error):
        return False


def _tags(abbreviations: bytes) -> Iterator[int]:
    """Yield the tags of the abbreviations in `.debug_abbrev`."""
    at = 0
    while at < len(abbreviations):
        code, at = read_leb(abbreviations, at)
        if not code:
            continue
        tag, at = read_leb(abbreviations, at)
        yield tag
        at += 1
        attribute = form = 1
        while attribute or form:
            attribute, at = read_leb(abbreviations, at)
            form, at = read_leb(abbreviations, at)
            if form == _IMPLICIT:
                _, at = read_leb(abbreviations, at)


class _Lines:
    """The line tables of a program, read sequentially."""

    def __init__(self, view: mmap.mmap) -> None:
        self._order = byte_order(view)
        sections = elf_sections(view, ".debug_line", ".debug_str", ".debug_line_str")
        self._data = sections.get(".debug_line", b"")
        self._strings = {
            _STRP: sections.get(".debug_str", b""),
            _LINE_STRP: sections.get(".debug_line_str", b""),
        }
        self._at = 0
        self._wide = False

    def files(self) -> Iterator[str]:
        while self._at < len(self._data):
            length = self._number(4)
            self._wide = length == 0xFFFFFFFF
            if self._wide:
                length = self._number(8)
            end = self._at + length
            yield from self._unit()
            self._at = end

    def _unit(self) -> Iterator[str]:
        version = self._number(2)
        if version >= 5:
            self._at += 2
        self._number(8 if self._wide else 4)
        self._at += 5 if version >= 4 else 4
        opcodes = self._number(1) - 1
        self._at += opcodes
        if version >= 5:
            directories = [str(entry.get(_PATH, "")) for entry in self._entries()]
            files = [(str(e.get(_PATH, "")), int(e.get(_DIRECTORY, 0))) for e in self._entries()]
        else:
            directories, files = ["", *self._old_directories()], list(self._old_files())
        for name, index in files:
            yield os.path.join(directories[0] if directories else "", directories[index], name)

    def _entries(self) -> Iterator[dict[int, int | str]]:
        """Yield the entries of a DWARF 5 table, whose format precedes them."""
        shape = [(self._leb(), self._leb()) for _ in range(self._number(1))]
        for _ in range(self._leb()):
            yield {content: self._value(form) for content, form in shape}

    def _value(self, form: int) -> int | str:
        if form in self._strings:
            begin = self._number(8 if self._wide else 4)
            strings = self._strings[form]
            return strings[begin : strings.index(b"\0", begin)].decode("utf-8", "replace")
        if form == _STRING:
            return self._string()
        if form == _UDATA:
            return self._leb()
        if form == _BLOCK:
            size = self._leb()
            self._at += size
            return 0
        size = _SIZES[form]
        if size == 16:
            self._at += size
            return 0
        return self._number(size)

    def _old_directories(self) -> Iterator[str]:
        while name := self._string():
            yield name

    def _old_files(self) -> Iterator[tuple[str, int]]:
        while name := self._string():
            directory, _, _ = self._leb(), self._leb(), self._leb()
            yield name, directory

    def _number(self, size: int) -> int:
        kind = {1: "B", 2: "H", 4: "I", 8: "Q"}[size]
        (number,) = struct.unpack_from(self._order + kind, self._data, self._at)
        self._at += size
        return int(number)

    def _leb(self) -> int:
        number, self._at = read_leb(self._data, self._at)
        return number

    def _string(self) -> str:
        end = self._data.index(b"\0", self._at)
        text = self._data[self._at : end].decode("utf-8", "replace")
        self._at = end + 1
        return text
