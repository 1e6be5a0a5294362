"""Something happened: wakes everyone who waits, remembers nothing."""

from __future__ import annotations

import asyncio


class Bell:
    """A notification for many waiters. Look at the facts, then wait for the next ring."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None

    def ring(self) -> None:
        if self._next is not None:
            if not self._next.done():
                self._next.set_result(None)
            self._next = None

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Return True at the next ring, False when the time is up."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        done, _ = await asyncio.wait({self._next}, timeout=timeout_s)
        return bool(done)
