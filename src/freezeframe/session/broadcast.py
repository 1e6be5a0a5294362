"""A stateless notification that wakes every waiter."""

from __future__ import annotations

import asyncio


class Broadcast:
    """A notification for many waiters. Check the state first, then wait for the next change."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None

    def notify_all(self) -> None:
        if self._next is not None:
            if not self._next.done():
                self._next.set_result(None)
            self._next = None

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Return True at the next notification, False when the time is up."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        done, _ = await asyncio.wait({self._next}, timeout=timeout_s)
        return bool(done)
