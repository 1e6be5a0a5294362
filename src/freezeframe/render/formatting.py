"""Text on one line: control characters escaped, elided in the middle, counted in bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from freezeframe.model import late_regex

#: Control characters, line breaks, bidirectional controls and lone surrogates.
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_UNSAFE = late_regex.compile(_CONTROLS)
_UNSAFE_IN_VALUE = late_regex.compile(f"[\t\n]|{_CONTROLS}")
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\x00": "\\0"}

#: An elision by a debugger, in our format; only texts up to this length are searched for it.
_GAP = late_regex.compile(r"…\+([\d,]+) chars…")
_SEARCHED = 200_000

#: Minimum length of an elided line: a shorter one would hold only the elision.
LEAST_LINE = 40


def size(text: str) -> int:
    """Return how many bytes *text* is in UTF-8. Lone surrogates count as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _escaped(found: re.Match[str]) -> str:
    return _escape(found[0])


def _escape(character: str) -> str:
    if name := _NAMED.get(character):
        return name
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def escape_control(text: str) -> str:
    """Return *text* with control characters escaped, except tabs and newlines."""
    return _UNSAFE.sub(_escaped, text)


def one_line(text: str) -> str:
    """Return *text* with all control characters escaped, newlines and tabs among them."""
    return _UNSAFE_IN_VALUE.sub(_escaped, text)


def clip(text: str, limit: int, *, tail: bool = True) -> str:
    """Return *text* on one line of at most *limit* bytes, with the size of what is left out.

    Leaves out the middle, or the end with ``tail=False``. Reads no more of *text* than it shows. A
    limit below LEAST_LINE counts as LEAST_LINE.
    """
    limit = max(limit, LEAST_LINE)
    if len(text) <= limit:
        whole = one_line(text)
        if size(whole) <= limit:
            return whole
    gaps = [*_GAP.finditer(text)] if len(text) <= _SEARCHED else []
    hidden = sum(int(gap[1].replace(",", "")) - len(gap[0]) for gap in gaps)
    room = limit - size(_gap(len(text) + hidden))
    behind = _fitting(reversed(text[-room:]), room // 3) if tail else 0
    # Include an earlier elision in the new one.
    if gaps:
        behind = min(behind, len(text) - gaps[-1].end())
    end = one_line(text[len(text) - behind :])
    before = _fitting(text[:room], room - size(end))
    if gaps:
        before = min(before, gaps[0].start())
    return one_line(text[:before]) + _gap(len(text) - before - behind + hidden) + end


def elided(text: str) -> bool:
    """Return whether *text* has an elision, as `clip` makes them."""
    return _GAP.search(text) is not None


def head_of(text: str, limit: int) -> str:
    """Return as much of the beginning of *text* as fits into *limit* bytes, on one line."""
    return one_line(text[: _fitting(text[:limit], limit)])


def _gap(count: int) -> str:
    return f"…+{number(count)} chars…"


def _fitting(characters: Iterable[str], room: int) -> int:
    """Return how many of the characters fit, escaped, into *room* bytes."""
    count = 0
    for character in characters:
        room -= size(one_line(character))
        if room < 0:
            break
        count += 1
    return count


def around_difference(text: str, other: str, limit: int) -> tuple[str, str]:
    """Return both texts within *limit* bytes each, so that their difference is visible.

    Two long texts that differ in the middle would look the same once elided there.
    """
    start = _common_prefix(text, other)
    whole = size(text) <= limit and size(other) <= limit
    if whole or text == other or size(text[:start]) < limit // 3:
        return clip(text, limit), clip(other, limit)
    # Keep a little text before the difference as context.
    start = max(0, start - 8)
    lead = f"…+{number(start)} chars…"
    room = max(limit - size(lead), LEAST_LINE)
    return lead + clip(text[start:], room), lead + clip(other[start:], room)


def _common_prefix(text: str, other: str) -> int:
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def relative(path: str, cwd: str | None) -> str:
    """Return *path* relative to *cwd* if it is below *cwd*, otherwise unchanged."""
    if cwd:
        for separator in "/\\":
            base = cwd if cwd.endswith(separator) else cwd + separator
            if path.startswith(base) and len(path) > len(base):
                return path[len(base) :]
    return path


def file_line(path: str | None, line: int | None, cwd: str | None) -> str:
    """Return `file:line`, with the file relative to *cwd* if it is below *cwd*."""
    if path is None:
        return "unknown location" if line is None else f"line {line}"
    shown = clip(relative(path, cwd), 100)
    return shown if line is None else f"{shown}:{line}"


def number(count: int) -> str:
    """Return *count*, with separators if it has many digits."""
    return f"{count:,}" if abs(count) >= 10_000 else str(count)


def plural(count: int, word: str) -> str:
    return f"{number(count)} {word}" if count == 1 else f"{number(count)} {word}s"


def seconds(span_s: float) -> str:
    """Return a span of time in the unit that a person would use."""
    if span_s < 10:
        return f"{span_s:.1f} s".replace(".0 s", " s")
    if span_s < 120:
        return f"{span_s:.0f} s"
    if span_s < 7200:
        return f"{span_s / 60:.0f} min"
    if span_s < 172_800:
        return f"{span_s / 3600:.0f} h"
    return f"{span_s / 86_400:.0f} days"


def commands(next: Sequence[str]) -> str:
    """Return commands as text: `dbg await or dbg pause`."""
    lines = [one_line(command) for command in next]
    lines = [c if c.startswith("dbg ") else f"dbg {c}" for c in lines]
    if len(lines) < 2:
        return "".join(lines)
    return f"{', '.join(lines[:-1])} or {lines[-1]}"
