"""The debug information of a bytecode program: its events, and the names visible at each.

The compiler writes it for the debugger (`-g`): for each module a list of events. An event is an
address in the code, with its source lines, its function and the live variables.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from freezeframe import files

from . import marshal_format
from .marshal_format import Block, UnreadableValue, Value
from .statements import OcamlSource

_MAGIC = b"Caml1999X"
#: the largest program that is read, in bytes
_MAX_PROGRAM = 512 << 20
#: fields of an event
_POSITION, _MODULE, _LOCATION, _KIND, _FUNCTION = range(5)
#: fields after the function's name, which OCaml before 4.08 does not write
_INFO, _TYPES, _, _VARIABLES = range(4)
#: constructor tags: of a value in a typing environment, and of a local identifier
_NAMED, _LOCAL = 0, 0
#: directories that build systems copy sources into, and put programs beside them
_BUILDS = (os.path.join("_build", "default"), "_build")


class Kind(Enum):
    """Whether an event is before or after an expression, or is one that never stops."""

    BEFORE = "before"
    AFTER = "after"
    NEVER = "pseudo"


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is visible at an event."""

    name: str
    #: local to the function, not of the module
    local: bool
    #: a parameter, or at least on the stack
    stacked: bool


@dataclass(frozen=True, slots=True)
class DebugEvent:
    """One location in the code."""

    address: int
    module: str
    file: str
    line: int
    column: int
    #: the line of the call, for an event that a function returns to
    called: int
    #: first and last character of its expression
    start: int
    end: int
    kind: Kind
    #: a value was computed here, and can be printed
    yields: bool
    function: str
    #: the first event of its function
    enters: bool
    types: Value = field(repr=False)
    variables: Value = field(repr=False)

    def names(self) -> list[Name]:
        """Return the names visible here, the innermost first, each once."""
        stack = _stamps(_field(self.variables, 0))
        live = _stamps(self.variables)
        found: dict[str, Name] = {}
        for name, stamp in _typed(self.types):
            if name not in found:
                found[name] = Name(name, stamp in live, stamp in stack)
        return list(found.values())


@dataclass(frozen=True, slots=True)
class _Unit:
    """The events of one module, not parsed yet."""

    module: str
    #: offset of its code in the program's
    offset: int
    at: int
    folders: tuple[str, ...]


class BytecodeProgram:
    """The events of a bytecode program, parsed on demand.

    Raises UnreadableValue if there are none: it is not bytecode, or was built without `-g`.
    """

    def __init__(self, path: str, cwd: str) -> None:
        self.path = path
        self._cwd = cwd
        self._data = _debug_section(files.read_bytes(path, _MAX_PROGRAM))
        self._units = list(_units(self._data))
        self._read: dict[str, list[DebugEvent]] = {}
        self._files: dict[tuple[str, str], str] = {}
        self._sources: dict[str, OcamlSource] = {}
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
        """Whether a module is not the user's."""
        unit = next((each for each in self._units if each.module == module), None)
        return unit is None or any(folder in self._libraries for folder in unit.folders[:1])

    def events(self, module: str) -> list[DebugEvent]:
        """Return the events of a module in the order of its code."""
        found = self._read.get(module)
        if found is None:
            units = [unit for unit in self._units if unit.module == module]
            found = [event for unit in units for event in self._events(unit)]
            found.sort(key=lambda event: event.address)
            if not self.is_library(module):
                found = [self._as_before_next(event) for event in found]
            self._read[module] = found
        return found

    def _as_before_next(self, event: DebugEvent) -> DebugEvent:
        """Return an event after a statement as one before the next statement.

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

    def _source(self, path: str) -> OcamlSource:
        if path not in self._sources:
            try:
                text = files.read_bytes(path)
            except OSError:
                text = b""
            self._sources[path] = OcamlSource(text)
        return self._sources[path]

    def at(self, address: int) -> DebugEvent | None:
        """Return the event at an address of the code."""
        below = [unit for unit in self._units if unit.offset <= address]
        if not below:
            return None
        unit = max(below, key=lambda unit: unit.offset)
        here = [each for each in self.events(unit.module) if each.address == address]
        # Of several events at one address, take the one that stops.
        return min(here, key=lambda event: event.kind is Kind.NEVER, default=None)

    def file_of(self, event: DebugEvent) -> str:
        """Return the absolute path of an event's source file, even if it does not exist."""
        key = event.module, event.file
        if key not in self._files:
            self._files[key] = self._find(event)
        return self._files[key]

    def _find(self, event: DebugEvent) -> str:
        unit = next(unit for unit in self._units if unit.module == event.module)
        if os.path.isabs(event.file):
            candidates = [event.file]
        else:
            directory = os.path.dirname(os.path.realpath(self.path))
            folders = [*unit.folders, self._cwd, *_upwards(directory)]
            candidates = [os.path.normpath(os.path.join(self._cwd, f, event.file)) for f in folders]
            candidates += [os.path.join(folder, os.path.basename(event.file)) for folder in folders]
        found = next((each for each in candidates if os.path.isfile(each)), candidates[0])
        original = _original(found)
        return original if os.path.isfile(original) else found

    def modules_of(self, path: str) -> list[str]:
        """Return the modules that contain code of a source file."""
        requested = os.path.realpath(path)
        stem = os.path.splitext(os.path.basename(path))[0].lower()
        # A module is named after its file, with a prefix of the build system.
        likely = [name for name in self.modules if name.lower().rpartition("__")[2] == stem]
        return [
            name
            for name in likely
            if any(
                os.path.realpath(self.file_of(event)) == requested
                for event in self.events(name)
                if event.kind is not Kind.NEVER
            )
        ]

    def owner(self, event: DebugEvent) -> DebugEvent | None:
        """Return the first event of an event's function; None in top-level code."""
        best: DebugEvent | None = None
        for each in self.events(event.module):
            if each.address > event.address:
                break
            if each.enters:
                best = each
        return best if best is not None and best.function == event.function else None

    def _events(self, unit: _Unit) -> Iterator[DebugEvent]:
        rest = marshal_format.read(self._data, unit.at)
        while isinstance(rest, Block) and len(rest.fields) == 2:
            event, rest = rest.fields
            yield _event(event, unit)


def _debug_section(data: bytes) -> bytes:
    at = data.rfind(_MAGIC, max(0, len(data) - 64))
    if at < 4:
        raise UnreadableValue("it is not bytecode")
    (count,) = struct.unpack_from(">I", data, at - 4)
    start = end = at - 4 - 8 * count
    table = [struct.unpack_from(">4sI", data, end + 8 * each) for each in range(count)]
    for name, size in reversed(table):
        start, end = start - size, start
        if name == b"DBUG":
            return data[start:end]
    raise UnreadableValue("it was built without debug information (`-g`)")


def _units(data: bytes) -> Iterator[_Unit]:
    (count,) = struct.unpack_from(">I", data, 0)
    at = 4
    for _ in range(count):
        (offset,) = struct.unpack_from(">I", data, at)
        body, end = marshal_format.extent(data, at + 4)
        folders = marshal_format.read(data, end)
        module = _first_module(data, body)
        if module is not None:
            yield _Unit(module, offset, at + 4, tuple(_strings(folders)))
        at = marshal_format.extent(data, end)[1]


def _first_module(data: bytes, at: int) -> str | None:
    """Return the module of a list of events, from its first event."""
    # A list, an event, its position, and then the name.
    first = marshal_format.peek(data, at, 4)
    found = [each for each in first if isinstance(each, bytes)]
    return found[0].decode("utf-8", "replace") if found else None


def _event(raw: Value, unit: _Unit) -> DebugEvent:
    if not isinstance(raw, Block) or len(raw.fields) < 10:
        raise UnreadableValue("its debug information is of an unknown version")
    fields = raw.fields
    named = len(fields) > 10
    rest = fields[_FUNCTION + 1 :] if named else fields[_FUNCTION:]
    position = _field(fields[_LOCATION], 0)
    kind, info = fields[_KIND], rest[_INFO]
    start, line_start = _int(_field(position, 3)), _int(_field(position, 2))
    return DebugEvent(
        unit.offset + _int(fields[_POSITION]),
        unit.module,
        _text(_field(position, 0)),
        _int(_field(position, 1)),
        start - line_start + 1,
        _int(_field(position, 1)),
        start,
        _int(_field(_field(fields[_LOCATION], 1), 3)),
        Kind.AFTER if isinstance(kind, Block) else (Kind.NEVER if kind else Kind.BEFORE),
        isinstance(kind, Block),
        _text(fields[_FUNCTION]) if named else unit.module,
        info == 0 and not isinstance(info, Block),
        rest[_TYPES],
        rest[_VARIABLES],
    )


def _typed(types: Value) -> Iterator[tuple[str, int]]:
    """Return names and stamps of values in a typing environment, the innermost first."""
    while isinstance(types, Block) and types.fields:
        if types.tag == _NAMED and len(types.fields) > 1:
            ident = types.fields[1]
            if isinstance(ident, Block) and ident.tag == _LOCAL and len(ident.fields) == 2:
                yield _text(ident.fields[0]), _int(ident.fields[1])
        types = types.fields[0]


def _stamps(variables: Value) -> set[int]:
    """Return the stamps of all names in a table of the compiler, whatever its structure."""
    found = set()
    unread = [variables]
    while unread:
        each = unread.pop()
        if not isinstance(each, Block):
            continue
        if len(each.fields) == 2 and isinstance(each.fields[0], bytes):
            found.add(_int(each.fields[1]))
        unread += each.fields
    return found


def _field(value: Value, index: int) -> Value:
    return value.fields[index] if isinstance(value, Block) and index < len(value.fields) else 0


def _int(value: Value) -> int:
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
    """Return the user's file, of which a build system has made a copy."""
    for build in _BUILDS:
        before, found, after = path.partition(f"{os.sep}{build}{os.sep}")
        if found:
            return os.path.join(before, after)
    return path
