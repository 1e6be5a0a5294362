"""The daemon's log: one bounded file, private to its owner, with a traceback for every bug."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from io import TextIOWrapper

MAX_BYTES = 1_000_000
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def configure(path: str, max_bytes: int = MAX_BYTES) -> None:
    """Log to *path*; a full file is renamed to `.1`, replacing the one before."""
    handler = _BoundedFile(path, max_bytes)
    handler.setFormatter(logging.Formatter(FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    # asyncio logs each selector that it creates.
    logging.getLogger("asyncio").setLevel(logging.WARNING)


class _BoundedFile(logging.FileHandler):
    """A log file that is rotated when it is full.

    logging.handlers has one as well, but importing it adds 10 ms to the daemon's start.
    Descriptors 1 and 2 follow the rotation: the interpreter writes there when it crashes.
    """

    def __init__(self, path: str, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        super().__init__(path, encoding="utf-8", errors="backslashreplace")

    def _open(self) -> TextIOWrapper:
        return open(
            self.baseFilename,
            "a",
            encoding=self.encoding,
            errors=self.errors,
            opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o600),
        )

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        # Not stream.tell(), which would flush what a full disk has just refused.
        with contextlib.suppress(OSError):
            if self.stream is not None and os.fstat(self.stream.fileno()).st_size > self._max_bytes:
                self._rotate()

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop the record when the disk is full; the daemon and its sessions go on."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)
            return
        # The old stream would try to write its buffer again with every later record.
        with contextlib.suppress(OSError):
            refused, self.stream = self.stream, self._open()
            if refused is not None:
                refused.close()

    def _rotate(self) -> None:
        if self.stream is not None:
            self.stream.close()
        os.replace(self.baseFilename, f"{self.baseFilename}.1")
        self.stream = stream = self._open()
        for fd in (1, 2):
            os.dup2(stream.fileno(), fd)
