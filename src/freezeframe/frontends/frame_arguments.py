"""Select another frame or thread for one request only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from freezeframe.errors import FreezeframeError
from freezeframe.ops._context import Context
from freezeframe.ops._registry import OPS
from freezeframe.ops._runner import run


@asynccontextmanager
async def placed(ctx: Context, frame: int | None, thread: int | None) -> AsyncIterator[None]:
    """Select *thread* and *frame* inside the context; restore the selection afterwards.

    Raises FreezeframeError if they do not exist.
    """
    if frame is None and thread is None:
        yield
        return
    stop = None
    if frame is not None or thread is not None:
        # Finds the session, which must be stopped.
        await run(OPS.by_id("thread"), ctx, {"id": None})
        stop = ctx.session.current_stop
    assert stop is not None
    before, selected = stop.thread.id, stop.selected
    if thread is not None:
        await run(OPS.by_id("thread"), ctx, {"id": thread})
    if frame is not None:
        await run(OPS.by_id("frame"), ctx, {"which": str(frame)})
    try:
        yield
    finally:
        now = ctx.session.current_stop
        if now is not None and now.number == stop.number:
            try:
                if now.thread.id != before:
                    await run(OPS.by_id("thread"), ctx, {"id": before})
                await run(OPS.by_id("frame"), ctx, {"which": str(selected)})
            except FreezeframeError:
                pass  # the program has resumed or ended: nothing to restore
