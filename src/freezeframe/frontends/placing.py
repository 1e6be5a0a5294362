"""A call that looks at another frame or thread than the selected one, once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from freezeframe.errors import FreezeframeError
from freezeframe.ops._context import Context
from freezeframe.ops._registry import OPS
from freezeframe.ops._runner import run


@asynccontextmanager
async def placed(ctx: Context, frame: int | None, thread: int | None) -> AsyncIterator[None]:
    """Select *thread* and *frame* meanwhile; what was selected before is selected again after.

    Raises FreezeframeError when they are not there.
    """
    if frame is None and thread is None:
        yield
        return
    moment = None
    if frame is not None or thread is not None:
        await run(OPS.by_id("thread"), ctx, {"id": None})  # finds the session; it must be stopped
        moment = ctx.session.moment
    assert moment is not None
    before, selected = moment.thread.id, moment.selected
    if thread is not None:
        await run(OPS.by_id("thread"), ctx, {"id": thread})
    if frame is not None:
        await run(OPS.by_id("frame"), ctx, {"which": str(frame)})
    try:
        yield
    finally:
        now = ctx.session.moment
        if now is not None and now.number == moment.number:
            try:
                if now.thread.id != before:
                    await run(OPS.by_id("thread"), ctx, {"id": before})
                await run(OPS.by_id("frame"), ctx, {"which": str(selected)})
            except FreezeframeError:
                pass  # the program has gone on, or is gone: nothing is selected there
