"""Runs one operation: the checks that every operation shares, then its function."""

from __future__ import annotations

import asyncio
from typing import Any

from freezeframe.backends.backend import Feature
from freezeframe.errors import DebuggerLost, DebuggerTimeout, UsageError
from freezeframe.session import refusals
from freezeframe.session.waiting import wait_end

from ._context import MARGIN_S, Context
from ._registry import Effect, Needs, OpSpec

#: for the end of a program to be known whose debugger does not answer any more
_END_S = 1.0


async def run(spec: OpSpec, ctx: Context, arguments: dict[str, Any]) -> Any:
    """Return the operation's answer. Raises FreezeframeError.

    An operation that looks at a stopped program, or changes it, has the debugger to itself while
    it works; one that resumes takes its turn only to do so; a control operation never waits.
    """
    limit_s = _limit_s(spec, arguments)
    try:
        async with asyncio.timeout(None if limit_s is None else limit_s + MARGIN_S):
            return await _run(spec, ctx, arguments)
    except TimeoutError:
        if limit_s is None or ctx.found is None:
            raise
        backend = ctx.found.backend
        who = backend.tool.name if backend is not None else "the debugger"
        raise DebuggerTimeout(
            f"{who} did not answer within {limit_s:g} s.", next="dbg await"
        ) from None
    except DebuggerLost:
        # How the program ended says more than that its debugger does not answer.
        if ctx.found is None or not await wait_end(ctx.found, _END_S):
            raise
        raise refusals.ended(ctx.found) from None
    except UsageError as wrong:
        wrong.next = wrong.next or f"dbg help {spec.name}"
        raise


def _limit_s(spec: OpSpec, arguments: dict[str, Any]) -> float | None:
    """Return how long the caller gives a debugger; what starts one bounds that part itself."""
    if spec.needs not in (Needs.SESSION, Needs.LIVE, Needs.STOPPED):
        return None
    limit_s = arguments.get("timeout")
    return limit_s if isinstance(limit_s, int | float) else None


async def _run(spec: OpSpec, ctx: Context, arguments: dict[str, Any]) -> Any:
    for root in list(ctx.hub.roots()):
        for member in list(root.members()):
            member.liveness.look()
    if spec.needs in (Needs.SESSION, Needs.LIVE, Needs.STOPPED):
        ctx.found = ctx.hub.find(ctx.session_name, ctx.workspace)
        if spec.needs is Needs.LIVE:
            ctx.found.require_backend()
        if spec.needs is Needs.STOPPED:
            await ctx.found.require_stopped(to_resume=spec.effect is Effect.RESUMES)
        if spec.feature is not None:
            ctx.found.require(Feature(spec.feature))
        if spec.effect is Effect.RESUMES:
            ctx.found.led_by = ctx.typed
        alone = spec.needs is Needs.STOPPED and spec.effect in (Effect.READS, Effect.WRITES)
        if alone and not spec.control:
            async with ctx.found.turn():
                await ctx.found.require_stopped()
                return await spec.func(ctx, **arguments)
    return await spec.func(ctx, **arguments)
