"""Going back: in a recording, and live where the debugger can run a program backwards."""

from __future__ import annotations

from typing import Annotated

from freezeframe.backends.backend import Feature, Reverses, StepKind
from freezeframe.errors import Unsupported, UsageError
from freezeframe.model.answers import StepTrail, StopReport
from freezeframe.model.stops import StopReason
from freezeframe.session.waiting import ticket as told
from freezeframe.session.waiting import wait as wait_for_news

from ._arguments import Timeout
from ._context import Context
from ._registry import Arg, Effect, Needs, op
from ._reports import running_report, stop_report, trail_of

_Count = Annotated[int, Arg("how many times", meta="N")]


async def _back(
    ctx: Context, kind: StepKind | None, count: int, timeout: float | None
) -> StopReport:
    session = ctx.session
    if count < 1:
        raise UsageError(f"it goes back 1 time or more, not {count}.")
    limit_s = ctx.config.timeouts.resume_s if timeout is None else timeout
    trail: list[StepTrail] = []
    while True:
        count -= 1
        async with session.turn():
            moment = await session.require_stopped(to_resume=True)
            ticket = told(session)
            ticket[session] = session.stop_number
            if not isinstance(moment.backend, Reverses):
                raise Unsupported(
                    f"{moment.backend.tool} cannot be asked to go back.", next="dbg replay"
                )
            session.finishing = False
            await session.go(moment.backend.step_back(moment.thread.id, kind), moment)
        got = await wait_for_news(session, ticket, limit_s)
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
    """Undo a `next`: go back to the line before, over calls.

    In a recording (`replay`), and live where the debugger runs programs backwards. One that keeps
    checkpoints runs the program again from one of them: what it does to files, it does again.
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
    """Undo a `step`: go back to the line before, into calls from their end."""
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
    """Run backwards to the last breakpoint that was passed, or to the beginning."""
    return await _back(ctx, None, count, timeout)
