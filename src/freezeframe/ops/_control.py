"""Refuse what a person or an editor that has taken over does not expect; tell what they did."""

from __future__ import annotations

from collections.abc import Iterable

from freezeframe.session.control import Handback
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session

from ._context import Context
from ._registry import Effect, Needs, OpSpec


def check_control(spec: OpSpec, ctx: Context) -> None:
    """Raise TakenOver if somebody else controls a session that the operation would change."""
    for session in _changed_sessions(spec, ctx):
        session.control.check(ctx.caller.owner, session.name)


def log_action(spec: OpSpec, ctx: Context) -> None:
    """Note what the owner of a session did to it."""
    for session in _changed_sessions(spec, ctx):
        session.control.log(ctx.caller.owner, ctx.typed)


def _changed_sessions(spec: OpSpec, ctx: Context) -> Iterable[Session]:
    if spec.effect is Effect.READS:
        return ()
    if ctx.found is not None:
        return (ctx.found.root,)
    if spec.needs is not Needs.WORKSPACE:
        return ()  # what replaces or ends a session checks it itself
    if spec.effect is Effect.WRITES:  # of breakpoints and filters, which all sessions share
        return tuple(ctx.workspace.sessions.values())
    current = ctx.workspace.session()
    if ctx.session_name is not None:
        current = ctx.workspace.sessions.get(ctx.session_name.partition("/")[0])
    return () if current is None else (current.root,)


async def wait_for_handback(ctx: Context, timeout_s: float) -> None:
    """Wait until nobody else controls the session. Raises TakenOver when the time is up."""
    session = ctx.session.root
    if ctx.caller.owner is None and not await session.control.wait_released(timeout_s):
        session.control.check(None, session.name)


def take_notes(ctx: Context) -> tuple[str, ...]:
    """Return what owners did before they handed sessions back, each once, for an agent."""
    if ctx.caller.owner is not None:
        return ()
    roots = dict.fromkeys(ctx.workspace.sessions.values())
    if ctx.found is not None:
        roots[ctx.found.root] = None
    return tuple(
        _described(back, root, is_last=back is backs[-1])
        for root in roots
        if (backs := root.control.take_handbacks())
        for back in backs
    )


def _described(back: Handback, root: Session, *, is_last: bool) -> str:
    did = ", ".join(_counted(back.actions)) or "nothing was done"
    if back.omitted:
        did = f"{back.omitted} earlier commands, {did}"
    how = "left" if back.expired else "handed back"
    return f"{back.owner} {how} {root.name}: {did}" + (f"; {_position(root)}" if is_last else "")


def _counted(actions: Iterable[str]) -> list[str]:
    """Return the actions with equal ones in a row as one: `next ×3`."""
    counted: list[tuple[str, int]] = []
    for action in actions:
        if counted and counted[-1][0] == action:
            counted[-1] = (action, counted[-1][1] + 1)
        else:
            counted.append((action, 1))
    return [action if count == 1 else f"{action} ×{count}" for action, count in counted]


def _position(root: Session) -> str:
    session = root.focus()
    stop = session.current_stop
    if session.phase is not Phase.STOPPED or stop is None:
        return f"the program is {session.phase.value} now"
    frame = stop.thread.frame
    where = f" at {frame.path}:{frame.line} in {frame.function}" if frame and frame.path else ""
    return f"the program is stopped{where} now"
