"""Read a descriptor without blocking the event loop.

`FdReader` delivers bytes, `TextReader` delivers text, `Tail` keeps the end of a text.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable

if sys.platform == "win32":
    from .overlapped_windows import FdReader as FdReader
else:
    from .fd_reader_posix import FdReader as FdReader


class TextReader(FdReader):
    """An FdReader that delivers text. Invalid bytes become U+FFFD; a character is never split."""

    def __init__(
        self,
        fd: int,
        on_text: Callable[[str], None],
        on_end: Callable[[], None] | None = None,
        *,
        encoding: str = "utf-8",
    ) -> None:
        super().__init__(fd, self._decode, on_end)
        self._on_text = on_text
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def _decode(self, data: bytes) -> None:
        text = self._decoder.decode(data)
        if text:
            self._on_text(text)

    def close(self) -> None:
        if not self._closed:
            # The first half of a character at the very end was written too.
            rest = self._decoder.decode(b"", final=True)
            if rest:
                self._on_text(rest)
        super().close()


class Tail:
    """The last *limit* characters of a text, such as a debugger's standard error."""

    def __init__(self, limit: int = 4000) -> None:
        self._limit = limit
        self._text = ""
        self._cut = False

    def feed(self, text: str) -> None:
        whole = self._text + text[-self._limit - 1 :]
        self._cut = self._cut or len(whole) > self._limit
        self._text = whole[-self._limit :]

    def lines(self, count: int = 10) -> list[str]:
        """Return the last *count* lines that are not empty; one with a cut start is left out."""
        lines = self._text.split("\n")
        if self._cut and len(lines) > 1:
            del lines[0]
        return [line.rstrip("\r") for line in lines if line.strip()][-count:]

    def __str__(self) -> str:
        return "\n".join(self.lines())
