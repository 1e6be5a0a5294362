"""One time limit over several waits."""

from __future__ import annotations

import time


class Clock:
    """One time limit over several waits."""

    def __init__(self, limit_s: float) -> None:
        self._began = time.monotonic()
        self._limit_s = limit_s

    @property
    def waited_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def left_s(self) -> float:
        return max(0.0, self._limit_s - self.waited_s)
