"""A pseudo-terminal for a program."""

from __future__ import annotations

import contextlib
import os
import struct

from freezeframe.errors import Unsupported

from .fd_writer import StdinWriter

#: Control-D: at the start of a line it ends the input
_END_OF_INPUT = b"\x04"


def _edit_lines(fd: int) -> None:
    import termios

    settings = termios.tcgetattr(fd)
    # Output keeps its line ends; input is not echoed, because the caller knows what it typed.
    settings[1] &= ~termios.OPOST
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSANOW, settings)


class Terminal:
    """A pair of pseudo-terminal descriptors.

    `program` is the program's side: pass it to `Process.spawn` as stdin, stdout, stderr and
    controlling_tty, then call `release_program`, because the end of output is only seen once every
    copy of that side is closed. A TextReader reads `controller`, a StdinWriter writes it.
    """

    def __init__(
        self, *, columns: int = 120, rows: int = 40, echo: bool = True, lines: bool = False
    ) -> None:
        """*lines*: the terminal edits lines and handles the keys that end input or interrupt, as a
        user's terminal does, but does not echo."""
        if not hasattr(os, "openpty"):
            raise Unsupported("programs get no terminal on Windows.", next="dbg start PROGRAM")
        self.controller, self._program = os.openpty()
        self.name = os.ttyname(self._program)
        self.resize(columns, rows)
        if lines:
            _edit_lines(self._program)
        elif not echo:
            import tty

            # Raw: input arrives unchanged, and output keeps its line ends.
            tty.setraw(self._program)

    @property
    def program(self) -> int:
        if self._program < 0:
            raise ValueError("the program's side was released")
        return self._program

    def resize(self, columns: int, rows: int) -> None:
        """Set the window size that the program sees."""
        import fcntl
        import termios

        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.controller, termios.TIOCSWINSZ, size)

    def release_program(self) -> None:
        """Close our copy of the program's side. May be called twice."""
        if self._program >= 0:
            os.close(self._program)
            self._program = -1

    def dup_controller(self) -> int:
        """Return a new descriptor of our side, which the caller closes."""
        return os.dup(self.controller)

    def feeder(self) -> StdinWriter:
        """Return a writer of our side; the end of input is the key that a user would press."""
        return StdinWriter(self.dup_controller(), end=_END_OF_INPUT)

    def close(self) -> None:
        """Close both sides: processes that still use the terminal get a hangup. May be called
        twice."""
        self.release_program()
        if self.controller >= 0:
            with contextlib.suppress(OSError):
                os.close(self.controller)
            self.controller = -1
