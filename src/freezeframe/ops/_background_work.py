"""Work that may outlast its caller: it continues, and the same command waits for it again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from freezeframe.errors import UserError

from ._context import Context

#: how long a result that no caller waited for is kept
_KEPT_S = 300.0
T = TypeVar("T")


async def run_in_background(
    ctx: Context,
    key: tuple[object, ...],
    work: Callable[[], Coroutine[Any, Any, T]],
    *,
    late: Callable[[float], UserError],
    keep: bool = False,
) -> T:
    """Return the result of *work*. Raises the error of *late* if the caller's time limit ends
    first.

    The work then continues, and a later call with the same *key* waits for it; with *keep* also
    after it has ended. Without a time limit the work belongs to the caller and is cancelled with
    it.
    """
    if ctx.caller.until is None:
        return await work()
    works = ctx.hub.background_work
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
        task.exception()  # retrieve the exception: there may be no waiter
    if keep and not task.cancelled():
        asyncio.get_running_loop().call_later(_KEPT_S, _forget, works, key, task)
    else:
        _forget(works, key, task)


def _forget(works: Works, key: tuple[object, ...], task: asyncio.Task[Any]) -> None:
    if works.get(key) is task:
        del works[key]
