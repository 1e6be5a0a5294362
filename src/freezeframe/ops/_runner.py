"""Run one operation: the checks that all operations share, then its function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from freezeframe.backends.backend import Feature
from freezeframe.errors import DebuggerLost, DebuggerTimeout, UsageError
from freezeframe.session import errors
from freezeframe.session.phase import Phase
from freezeframe.session.stop_wait import wait_end

from ._context import MARGIN_S, Context
from ._control import check_control
from ._past import choose_time, with_notes
from ._registry import Effect, Needs, OpSpec

#: how long to wait for the exit of a program whose debugger no longer answers
_END_S = 1.0
#: a debugger has at least this long to answer that it resumed the program: `continue -t 0`
_RESUME_S = 2.0


async def run(spec: OpSpec, ctx: Context, arguments: dict[str, Any]) -> Any:
    """Return the operation's answer. Raises FreezeframeError.

    An operation that inspects or changes a stopped program holds the session's lock while it runs;
    one that resumes the program holds it only to resume; a control operation never waits.
    """
    for param in spec.params:
        if param.negative(value := arguments.get(param.name)):
            raise UsageError(
                f"{param.label} takes 0 or more, not {value}.", next=f"dbg help {spec.name}"
            )
    limit_s = _limit_s(spec, arguments)
    try:
        async with _bounded(ctx, limit_s):
            answer = await _run(spec, ctx, arguments)
        if spec.group == "breakpoints" and spec.effect is Effect.WRITES:
            _log_breakpoints(ctx)
        return answer
    except TimeoutError:
        if limit_s is None or ctx.found is None:
            raise
        backend = ctx.found.backend
        who = backend.tool.name if backend is not None else "the debugger"
        raise DebuggerTimeout(
            f"{who} did not answer within {limit_s:g} s.", next="dbg await"
        ) from None
    except DebuggerLost:
        # The program's exit explains more than a debugger that does not answer.
        if ctx.found is None or not await wait_end(ctx.found, _END_S):
            raise
        raise errors.ended(ctx.found) from None
    except UsageError as wrong:
        wrong.next = wrong.next or f"dbg help {spec.name}"
        raise


def _log_breakpoints(ctx: Context) -> None:
    """Let those who follow the events know that breakpoints have changed."""
    session = ctx.workspace.session()
    if session is not None:
        events = ctx.history.recorder.event_log(ctx.workspace.root)
        events.add(session.name, "breakpoint", ctx.typed)


@asynccontextmanager
async def _bounded(ctx: Context, limit_s: float | None) -> AsyncIterator[None]:
    """Raise TimeoutError after the time limit, and the time to inspect a stop within it.

    Where the debugger has not even answered to resume there is no such stop.
    """
    if limit_s is None:
        yield
        return
    loop = asyncio.get_running_loop()

    def end_if_unanswered() -> None:
        stop = ctx.found.current_stop if ctx.found is not None else None
        if stop is not None and stop.resume_unanswered:
            bound.reschedule(loop.time())

    async with asyncio.timeout(limit_s + MARGIN_S) as bound:
        check = loop.call_later(max(limit_s, _RESUME_S), end_if_unanswered)
        try:
            yield
        finally:
            check.cancel()


def _limit_s(spec: OpSpec, arguments: dict[str, Any]) -> float | None:
    """Return the time limit for the debugger; operations that start one have their own.

    Questions run the program again: their limit is that of each run.
    """
    if spec.needs not in (Needs.SESSION, Needs.LIVE, Needs.STOPPED) or spec.group == "questions":
        return None
    limit_s = arguments.get("timeout")
    return limit_s if isinstance(limit_s, int | float) else None


async def _run(spec: OpSpec, ctx: Context, arguments: dict[str, Any]) -> Any:
    for root in list(ctx.hub.roots()):
        for member in list(root.tree()):
            member.liveness.check()
    if spec.needs in (Needs.SESSION, Needs.LIVE, Needs.STOPPED):
        ctx.found = ctx.hub.find(ctx.session_name, ctx.workspace)
        check_control(spec, ctx)
        if spec.needs is Needs.LIVE:
            ctx.found.require_backend()
        if spec.when_running is not None and ctx.found.phase is Phase.RUNNING:
            answer = await spec.when_running(ctx, **arguments)
            if answer is not None:
                return answer
        if spec.needs is Needs.STOPPED:
            await ctx.found.require_stopped(to_resume=spec.effect is Effect.RESUMES)
        live = ctx.found
        notes = await choose_time(spec, ctx)
        if ctx.found is not live:
            ctx.found.last_command = ctx.typed
            answer = await spec.func(ctx, **arguments)
            from ._past_session import in_present

            return with_notes(await in_present(ctx, live, answer), notes)
        if spec.feature is not None:
            ctx.found.require(Feature(spec.feature))
        if spec.effect is Effect.RESUMES:
            ctx.found.last_command = ctx.typed
        alone = spec.needs is Needs.STOPPED and spec.effect in (Effect.READS, Effect.WRITES)
        if alone and not spec.control:
            async with ctx.found.exclusive():
                await ctx.found.require_stopped()
                return await spec.func(ctx, **arguments)
    else:
        check_control(spec, ctx)
    return await spec.func(ctx, **arguments)
