"""Find lines of a source file by their text, to set or check breakpoints."""

from __future__ import annotations

import difflib

from freezeframe import files
from freezeframe.errors import NotFound, Stale

#: Line numbers listed in an error.
_MAX_LISTED = 8
#: Lines searched for the most similar one.
_MAX_COMPARED = 5_000


def line_with(text: str, path: str, shown: str) -> int:
    """Return the number of the one line of *path* that contains *text*.

    Leading and trailing spaces are ignored; a line that equals *text* wins over lines that contain
    it. *shown* is the file as the caller wrote it. Raises NotFound if no line or several match.
    """
    lines = read_lines(path, shown)
    found = lines_with(text, lines)
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(
            f"{_listed(found)} of {shown} contain {_quoted(text)}.",
            next=f"dbg break {shown}:{found[0]}",
        )
    compared = [line.strip() for line in lines[:_MAX_COMPARED]]
    near = difflib.get_close_matches(text.strip(), compared, 1, 0.6)
    number = compared.index(near[0]) + 1 if near else 1
    raise NotFound(
        f"no line of {shown} contains {_quoted(text)}"
        + (f"; line {number} is {_quoted(near[0])}." if near else "."),
        next=f"dbg break {shown}:{number}" if near else f"dbg source {shown}:1",
    )


def check_line(text: str, path: str, line: int, shown: str) -> None:
    """Raise Stale if *line* of *path* does not contain *text*, and say which line does."""
    lines = read_lines(path, shown)
    there = lines[line - 1].strip()
    if text.strip() in there:
        return
    found = lines_with(text, lines)
    now = f"{_listed(found)} {'do' if len(found) > 1 else 'does'}" if found else "no line does"
    nearest = min(found, key=lambda number: abs(number - line), default=line)
    raise Stale(
        f"line {line} of {shown} does not contain {_quoted(text)}, {now}; it is {_quoted(there)}.",
        next=f"dbg break {shown}:{nearest}" if found else f"dbg source {shown}:{line}",
    )


def lines_with(text: str, lines: list[str]) -> list[int]:
    """Return the numbers of the lines that equal *text*, or else contain it."""
    stripped = text.strip()
    whole = [number for number, line in enumerate(lines, 1) if line.strip() == stripped]
    return whole or [number for number, line in enumerate(lines, 1) if stripped in line]


def read_lines(path: str, shown: str) -> list[str]:
    try:
        return files.read_text(path).split("\n")
    except OSError as error:
        raise NotFound(f"{shown} cannot be read: {error.strerror}.") from None


def _listed(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    more = f" and {len(numbers) - _MAX_LISTED} more" if len(numbers) > _MAX_LISTED else ""
    return f"lines {', '.join(map(str, numbers[:_MAX_LISTED]))}{more}"


def _quoted(text: str) -> str:
    text = text.strip()
    return f"`{text[:79] + '…' if len(text) > 80 else text}`"
