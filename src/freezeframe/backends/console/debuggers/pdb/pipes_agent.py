"""The pipes to Freezeframe, in a program that may close every descriptor.

Runs inside the program; `agent.py` loads it.
"""

from __future__ import annotations

import io
import os


class Pipes:
    """Two descriptors as text streams, which garbage collection does not close."""

    def __init__(self, read: int, write: int) -> None:
        if os.name == "nt":  # they are handles
            read, write = map(__import__("msvcrt").open_osfhandle, (read, write), (0, 0))
        # By the end their numbers may belong to files of the program.
        source, sink = io.FileIO(read, closefd=False), io.FileIO(write, "w", closefd=False)
        self.stdin = io.TextIOWrapper(io.BufferedReader(source), "utf-8", "surrogateescape", "\n")
        self.stdout = io.TextIOWrapper(io.BufferedWriter(sink), "utf-8", "backslashreplace", "\n")
        self._numbers = (read, write)
        for number in self._numbers:
            os.set_inheritable(number, False)
        self._files = [os.fstat(number) for number in self._numbers]

    @property
    def open(self) -> bool:
        """Whether both descriptors still are the pipes."""
        try:
            now = [os.fstat(number) for number in self._numbers]
        except OSError:
            return False
        return all(map(os.path.samestat, now, self._files))

    def close(self) -> None:
        """Close the pipes, unless the program has replaced them."""
        if self.open:
            for number in self._numbers:
                os.close(number)
