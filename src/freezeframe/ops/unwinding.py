"""Return from a function early, or restart it: return, restart-frame."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from freezeframe.backends.backend import Feature
from freezeframe.backends.capabilities import ForcedReturns, FrameRestarts
from freezeframe.errors import UsageError
from freezeframe.model.answers import StopReport
from freezeframe.session.resume_requests import send_resume
from freezeframe.session.stop_state import StopState

from ._common_args import Timeout
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
        Arg("the value to return, in the program's language", meta="EXPR", greedy=True, code=True),
    ] = None,
    *,
    timeout: Timeout = None,
) -> StopReport:
    """Return from the innermost function at once, with a value; the rest of it does not run.

    The program stops in the caller. `finish` runs the function to its end instead.
    """

    async def act(stop: StopState) -> None:
        if stop.selected != 0 and stop.selected != stop.first_selected:
            raise UsageError(
                f"`return` ends the innermost function, but frame {stop.selected} is selected.",
                next="dbg frame 0",
            )
        assert isinstance(stop.backend, ForcedReturns)
        await stop.backend.force_return(stop.thread.id, value)

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
    """Run a function again from its beginning, with its current arguments.

    Side effects of the first run stay.
    """

    async def act(stop: StopState) -> None:
        chosen = await stop.frame(stop.selected if index is None else index)
        assert isinstance(stop.backend, FrameRestarts)
        await stop.backend.restart_frame(stop.frame_id(chosen.index))

    return await _unwound(ctx, act, timeout)


async def _unwound(
    ctx: Context, act: Callable[[StopState], Awaitable[None]], timeout: float | None
) -> StopReport:
    session = ctx.session

    async def resume() -> None:
        stop = await session.require_stopped()
        session.step_out_origin = None

        async def request() -> None:
            await act(stop)

        await send_resume(session, request(), stop)

    return await answer_to(ctx, session, resume, timeout)
