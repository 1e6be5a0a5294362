"""The pipes to the debugger's user, in a program that may close every descriptor.

Text that runs inside the program: `main_probe.py` loads it.
"""

from __future__ import annotations

import io
import os


class Pipes:
    """Two descriptors as text streams. Nobody but the system closes them."""

    def __init__(self, read: int, write: int) -> None:
        # At the end their numbers may be the program's own files.
        source, sink = io.FileIO(read, closefd=False), io.FileIO(write, "w", closefd=False)
        self.stdin = io.TextIOWrapper(io.BufferedReader(source), "utf-8", "surrogateescape", "\n")
        self.stdout = io.TextIOWrapper(io.BufferedWriter(sink), "utf-8", "backslashreplace", "\n")
        self._numbers = (read, write)
        for number in self._numbers:
            os.set_inheritable(number, False)
        self._files = [os.fstat(number) for number in self._numbers]

    @property
    def open(self) -> bool:
        """Whether the program has left them as they were."""
        try:
            now = [os.fstat(number) for number in self._numbers]
        except OSError:
            return False
        return all(map(os.path.samestat, now, self._files))

    def close(self) -> None:
        """Close them, where they are still ours."""
        if self.open:
            for number in self._numbers:
                os.close(number)
