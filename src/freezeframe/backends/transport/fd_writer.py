"""Write a descriptor without blocking the event loop: a program's standard input."""

from __future__ import annotations

import os
import sys

from .buffered_writer import LIMIT as LIMIT
from .buffered_writer import BufferedWriter

if sys.platform == "win32":
    from .overlapped_windows import StdinWriter as StdinWriter
else:

    class StdinWriter(BufferedWriter):
        """Send bytes to *fd*: a pipe, a FIFO, a terminal's controller."""

        _writing = False

        def _open(self) -> None:
            os.set_blocking(self._fd, False)

        def _flush(self) -> None:
            if self._writing:
                return
            self._write_ready()

        def _write_ready(self) -> None:
            while self._waiting:
                try:
                    # Through a memoryview: a long text must not be copied for each piece of it.
                    with memoryview(self._waiting) as view:
                        sent = os.write(self._fd, view[: 1 << 20])
                except (BlockingIOError, InterruptedError):
                    break
                except OSError:  # EPIPE; EIO from a terminal
                    self._break()
                    return
                del self._waiting[:sent]
            if not self._waiting:
                self._stop()
            elif not self._writing:
                self._loop.add_writer(self._fd, self._write_ready)
                self._writing = True
            self._flushed()

        def _stop(self) -> None:
            if self._writing:
                self._loop.remove_writer(self._fd)
                self._writing = False
