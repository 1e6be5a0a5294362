"""A terminal of its own for a program."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import termios
import tty

from .feeder import Feeder

#: Control-D: at the start of a line it ends the input
_END_OF_INPUT = b"\x04"


def _edit_lines(fd: int) -> None:
    settings = termios.tcgetattr(fd)
    # Output keeps its line ends; input is not shown, for the caller knows what it typed.
    settings[1] &= ~termios.OPOST
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSANOW, settings)


class Terminal:
    """A pair of pseudo-terminal descriptors.

    `program` is the program's side: give it to `Process.spawn` as stdin, stdout, stderr and
    controlling_tty, then call `release_program`, for the end of output is only seen once nobody
    holds that side. `ours` is read with a Drain and written with a Feeder.
    """

    def __init__(
        self, *, columns: int = 120, rows: int = 40, echo: bool = True, lines: bool = False
    ) -> None:
        """*lines*: it edits lines and knows the keys that end input or interrupt, as a user's own
        terminal does, but shows nothing that was not written.
        """
        self.ours, self._program = os.openpty()
        self.name = os.ttyname(self._program)
        self._ours_taken = False
        self.resize(columns, rows)
        if lines:
            _edit_lines(self._program)
        elif not echo:
            # Raw: what is written arrives as it is, and output keeps its line ends.
            tty.setraw(self._program)

    @property
    def program(self) -> int:
        if self._program < 0:
            raise ValueError("the program's side was released")
        return self._program

    def resize(self, columns: int, rows: int) -> None:
        """Tell the program how large its window is."""
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, size)

    def release_program(self) -> None:
        """Close our copy of the program's side. May be called twice."""
        if self._program >= 0:
            os.close(self._program)
            self._program = -1

    def take_ours(self) -> int:
        """Hand over a descriptor of our side; the taker closes it. May be called for each taker."""
        return os.dup(self.ours)

    def feeder(self) -> Feeder:
        """Return a writer of our side; the end of input is the key that a user would press."""
        return Feeder(self.take_ours(), end=_END_OF_INPUT)

    def close(self) -> None:
        """Close both sides: whoever still has the terminal is hung up. May be called twice."""
        self.release_program()
        if self.ours >= 0:
            with contextlib.suppress(OSError):
                os.close(self.ours)
            self.ours = -1
