"""What a compiler's events do not say, and a source file's text does: where a statement follows."""

from __future__ import annotations

import bisect
import re

#: what brackets count in, and what they do not count in
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


class Source:
    """One file's text, in bytes, as events count."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        #: where the innermost bracket becomes another one, and which
        self._at: list[int] = []
        self._inside: list[bytes] = []
        self._read()

    def _read(self) -> None:
        open_ones: list[bytes] = []
        at = 0
        while (found := _TOKEN.search(self._text, at)) is not None:
            at = found.end()
            if found["skip"] == b"(*":
                at = self._behind_comment(at)
            elif found["open"] is not None:
                open_ones.append(found["open"])
            elif found["close"] is not None and open_ones:
                open_ones.pop()
            if found["skip"] is None:
                self._at.append(found.start())
                self._inside.append(open_ones[-1] if open_ones else b"")

    def _behind_comment(self, at: int) -> int:
        depth = 1
        while depth and (found := _COMMENT.search(self._text, at)) is not None:
            depth += 1 if found[0] == b"(*" else -1
            at = found.end()
        return len(self._text) if depth else at

    def following(self, end: int) -> tuple[int, int] | None:
        """Return where the statement begins that follows one which ends at *end*.

        As a position and a column. None where none follows: what stands between the `;` of a list
        or record is not worked off in that order.
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
