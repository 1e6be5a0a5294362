"""Expressions that every stop shows: display, undisplay."""

from __future__ import annotations

from typing import Annotated

from freezeframe.errors import NoSession, UsageError
from freezeframe.model.answers import Display, DisplayList
from freezeframe.session import displays
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session

from ._context import Context
from ._registry import Arg, Effect, Needs, op


@op(
    "display",
    aliases=("display add", "display list", "info display"),
    group="inspect",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="display cart.total",
    examples=("display 'len(rows)'", "display"),
)
async def display(
    ctx: Context,
    expression: Annotated[
        str | None,
        Arg("what to show, in the program's language", meta="EXPR", greedy=True, code=True),
    ] = None,
) -> DisplayList:
    """Show an expression at every stop from now on. Without one: list the current displays.

    Names, attributes and elements are looked up without running code of the program; any other
    expression is evaluated at each stop, as `print` does. Displays survive a restart of the
    program.
    """
    session = _session(ctx)
    known = ctx.workspace.displays
    if expression is None:
        return DisplayList(await _shown(ctx, session, list(known)), next=_to_add(known))
    if not expression.strip():
        raise UsageError("an expression is missing.", next="dbg display EXPR")
    name = session.root.name if session is not None else None
    entry = known.add(expression.strip(), name)
    return DisplayList(await _shown(ctx, session, [entry]), done="added")


def _to_add(known: displays.Displays) -> tuple[str, ...]:
    return () if known.entries else ("display EXPR",)


@op(
    "undisplay",
    aliases=("display remove", "display delete", "delete display"),
    group="inspect",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="undisplay 1",
    examples=("undisplay --all",),
)
async def undisplay(
    ctx: Context,
    which: Annotated[tuple[str, ...], Arg("ids, or the expressions", meta="ID")] = (),
    *,
    all: Annotated[bool, Arg("every one")] = False,
) -> DisplayList:
    """Remove expressions from the display list."""
    known = ctx.workspace.displays
    if not which and not all:
        raise UsageError("which one? Name ids, or --all.", next="dbg display")
    by_text = {entry.expression: entry.id for entry in known}
    ids = list(known.entries) if all else [_id(word, by_text) for word in which]
    gone = [known.get(id) for id in ids]
    for entry in gone:
        known.entries.pop(entry.id, None)
    return DisplayList(tuple(Display(e.id, e.expression) for e in gone), done="removed")


def _id(word: str, by_text: dict[str, int]) -> int:
    if word in by_text:
        return by_text[word]
    if not word.isdecimal():
        raise UsageError(f"{word!r} is not displayed.", next="dbg display")
    return int(word)


def _session(ctx: Context) -> Session | None:
    try:
        return ctx.hub.find(ctx.session_name, ctx.workspace)
    except NoSession:
        if ctx.session_name is not None:
            raise
        return None


async def _shown(
    ctx: Context, session: Session | None, entries: list[displays.DisplayEntry]
) -> tuple[Display, ...]:
    """Return *entries*, with values if the program is stopped and they belong to it."""
    here: list[displays.DisplayEntry] = []
    if session is not None and session.phase is Phase.STOPPED:
        here = ctx.workspace.displays.of(session.name)
    if session is None or not here:
        return tuple(Display(e.id, e.expression, error=e.disabled_reason) for e in entries)
    async with session.exclusive():
        stop = await session.require_stopped()
        return tuple(
            [
                await displays.show(e, stop)
                if e in here
                else Display(e.id, e.expression, error=e.disabled_reason)
                for e in entries
            ]
        )
