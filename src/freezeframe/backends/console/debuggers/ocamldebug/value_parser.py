"""Parse values as the debugger prints them, `name: type = value`, and split them into parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from freezeframe.backends.backend import RawValue
from freezeframe.errors import EvaluationFailed

_PROMPT = re.compile(r"^\(ocd\) ", re.MULTILINE)
_PRINTED = re.compile(r"(?P<name>[^\s:]+):\s(?P<type>.*?)\s=\s(?P<text>.*)", re.DOTALL)
_UNBOUND = re.compile(r"Unbound (?:identifier|module|value) (?P<name>\S+)")
_OPENING, _CLOSING = "([{", ")]}"
#: brackets of arrays and lists, whose elements are numbered from 0
_LISTS = (("[|", "|]"), ("[", "]"))


def answers(text: str, count: int) -> list[str]:
    """Return the answers to several commands that were sent at once."""
    found = [each.strip() for each in _PROMPT.split(text)]
    return [*found, *[""] * count][:count]


def read(text: str, name: str | None = None) -> RawValue:
    """Return the value that one `print` has printed. Raises EvaluationFailed with its message."""
    found = _PRINTED.fullmatch(text.strip())
    if found is None:
        raise EvaluationFailed(error_message(text))
    shown = _flat(found["text"])
    type = _flat(found["type"])
    parts = split(shown)
    return RawValue(
        name or found["name"],
        shown,
        None if type.startswith("'") else type,
        1 if parts else 0,
        len(parts) if parts and parts[0].name == "0" and not parts[-1].cut else None,
        name or found["name"],
    )


def error_message(text: str) -> str:
    """Return the error message of a `print`, in one line."""
    message = " ".join(text.split())
    return message.removesuffix(".") or "it has no value here"


def unbound(text: str) -> bool:
    return _UNBOUND.match(text.strip()) is not None


def _flat(text: str) -> str:
    """Join lines that the debugger has wrapped; a printed string contains no line breaks."""
    return re.sub(r"\s*\n\s*", " ", text.strip())


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a value, named by its field or its number."""

    name: str
    text: str
    #: the suffix of an expression for the part; None if the debugger has none
    access: str | None
    #: more parts follow that were not printed
    cut: bool = False


def split(text: str) -> list[Part]:
    """Return the parts in the text of a record, tuple, list or array."""
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        return list(_fields(text[1:-1]))
    for opening, closing in _LISTS:
        if text.startswith(opening) and text.endswith(closing) and len(text) > 2:
            return _elements(text[len(opening) : -len(closing)], ";", 0)
    if text.startswith("(") and text.endswith(")") and _is_one(text):
        found = _elements(text[1:-1], ",", 1)
        return found if len(found) > 1 else []
    head = re.match(r"((?:[A-Z][\w']*\.)*[A-Z][\w']*) (?=\S)", text)
    if head is not None:
        inner = text[head.end() :]
        parts = split(inner) if inner.startswith("(") else []
        if not parts:
            return [Part("0", inner, None)]
        return [Part(str(number), part.text, None) for number, part in enumerate(parts)]
    return []


def _is_one(text: str) -> bool:
    """Whether the last bracket closes the first."""
    depth = 0
    for at, char in _bare(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if depth == 0:
            return at == len(text) - 1
    return False


def _bare(text: str) -> Iterator[tuple[int, str]]:
    """Return the characters outside of string and character literals, with their positions."""
    quoted = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.|\\\d{3})\'')
    at = 0
    while at < len(text):
        found = quoted.match(text, at)
        if found is not None:
            at = found.end()
            continue
        yield at, text[at]
        at += 1


def _cut_at(text: str, separator: str) -> Sequence[str]:
    pieces, start, depth = [], 0, 0
    for at, char in _bare(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if char == separator and depth == 0:
            pieces.append(text[start:at].strip())
            start = at + 1
    return [*pieces, text[start:].strip()]


def _fields(text: str) -> Iterator[Part]:
    for piece in _cut_at(text, ";"):
        name, equals, value = piece.partition(" = ")
        if equals:
            bare = name.strip().rpartition(".")[2]
            yield Part(bare, value.strip(), f".{bare}")


def _elements(text: str, separator: str, first: int) -> list[Part]:
    pieces = [piece for piece in _cut_at(text, separator) if piece]
    whole = [piece for piece in pieces if piece not in ("...", "…")]
    cut = len(whole) < len(pieces)
    return [
        Part(str(index), piece, f".({index + first})", cut) for index, piece in enumerate(whole)
    ]
