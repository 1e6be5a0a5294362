"""Start the program of a session again: restart."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from freezeframe.backends.backend import Launch
from freezeframe.errors import NoSession
from freezeframe.model.answers import StopReport
from freezeframe.session.phase import Phase
from freezeframe.session.stop_wait import SeenStops, wait_for_stop

from . import _launch_target
from ._blocked_threads import with_stacks
from ._common_args import FirstStop, Timeout
from ._context import Context
from ._launch_session import start_again
from ._registry import Effect, Needs, op
from ._stop_report import running_report, stop_report
from .breakpoints import begin_run


@op(
    "restart",
    group="sessions",
    effect=Effect.RESUMES,
    needs=Needs.WORKSPACE,
    example="restart",
)
async def restart(
    ctx: Context,
    *,
    wait: FirstStop = True,
    timeout: Timeout = None,
) -> StopReport:
    """Start the program again with the same arguments and the current breakpoints.

    A program that was built from its source is rebuilt if the source has changed. Works after
    `stop` too.
    """
    try:
        ctx.found = ctx.hub.find(ctx.session_name, ctx.workspace)
    except NoSession:
        if not ctx.workspace.launches:
            raise
        return await start_again(ctx, wait=wait, timeout=timeout)
    newest = next(reversed(ctx.workspace.launches), None)
    is_newest = newest is None or newest in ctx.workspace.sessions
    if ctx.session_name is None and not ctx.found.root.live and not is_newest:
        # `stop` has left an older session as the current one, which has ended too.
        return await start_again(ctx, wait=wait, timeout=timeout)
    ctx.found.last_command = ctx.typed
    session = ctx.session.root
    await ctx.workspace.remove_ended_breakpoints(session.name, again=True)
    notes: tuple[str, ...] = ()
    if isinstance(target := session.target, Launch) and target.recipe is not None:
        # Build before the old program is ended: source that does not build must not end it.
        made = await _launch_target.built(ctx, target.recipe, target.env)
        session.target = replace(target, program=made.program)
        notes = (made.note(ctx.caller.cwd),) if made.new else ()
    notes += tuple(begin_run(ctx, session.name))
    began = time.monotonic()
    timeout_s = ctx.config.timeouts.resume_s if timeout is None else timeout
    session.output.seen = session.output.end
    ticket: SeenStops = {session: session.stop_number}
    async with session.exclusive():
        await asyncio.shield(asyncio.ensure_future(session.restart()))
    left = max(0.0, timeout_s - (time.monotonic() - began))
    got = await wait_for_stop(session, ticket, left if wait else 0)
    if got is None:
        waited = time.monotonic() - began if wait else None
        report = running_report(ctx, session, waited, notes=notes, first=True)
        report = await with_stacks(session, report)
        # The session may have stopped meanwhile.
        got = None if session.phase is Phase.RUNNING else await wait_for_stop(session, ticket, 0)
    if got is None:
        return report
    return await stop_report(ctx, got[0], got[1], notes=notes, first=True)
