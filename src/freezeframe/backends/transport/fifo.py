"""A named pipe that programs write into by its path, read like any other output."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from freezeframe import paths

from .fd_reader import TextReader


class Fifo(TextReader):
    """A FIFO in a private directory (mode 0700). It has no end of file; `close` removes it.

    The FIFO can be written as soon as it is created; nothing is delivered before `start`.
    """

    def __init__(self, on_text: Callable[[str], None], *, name: str = "log") -> None:
        directory = paths.scratch()
        self.path = os.path.join(directory, name)
        try:
            os.mkfifo(self.path, 0o600)
            # Open for writing too: a reader alone would see end of file whenever the last writer
            # closes the FIFO, and spin until the next writer opens it.
            fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except BaseException:
            self._remove()
            raise
        super().__init__(fd, on_text)

    def close(self) -> None:
        super().close()
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(self.path))
