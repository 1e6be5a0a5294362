"""Resources that several backends share."""

from __future__ import annotations


class RefCounted:
    """A reference count: the creator holds the first reference; the last `release` closes the
    object.

    A child continues to write into its parent's pipes after the parent has ended.
    """

    def __init__(self) -> None:
        self._holders = 1
        self._closed = False

    def hold(self) -> None:
        self._holders += 1

    def release(self) -> None:
        """Drop one reference."""
        self._holders -= 1
        if self._holders <= 0:
            self.close()

    def close(self) -> None:
        """Close the object, whatever references are left. May be called twice."""
        if not self._closed:
            self._closed = True
            self._close()

    def _close(self) -> None:
        raise NotImplementedError
