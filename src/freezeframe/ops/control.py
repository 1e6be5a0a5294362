"""Take a session over and hand it back: for the pages and editors of people."""

from __future__ import annotations

from typing import Annotated, Literal

from freezeframe.errors import UsageError
from freezeframe.model.answers import ControlState

from ._context import Context
from ._registry import Arg, Needs, op


@op("control", group="sessions", needs=Needs.SESSION, control=True, hidden=True, example="control")
async def control(
    ctx: Context,
    action: Annotated[
        Literal["show", "take", "renew", "release"], Arg("what to do with the control")
    ] = "show",
) -> ControlState:
    """Show who controls a session, take it over, keep it, or hand it back.

    While a person or an editor controls a session, commands of others that resume or change it
    are refused. Control that is not renewed ends by itself (`timeouts.control_s`).
    """
    session = ctx.session.root
    caller, state = ctx.caller.owner, session.control
    if action != "show" and caller is None:
        raise UsageError(
            "only the page of `dbg web` and editors take a session over.", next="dbg web"
        )
    if caller is not None:
        if action == "take":
            state.acquire(caller, ctx.config.timeouts.control_s)
        elif action == "renew":
            state.renew(caller.id)
        elif action == "release":
            state.release(caller.id)
        ctx.history.recorder.publish()
    owner = state.owner
    return ControlState(
        session=session.name,
        kind=owner.kind if owner is not None else None,
        owner=str(owner) if owner is not None else None,
        own=owner is not None and caller is not None and owner.id == caller.id,
        left_s=state.left_s,
    )
