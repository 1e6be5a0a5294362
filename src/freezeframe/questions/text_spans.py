"""Which operand of a concatenation, a format string or a join wrote a character of the result."""

from __future__ import annotations

import ast
from collections.abc import Sequence

Span = tuple[int, int]


def plain_text(text: str) -> str | None:
    """Return the string that *text* denotes, None if it denotes none."""
    if text[:1] not in ("'", '"') or len(text) < 2:
        return None
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, str) else None


def known_text(text: str) -> tuple[str, bool] | None:
    """Return the string that *text* denotes, as far as it was recorded, and whether that is all."""
    whole = plain_text(text)
    if whole is not None:
        return whole, True
    if text[:1] not in ("'", '"') or "…" not in text:
        return None
    head = text[: text.index("…")].rstrip("\\")
    begin = plain_text(head + text[0])
    return (begin, False) if begin is not None else None


def first_offset(actual: str, expected: str) -> int | None:
    """Return where two strings begin to differ; None if that is not known."""
    mine, other = known_text(actual), known_text(expected)
    if mine is None or other is None:
        return None
    shorter = min(len(mine[0]), len(other[0]))
    for index in range(shorter):
        if mine[0][index] != other[0][index]:
            return index
    if len(mine[0]) == len(other[0]) or not (mine[1] and other[1]):
        return None
    return shorter


def spans(whole: str, parts: Sequence[str | None]) -> list[Span | None]:
    """Return where each part is in *whole*; a part whose text is unknown fills the gap.

    None for the parts from the first one on that does not fit.
    """
    found: list[Span | None] = [None] * len(parts)
    at = 0
    index = 0
    while index < len(parts):
        part = parts[index]
        if part is not None:
            if not whole.startswith(part, at):
                break
            found[index] = (at, at + len(part))
            at += len(part)
            index += 1
            continue
        if index + 1 == len(parts):
            found[index] = (at, len(whole))
            break
        after = parts[index + 1]
        end = whole.find(after, at) if after else -1
        if end < 0:
            break
        found[index] = (at, end)
        at = end
        index += 1
    return found


def covering(found: Sequence[Span | None], offset: int) -> list[int]:
    """Return the parts that may have written the character at *offset*, the likeliest first.

    An empty part at that offset may have left something out.
    """
    inside = [i for i, span in enumerate(found) if span and span[0] <= offset < span[1]]
    if not inside:
        ends = [i for i, span in enumerate(found) if span and span[0] < span[1] == offset]
        inside = ends[-1:]
    empty = [i for i, span in enumerate(found) if span and span[0] == span[1] == offset]
    return inside + empty
