"""The daemon's log: one file, closed to others, bounded, with a traceback for every bug."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from io import TextIOWrapper

MAX_BYTES = 1_000_000
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def configure(path: str, max_bytes: int = MAX_BYTES) -> None:
    """Send everything that this process logs to *path*, which keeps one predecessor (`.1`)."""
    handler = _BoundedFile(path, max_bytes)
    handler.setFormatter(logging.Formatter(FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    # It reports each selector it makes, and slow callbacks are its debug mode's business.
    logging.getLogger("asyncio").setLevel(logging.WARNING)


class _BoundedFile(logging.FileHandler):
    """A log that is set aside when it is full.

    logging.handlers has one as well; importing it costs a daemon's start 10 ms. Descriptors 1 and
    2 follow, because whoever writes there (the interpreter, when it crashes) means the log.
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
        # Not `tell`, which would write what a full disk has just refused.
        with contextlib.suppress(OSError):
            if self.stream is not None and os.fstat(self.stream.fileno()).st_size > self._max_bytes:
                self._set_aside()

    def handleError(self, record: logging.LogRecord) -> None:
        """Lose the line when the disk is full; the daemon and its sessions are worth more."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)
            return
        # What is buffered would be refused again with every line that follows.
        with contextlib.suppress(OSError):
            refused, self.stream = self.stream, self._open()
            if refused is not None:
                refused.close()

    def _set_aside(self) -> None:
        if self.stream is not None:
            self.stream.close()
        os.replace(self.baseFilename, f"{self.baseFilename}.1")
        self.stream = stream = self._open()
        for fd in (1, 2):
            os.dup2(stream.fileno(), fd)
