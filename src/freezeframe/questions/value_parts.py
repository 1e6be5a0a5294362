"""The parts of a value by its text: elements of `[1, 2]`, fields of `Point(x=1, y=2)`.

Texts are bounded and made by others: whatever cannot be read has no parts.
"""

from __future__ import annotations

from collections.abc import Mapping

from .text_spans import plain_text

_OPENING, _CLOSING = "([{<", ")]}>"
_MOST_PARTS = 10_000


def split(text: str) -> list[str] | None:
    """Return what is between the outer brackets of *text*, split at commas; None: no brackets."""
    begin = next((i for i, char in enumerate(text) if char in "([{"), -1)
    if begin < 0 or text[-1] != _CLOSING[_OPENING.index(text[begin])]:
        return None
    end = len(text) - 1
    commas, balanced = _find(",", text, begin + 1, end)
    if not balanced or len(commas) > _MOST_PARTS:
        return None
    starts = [begin + 1, *(comma + 1 for comma in commas)]
    parts = [text[a:b].strip() for a, b in zip(starts, [*commas, end], strict=True)]
    return parts if parts[-1] else parts[:-1]


def _find(mark: str, text: str, begin: int, end: int) -> tuple[list[int], bool]:
    """Return where *mark* is outside of quotes and brackets, and whether those are balanced."""
    found: list[int] = []
    depth, lowest, quote, index = 0, 0, "", begin
    while index < end:
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING and not (char == ">" and text[index - 1] in "-="):
            depth -= 1
            lowest = min(lowest, depth)
        elif char == mark and depth == 0:
            found.append(index)
        index += 1
    return found, not quote and depth == lowest == 0


def parts_of(text: str) -> dict[str, str] | None:
    """Return the parts of a value by name (`[2]`, `['rate']`, `.x`) in order; None: it has none.

    A text that was cut has none after the cut.
    """
    pieces = split(text)
    if pieces is None:
        return None
    opening = next(char for char in text if char in "([{")
    found: dict[str, str] = {}
    for index, piece in enumerate(pieces):
        if piece.startswith(("…", "...")):
            break
        if opening == "{":
            key, value = _pair(piece, ":")
            if value is None:
                return None  # a set: its elements have no names
            found[f"[{key}]"] = value
        elif opening == "(" and not text.startswith("("):
            key, value = _pair(piece, "=")
            if value is None or not key.isidentifier():
                return None
            found[f".{key}"] = value
        else:
            found[f"[{index}]"] = piece
    return found


def with_parts(text: str, parts: Mapping[str, str]) -> str | None:
    """Return *text* with these parts in place of its own; None if they do not fit its form."""
    opening = next((char for char in text if char in "([{"), "")
    if not opening:
        return None
    closing = _CLOSING[_OPENING.index(opening)]
    if opening == "{":
        shown = [f"{name[1:-1]}: {value}" for name, value in parts.items() if name[0] == "["]
    elif opening == "(" and not text.startswith("("):
        shown = [f"{name[1:]}={value}" for name, value in parts.items() if name[0] == "."]
    else:
        shown = [parts[f"[{index}]"] for index in range(len(parts)) if f"[{index}]" in parts]
    if len(shown) != len(parts):
        return None
    return f"{text[: text.index(opening) + 1]}{', '.join(shown)}{closing}"


def elements_of(text: str) -> list[str]:
    """Return the texts of the elements, in order, of anything written with brackets."""
    return [piece for piece in split(text) or [] if not piece.startswith(("…", "..."))]


def index_of(part: str) -> int | None:
    """Return the index that the name of an element has: 2 of `[2]`."""
    return int(part[1:-1]) if part[1:-1].isdigit() else None


def _pair(piece: str, mark: str) -> tuple[str, str | None]:
    found, _ = _find(mark, piece, 0, len(piece))
    if not found:
        return piece, None
    return piece[: found[0]].strip(), piece[found[0] + 1 :].strip()


def first_difference(actual: str, expected: str, *, depth: int = 6) -> tuple[str, ...]:
    """Return the path to the first part of *actual* that differs from *expected*.

    () means that the whole value differs, or that no part can be named.
    """
    if actual == expected or depth == 0:
        return ()
    mine, other = parts_of(actual), parts_of(expected)
    if mine is None or other is None or not mine:
        return ()
    if not mine.keys() & other.keys() and other:
        return ()  # a list in place of a dictionary: no part of it is the wrong one
    for name, text in mine.items():
        if name not in other:
            return (name,)
        if text != other[name]:
            return (name, *first_difference(text, other[name], depth=depth - 1))
    return ()


def is_zero(text: str) -> bool:
    try:
        return float(text) == 0
    except ValueError:
        return False


def truth(text: str) -> bool | None:
    """Return whether a value with this text counts as true; None: not known."""
    if text in (
        "None",
        "False",
        "false",
        "undefined",
        "''",
        '""',
        "[]",
        "{}",
        "()",
        "set()",
        "b''",
        "nil",
        "null",
    ):
        return False
    if text in ("True", "true"):
        return True
    try:
        return float(text) != 0
    except ValueError:
        pass
    if plain_text(text) is not None or split(text):
        return True if text[:1] in "'\"[{(" else None
    return None
