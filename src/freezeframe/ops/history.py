"""History: query recorded runs."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from freezeframe.errors import NotFound, UsageError
from freezeframe.model.history import EventList, HitDiff, HitGroups, HitTable, HitTrend
from freezeframe.model.locations import Location

from ._context import Context
from ._locations import check_unconditional
from ._registry import Arg, op
from .inspection import read_range

if TYPE_CHECKING:
    from freezeframe.history.hit_tables import Chosen
    from freezeframe.history.queries import FoundRun, HitRow

_LocationArg = Annotated[Location, Arg("file:line or a function", meta="LOC", complete="location")]
_Run = Annotated[
    str | None, Arg("a label, number or session (default: the last run)", short="-r", meta="RUN")
]
_Where = Annotated[
    str | None,
    Arg("only hits for which this is true: 'n > 3'", short="-w", meta="EXPR", name="where"),
]
#: Default limit of rows in a table.
_ROWS = 200

EventKind = Literal["start", "stop", "resume", "output", "breakpoint", "child", "exit"]


async def find(ctx: Context, name: str | None, *, whole: bool = True) -> FoundRun:
    """Return the run called *name*; by default the current session's run, or else the last.

    *whole*: the steps of a trace are in the database.
    """
    session = None
    if name is None and ctx.session_name is not None:
        session = ctx.hub.find(ctx.session_name, ctx.workspace)
    elif name is None and (current := ctx.workspace.session()) is not None:
        session = current.focus()
    return await ctx.history.find(ctx.workspace.root, name, session, whole=whole)


async def _hits(ctx: Context, run: str | None, where: Location) -> tuple[FoundRun, list[HitRow]]:
    check_unconditional(where)
    found = await find(ctx, run)
    where = _of_breakpoint(ctx, where)
    return found, await ctx.history.hits(found, where, _directory(ctx))


async def _only_location(ctx: Context, run: str | None) -> Location:
    """Return the only location that a run has hits at. Raises UsageError if there are several."""
    known = await ctx.history.hit_locations(await find(ctx, run))
    if len(known) > 1:
        listed = ", ".join(f"{each} ({count})" for each, count in known)
        raise UsageError(f"the run has hits at {listed}.", next=f"dbg hits {known[0][0]}")
    return Location.parse(known[0][0])


def _of_breakpoint(ctx: Context, where: Location) -> Location:
    """Return the location of the breakpoint if *where* is the number of one."""
    number = (where.function or "").removeprefix("#")
    entry = ctx.workspace.breakpoints.entries.get(int(number)) if number.isdecimal() else None
    if entry is None:
        return where
    file = entry.location.file
    return replace(
        entry.location, file=os.path.relpath(file, ctx.caller.cwd) if file is not None else None
    )


def _named(where: Location, rows: list[HitRow]) -> str:
    """Return the text for a location; for a function, with the line of its stops."""
    locations = {row.location for row in rows}
    if where.file is None and len(locations) == 1:
        return f"{where} ({locations.pop()})"
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
    where: Annotated[
        Location | None,
        Arg(
            "file:line, a function or a breakpoint's number (default: the only location)",
            meta="LOC",
            complete="location",
        ),
    ] = None,
    columns: Annotated[
        tuple[str, ...], Arg("columns to show (default: variables that change)", meta="EXPR")
    ] = (),
    *,
    condition: _Where = None,
    group_by: Annotated[str | None, Arg("one row for each value of this", meta="EXPR")] = None,
    count_by: Annotated[
        str | None, Arg("count the values of this, most frequent first", meta="EXPR")
    ] = None,
    top: Annotated[int | None, Arg("at most this many rows", short="-n", meta="N")] = None,
    range: Annotated[
        str | None, Arg("only this range of rows: 100:200, counted from 0", meta="FROM:TO")
    ] = None,
    run: _Run = None,
) -> HitTable | HitGroups:
    """Show every recorded stop at a location, or every message of a logpoint, as a table.

    Expressions are evaluated on the recorded values: variables, fields, arithmetic, comparisons,
    `len`; and @hit, @stop, @line, @thread, @reason, @time of the stop itself.
    """
    from freezeframe.history import hit_tables

    if top is not None and top < 1:
        raise UsageError(f"--top takes 1 or more, not {top}.")
    if group_by is not None and count_by is not None:
        raise UsageError("--group-by and --count-by cannot be combined.", next="dbg help hits")
    if where is None:
        where = await _only_location(ctx, run)
    found, rows = await _hits(ctx, run, where)
    location = _named(where, rows)
    by = group_by or count_by
    requested = read_range(range)
    options = {"where": condition, "group-by": group_by, "count-by": count_by, "run": run}
    query = [str(where), *columns]
    for name, value in options.items():
        query += [f"--{name}", value] if value is not None else []

    def table() -> HitTable | HitGroups:
        chosen = hit_tables.choose(rows, condition)
        if by is None:
            whole = _table(found, location, rows, chosen, columns, condition, requested or (0, top))
            return replace(whole, asked=tuple(query))
        shown = hit_tables.columns(chosen.rows, columns) if group_by and chosen.rows else None
        if shown is not None and not columns:
            shown = shown.without(by)
        groups, unanswered = hit_tables.groups(
            chosen.rows, by, shown, by_count=count_by is not None or top is not None
        )
        kept = groups[:top]
        return HitGroups(
            location,
            found.run,
            by,
            tuple(kept),
            len(chosen.rows),
            more=len(groups) - len(kept),
            columns=shown.names if shown else (),
            unanswered=unanswered,
            asked=tuple(query),
        )

    # Reading thousands of stops takes a while: keep the daemon's event loop free.
    return await asyncio.to_thread(table)


def _table(
    found: FoundRun,
    location: str,
    rows: list[HitRow],
    chosen: Chosen,
    columns: tuple[str, ...],
    condition: str | None,
    requested: tuple[int, int | None],
) -> HitTable:
    from freezeframe.history import hit_tables

    made = hit_tables.columns(chosen.rows or rows, columns)
    start, end = requested
    kept = chosen.rows[start : _ROWS if end is None else end]
    return HitTable(
        location,
        found.run,
        len(rows),
        made.names,
        tuple(hit_tables.hit(row, made.cells(row)) for row in kept),
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
    where: _LocationArg,
    a: Annotated[str, Arg("a hit, or RUN:HIT", meta="A")],
    b: Annotated[str, Arg("another one", meta="B")],
    *,
    run: _Run = None,
) -> HitDiff:
    """Show what differs between two recorded stops at the same location."""
    from freezeframe.history import hit_tables

    one_found, one = await _one_hit(ctx, where, a, run)
    other_found, other = await _one_hit(ctx, where, b, run)
    differ, equal = hit_tables.between(one, other)
    return HitDiff(
        str(where),
        hit_tables.hit(one),
        hit_tables.hit(other),
        one_found.run,
        other_found.run,
        tuple(differ),
        tuple(equal),
    )


async def _one_hit(
    ctx: Context, where: Location, text: str, run: str | None
) -> tuple[FoundRun, HitRow]:
    name, colon, number = text.rpartition(":")
    if not number.lstrip("-").isdecimal():
        raise UsageError(
            f"{text!r} is neither the number of a hit nor RUN:HIT.", next=f"dbg hits {where}"
        )
    found, rows = await _hits(ctx, name if colon else run, where)
    requested = int(number)
    index = requested - 1 if requested > 0 else len(rows) + requested
    if not requested or not 0 <= index < len(rows):
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
    where: _LocationArg,
    expression: Annotated[
        str, Arg("a number at each of the stops", meta="EXPR", greedy=True, code=True)
    ],
    *,
    condition: _Where = None,
    run: _Run = None,
) -> HitTrend:
    """Show how a number changed over the recorded stops at a location."""
    from freezeframe.history import hit_tables

    found, rows = await _hits(ctx, run, where)

    def work() -> tuple[list[float], list[int], int, str | None]:
        chosen = hit_tables.choose(rows, condition).rows
        if not chosen:
            raise NotFound(f"no hit at {where} has {condition}.", next=f"dbg hits {where}")
        return hit_tables.trend(chosen, expression)

    points, numbers, skipped, instead = await asyncio.to_thread(work)
    return HitTrend(
        _named(where, rows), found.run, expression, tuple(points), tuple(numbers), skipped, instead
    )


@op(
    "events",
    aliases=("history",),
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
    kind: Annotated[tuple[EventKind, ...], Arg("only events of this kind", short="-k")] = (),
    wait: Annotated[bool, Arg("wait for an event if there is none", short="-w")] = False,
    timeout: Annotated[
        float | None,
        Arg("seconds to wait for (default: 300, see `config`)", short="-t", meta="SECONDS"),
    ] = None,
) -> EventList:
    """List what happened in the sessions of this workspace, oldest first.

    With --wait and no cursor, waits for the next event.
    """
    log = ctx.history.recorder.event_log(ctx.workspace.root)
    kinds = frozenset[str](kind) or None
    cursor = since if since is not None else log.end if wait and tail is None else 0
    began = time.monotonic()
    limit_s = ctx.config.timeouts.await_s if timeout is None else timeout
    found = log.since(cursor, kinds)
    while wait and not found:
        left_s = limit_s - (time.monotonic() - began)
        if left_s <= 0 or not await log.changed.wait(left_s):
            break
        found = log.since(cursor, kinds)
    skipped = max(0, len(found) - tail) if tail is not None else 0
    return EventList(
        tuple(found[skipped:]),
        log.end,
        dropped=max(0, log.start - cursor),
        skipped=skipped,
        waited_s=time.monotonic() - began if wait and not found else None,
    )
