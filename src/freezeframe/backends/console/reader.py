"""GDB/MI, read: bytes in, records out. No I/O.

A line is a result (`12^done,…`), something that happened (`*stopped,…`, `=thread-created,…`), a
piece of text (`~"…"`, `@"…"`, `&"…"`) or a prompt. Whatever else stands on a line was not written
by the debugger: it is kept as `Stray`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Fields = dict[str, Any]

_ESCAPES = {
    "n": 10,
    "t": 9,
    "r": 13,
    "b": 8,
    "f": 12,
    "v": 11,
    "a": 7,
    "e": 27,
    '"': 34,
    "\\": 92,
    "'": 39,
}
_ORDINARY = re.compile(r'[^"\\]*')
_STREAMS = {"~": "console", "@": "target", "&": "log"}
#: A line longer than this is no record of anything that we asked for.
MAX_LINE = 64 << 20
#: digits of the number of a command, at most
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to the command that carried *token*."""

    token: int | None
    #: done, running, connected, error, exit
    kind: str
    fields: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Async:
    """Something happened; `mark` is `*` (execution), `=` (notification) or `+` (progress)."""

    mark: str
    kind: str
    fields: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """Words for a person: `console`, `target` (the program, through a remote) or `log`."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The debugger takes commands."""


@dataclass(frozen=True, slots=True)
class Stray:
    """A line that is no record."""

    text: str


Record = Result | Async | Text | Prompt | Stray


class Reader:
    """Collects bytes and gives records; *prompt* is the debugger's own, without blanks."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._rest = bytearray()
        self._too_long = False

    @property
    def partial(self) -> bool:
        """The bytes so far end in the middle of a line."""
        return bool(self._rest)

    def feed(self, data: bytes) -> Iterator[Record]:
        """Yield every record that is complete now."""
        if b"\n" not in data:
            # The end of a long line is looked for in what is new, not again in all of it.
            self._keep(data)
            return
        first, *lines = data.split(b"\n")
        self._keep(first)
        lines.insert(0, b"" if self._too_long else bytes(self._rest))
        self._rest, self._too_long = bytearray(), False
        self._keep(lines.pop())
        for line in lines:
            text = line.decode("utf-8", "surrogateescape").rstrip("\r")
            if text:
                yield read(text, self._prompt)

    def _keep(self, data: bytes) -> None:
        self._rest += data
        if len(self._rest) > MAX_LINE:
            # What is left of it is no record: it is skipped to its end.
            self._too_long = True
            self._rest.clear()


def read(line: str, prompt: str = "") -> Record:
    """Return the record that a line holds. Never raises: what cannot be read is a `Stray`."""
    if prompt and line.rstrip() == prompt:
        return Prompt()
    position = 0
    while position < len(line) and line[position] in "0123456789":
        position += 1
    if position > _DIGITS:
        return Stray(line)
    token = int(line[:position]) if position else None
    mark = line[position : position + 1]
    try:
        if mark and mark in _STREAMS:
            text, end = _string(line, position + 1)
            return Text(_STREAMS[mark], text) if end == len(line) else Stray(line)
        if mark and mark in "^*=+":
            kind, _, _ = line[position + 1 :].partition(",")
            if not kind or not all(c.isalnum() or c in "-_" for c in kind):
                return Stray(line)
            fields, end = _fields(line, position + 1 + len(kind))
            if end != len(line):
                return Stray(line)
            return Result(token, kind, fields) if mark == "^" else Async(mark, kind, fields)
    except RecursionError:
        if mark == "^":
            # Whoever asked gets an answer.
            return Result(token, "error", {"msg": "what the debugger told is nested too deeply"})
    except (IndexError, ValueError):
        pass
    return Stray(line)


# --- the grammar --------------------------------------------------------------------------------


def _fields(text: str, position: int) -> tuple[Fields, int]:
    """Read `,name=value` as often as it stands there. A bare value is kept under its number."""
    fields: Fields = {}
    while position < len(text) and text[position] == ",":
        position = _pair(text, position + 1, fields)
    return fields, position


def _pair(text: str, position: int, into: Fields) -> int:
    if text[position] in '"{[':
        # MI before version 3 writes the further places of a breakpoint behind it, without a name.
        value, position = _value(text, position)
        into[str(len(into))] = value
        return position
    name, position = _name(text, position)
    value, position = _value(text, position)
    if name in into:
        # A name that stands twice (`frame=…,frame=…`) is a list, in order, in every version.
        kept = into[name]
        if not isinstance(kept, _Again):
            kept = into[name] = _Again([kept])
        kept.append(value)
    else:
        into[name] = value
    return position


class _Again(list[Any]):
    """Values of a name that stood more than once; told from a list that was written as one."""


def _name(text: str, position: int) -> tuple[str, int]:
    end = text.index("=", position)
    return text[position:end], end + 1


def _value(text: str, position: int) -> tuple[Any, int]:
    opening = text[position]
    if opening == '"':
        return _string(text, position)
    if opening == "{":
        fields: Fields = {}
        position += 1
        if text[position] == "}":
            return fields, position + 1
        while True:
            position = _pair(text, position, fields)
            if text[position] == "}":
                return fields, position + 1
            position = _comma(text, position)
    if opening == "[":
        items: list[Any] = []
        position += 1
        if text[position] == "]":
            return items, position + 1
        while True:
            if text[position] not in '"{[':
                # `[frame={…},frame={…}]`: every element has a name, which says nothing more.
                _, position = _name(text, position)
            item, position = _value(text, position)
            items.append(item)
            if text[position] == "]":
                return items, position + 1
            position = _comma(text, position)
    raise ValueError(f"no value at {position}")


def _comma(text: str, position: int) -> int:
    if text[position] != ",":
        raise ValueError(f"no comma at {position}")
    return position + 1


def _string(text: str, position: int) -> tuple[str, int]:
    """Read a C string. Escaped bytes are put together to characters; bad ones become U+FFFD."""
    if text[position] != '"':
        raise ValueError(f"no string at {position}")
    start = position + 1
    position = _plain(text, start)
    if text[position] == '"':
        return _clean(text[start:position]), position + 1
    out = bytearray(_bytes(text[start:position]))
    while text[position] != '"':
        if text[position] != "\\":
            end = _plain(text, position)
            out += _bytes(text[position:end])
            position = end
            continue
        code = text[position + 1]
        if code in "01234567":
            end = position + 2
            while end < position + 4 and text[end] in "01234567":
                end += 1
            out.append(int(text[position + 1 : end], 8) & 0xFF)
            position = end
        else:
            out += bytes([_ESCAPES[code]]) if code in _ESCAPES else _bytes(code)
            position += 2
    return out.decode("utf-8", "replace"), position + 1


def _plain(text: str, position: int) -> int:
    """Return where the run of ordinary characters that begins at *position* ends."""
    run = _ORDINARY.match(text, position)
    return position if run is None else run.end()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _clean(text: str) -> str:
    return text if text.isascii() else _bytes(text).decode("utf-8", "replace")


def quote(text: str) -> str:
    """Return *text* as a C string that the debugger reads back as it is."""
    out = ['"']
    for character in text:
        if character in '"\\':
            out.append("\\" + character)
        elif character == "\n":
            out.append("\\n")
        elif ord(character) < 32 or ord(character) == 127:
            out.append(f"\\{ord(character):03o}")
        else:
            out.append(character)
    out.append('"')
    return "".join(out)
