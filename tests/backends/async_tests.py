"""Run a test that is a coroutine, on a loop of its own, bounded."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any


def on_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a plain test of an async one. It fails when it takes longer than 30 s."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(30):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


async def until(fact: Callable[[], object], timeout_s: float = 10.0) -> None:
    """Return once *fact()* is true; the loop runs meanwhile."""
    async with asyncio.timeout(timeout_s):
        while not fact():  # noqa: ASYNC110 - the fact is outside of the loop
            await asyncio.sleep(0.002)
