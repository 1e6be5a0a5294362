"""What several backends stand on at once."""

from __future__ import annotations


class Held:
    """Reference-counted: whoever makes it holds it; the last one to let go closes it.

    A child goes on writing into its parent's pipes after that has ended.
    """

    def __init__(self) -> None:
        self._holders = 1
        self._closed = False

    def hold(self) -> None:
        self._holders += 1

    def release(self) -> None:
        """Let go of it once."""
        self._holders -= 1
        if self._holders <= 0:
            self.close()

    def close(self) -> None:
        """Close it, whoever holds it. May be called twice."""
        if not self._closed:
            self._closed = True
            self._close()

    def _close(self) -> None:
        raise NotImplementedError
