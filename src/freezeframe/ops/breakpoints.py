"""Breakpoints: add, list, remove, enable, disable; and watchpoints."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated

from freezeframe.backends import selection
from freezeframe.backends.backend import Attach, Feature
from freezeframe.backends.breakpoint_hits import HitCondition
from freezeframe.backends.capabilities import ConditionChecks, Watchpoints
from freezeframe.errors import NotFound, Unsupported, UsageError
from freezeframe.model.answers import BreakpointAnswer, BreakpointList, WatchpointList
from freezeframe.model.locations import Location
from freezeframe.model.stops import Watchpoint
from freezeframe.session.breakpoints import LogicalBreakpoint
from freezeframe.session.edited_files import line_now
from freezeframe.session.line_text import check_line
from freezeframe.session.phase import Phase

from . import _stepped_watches
from ._context import Context
from ._locations import located
from ._registry import Arg, Effect, Needs, op

_Ids = Annotated[tuple[int, ...], Arg("ids of breakpoints", meta="ID", complete="breakpoint")]


async def enter(
    ctx: Context,
    location: Location,
    *,
    remote: bool = False,
    program: str | None = None,
    dry: bool = False,
    owner: str | None = None,
    text: str | None = None,
    **details: object,
) -> tuple[LogicalBreakpoint, str]:
    """Enter a breakpoint in the workspace and set it in every live session.

    *program* is the program that will hit it, if known. With *dry* the breakpoint is checked but
    not entered. *owner* is the session that the breakpoint ends with; without an owner it belongs
    to the workspace, and so does a session's breakpoint that is set again. Raises Stale if *text*
    is not on the line.
    """
    workspace = ctx.workspace
    if location.condition is not None:
        if details.get("condition") not in (None, location.condition):
            raise UsageError("a breakpoint takes one condition: `if EXPR` or -c EXPR.")
        details["condition"] = location.condition
        location = replace(location, condition=None)
    location = await _completed(ctx, location)
    if text is not None and "." in (location.function or ""):
        location = Location(file=location.function, text=text)
    remote = remote or any(
        isinstance(s.target, Attach) and s.target.host is not None
        for s in workspace.live_sessions()
    )
    entry = LogicalBreakpoint(
        0, located(ctx, location, remote=remote, program=program), owner=owner
    )
    for key, value in details.items():
        setattr(entry, key, value)
    if text is not None:
        _check_text(ctx, entry.location, text)
    entry.text = _text_at(ctx, entry)
    _check(ctx, entry)
    if dry:
        return entry, "checked"
    async with workspace.lock:
        known = workspace.breakpoints.find_same(entry)
        if known is None:
            workspace.breakpoints.add(entry)
            await workspace.apply([entry])
            return entry, "added"
        known.text = entry.text
        is_shared = known.owner is not None and owner is None
        known.owner = owner and known.owner
        alike = all(getattr(known, key) == value for key, value in details.items())
        if not details or (alike and known.enabled == entry.enabled):
            if is_shared:
                await workspace.apply([known])
            return known, "exists"
        for key, value in details.items():
            setattr(known, key, value)
        known.hits, known.changed = 0, True
        await workspace.apply([known])
        return known, "changed"


def begin_run(ctx: Context, starting: str) -> list[str]:
    """Count hits from zero, and move breakpoints whose lines an edit has moved, with a note each.

    A live session other than *starting* has loaded the old text: its breakpoints stay.
    """
    if any(session.root.name != starting for session in ctx.workspace.live_sessions()):
        return []
    notes = []
    for entry in ctx.workspace.breakpoints:
        entry.hits, entry.changed = 0, False
        path, was, now = entry.location.file, entry.location.line, line_now(entry, ctx.hub.sources)
        if path is not None and now is not None and now != was:
            entry.location = replace(entry.location, line=now)
            file = os.path.relpath(path, ctx.caller.cwd)
            notes.append(f"breakpoint {entry.id} moved with its line to {file}:{now}")
    return notes


def _check_text(ctx: Context, location: Location, text: str) -> None:
    """Raise Stale if the line does not contain *text*."""
    if location.file is None or location.line is None:
        raise UsageError("--text checks a line of a file.", next="dbg break FILE:LINE --text TEXT")
    if not text.strip():
        raise UsageError("--text needs part of the line's text.")
    check_line(text, location.file, location.line, _short(ctx, location).rpartition(":")[0])


def _text_at(ctx: Context, entry: LogicalBreakpoint) -> str | None:
    file, line = entry.location.file, entry.location.line
    text = ctx.hub.sources.line(file, line) if file is not None and line is not None else None
    return None if text is None else text.strip()


async def _completed(ctx: Context, location: Location) -> Location:
    """Return *location*; a bare number becomes a line of the file where the program is stopped."""
    if location.function is None or not location.function.isdecimal():
        return location
    current = ctx.workspace.session()
    stop = current.focus().current_stop if current is not None else None
    if stop is None:
        raise UsageError(
            f"line {location.function} of which file?", next=f"dbg break FILE:{location.function}"
        )
    frame = await stop.current_frame()
    return Location(file=frame.path, line=int(location.function))


def _check(ctx: Context, entry: LogicalBreakpoint) -> None:
    if entry.hit_count is not None:
        try:
            entry.hit_count = "".join(map(str, HitCondition.parse(entry.hit_count)))
        except ValueError:
            raise UsageError(
                f"{entry.hit_count!r} is not a hit count: use N, >=N, >N, <N, <=N or %N.",
                next=f"dbg break {_short(ctx, entry.location)} --hit-count 3",
            ) from None
    path = entry.location.file
    live = [s.backend for s in ctx.workspace.live_sessions() if s.backend is not None]
    backends = [backend for backend in live if isinstance(backend, ConditionChecks)]
    if entry.log is not None:
        message = entry.log
        wrongs = [b.check_log(message) for b in backends] or [selection.log_problem(message, path)]
        if wrong := next(filter(None, wrongs), None):
            raise UsageError(
                f"the message {message!r} cannot be written: {wrong}.",
                next=f"dbg break {_short(ctx, entry.location)} --log 'n is {{n}}'",
            )
    if entry.condition is not None:
        condition = entry.condition
        wrongs = [b.check_condition(condition) for b in backends] or [
            selection.condition_problem(condition, path)
        ]
        if wrong := next(filter(None, wrongs), None):
            raise UsageError(
                f"the condition {condition!r} cannot be evaluated: {wrong}.",
                next=f"dbg break {_short(ctx, entry.location)} -c 'EXPR'",
            )
    _check_support(ctx, entry)


def _check_support(ctx: Context, entry: LogicalBreakpoint) -> None:
    """Raise Unsupported for a breakpoint that none of the workspace's debuggers supports."""
    needed = {
        Feature.ADDRESS_BREAKPOINTS: entry.location.address is not None,
        Feature.FUNCTION_BREAKPOINTS: entry.location.function is not None,
        Feature.CONDITIONS: entry.condition is not None,
        Feature.HIT_COUNTS: entry.hit_count is not None,
        Feature.LOGPOINTS: entry.log is not None,
    }
    # A debugger that is still starting has not reported its capabilities yet.
    at_work = [
        s
        for s in ctx.workspace.live_sessions()
        if s.backend is not None and s.phase in (Phase.RUNNING, Phase.STOPPED)
    ]
    for feature in (feature for feature, is_needed in needed.items() if is_needed):
        if at_work and all(feature not in s.require_backend().features for s in at_work):
            at_work[0].require(feature)


def _short(ctx: Context, location: Location) -> str:
    if location.file is None:
        return str(location)
    relative = os.path.relpath(location.file, ctx.caller.cwd)
    return f"{relative if not relative.startswith('..') else location.file}:{location.line}"


@op(
    "breakpoint add",
    aliases=("break", "b", "bp"),
    group="breakpoints",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="break app.py:42 -c 'n > 3'",
    examples=(
        "break 'app.py:\"total += x\"'",
        "break parse --hit-count 5",
        "break app.py:42 --log 'n is {n}' --hit-count %100",
    ),
)
async def breakpoint_add(
    ctx: Context,
    where: Annotated[
        Location | None,
        Arg(
            'file:line, file:"text of the line", function, module!function or *address',
            complete="location",
        ),
    ] = None,
    *,
    text: Annotated[str | None, Arg("only if the line contains this", meta="TEXT")] = None,
    function: Annotated[str | None, Arg("stop at this function", short="-f", meta="NAME")] = None,
    condition: Annotated[
        str | None, Arg("stop only when true", short="-c", also=("--if",), meta="EXPR")
    ] = None,
    hit_count: Annotated[str | None, Arg("stop at the Nth hit; also >=N, %N", meta="N")] = None,
    log: Annotated[
        str | None, Arg("print this instead of stopping; {expr} is filled in", meta="MSG")
    ] = None,
    temporary: Annotated[bool, Arg("remove it after the first hit", short="-t")] = False,
    disabled: Annotated[bool, Arg("add it disabled")] = False,
) -> BreakpointAnswer:
    """Stop the program when it reaches a location.

    The answer says where the debugger set the breakpoint, or why it is still pending. With a
    condition and a hit count, only hits where the condition holds count. A breakpoint that is set
    by the text of its line, or checked with --text, moves with the line when the file is edited.
    Breakpoints belong to the workspace: they can be set before the program starts, and survive a
    restart.
    """
    if (where is None) == (function is None):
        raise UsageError(
            "a breakpoint needs one location: FILE:LINE or a function.", next="dbg break FILE:LINE"
        )
    location = where if where is not None else Location(function=function)
    assert location is not None
    entry, done = await enter(
        ctx,
        location,
        text=text,
        condition=condition,
        hit_count=hit_count,
        log=log,
        temporary=temporary,
        enabled=not disabled,
    )
    text = None
    described = ctx.workspace.describe(entry)
    if described.path is not None and described.line is not None and not described.edited:
        text = ctx.hub.sources.line(described.path, described.line)
    return BreakpointAnswer(
        described,
        done,
        source=text.strip() if text is not None else None,
        next=_after_add(ctx, described.edited),
    )


def _after_add(ctx: Context, edited: bool) -> tuple[str, ...]:
    if ctx.workspace.live_sessions():
        return ("restart",) if edited else ()
    ended = ctx.workspace.sessions.get(ctx.workspace.current or "")
    return ("start PROGRAM",) if ended is None else ("restart",)


@op(
    "breakpoint list",
    aliases=("breaks", "breakpoints", "info breakpoints"),
    group="breakpoints",
    needs=Needs.WORKSPACE,
    control=True,
    example="breakpoint list",
)
async def breakpoint_list(ctx: Context) -> BreakpointList:
    """List the breakpoints of this workspace: where they are, and how often they were hit."""
    session = ctx.workspace.sessions.get(ctx.session_name or ctx.workspace.current or "")
    return BreakpointList(
        tuple(ctx.workspace.describe(entry) for entry in ctx.workspace.breakpoints),
        watchpoints=tuple(sorted(session.watchpoints.values(), key=lambda each: each.id))
        if session is not None
        else (),
    )


@op(
    "breakpoint remove",
    aliases=("unbreak", "breakpoint delete", "delete", "clear"),
    group="breakpoints",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="breakpoint remove 2",
    examples=("breakpoint remove --all", "breakpoint remove app.py:42"),
)
async def breakpoint_remove(
    ctx: Context,
    which: Annotated[
        tuple[str, ...], Arg("ids, or locations", meta="ID", complete="breakpoint")
    ] = (),
    *,
    all: Annotated[bool, Arg("every one")] = False,
) -> BreakpointList:
    """Remove breakpoints."""
    book = ctx.workspace.breakpoints
    if not which and not all:
        raise UsageError("which breakpoint? Name ids, or --all.", next="dbg breakpoint list")
    entries = list(book) if all else [found for text in which for found in _chosen(ctx, text)]
    async with ctx.workspace.lock:
        removed = tuple(ctx.workspace.describe(entry) for entry in entries)
        await ctx.workspace.remove_breakpoints(entries)
    return BreakpointList(tuple(ctx.workspace.describe(entry) for entry in book), removed)


def _chosen(ctx: Context, text: str) -> list[LogicalBreakpoint]:
    book = ctx.workspace.breakpoints
    if text.isdecimal():
        at_line = [str(entry.id) for entry in book if entry.location.line == int(text)]
        if int(text) not in book.entries and at_line:
            raise NotFound(
                f"there is no breakpoint {text}; line {text} has {', '.join(at_line)}.",
                next=f"dbg breakpoint remove {' '.join(at_line)}",
            )
        return [book.get(int(text))]
    location = located(ctx, Location.parse(text))
    found = [entry for entry in book if entry.location == location]
    if not found:
        every = text in ("all", "*")
        raise NotFound(
            f"there is no breakpoint at `{text}`.",
            next="dbg breakpoint remove --all" if every else "dbg breakpoint list",
        )
    return found


async def _switch(ctx: Context, ids: tuple[int, ...], on: bool, all: bool) -> BreakpointList:
    if not ids and not all:
        raise UsageError("which breakpoint? Name ids, or --all.", next="dbg breakpoint list")
    book = ctx.workspace.breakpoints
    entries = list(book) if all else [book.get(id) for id in ids]
    async with ctx.workspace.lock:
        for entry in entries:
            entry.enabled = on
        await ctx.workspace.apply(entries)
    return BreakpointList(tuple(ctx.workspace.describe(entry) for entry in entries))


@op(
    "breakpoint enable",
    aliases=("enable",),
    group="breakpoints",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="breakpoint enable 2",
)
async def breakpoint_enable(
    ctx: Context, ids: _Ids = (), *, all: Annotated[bool, Arg("every one")] = False
) -> BreakpointList:
    """Enable breakpoints."""
    return await _switch(ctx, ids, True, all)


@op(
    "breakpoint disable",
    aliases=("disable",),
    group="breakpoints",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="breakpoint disable 2",
)
async def breakpoint_disable(
    ctx: Context, ids: _Ids = (), *, all: Annotated[bool, Arg("every one")] = False
) -> BreakpointList:
    """Disable breakpoints without removing them."""
    return await _switch(ctx, ids, False, all)


@op(
    "breakpoint condition",
    aliases=("condition", "cond"),
    group="breakpoints",
    effect=Effect.WRITES,
    needs=Needs.WORKSPACE,
    control=True,
    example="condition 2 'n > 3'",
    examples=("condition 2",),
)
async def breakpoint_condition(
    ctx: Context,
    id: Annotated[int, Arg("id of the breakpoint", meta="ID", complete="breakpoint")],
    condition: Annotated[
        str, Arg("stop only when true (default: always)", meta="EXPR", greedy=True, code=True)
    ] = "",
) -> BreakpointAnswer:
    """Change the condition of a breakpoint, or remove it."""
    entry = ctx.workspace.breakpoints.get(id)
    changed = replace(entry, condition=condition or None)
    _check(ctx, changed)
    async with ctx.workspace.lock:
        entry.condition, entry.hits, entry.changed = changed.condition, 0, True
        await ctx.workspace.apply([entry])
    return BreakpointAnswer(ctx.workspace.describe(entry), "changed", next=_after_add(ctx, False))


# --- watchpoints --------------------------------------------------------------------------------


@op(
    "watch",
    aliases=("watch add", "watchpoint"),
    group="watchpoints",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    example="watch counter",
    examples=("watch cart.total --condition 'cart.total < 0'",),
)
async def watch(
    ctx: Context,
    expression: Annotated[str, Arg("what to watch", meta="EXPR", greedy=True, code=True)],
    *,
    read: Annotated[bool, Arg("stop when it is read")] = False,
    access: Annotated[bool, Arg("stop when it is read or written")] = False,
    condition: Annotated[
        str | None, Arg("stop only when true", short="-c", also=("--if",), meta="EXPR")
    ] = None,
) -> WatchpointList:
    """Stop the program when a value is written, after the line that wrote it.

    In Python a path of fields and elements is read as it is stored; any other expression is
    evaluated after each line of the program's own code, so what it calls runs in the program. What
    a library changes is seen after the line that called it. With a debugger that has no
    watchpoints `continue` steps the thread until the value changes, and the answer says so.
    """
    session = ctx.session
    stop = await session.require_stopped()
    await stop.current_frame()
    kind = "readWrite" if access else "read" if read else "write"
    made = None
    if Feature.WATCHPOINTS in stop.backend.features and isinstance(stop.backend, Watchpoints):
        try:
            bound = await stop.backend.watch(
                expression, kind, condition, stop.frame_id(stop.selected)
            )
            made = Watchpoint(bound.id, expression, kind, condition, bound.verified, bound.message)
        except Unsupported:
            if kind != "write":
                raise
    if made is None:
        made = await _stepped_watches.add(session, stop, expression, kind, condition)
    session.watchpoints[made.id] = made
    return WatchpointList((made,), done="added")


@op("watch list", group="watchpoints", needs=Needs.SESSION, control=True, example="watch list")
async def watch_list(ctx: Context) -> WatchpointList:
    """List the watchpoints of the session."""
    found = sorted(ctx.session.watchpoints.values(), key=lambda each: each.id)
    return WatchpointList(tuple(found))


@op(
    "watch remove",
    aliases=("unwatch",),
    group="watchpoints",
    effect=Effect.WRITES,
    needs=Needs.LIVE,
    example="watch remove 1",
)
async def watch_remove(
    ctx: Context, id: Annotated[int, Arg("id of the watchpoint", meta="ID")]
) -> WatchpointList:
    """Remove a watchpoint."""
    session = ctx.session
    if id not in session.watchpoints:
        raise NotFound(f"there is no watchpoint {id}.", next="dbg watch list")
    if session.stepped_watches.pop(id, None) is None:
        backend = session.require(Feature.WATCHPOINTS)
        assert isinstance(backend, Watchpoints)
        await backend.unwatch(id)
    removed = session.watchpoints.pop(id)
    return WatchpointList((removed,), done="removed")
