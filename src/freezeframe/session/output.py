"""The program's output in a ring buffer with cursors.

A cursor counts characters since the program started, so it stays valid when output is dropped.
The ring is bounded in events and in bytes; the oldest output is dropped first and counted.
"""

from __future__ import annotations

from collections import deque

from freezeframe.model.answers import Chunk, Output
from freezeframe.model.fast_dataclass import dataclass

#: Small adjacent pieces of one stream are merged up to this size, so that a program that prints
#: character by character does not use up the event limit.
_MERGE_BELOW = 4096


@dataclass(slots=True)
class _Piece:
    start: int
    stream: str
    text: str
    size: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class OutputRing:
    """A bounded record of the program's output. Not thread-safe; lives in the event loop."""

    def __init__(self, max_events: int, max_bytes: int) -> None:
        self._pieces: deque[_Piece] = deque()
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._bytes = 0
        #: characters printed so far: the cursor of the next one
        self.end = 0
        #: everything before this cursor has been shown
        self.seen = 0
        #: everything before this cursor was cleared on request
        self._cleared = 0

    @property
    def start(self) -> int:
        """The oldest cursor that can still be read."""
        return self._pieces[0].start if self._pieces else self.end

    def append(self, stream: str, text: str) -> None:
        if not text:
            return
        size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        if size > self._max_bytes:
            skip = len(text) - self._max_bytes // 4
            self.end += skip
            self._pieces.clear()
            self._bytes = 0
            text = text[skip:]
            size = len(text.encode("utf-8", "replace"))
        last = self._pieces[-1] if self._pieces else None
        if last is not None and last.stream == stream and last.size + size <= _MERGE_BELOW:
            last.text += text
            last.size += size
        else:
            self._pieces.append(_Piece(self.end, stream, text, size))
        self._bytes += size
        self.end += len(text)
        while len(self._pieces) > self._max_events or self._bytes > self._max_bytes:
            self._bytes -= self._pieces.popleft().size

    def clear(self) -> None:
        """Drop everything; cursors stay valid."""
        self._pieces.clear()
        self._bytes = 0
        self.seen = self._cleared = self.end

    def read(
        self,
        since: int | None = None,
        *,
        streams: frozenset[str] | None = None,
        tail_lines: int | None = None,
        limit: int | None = None,
    ) -> Output:
        """Return the output from cursor *since* on (default: everything since `clear`).

        *tail_lines* keeps only the last lines, *limit* only that many characters at the end;
        `skipped` counts what those leave out, `dropped` what the ring has lost.
        """
        start = max(0, min(self._cleared if since is None else since, self.end))
        dropped = max(0, self.start - start)
        begin = max(start, self.start)
        chunks: list[Chunk] = []
        for piece in self._pieces:
            if piece.end <= begin or (streams is not None and piece.stream not in streams):
                continue
            text = piece.text[begin - piece.start :] if piece.start < begin else piece.text
            if chunks and chunks[-1].stream == piece.stream:
                chunks[-1] = Chunk(piece.stream, chunks[-1].text + text)
            else:
                chunks.append(Chunk(piece.stream, text))
        skipped = 0
        if tail_lines is not None:
            chunks, skipped = _tail(chunks, tail_lines)
            if skipped:
                dropped = 0  # the requested lines are complete
        if limit is not None:
            chunks, more = _last(chunks, limit)
            skipped += more
        return Output(tuple(chunks), dropped, start, self.end, skipped)

    def take_new(self, limit: int | None = None) -> Output:
        """Return the output that was not shown yet, and count it as shown."""
        new = self.read(self.seen, limit=limit)
        self.seen = self.end
        return new


def _tail(chunks: list[Chunk], lines: int) -> tuple[list[Chunk], int]:
    kept: list[Chunk] = []
    skipped = 0
    for index in range(len(chunks) - 1, -1, -1):
        chunk = chunks[index]
        parts = chunk.text.splitlines(keepends=True)
        if len(parts) >= lines:
            keep = "".join(parts[len(parts) - lines :]) if lines else ""
            skipped += len(chunk.text) - len(keep) + sum(len(c.text) for c in chunks[:index])
            if keep:
                kept.append(Chunk(chunk.stream, keep))
            break
        lines -= len(parts)
        kept.append(chunk)
    kept.reverse()
    return kept, skipped


def _last(chunks: list[Chunk], characters: int) -> tuple[list[Chunk], int]:
    total = sum(len(chunk.text) for chunk in chunks)
    skip = max(0, total - characters)
    left = skip
    kept: list[Chunk] = []
    for chunk in chunks:
        if left >= len(chunk.text):
            left -= len(chunk.text)
            continue
        kept.append(Chunk(chunk.stream, chunk.text[left:]) if left else chunk)
        left = 0
    return kept, skip
