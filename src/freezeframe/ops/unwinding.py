"""Leaving a function before its end, or beginning it anew: return, restart-frame."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, cast

from freezeframe.backends.backend import Feature
from freezeframe.backends.unwinding import RestartsFrames, ReturnsEarly
from freezeframe.errors import UsageError
from freezeframe.model.answers import StopReport
from freezeframe.session.moment import Moment

from ._arguments import Timeout
from ._context import Context
from ._registry import Arg, Effect, Needs, op
from .execution import answer_to


@op(
    "return",
    aliases=("force-return", "thread return"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    feature=Feature.FORCE_RETURN,
    example="return 0",
    examples=("return",),
)
async def return_(
    ctx: Context,
    value: Annotated[
        str | None,
        Arg("what it returns, in the program's language", meta="EXPR", greedy=True, code=True),
    ] = None,
    *,
    timeout: Timeout = None,
) -> StopReport:
    """Leave the innermost function at once, with a value; the rest of it does not run.

    The program stops in the caller. `finish` runs the function to its end instead.
    """

    async def act(moment: Moment) -> None:
        if moment.selected != 0 and moment.selected != moment.first_selected:
            raise UsageError(
                f"`return` leaves the innermost function, and frame {moment.selected} is selected.",
                next="dbg frame 0",
            )
        backend = cast(ReturnsEarly, moment.backend)
        await backend.force_return(moment.thread.id, value)

    return await _unwound(ctx, act, timeout)


@op(
    "restart-frame",
    aliases=("restartframe", "frame restart", "pop"),
    group="execution",
    effect=Effect.RESUMES,
    needs=Needs.STOPPED,
    feature=Feature.RESTART_FRAME,
    example="restart-frame",
    examples=("restart-frame 1",),
)
async def restart_frame(
    ctx: Context,
    index: Annotated[
        int | None, Arg("number of the frame (default: the selected one)", meta="N")
    ] = None,
    *,
    timeout: Timeout = None,
) -> StopReport:
    """Run a function again from its beginning, with the arguments that it has.

    What it has changed elsewhere stays changed.
    """

    async def act(moment: Moment) -> None:
        chosen = await moment.frame(moment.selected if index is None else index)
        backend = cast(RestartsFrames, moment.backend)
        await backend.restart_frame(moment.thread.id, moment.frame_id(chosen.index))

    return await _unwound(ctx, act, timeout)


async def _unwound(
    ctx: Context, act: Callable[[Moment], Awaitable[None]], timeout: float | None
) -> StopReport:
    session = ctx.session

    async def go() -> None:
        moment = await session.require_stopped()
        session.finishing = False

        async def request() -> None:
            await act(moment)

        await session.go(request(), moment)

    return await answer_to(ctx, session, go, timeout)
