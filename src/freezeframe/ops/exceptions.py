"""Exceptions, panics, throws: which ones stop the program."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Feature
from freezeframe.errors import UsageError
from freezeframe.model.answers import CatchList
from freezeframe.model.stops import DEFAULT_FILTERS, ExceptionFilter

from ._context import Context
from ._registry import Arg, Effect, Needs, op


def _offered(ctx: Context) -> tuple[ExceptionFilter, ...] | None:
    """Return the filters that the debugger offers; None before there is a debugger."""
    for session in ctx.workspace.live_sessions():
        if session.backend is not None and session.backend.filters:
            return session.backend.filters
    return None


def _chosen(ctx: Context) -> list[ExceptionFilter]:
    """Return the filters in effect: the user's choice, or the debugger's defaults."""
    chosen = ctx.workspace.filters
    offered = _offered(ctx)
    if offered is None:
        return [DEFAULT_FILTERS] if chosen is None else list(chosen)
    named = {f.name: f for f in chosen or () if f != DEFAULT_FILTERS}
    if chosen is None or DEFAULT_FILTERS in chosen:
        for filter in offered:
            if filter.default:
                named.setdefault(filter.name, replace(filter, on=True))
    return list(named.values())


async def _set(ctx: Context, filters: list[ExceptionFilter]) -> CatchList:
    ctx.workspace.filters = filters
    for session in ctx.workspace.live_sessions():
        if session.backend is not None and session.backend.filters:
            await session.backend.set_filters(filters)
    return _listing(ctx)


def _listing(ctx: Context) -> CatchList:
    on = {f.name: f for f in _chosen(ctx)}
    offered = _offered(ctx)
    if offered is None:
        shown = tuple(on.values())
        return CatchList(shown, next=("catch raised",) if shown in ((), (DEFAULT_FILTERS,)) else ())
    return CatchList(
        tuple(
            replace(f, on=f.name in on, condition=on[f.name].condition if f.name in on else None)
            for f in offered
        )
    )


@op(
    "catch",
    aliases=("catch add",),
    group="exceptions",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="catch raised",
    examples=("catch uncaught userUnhandled", "catch raised ValueError"),
)
async def catch(
    ctx: Context,
    names: Annotated[
        tuple[str, ...],
        Arg("filters of `catch list`, each followed by types if any", meta="FILTER"),
    ] = (),
) -> CatchList:
    """Stop at exceptions, panics or throws of a given kind; without one, list the kinds.

    Types after a filter restrict it to these types and their subclasses. Uncaught exceptions stop
    the program by default. Filters are kept for the workspace, like breakpoints.
    """
    if not names:
        return _listing(ctx)
    if names == ("none",):
        return await _set(ctx, [])
    offered = _offered(ctx)
    filters = {f.name: f for f in _chosen(ctx)}
    for name, types in _with_types(names, offered):
        if name == DEFAULT_FILTERS.name:
            filters[name] = DEFAULT_FILTERS
            continue
        known = {f.name: f for f in offered} if offered is not None else None
        if known is not None and name not in known:
            raise UsageError(
                f"this debugger has no filter {name!r}; it has {', '.join(known)}.",
                next=f"dbg catch {next(iter(known))}",
            )
        for session in ctx.workspace.live_sessions() if types else ():
            session.require(Feature.EXCEPTION_TYPES)
        base = known[name] if known is not None else ExceptionFilter(name, name)
        filters[name] = replace(base, on=True, condition=", ".join(types) or None)
    return await _set(ctx, list(filters.values()))


def _with_types(
    names: tuple[str, ...], offered: tuple[ExceptionFilter, ...] | None
) -> list[tuple[str, list[str]]]:
    """Return each filter with the types after it.

    A name that is not a filter is a type if it is written like one: `ValueError`, `app.Broken`,
    `std::out_of_range`, `bad_alloc`.
    """
    known = {f.name for f in offered or ()}
    found: list[tuple[str, list[str]]] = []
    for word in names:
        like_a_type = word.rpartition(".")[2][:1].isupper() or "::" in word or "_" in word
        if found and like_a_type and word not in known:
            found[-1][1].append(word)
        else:
            found.append((word, []))
    return found


@op("catch list", group="exceptions", needs=Needs.WORKSPACE, control=True, example="catch list")
async def catch_list(ctx: Context) -> CatchList:
    """List the exception filters of the debugger, and which are on."""
    return _listing(ctx)


@op(
    "catch remove",
    aliases=("uncatch",),
    group="exceptions",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="catch remove raised",
)
async def catch_remove(
    ctx: Context,
    names: Annotated[
        tuple[str, ...], Arg("filters to remove, by name or place in `catch list`", meta="FILTER")
    ],
) -> CatchList:
    """Remove exception filters."""
    on = [f.name for f in _chosen(ctx)]
    listed = [f.name for f in _listing(ctx).filters]
    names = tuple(
        listed[int(name) - 1] if name.isdecimal() and 0 < int(name) <= len(listed) else name
        for name in names
    )
    for name in names:
        if name not in on:
            raise UsageError(
                f"{name!r} is not on; on are {', '.join(on) or 'none'}.", next="dbg catch list"
            )
    return await _set(ctx, [f for f in _chosen(ctx) if f.name not in names])


@op(
    "catch off",
    group="exceptions",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="catch off",
)
async def catch_off(ctx: Context) -> CatchList:
    """Remove all exception filters: not even uncaught exceptions stop the program."""
    return await _set(ctx, [])
