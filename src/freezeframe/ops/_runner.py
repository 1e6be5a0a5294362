"""Runs one operation: the checks that every operation shares, then its function."""

from __future__ import annotations

from typing import Any

from freezeframe.backends.backend import Feature

from ._context import Context
from ._registry import Effect, Needs, OpSpec


async def run(spec: OpSpec, ctx: Context, arguments: dict[str, Any]) -> Any:
    """Return the operation's answer. Raises FreezeframeError.

    An operation that looks at a stopped program, or changes it, has the debugger to itself while
    it works; one that resumes takes its turn only to do so; a control operation never waits.
    """
    if spec.needs in (Needs.SESSION, Needs.LIVE, Needs.STOPPED):
        ctx.found = ctx.hub.find(ctx.session_name, ctx.workspace)
        if spec.needs is Needs.LIVE:
            ctx.found.require_backend()
        if spec.needs is Needs.STOPPED:
            await ctx.found.require_stopped()
        if spec.feature is not None:
            ctx.found.require(Feature(spec.feature))
        alone = spec.needs is Needs.STOPPED and spec.effect in (Effect.READS, Effect.WRITES)
        if alone and not spec.control:
            async with ctx.found.turn():
                await ctx.found.require_stopped()
                return await spec.func(ctx, **arguments)
    return await spec.func(ctx, **arguments)
