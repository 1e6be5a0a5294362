"""Work that may take longer than its caller can wait: it goes on, and the same command joins it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from freezeframe.errors import UserError

from ._context import Context

#: how long an answer that nobody waited for is kept for who asks again
_KEPT_S = 300.0
T = TypeVar("T")


async def lasting(
    ctx: Context,
    key: tuple[object, ...],
    work: Callable[[], Coroutine[Any, Any, T]],
    *,
    late: Callable[[float], UserError],
    keep: bool = False,
) -> T:
    """Return what *work* returns. Raises what *late* makes when the caller's patience ends first.

    The work is then found under way, by its *key*, when the caller asks again; with *keep* also
    when it has ended meanwhile. A caller with no limit does it himself, and ends it by leaving.
    """
    if ctx.caller.until is None:
        return await work()
    works = ctx.hub.works
    key = (ctx.caller.cwd, *key)
    task: asyncio.Task[T] | None = works.get(key)
    if task is None:
        task = works[key] = asyncio.ensure_future(work())
        task.add_done_callback(partial(_ended, works, key, keep))
    began = time.monotonic()
    await asyncio.wait({task}, timeout=max(0.0, ctx.caller.until - began))
    if not task.done():
        raise late(time.monotonic() - began)
    _forget(works, key, task)
    return task.result()


Works = dict[tuple[object, ...], asyncio.Task[Any]]


def _ended(works: Works, key: tuple[object, ...], keep: bool, task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()  # told to who waits; to nobody, when nobody does
    if keep and not task.cancelled():
        asyncio.get_running_loop().call_later(_KEPT_S, _forget, works, key, task)
    else:
        _forget(works, key, task)


def _forget(works: Works, key: tuple[object, ...], task: asyncio.Task[Any]) -> None:
    if works.get(key) is task:
        del works[key]
