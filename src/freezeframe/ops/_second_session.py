"""A session of its own for one answer: no workspace lists it, and nothing of it remains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from freezeframe.backends.backend import Launch
from freezeframe.backends.selection import DebuggerChoice
from freezeframe.model.stops import ExceptionFilter
from freezeframe.session.breakpoints import LogicalBreakpoint, LogicalBreakpoints
from freezeframe.session.session import Session

from ._context import Context
from ._launch_session import prepare_debugger


@asynccontextmanager
async def second_session(
    ctx: Context,
    target: Launch,
    choice: DebuggerChoice,
    breakpoints: Iterable[LogicalBreakpoint] = (),
    filters: list[ExceptionFilter] | None = None,
) -> AsyncIterator[Session]:
    """Start a program in a session that ends with the context.

    It has *breakpoints* and none of the workspace's; its stops are not recorded.
    """
    await prepare_debugger(ctx, target, choice)
    own = LogicalBreakpoints()
    for entry in breakpoints:
        own.add(entry)
    session = Session(
        "trace",
        breakpoints=own,
        config=ctx.config,
        sources=ctx.hub.sources,
        make_backend=choice.make_backend(ctx.config),
        reason=choice.reason,
        filters=lambda: filters,
    )
    session.recorded = False
    try:
        await session.start(target)
        yield session
    finally:
        await asyncio.shield(session.dispose())
