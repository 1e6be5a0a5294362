"""Parse GDB/MI: bytes in, records out. No I/O.

A line is a result (`12^done,…`), an async record (`*stopped,…`, `=thread-created,…`), stream text
(`~"…"`, `@"…"`, `&"…"`) or a prompt. Any other line was not written by the debugger and is kept as
`UnparsedLine`.
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
#: a longer line is not a record of any command we send
MAX_LINE = 64 << 20
#: maximum digits of a token
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Result:
    """The result of the command with *token*."""

    token: int | None
    #: done, running, connected, error, exit
    kind: str
    fields: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Async:
    """An async record; `prefix` is `*` (execution), `=` (notification) or `+` (progress)."""

    prefix: str
    kind: str
    fields: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """Stream text: `console`, `target` (output of a remote program) or `log`."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class MiPrompt:
    """The debugger is ready for commands."""


@dataclass(frozen=True, slots=True)
class UnparsedLine:
    """A line that is not a record."""

    text: str


Record = Result | Async | StreamRecord | MiPrompt | UnparsedLine


class MiReader:
    """Splits bytes into records; *prompt* is the debugger's prompt, without blanks."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._rest = bytearray()
        self._too_long = False

    @property
    def partial(self) -> bool:
        """Whether the bytes so far end in the middle of a line."""
        return bool(self._rest)

    def feed(self, data: bytes) -> Iterator[Record]:
        """Yield every completed record."""
        if b"\n" not in data:
            # Do not search a long line again for its end with each new piece.
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
            # Too long for a record: skip the rest of the line.
            self._too_long = True
            self._rest.clear()


def read(line: str, prompt: str = "") -> Record:
    """Return the record on a line. Never raises: an unparsable line is a `UnparsedLine`."""
    if prompt and line.rstrip() == prompt:
        return MiPrompt()
    position = 0
    while position < len(line) and line[position] in "0123456789":
        position += 1
    if position > _DIGITS:
        return UnparsedLine(line)
    token = int(line[:position]) if position else None
    prefix = line[position : position + 1]
    try:
        if prefix and prefix in _STREAMS:
            text, end = _string(line, position + 1)
            return StreamRecord(_STREAMS[prefix], text) if end == len(line) else UnparsedLine(line)
        if prefix and prefix in "^*=+":
            kind, _, _ = line[position + 1 :].partition(",")
            if not kind or not all(c.isalnum() or c in "-_" for c in kind):
                return UnparsedLine(line)
            fields, end = _fields(line, position + 1 + len(kind))
            if end != len(line):
                return UnparsedLine(line)
            return Result(token, kind, fields) if prefix == "^" else Async(prefix, kind, fields)
    except RecursionError:
        if prefix == "^":
            # The sender of the command must get an answer.
            return Result(token, "error", {"msg": "the debugger's answer is nested too deeply"})
    except (IndexError, ValueError):
        pass
    return UnparsedLine(line)


# --- the grammar --------------------------------------------------------------------------------


def _fields(text: str, position: int) -> tuple[Fields, int]:
    """Parse zero or more `,name=value`. A bare value is kept under its index."""
    fields: Fields = {}
    while position < len(text) and text[position] == ",":
        position = _pair(text, position + 1, fields)
    return fields, position


def _pair(text: str, position: int, into: Fields) -> int:
    if text[position] in '"{[':
        # MI before version 3 writes further locations after a breakpoint, without a name.
        value, position = _value(text, position)
        into[str(len(into))] = value
        return position
    name, position = _name(text, position)
    value, position = _value(text, position)
    if name in into:
        # A repeated name (`frame=…,frame=…`) is an ordered list in every version of MI.
        kept = into[name]
        if not isinstance(kept, _Repeated):
            kept = into[name] = _Repeated([kept])
        kept.append(value)
    else:
        into[name] = value
    return position


class _Repeated(list[Any]):
    """Values of a repeated name, as distinct from a list in the input."""


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
                # `[frame={…},frame={…}]`: the name of an element carries no information.
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
    """Parse a C string. Escaped bytes are decoded as UTF-8; invalid bytes become U+FFFD."""
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
    """Return the end of the run of unescaped characters that begins at *position*."""
    run = _ORDINARY.match(text, position)
    return position if run is None else run.end()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _clean(text: str) -> str:
    return text if text.isascii() else _bytes(text).decode("utf-8", "replace")


def quote(text: str) -> str:
    """Return *text* as a C string that the debugger reads back unchanged."""
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
