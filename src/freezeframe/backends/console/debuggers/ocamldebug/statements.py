"""Find where the next statement begins, which is in the source but not in the events."""

from __future__ import annotations

import bisect
import re

#: brackets, and literals and comments in which brackets do not count
_TOKEN = re.compile(
    rb"(?P<skip>\(\*|\"(?:[^\"\\]|\\.)*\"|\{(?P<tag>[a-z_]*)\|.*?\|(?P=tag)\}"
    rb"|'(?:[^'\\\n]|\\[\\'\"ntbr ]|\\\d{3}|\\x[\da-fA-F]{2})')"
    rb"|(?P<open>[(\[{]|\b(?:begin|struct|sig|object|do)\b)"
    rb"|(?P<close>[)\]}]|\b(?:end|done)\b)",
    re.DOTALL,
)
_COMMENT = re.compile(rb"\(\*|\*\)")
_GAP = rb"(?:\s|\(\*(?:[^*]|\*(?!\)))*\*\))*"
_NEXT = re.compile(_GAP + rb";(?!;)" + _GAP)
#: no statement follows
_CLOSING = re.compile(rb"(?:done|end|then|else|with)\b|[])}|;]|\Z")


class OcamlSource:
    """The text of one file, in bytes, because events count bytes."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        #: positions where the innermost open bracket changes, and that bracket
        self._at: list[int] = []
        self._inside: list[bytes] = []
        self._read()

    def _read(self) -> None:
        open_brackets: list[bytes] = []
        at = 0
        while (found := _TOKEN.search(self._text, at)) is not None:
            at = found.end()
            if found["skip"] == b"(*":
                at = self._skip_comment(at)
            elif found["open"] is not None:
                open_brackets.append(found["open"])
            elif found["close"] is not None and open_brackets:
                open_brackets.pop()
            if found["skip"] is None:
                self._at.append(found.start())
                self._inside.append(open_brackets[-1] if open_brackets else b"")

    def _skip_comment(self, at: int) -> int:
        depth = 1
        while depth and (found := _COMMENT.search(self._text, at)) is not None:
            depth += 1 if found[0] == b"(*" else -1
            at = found.end()
        return len(self._text) if depth else at

    def following(self, end: int) -> tuple[int, int] | None:
        """Return position and column of the statement after one that ends at *end*.

        None if none follows: the elements of a list or record, also separated by `;`, are not
        evaluated in that order.
        """
        if end > len(self._text) or self._bracket(end) in (b"[", b"{"):
            return None
        found = _NEXT.match(self._text, end)
        if found is None or _CLOSING.match(self._text, found.end()):
            return None
        return found.end(), found.end() - self._text.rfind(b"\n", 0, found.end())

    def lines(self, start: int, end: int) -> int:
        return self._text.count(b"\n", start, end)

    def _bracket(self, position: int) -> bytes:
        index = bisect.bisect_left(self._at, position) - 1
        return self._inside[index] if index >= 0 else b""
