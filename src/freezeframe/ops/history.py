"""History: what was recorded, asked again and compared."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from freezeframe.errors import NotFound, UsageError
from freezeframe.model.history import EventList, HitDiff, HitGroups, HitTable, HitTrend, RunDiff
from freezeframe.model.places import Location

from ._context import Context
from ._places import check_unconditional
from ._registry import Arg, op
from .seeing import read_range

if TYPE_CHECKING:
    from freezeframe.history.reading import Found, HitRow
    from freezeframe.history.tables import Chosen

_Place = Annotated[Location, Arg("file:line or a function", meta="LOC", complete="location")]
_Run = Annotated[
    str | None, Arg("a label, number or session (default: the last run)", short="-r", meta="RUN")
]
_Where = Annotated[
    str | None,
    Arg("only hits for which it is true: 'n > 3'", short="-w", meta="EXPR", name="where"),
]
#: Rows of a table that nobody limited.
_ROWS = 200
#: Divergences listed by --all.
_DIVERGENCES = 200

EventKind = Literal["start", "stop", "resume", "output", "breakpoint", "child", "exit"]


async def find(ctx: Context, name: str | None) -> Found:
    """Return the run that a command speaks of: the one named, the current session's, the last."""
    session = None
    if name is None and ctx.session_name is not None:
        session = ctx.hub.find(ctx.session_name, ctx.workspace)
    elif name is None and (current := ctx.workspace.session()) is not None:
        session = current.focus()
    return await ctx.history.find(ctx.workspace.root, name, session)


async def _hits(ctx: Context, run: str | None, where: Location) -> tuple[Found, list[HitRow]]:
    check_unconditional(where)
    found = await find(ctx, run)
    return found, await ctx.history.hits(found, where, _directory(ctx))


def _named(where: Location, rows: list[HitRow]) -> str:
    """Return how a place is told: of a function, with the line where it was stopped at."""
    spots = {row.place for row in rows}
    if where.file is None and len(spots) == 1:
        return f"{where} ({spots.pop()})"
    return str(where)


def _directory(ctx: Context) -> str:
    """Return the caller's directory as the workspace sees it."""
    return os.path.relpath(ctx.caller.cwd, ctx.workspace.root)


@op(
    "hits",
    group="history",
    control=True,
    example="hits app.py:42",
    examples=(
        "hits app.py:42 n 'len(rows)' --where 'n > 3'",
        "hits parse --count-by token.kind --top 5 --run before",
    ),
)
async def hits(
    ctx: Context,
    where: _Place,
    columns: Annotated[
        tuple[str, ...], Arg("what to show of each (default: variables that change)", meta="EXPR")
    ] = (),
    *,
    condition: _Where = None,
    group_by: Annotated[str | None, Arg("one row for each value of it", meta="EXPR")] = None,
    count_by: Annotated[
        str | None, Arg("how often each value of it came, most first", meta="EXPR")
    ] = None,
    top: Annotated[int | None, Arg("only so many rows", short="-n", meta="N")] = None,
    range: Annotated[
        str | None, Arg("only those rows: 100:200, counted from 0", meta="FROM:TO")
    ] = None,
    run: _Run = None,
) -> HitTable | HitGroups:
    """Show every recorded stop at a place, as a table.

    Expressions are answered from what was recorded: variables, fields, arithmetic, comparisons,
    `len`; and @hit, @stop, @line, @thread, @reason, @time of the stop itself.
    """
    from freezeframe.history import tables

    if top is not None and top < 1:
        raise UsageError(f"--top takes 1 or more, not {top}.")
    if group_by is not None and count_by is not None:
        raise UsageError("--group-by and --count-by are two questions.", next=f"dbg hits {where}")
    found, rows = await _hits(ctx, run, where)
    place = _named(where, rows)
    by = group_by or count_by
    wanted = read_range(range)
    options = {"where": condition, "group-by": group_by, "count-by": count_by, "run": run}
    asked = [str(where), *columns]
    for name, value in options.items():
        asked += [f"--{name}", value] if value is not None else []

    def table() -> HitTable | HitGroups:
        chosen = tables.choose(rows, condition)
        if by is None:
            whole = _table(found, place, rows, chosen, columns, condition, wanted or (0, top))
            return replace(whole, asked=tuple(asked))
        shown = tables.columns(chosen.rows, columns) if group_by and chosen.rows else None
        if shown is not None and not columns:
            shown = shown.without(by)
        groups, unanswered = tables.groups(
            chosen.rows, by, shown, by_count=count_by is not None or top is not None
        )
        kept = groups[:top]
        return HitGroups(
            place,
            found.run,
            by,
            tuple(kept),
            len(chosen.rows),
            more=len(groups) - len(kept),
            columns=shown.names if shown else (),
            unanswered=unanswered,
            asked=tuple(asked),
        )

    # Thousands of stops take a while to read: the daemon serves others meanwhile.
    return await asyncio.to_thread(table)


def _table(
    found: Found,
    place: str,
    rows: list[HitRow],
    chosen: Chosen,
    columns: tuple[str, ...],
    condition: str | None,
    wanted: tuple[int, int | None],
) -> HitTable:
    from freezeframe.history import tables

    made = tables.columns(chosen.rows or rows, columns)
    start, end = wanted
    kept = chosen.rows[start : _ROWS if end is None else end]
    return HitTable(
        place,
        found.run,
        len(rows),
        made.names,
        tuple(tables.hit(row, made.cells(row)) for row in kept),
        matched=len(chosen.rows),
        start=start,
        where=condition,
        constant=made.constant if chosen.rows else (),
        others=made.others,
        unanswered=chosen.unanswered,
        reason=chosen.reason,
    )


@op(
    "hit-diff",
    group="history",
    control=True,
    example="hit-diff app.py:42 3 4",
    examples=("hit-diff app.py:42 before:3 after:3",),
)
async def hit_diff(
    ctx: Context,
    where: _Place,
    a: Annotated[str, Arg("a hit, or RUN:HIT", meta="A")],
    b: Annotated[str, Arg("another one", meta="B")],
    *,
    run: _Run = None,
) -> HitDiff:
    """Show what differs between two recorded stops at the same place."""
    from freezeframe.history import tables

    one_found, one = await _one_hit(ctx, where, a, run)
    other_found, other = await _one_hit(ctx, where, b, run)
    differ, equal = tables.between(one, other)
    return HitDiff(
        str(where),
        tables.hit(one),
        tables.hit(other),
        one_found.run,
        other_found.run,
        tuple(differ),
        tuple(equal),
    )


async def _one_hit(
    ctx: Context, where: Location, text: str, run: str | None
) -> tuple[Found, HitRow]:
    name, colon, number = text.rpartition(":")
    if not number.lstrip("-").isdecimal():
        raise UsageError(
            f"{text!r} is neither the number of a hit nor RUN:HIT.", next=f"dbg hits {where}"
        )
    found, rows = await _hits(ctx, name if colon else run, where)
    wanted = int(number)
    index = wanted - 1 if wanted > 0 else len(rows) + wanted
    if not wanted or not 0 <= index < len(rows):
        raise NotFound(
            f"run {found.run.label or found.run.number} has {len(rows)} hits at {where}; "
            f"there is no hit {number}.",
            next=f"dbg hits {where}",
        )
    return found, rows[index]


@op(
    "hit-trend",
    group="history",
    control=True,
    example="hit-trend app.py:42 total",
    examples=("hit-trend app.py:42 'len(rows)' --run before",),
)
async def hit_trend(
    ctx: Context,
    where: _Place,
    expression: Annotated[
        str, Arg("a number at each of the stops", meta="EXPR", greedy=True, code=True)
    ],
    *,
    condition: _Where = None,
    run: _Run = None,
) -> HitTrend:
    """Show how a number changed over the recorded stops at a place."""
    from freezeframe.history import tables

    found, rows = await _hits(ctx, run, where)

    def work() -> tuple[list[float], list[int], int, str | None]:
        chosen = tables.choose(rows, condition).rows
        if not chosen:
            raise NotFound(f"no hit at {where} has {condition}.", next=f"dbg hits {where}")
        return tables.trend(chosen, expression)

    points, numbers, skipped, instead = await asyncio.to_thread(work)
    return HitTrend(
        _named(where, rows), found.run, expression, tuple(points), tuple(numbers), skipped, instead
    )


@op(
    "diff",
    aliases=("compare",),
    group="history",
    control=True,
    example="diff good bad",
    examples=("diff 3 4 --all",),
)
async def diff(
    ctx: Context,
    a: Annotated[str, Arg("a recorded run: a label, number or session", meta="A")],
    b: Annotated[str, Arg("another one", meta="B")],
    *,
    all: Annotated[bool, Arg("every divergence, not only the first")] = False,
) -> RunDiff:
    """Hold two recorded runs against each other, and show where they part first.

    Stops are matched by place and hit; lines are followed through an edit of the source.
    """
    from freezeframe.history import divergence

    one, other = await find(ctx, a), await find(ctx, b)
    if one.id == other.id:
        raise UsageError(f"{a} and {b} are the same run.", next="dbg sessions --all")
    for name, each in ((a, one), (b, other)):
        if not each.run.stops:
            raise NotFound(
                f"run {name} has no stops to compare.",
                next="dbg start PROGRAM -b FILE:LINE",
            )
    sides = await ctx.history.side(one), await ctx.history.side(other)
    found = await asyncio.to_thread(divergence.compare, *sides)
    listed = found.divergences[: _DIVERGENCES if all else 1]
    return RunDiff(
        one.run,
        other.run,
        tuple(listed),
        found.equal_stops,
        found.last_equal,
        more=len(found.divergences) - len(listed),
        edited=found.edited,
        only_a=found.only_a,
        only_b=found.only_b,
        next=() if all or len(found.divergences) <= 1 else (f"diff {a} {b} --all",),
    )


@op(
    "events",
    group="history",
    control=True,
    example="events --tail 20",
    examples=("events --since 120 --kind stop --wait",),
)
async def events(
    ctx: Context,
    *,
    since: Annotated[int | None, Arg("from this cursor on", meta="CURSOR")] = None,
    tail: Annotated[int | None, Arg("only the last ones", short="-n", meta="N")] = None,
    kind: Annotated[tuple[EventKind, ...], Arg("only those of this kind", short="-k")] = (),
    wait: Annotated[bool, Arg("wait for one where there is none", short="-w")] = False,
    timeout: Annotated[
        float | None,
        Arg("seconds to wait for (default: 300, see `config`)", short="-t", meta="SECONDS"),
    ] = None,
) -> EventList:
    """List what happened in the sessions of this workspace, oldest first.

    With --wait and no cursor, it waits for what comes next.
    """
    journal = ctx.history.recorder.journal(ctx.workspace.root)
    kinds = frozenset[str](kind) or None
    cursor = since if since is not None else journal.end if wait and tail is None else 0
    began = time.monotonic()
    limit_s = ctx.config.timeouts.await_s if timeout is None else timeout
    found = journal.since(cursor, kinds)
    while wait and not found:
        left_s = limit_s - (time.monotonic() - began)
        if left_s <= 0 or not await journal.bell.wait(left_s):
            break
        found = journal.since(cursor, kinds)
    skipped = max(0, len(found) - tail) if tail is not None else 0
    return EventList(
        tuple(found[skipped:]),
        journal.end,
        dropped=max(0, journal.start - cursor),
        skipped=skipped,
        waited_s=time.monotonic() - began if wait and not found else None,
    )
