"""Sessions: restart, stop, detach, and which ones there are."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Core, Feature, Launch
from freezeframe.errors import NoSession
from freezeframe.model.answers import Ended, SessionInfo, SessionList, Status, StopReport
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.waiting import Ticket
from freezeframe.session.waiting import wait as wait_for_news

from . import _programs
from ._arguments import FirstStop, Timeout
from ._blocked import with_stacks
from ._context import Context
from ._launching import start_again
from ._registry import Arg, Effect, Needs, op
from ._reports import running_report, stop_report
from .breakpoints import follow_edits


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
    """Start the program again, as it was started, with the breakpoints as they are now.

    One that was built of its source is built again when that has changed. After `stop` it is
    started anew.
    """
    try:
        ctx.found = ctx.hub.find(ctx.session_name, ctx.workspace)
    except NoSession:
        if not ctx.workspace.launches:
            raise
        return await start_again(ctx, wait=wait, timeout=timeout)
    ctx.found.led_by = ctx.typed
    session = ctx.session.root
    notes: tuple[str, ...] = ()
    if isinstance(target := session.target, Launch) and target.recipe is not None:
        # Before the old one is ended: source that does not build costs nothing.
        made = await _programs.built(ctx, target.recipe, target.env)
        session.target = replace(target, program=made.program)
        notes = (made.note(ctx.caller.cwd),) if made.new else ()
    notes += tuple(follow_edits(ctx, session.name))
    began = time.monotonic()
    timeout_s = ctx.config.timeouts.resume_s if timeout is None else timeout
    session.output.seen = session.output.end
    ticket: Ticket = {session: session.stop_number}
    async with session.turn():
        await asyncio.shield(asyncio.ensure_future(session.restart()))
    left = max(0.0, timeout_s - (time.monotonic() - began))
    got = await wait_for_news(session, ticket, left if wait else 0)
    if got is None:
        waited = time.monotonic() - began if wait else None
        report = running_report(ctx, session, waited, notes=notes, first=True)
        report = await with_stacks(session, report)
        # It may have stopped while it was looked at.
        got = None if session.phase is Phase.RUNNING else await wait_for_news(session, ticket, 0)
    if got is None:
        return report
    return await stop_report(ctx, got[0], got[1], notes=notes, first=True)


@op(
    "stop",
    aliases=("kill", "quit", "q", "exit", "terminate"),
    group="sessions",
    effect=Effect.ENDS,
    needs=Needs.SESSION,
    control=True,
    example="stop",
    examples=("stop --all",),
)
async def stop(
    ctx: Context,
    *,
    all: Annotated[bool, Arg("every session of this workspace")] = False,
) -> Ended:
    """End the program, its children and its debugger.

    A program that was attached to is left running.
    """
    roots = list(ctx.workspace.sessions.values()) if all else [ctx.session.root]
    ended: list[Ended] = []
    for root in roots:
        was_live = root.tree_live
        children = tuple(m.name for m in root.members() if m is not root)
        await root.end(for_good=True)
        each = Ended(
            session=root.name,
            how=_how_it_went(root) if was_live else "ended already",
            exit=None if was_live else root.exit,
            pid=root.pid,
            output=root.output.take_new(4000),
            children=children,
        )
        ended.append(each)
        ctx.hub.remove(root)
    return replace(ended[0], others=tuple(ended[1:]))


def _how_it_went(root: Session) -> str:
    if isinstance(root.target, Core):
        return "closed"
    # A program that was joined is not ours to end.
    return "detached" if root.exit is not None and root.exit.how == "detached" else "stopped"


@op(
    "detach",
    group="sessions",
    effect=Effect.ENDS,
    needs=Needs.LIVE,
    control=True,
    feature=Feature.DETACH,
    example="detach",
)
async def detach(ctx: Context) -> Ended:
    """Leave the program running without a debugger."""
    root = ctx.session.root
    children = tuple(m.name for m in root.members() if m is not root)
    for member in root.members():
        if member.pid is not None and isinstance(member.target, Launch):
            ctx.house.release(member.pid)
    await root.detach()
    ctx.hub.left += [m.backend for m in root.members() if m.backend is not None]
    ended = Ended(
        session=root.name,
        how="detached",
        pid=root.pid,
        output=root.output.take_new(4000),
        children=children,
    )
    ctx.hub.remove(root)
    return ended


@op("status", group="sessions", control=True, aliases=("info",), example="status")
async def status(ctx: Context) -> Status:
    """Show the daemon and every session: phase, debugger, process, place."""
    sessions = _infos(ctx, everywhere=True)
    return Status(
        daemon_pid=ctx.house.pid,
        version=ctx.house.version,
        uptime_s=time.monotonic() - ctx.house.started,
        log=ctx.house.log_path,
        workspace=ctx.workspace.root,
        sessions=sessions,
        next=() if sessions else ("start PROGRAM -b FILE:LINE",),
    )


@op("sessions", group="sessions", control=True, example="sessions", examples=("sessions --all",))
async def sessions(
    ctx: Context,
    *,
    everywhere: Annotated[bool, Arg("those of other workspaces too", short="-a")] = False,
    all: Annotated[bool, Arg("recorded runs too, whether or not they have ended")] = False,
) -> SessionList:
    """List the sessions of this workspace, children below their parents."""
    shown = _infos(ctx, everywhere=everywhere)
    if all:
        recorded = await ctx.history.runs(ctx.workspace.root)
        return SessionList(sessions=shown, recorded=tuple(reversed(recorded)), all=True)
    total = sum(1 for root in ctx.hub.roots() for _ in root.members())
    return SessionList(
        sessions=shown,
        elsewhere=0 if everywhere else total - len(shown),
        next=() if shown else ("start PROGRAM -b FILE:LINE",),
    )


def _infos(ctx: Context, *, everywhere: bool) -> tuple[SessionInfo, ...]:
    here = list(ctx.workspace.sessions.values())
    others = [root for root in ctx.hub.roots() if root not in here] if everywhere else []
    now = time.time()
    return tuple(
        ctx.hub.info(member, ctx.workspace, now)
        for root in [*here, *others]
        for member in root.members()
    )


@op("use", group="sessions", control=True, effect=Effect.WRITES, example="use server")
async def use(
    ctx: Context,
    name: Annotated[str, Arg("the session that later commands speak to", complete="session")],
) -> SessionList:
    """Make a session the current one of this workspace."""
    session: Session = ctx.hub.find(name, ctx.workspace)
    ctx.hub.workspace_of(session).current = session.name
    return SessionList((ctx.hub.info(session, ctx.workspace, time.time()),))
