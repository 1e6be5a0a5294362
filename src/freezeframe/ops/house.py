"""The house: logs, configuration, what is installed, the daemon itself."""

from __future__ import annotations

import os
from typing import Annotated

from freezeframe.backends import select
from freezeframe.config import load, settings
from freezeframe.errors import BadConfig, NotFound
from freezeframe.model.answers import AdapterList, Checkup, Settings, Status, Text

from . import sessions
from ._checks import checks
from ._context import Context
from ._registry import Arg, Effect, op


@op("doctor", group="house", example="doctor")
async def doctor(ctx: Context) -> Checkup:
    """Check what is installed by really starting it, and say how to mend what is broken."""
    return Checkup(await checks(ctx))


@op("adapters", group="house", control=True, example="adapters")
async def adapters(ctx: Context) -> AdapterList:
    """List the debuggers that are known, and which are here."""
    return AdapterList(select.survey(ctx.caller.env, ctx.config))


@op("setup", group="house", control=True, example="setup")
async def setup(
    ctx: Context,
    name: Annotated[str | None, Arg("only this debugger", complete="adapter")] = None,
) -> AdapterList:
    """Show what is missing and the commands that install it. Nothing is run."""
    known = select.survey(ctx.caller.env, ctx.config)
    chosen = tuple(info for info in known if name in (None, info.name))
    if not chosen:
        raise NotFound(
            f"there is no debugger {name}; there are {', '.join(i.name for i in known)}.",
            next="dbg adapters",
        )
    return AdapterList(chosen)


@op("config", group="house", control=True, example="config", examples=("config timeouts",))
async def config(
    ctx: Context,
    key: Annotated[str | None, Arg("a key, or the beginning of one", complete="setting")] = None,
) -> Settings:
    """Show and explain every setting of config.toml, and who set it."""
    chosen = settings(ctx.config)
    if key is not None:
        chosen = tuple(s for s in chosen if s.key == key or s.key.startswith(key.rstrip(".") + "."))
        if not chosen:
            raise NotFound(f"there is no setting {key}.", next="dbg config")
    path = ctx.house.config_path
    error = None
    try:
        load(path, {})
    except BadConfig as bad:
        error = bad.message
    return Settings(path, os.path.exists(path), chosen, error)


@op("logs", group="house", control=True, example="logs --tail 50")
async def logs(
    ctx: Context,
    *,
    tail: Annotated[int, Arg("how many lines", short="-n", meta="N")] = 30,
) -> Text:
    """Show the end of the daemon's log."""
    try:
        with open(ctx.house.log_path, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except FileNotFoundError:
        lines = []
    return Text("".join(lines[-tail:]) or "the log is empty\n")


@op("daemon status", group="house", control=True, example="daemon status")
async def daemon_status(ctx: Context) -> Status:
    """Show the daemon: its process, version, age and log."""
    return await sessions.status(ctx)


@op("daemon stop", group="house", control=True, effect=Effect.ENDS, example="daemon stop")
async def daemon_stop(ctx: Context) -> Text:
    """End every session and the daemon. The next command starts a new one."""
    count = sum(1 for root in ctx.hub.roots() if root.tree_live)
    ctx.house.request_exit()
    ended = f"; {count} session{'s' if count != 1 else ''} ended with it" if count else ""
    return Text(f"the daemon (pid {ctx.house.pid}) is leaving{ended}\n")
