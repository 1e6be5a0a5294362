"""Sessions: stop, detach, status, sessions, use."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Core, Feature, Launch
from freezeframe.model.answers import Ended, SessionInfo, SessionList, Status
from freezeframe.session.session import Session

from ._context import Context
from ._registry import Arg, Effect, Needs, op


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

    A program that was attached to keeps running.
    """
    roots = list(ctx.workspace.sessions.values()) if all else [ctx.session.root]
    ended: list[Ended] = []
    for root in roots:
        root.control.check(ctx.caller.owner, root.name)
    for root in roots:
        was_live = root.any_live
        children = tuple(m.name for m in root.tree() if m is not root)
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
    # `stop` does not end a program that was attached to.
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
    """Detach the debugger; the program keeps running."""
    root = ctx.session.root
    children = tuple(m.name for m in root.tree() if m is not root)
    for member in root.tree():
        if member.pid is not None and isinstance(member.target, Launch):
            ctx.daemon.release(member.pid)
    await root.detach()
    ctx.hub.detached += [m.backend for m in root.tree() if m.backend is not None]
    ended = Ended(
        session=root.name,
        how="detached",
        pid=root.pid,
        output=root.output.take_new(4000),
        children=children,
    )
    ctx.hub.remove(root)
    return ended


@op(
    "status",
    group="sessions",
    control=True,
    aliases=("info", "children", "processes", "ps", "info inferiors"),
    example="status",
)
async def status(ctx: Context) -> Status:
    """Show the daemon and every session: phase, debugger, process, location."""
    sessions = _infos(ctx, everywhere=True)
    return Status(
        daemon_pid=ctx.daemon.pid,
        version=ctx.daemon.version,
        uptime_s=time.monotonic() - ctx.daemon.started,
        log=ctx.daemon.log_path,
        workspace=ctx.workspace.root,
        sessions=sessions,
        next=() if sessions else ("start PROGRAM -b FILE:LINE",),
    )


@op("sessions", group="sessions", control=True, example="sessions", examples=("sessions --all",))
async def sessions(
    ctx: Context,
    *,
    everywhere: Annotated[bool, Arg("sessions of other workspaces too", short="-a")] = False,
    all: Annotated[bool, Arg("recorded runs too, whether or not they have ended")] = False,
) -> SessionList:
    """List the sessions of this workspace, children below their parents."""
    shown = _infos(ctx, everywhere=everywhere)
    if all:
        recorded = await ctx.history.runs(ctx.workspace.root)
        return SessionList(sessions=shown, recorded=tuple(reversed(recorded)), all=True)
    total = sum(1 for root in ctx.hub.roots() for _ in root.tree())
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
        for member in root.tree()
    )


@op("use", group="sessions", control=True, effect=Effect.WRITES, example="use server")
async def use(
    ctx: Context,
    name: Annotated[str, Arg("the session for later commands", complete="session")],
) -> SessionList:
    """Make a session the current one of this workspace."""
    session: Session = ctx.hub.find(name, ctx.workspace)
    ctx.hub.workspace_of(session).current = session.name
    return SessionList((ctx.hub.info(session, ctx.workspace, time.time()),))
