"""From a target and its debugger to a session and its first stop."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from freezeframe.backends import select
from freezeframe.backends.backend import Feature, Launch, Target
from freezeframe.errors import DebuggerTimeout, NoSession, UsageError, UserError
from freezeframe.model.answers import StopReport
from freezeframe.model.stops import DEFAULT_FILTERS
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.waiting import Ticket
from freezeframe.session.waiting import wait as wait_for_news

from . import _programs
from ._blocked import with_stacks
from ._context import Context
from ._lasting import lasting
from ._reports import running_report, stop_report
from .breakpoints import follow_edits

#: beyond the caller's time limit, for a debugger to come up: gdb and a JVM take seconds on a busy
#: machine before the program has begun
_STARTING_S = 8.0


async def begin(
    ctx: Context,
    name: str,
    target: Target,
    choice: select.Choice,
    *,
    wait: bool,
    timeout: float | None,
    pause: bool = False,
    remarks: tuple[str, ...] = (),
    record: bool | None = None,
) -> StopReport:
    """Start a session under *name*, wait for its first stop, report."""
    if "/" in name or not name:
        raise UsageError(
            f"{name!r} cannot be the name of a session.", next="dbg start … --name NAME"
        )
    notes = [*remarks, *choice.remarks, *await _prepared(ctx, target, choice)]
    notes += follow_edits(ctx, name)
    # Again after each wait: another command may have taken the name meanwhile.
    while (earlier := ctx.workspace.sessions.get(name)) is not None:
        if earlier.tree_live:
            notes.append(
                f"replaced: session {name} (pid {earlier.pid}) was still live and was ended"
            )
        await earlier.end(for_good=True)
        ctx.hub.remove(earlier)
    session = ctx.hub.create(ctx.workspace, name, choice.make_backend(ctx.config), choice.reason)
    session.recorded = ctx.config.history.record if record is None else record
    if isinstance(target, Launch):
        ctx.workspace.launches.pop(name, None)
        ctx.workspace.launches[name] = (target, choice)
    session.led_by = ctx.typed
    began = time.monotonic()
    timeout_s = ctx.config.timeouts.resume_s if timeout is None else timeout
    starting = asyncio.ensure_future(session.start(target))
    # What a caller has given no limit is bounded by the limits of each request.
    end = None if timeout is None else asyncio.get_running_loop().time() + timeout + _STARTING_S
    try:
        async with asyncio.timeout_at(end):
            # The session belongs to the daemon: a client that goes away does not end it.
            await _brought_up(ctx, session, starting)
            return await _first_news(
                ctx, session, choice, began, timeout_s, wait=wait, pause=pause, notes=notes
            )
    except TimeoutError:
        if timeout is None:
            raise
        what = "answer" if starting.done() else "start the program"
        raise DebuggerTimeout(
            f"{choice.debugger.name} did not {what} within {timeout:g} s; it goes on.",
            next="dbg await",
        ) from None


async def _brought_up(ctx: Context, session: Session, starting: asyncio.Future[None]) -> None:
    """Wait until a session has started; one that cannot is no session.

    A caller that leaves, or whose time is up, finds it as it is then.
    """
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise
    except BaseException:
        if ctx.workspace.sessions.get(session.name) is session:
            ctx.hub.remove(session)
        raise


async def _first_news(
    ctx: Context,
    session: Session,
    choice: select.Choice,
    began: float,
    timeout_s: float,
    *,
    wait: bool,
    pause: bool,
    notes: list[str],
) -> StopReport:
    """Wait for the first stop or end of a session that has started, and report it."""
    ticket: Ticket = {session: 0}
    notes += _unknown_filters(ctx, session)
    if pause and session.live and session.moment is None and not choice.debugger.holds:
        await session.require(Feature.PAUSE).pause(None)
    left = max(0.0, timeout_s - (time.monotonic() - began))
    got = await wait_for_news(session, ticket, left if wait else 0)
    if got is None:
        waited = time.monotonic() - began if wait else None
        report = running_report(ctx, session, waited, notes=tuple(notes), first=True)
        report = await with_stacks(session, report)
        if session.phase is Phase.RUNNING or report.state != Phase.RUNNING.value:
            return report
        # It stopped or ended while it was looked at.
        got = await wait_for_news(session, ticket, 0)
        if got is None:
            return running_report(ctx, session, waited, notes=tuple(notes), first=True)
    stopped, moment = got
    return await stop_report(ctx, stopped, moment, notes=tuple(notes), first=True)


async def start_again(ctx: Context, *, wait: bool, timeout: float | None) -> StopReport:
    """Start the last session that was ended, or the one that is named, as it was started.

    Raises NoSession where there was none.
    """
    launches = ctx.workspace.launches
    name = ctx.session_name or next(reversed(launches), None)
    if name is None or name not in launches:
        ctx.hub.find(ctx.session_name, ctx.workspace)
        raise NoSession("nothing was started here yet.", next="dbg start PROGRAM")
    target, choice = launches[name]
    notes: tuple[str, ...] = ()
    if target.recipe is not None:
        made = await _programs.built(ctx, target.recipe, target.env)
        target = replace(target, program=made.program)
        notes = (made.note(ctx.caller.cwd),) if made.new else ()
    return await begin(ctx, name, target, choice, wait=wait, timeout=timeout, remarks=notes)


async def _prepared(ctx: Context, target: Target, choice: select.Choice) -> list[str]:
    """Make what a debugger needs once on a machine: it takes nothing off the limit of a start.

    A caller whose patience ends first is told so, and finds it under way, or done.
    """
    prepare, name = choice.debugger.prepare, choice.debugger.name
    if prepare is None:
        return []

    def late(waited_s: float) -> UserError:
        return UserError(
            f"what {name} needs once is still being made after {waited_s:.0f} s; that goes on, and "
            "the same command waits for it.",
            code="building",
            next=f"dbg start {target.program}" if isinstance(target, Launch) else "dbg attach PID",
        )

    limit_s = ctx.config.timeouts.build_s
    said = await lasting(
        ctx,
        ("prepare", name, choice.found.path),
        lambda: prepare(choice.found, target.env, limit_s),
        late=late,
    )
    return [said] if said else []


def _unknown_filters(ctx: Context, session: Session) -> list[str]:
    """Filters could be named before there was a debugger to ask whether it has them."""
    backend = session.backend
    if backend is None or not session.live or ctx.workspace.filters is None:
        return []
    offered = {f.name for f in backend.filters}
    chosen = [f for f in ctx.workspace.filters if f is not DEFAULT_FILTERS]
    unknown = [f.name for f in chosen if f.name not in offered]
    has = ", ".join(sorted(offered))
    return [f"{backend.tool} has no exception filter {name}; it has {has}" for name in unknown]
