"""What a bytecode program says of itself: every place where it can stand, and the names there.

The compiler leaves it in the program for the debugger (`-g`): for each module a list of events, a
place in the code each, with its lines, its function and the variables that live there.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from freezeframe import files

from . import marshalled
from .marshalled import Block, Unreadable, Value
from .source import Source

_MAGIC = b"Caml1999X"
#: the largest program that is read, in bytes
_MAX_PROGRAM = 512 << 20
#: fields of an event
_POSITION, _MODULE, _PLACE, _KIND, _FUNCTION = range(5)
#: behind the function's name, which OCaml before 4.08 does not write
_INFO, _TYPES, _, _VARIABLES = range(4)
#: the constructor of a name in a typing environment; a name's that belongs to one module
_NAMED, _LOCAL = 0, 0
#: folders that builds put copies of sources into, and programs beside them
_BUILDS = (os.path.join("_build", "default"), "_build")


class Kind(Enum):
    """Where an event lies: before an expression, or behind it; some are no place to stand."""

    BEFORE = "before"
    AFTER = "after"
    NEVER = "pseudo"


@dataclass(frozen=True, slots=True)
class Name:
    """A name that can be asked for at an event."""

    name: str
    #: it belongs to the function, not to the module
    local: bool
    #: it is a parameter, or at least on the stack
    stacked: bool


@dataclass(frozen=True, slots=True)
class Event:
    """One place in the code."""

    address: int
    module: str
    file: str
    line: int
    column: int
    #: the line of what was called there, of an event that a function returns to
    called: int
    #: first and last character of what it is about
    start: int
    end: int
    kind: Kind
    #: something was computed here, and can be looked at
    yields: bool
    function: str
    #: the first of its function
    enters: bool
    types: Value = field(repr=False)
    variables: Value = field(repr=False)

    def names(self) -> list[Name]:
        """Return the names that mean something here, the innermost first, each once."""
        stack = _stamps(_part(self.variables, 0))
        living = _stamps(self.variables)
        found: dict[str, Name] = {}
        for name, stamp in _typed(self.types):
            if name not in found:
                found[name] = Name(name, stamp in living, stamp in stack)
        return list(found.values())


@dataclass(frozen=True, slots=True)
class _Unit:
    """The events of one module, not yet read."""

    module: str
    #: of its code in the program's
    offset: int
    at: int
    folders: tuple[str, ...]


class Program:
    """The events of a bytecode program, read as far as they are asked for.

    Raises Unreadable where there are none: it is no bytecode, or was built without `-g`.
    """

    def __init__(self, path: str, cwd: str) -> None:
        self.path = path
        self._cwd = cwd
        self._data = _debug_section(files.read_bytes(path, _MAX_PROGRAM))
        self._units = list(_units(self._data))
        self._read: dict[str, list[Event]] = {}
        self._files: dict[tuple[str, str], str] = {}
        self._sources: dict[str, Source] = {}
        self._libraries = {
            folder
            for unit in self._units
            if unit.module in ("Stdlib", "CamlinternalFormatBasics")
            for folder in unit.folders
        }

    @property
    def modules(self) -> list[str]:
        return [unit.module for unit in self._units]

    def is_library(self, module: str) -> bool:
        """Whether a module is none of the user's own."""
        unit = next((each for each in self._units if each.module == module), None)
        return unit is None or any(folder in self._libraries for folder in unit.folders[:1])

    def events(self, module: str) -> list[Event]:
        """Return the events of a module in the order of its code."""
        found = self._read.get(module)
        if found is None:
            units = [unit for unit in self._units if unit.module == module]
            found = [event for unit in units for event in self._events(unit)]
            found.sort(key=lambda event: event.address)
            if not self.is_library(module):
                found = [self._settled(event) for event in found]
            self._read[module] = found
        return found

    def _settled(self, event: Event) -> Event:
        """Return an event behind a statement as what it is: before the next statement.

        The compiler writes one event where one call ends and the next statement begins.
        """
        if event.kind is not Kind.AFTER:
            return event
        source = self._source(self.file_of(event))
        found = source.following(event.end)
        if found is None:
            return event
        at, column = found
        line = event.line + source.lines(event.start, at)
        return replace(event, line=line, column=column, start=at, end=at, kind=Kind.BEFORE)

    def _source(self, path: str) -> Source:
        if path not in self._sources:
            try:
                text = files.read_bytes(path)
            except OSError:
                text = b""
            self._sources[path] = Source(text)
        return self._sources[path]

    def at(self, address: int) -> Event | None:
        """Return the event at an address of the code."""
        below = [unit for unit in self._units if unit.offset <= address]
        if not below:
            return None
        unit = max(below, key=lambda unit: unit.offset)
        here = [each for each in self.events(unit.module) if each.address == address]
        # Of several at one address, the one to stand at.
        return min(here, key=lambda event: event.kind is Kind.NEVER, default=None)

    def file_of(self, event: Event) -> str:
        """Return the source file of an event, absolute; where it should be, if it is not there."""
        key = event.module, event.file
        if key not in self._files:
            self._files[key] = self._find(event)
        return self._files[key]

    def _find(self, event: Event) -> str:
        unit = next(unit for unit in self._units if unit.module == event.module)
        if os.path.isabs(event.file):
            places = [event.file]
        else:
            beside = os.path.dirname(os.path.realpath(self.path))
            folders = [*unit.folders, self._cwd, *_upwards(beside)]
            places = [os.path.normpath(os.path.join(self._cwd, f, event.file)) for f in folders]
            places += [os.path.join(folder, os.path.basename(event.file)) for folder in folders]
        found = next((place for place in places if os.path.isfile(place)), places[0])
        original = _original(found)
        return original if os.path.isfile(original) else found

    def modules_of(self, path: str) -> list[str]:
        """Return the modules that have code of a source file."""
        wanted = os.path.realpath(path)
        stem = os.path.splitext(os.path.basename(path))[0].lower()
        # A module is called like its file, with what a build system puts before it.
        likely = [name for name in self.modules if name.lower().rpartition("__")[2] == stem]
        return [
            name
            for name in likely
            if any(
                os.path.realpath(self.file_of(event)) == wanted
                for event in self.events(name)
                if event.kind is not Kind.NEVER
            )
        ]

    def owner(self, event: Event) -> Event | None:
        """Return where the function begins that an event is in; None in a module's own code."""
        best: Event | None = None
        for each in self.events(event.module):
            if each.address > event.address:
                break
            if each.enters:
                best = each
        return best if best is not None and best.function == event.function else None

    def _events(self, unit: _Unit) -> Iterator[Event]:
        rest = marshalled.read(self._data, unit.at)
        while isinstance(rest, Block) and len(rest.fields) == 2:
            told, rest = rest.fields
            yield _event(told, unit)


def _debug_section(data: bytes) -> bytes:
    at = data.rfind(_MAGIC, max(0, len(data) - 64))
    if at < 4:
        raise Unreadable("it is no bytecode")
    (count,) = struct.unpack_from(">I", data, at - 4)
    start = end = at - 4 - 8 * count
    table = [struct.unpack_from(">4sI", data, end + 8 * each) for each in range(count)]
    for name, size in reversed(table):
        start, end = start - size, start
        if name == b"DBUG":
            return data[start:end]
    raise Unreadable("it was built without debug information (`-g`)")


def _units(data: bytes) -> Iterator[_Unit]:
    (count,) = struct.unpack_from(">I", data, 0)
    at = 4
    for _ in range(count):
        (offset,) = struct.unpack_from(">I", data, at)
        body, end = marshalled.extent(data, at + 4)
        folders = marshalled.read(data, end)
        module = _first_module(data, body)
        if module is not None:
            yield _Unit(module, offset, at + 4, tuple(_strings(folders)))
        at = marshalled.extent(data, end)[1]


def _first_module(data: bytes, at: int) -> str | None:
    """Return the module of a list of events, of which only the first is looked at."""
    # A list, an event, its position, and then the name.
    first = marshalled.peek(data, at, 4)
    found = [each for each in first if isinstance(each, bytes)]
    return found[0].decode("utf-8", "replace") if found else None


def _event(told: Value, unit: _Unit) -> Event:
    if not isinstance(told, Block) or len(told.fields) < 10:
        raise Unreadable("its debug information is of an unknown version")
    fields = told.fields
    named = len(fields) > 10
    rest = fields[_FUNCTION + 1 :] if named else fields[_FUNCTION:]
    place = _part(fields[_PLACE], 0)
    kind, info = fields[_KIND], rest[_INFO]
    start, line_start = _whole(_part(place, 3)), _whole(_part(place, 2))
    return Event(
        unit.offset + _whole(fields[_POSITION]),
        unit.module,
        _text(_part(place, 0)),
        _whole(_part(place, 1)),
        start - line_start + 1,
        _whole(_part(place, 1)),
        start,
        _whole(_part(_part(fields[_PLACE], 1), 3)),
        Kind.AFTER if isinstance(kind, Block) else (Kind.NEVER if kind else Kind.BEFORE),
        isinstance(kind, Block),
        _text(fields[_FUNCTION]) if named else unit.module,
        info == 0 and not isinstance(info, Block),
        rest[_TYPES],
        rest[_VARIABLES],
    )


def _typed(types: Value) -> Iterator[tuple[str, int]]:
    """Walk a typing environment: names and stamps of values, the innermost first."""
    while isinstance(types, Block) and types.fields:
        if types.tag == _NAMED and len(types.fields) > 1:
            ident = types.fields[1]
            if isinstance(ident, Block) and ident.tag == _LOCAL and len(ident.fields) == 2:
                yield _text(ident.fields[0]), _whole(ident.fields[1])
        types = types.fields[0]


def _stamps(variables: Value) -> set[int]:
    """Return the stamps of all names in a compiler's table, however it is built."""
    found = set()
    unread = [variables]
    while unread:
        each = unread.pop()
        if not isinstance(each, Block):
            continue
        if len(each.fields) == 2 and isinstance(each.fields[0], bytes):
            found.add(_whole(each.fields[1]))
        unread += each.fields
    return found


def _part(value: Value, index: int) -> Value:
    return value.fields[index] if isinstance(value, Block) and index < len(value.fields) else 0


def _whole(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _text(value: Value) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _strings(value: Value) -> Iterator[str]:
    while isinstance(value, Block) and len(value.fields) == 2:
        yield _text(value.fields[0])
        value = value.fields[1]


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _original(path: str) -> str:
    """Return the user's own file, of which a build has made a copy."""
    for build in _BUILDS:
        before, found, after = path.partition(f"{os.sep}{build}{os.sep}")
        if found:
            return os.path.join(before, after)
    return path
