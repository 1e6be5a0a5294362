"""Reverse execution: in a recording, and live if the debugger supports it."""

from __future__ import annotations

from typing import Annotated

from freezeframe.backends.backend import Feature, StepKind
from freezeframe.backends.capabilities import ReverseExecution
from freezeframe.errors import Unsupported, UsageError
from freezeframe.model.answers import StepTrail, StopReport
from freezeframe.model.stops import StopReason
from freezeframe.session.resume_requests import send_resume
from freezeframe.session.stop_wait import seen_stops, wait_for_stop

from ._common_args import Timeout
from ._context import Context
from ._past_backend import PastBackend
from ._registry import Arg, Effect, Needs, op
from ._stop_report import running_report, stop_report, trail_of

_Count = Annotated[int, Arg("how many times", meta="N")]


async def _back(
    ctx: Context, kind: StepKind | None, count: int, timeout: float | None
) -> StopReport:
    session = ctx.session
    if count < 1:
        raise UsageError(f"the count must be 1 or more, not {count}.")
    limit_s = ctx.config.timeouts.resume_s if timeout is None else timeout
    trail: list[StepTrail] = []
    while True:
        count -= 1
        async with session.exclusive():
            stop = await session.require_stopped(to_resume=True)
            ticket = seen_stops(session)
            ticket[session] = session.stop_number
            if not isinstance(stop.backend, ReverseExecution):
                raise Unsupported(
                    f"{stop.backend.tool} does not support reverse execution.", next="dbg replay"
                )
            session.step_out_origin = None
            await send_resume(session, stop.backend.step_back(stop.thread.id, kind), stop)
        got = await wait_for_stop(session, ticket, limit_s)
        if got is None:
            return running_report(ctx, session, limit_s, trail=tuple(trail))
        stopped, now = got
        first = now.event.reason is StopReason.ENTRY
        if count == 0 or stopped is not session or first:
            return await stop_report(ctx, stopped, now, trail=tuple(trail))
        trail.append(trail_of(stopped, now, now))


@op(
    "back",
    aliases=("reverse-next", "step-back", "rn"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    feature=Feature.STEP_BACK,
    example="back",
    examples=("back 3",),
)
async def back(ctx: Context, count: _Count = 1, *, timeout: Timeout = None) -> StopReport:
    """Step backwards to the previous line, over calls.

    Works in a recording (`replay`), and live if the debugger supports reverse execution. A debugger
    with checkpoints runs the program again from one of them, so writes to files happen again. With
    any other the program is run a second time up to the same stop, traced, and the trace is shown:
    the stopped program stays where it is, `next` and `continue` lead back to it.
    """
    return await _back(ctx, StepKind.OVER, count, timeout)


@op(
    "reverse-step",
    aliases=("rs",),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    feature=Feature.STEP_BACK,
    example="reverse-step",
)
async def reverse_step(ctx: Context, count: _Count = 1, *, timeout: Timeout = None) -> StopReport:
    """Step backwards to the previous line, into calls from their end."""
    return await _back(ctx, StepKind.INTO, count, timeout)


@op(
    "reverse-finish",
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    feature=Feature.STEP_BACK,
    example="reverse-finish",
)
async def reverse_finish(ctx: Context, count: _Count = 1, *, timeout: Timeout = None) -> StopReport:
    """Go back to where the current function was called."""
    return await _back(ctx, StepKind.OUT, count, timeout)


@op(
    "reverse-continue",
    aliases=("rc",),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    feature=Feature.STEP_BACK,
    example="reverse-continue",
)
async def reverse_continue(
    ctx: Context, count: _Count = 1, *, timeout: Timeout = None
) -> StopReport:
    """Run backwards to the last breakpoint that was hit, or to the beginning."""
    return await _back(ctx, None, count, timeout)


@op(
    "present",
    group="execution",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    example="present",
)
async def present(ctx: Context) -> StopReport:
    """Return from the past that `back` shows to where the program is."""
    session = ctx.session
    if isinstance(session.backend, PastBackend):
        session.backend.is_present = True
    return await stop_report(ctx, session, await session.require_stopped(), in_turn=True)
