"""Seeing: where the program stands, its stack, its variables, its source, its threads."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.snapshots import TakesSnapshots
from freezeframe.errors import DebuggerError, NotFound, UsageError
from freezeframe.model.answers import (
    Backtrace,
    FrameAnswer,
    SourceAnswer,
    Stack,
    StopReport,
    Threads,
    Variables,
)
from freezeframe.model.places import Location
from freezeframe.model.stops import Frame, Thread
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.session.looking import current_view
from freezeframe.session.moment import FrameView, Moment
from freezeframe.session.phase import Phase
from freezeframe.session.sources import enclosing_block

from ._context import Context
from ._places import located
from ._registry import Arg, Effect, Needs, op
from ._reports import running_report, source_at, stop_report

#: Frames of each thread in which the user's own code is looked for.
_LOOKED_AT = 16

_Range = Annotated[
    str | None, Arg("only those: 100:200, counted from 0", short="-r", meta="FROM:TO")
]
_Definitions = Annotated[bool, Arg("functions, classes and modules too", short="-a")]

#: frames of other threads whose variables `backtrace --locals` shows: goroutines are thousands
_MOST_LOOKED_AT = 60
#: frames in which a function is looked for by its name
_MOST_SEARCHED = 1_000
#: frames of a backtrace in which values are opened
_OPENED_FRAMES = 5


def read_range(text: str | None) -> tuple[int, int] | None:
    """Return the two ends of FROM:TO. Raises UsageError."""
    if text is None:
        return None
    first, colon, last = text.partition(":")
    try:
        begin = int(first) if first else 0
        end = int(last) if last else begin + 100
        if not colon:
            end = begin + 1
    except ValueError:
        begin, end = 0, -1
    if begin < 0 or end < begin:
        raise UsageError(
            f"--range takes FROM:TO, not {text!r}.", next="dbg print EXPR --range 0:100"
        )
    return begin, end


@op(
    "context",
    aliases=("where", "w", "ctx"),
    group="seeing",
    needs=Needs.SESSION,
    control=True,
    example="context",
)
async def context(
    ctx: Context,
    *,
    context: Annotated[
        int | None, Arg("lines of source on either side", meta="N", short="-C")
    ] = None,
) -> StopReport:
    """Show where the program stands: reason, source, variables, new output."""
    session = ctx.session
    if session.phase is not Phase.STOPPED:
        return running_report(ctx, session, None)
    async with session.turn():
        moment = await session.require_stopped()
        return await stop_report(ctx, session, moment, context_lines=context, in_turn=True)


@op(
    "source",
    aliases=("list", "l"),
    group="seeing",
    needs=Needs.WORKSPACE,
    control=True,
    example="source app.py:30",
    examples=("source --function", "source app.py:30 --context 20"),
)
async def source(
    ctx: Context,
    where: Annotated[
        Location | None,
        Arg("file:line or file:1-20; default: where the program stands", complete="location"),
    ] = None,
    *,
    context: Annotated[int, Arg("lines on either side", meta="N", short="-C")] = 10,
    function: Annotated[bool, Arg("the whole function", short="-f")] = False,
) -> SourceAnswer:
    """Show source, without going there."""
    session = ctx.workspace.session() if ctx.session_name is None else None
    if ctx.session_name is not None:
        session = ctx.hub.find(ctx.session_name, ctx.workspace)
    focus = session.focus() if session is not None else None
    current: Frame | None = None
    if focus is not None and focus.phase is Phase.STOPPED:
        moment = await focus.require_stopped()
        current = await moment.current_frame()
    last = None
    if where is not None and where.function is not None:
        where, last = _source_place(ctx, where.function, current)
    if where is None:
        if current is None or focus is None:
            raise UsageError("there is no current place; name one.", next="dbg source FILE:LINE")
        if not function or current.path is None or current.line is None:
            found = await source_at(ctx, focus, current, context)
            if found is None:
                raise NotFound(f"{current.function} has no source.", next="dbg disassemble")
            return SourceAnswer(found, current.function)
        path, line = current.path, current.line
    else:
        place = located(ctx, where)
        path, line = place.file or "", place.line or 1
    # A place that a recording names is shown as recorded; one that the caller names, as it is.
    sources = focus.sources if where is None and focus is not None else ctx.hub.sources
    mark = current.line if current is not None and current.path == path else None
    if function or last is not None:
        try:
            lines = sources.lines(path)
        except OSError as error:
            raise NotFound(f"{path} cannot be read: {error.strerror}.") from None
        first, end = enclosing_block(lines, line) if last is None else (line, last)
        return SourceAnswer(sources.cut(path, lines, first, end, mark))
    return SourceAnswer(sources.excerpt(path, line, context, current=mark))


#: `30`, `1,20`, `app.py:1-20`: lines of the current file or of another one
_LINES = re.compile(r"(?:(?P<file>.+):)?(?P<first>\d+)(?:[,-](?P<last>\d+))?")


def _source_place(ctx: Context, text: str, current: Frame | None) -> tuple[Location, int | None]:
    """Return the place that *text* names, and the last line wanted where it names several.

    Without a file it is a line of the current one; a file name alone means its beginning.
    """
    if os.path.isfile(os.path.join(ctx.caller.cwd, text)):
        return Location(file=text, line=1), None
    named = _LINES.fullmatch(text)
    file = named["file"] if named else None
    if named and file is None and current is not None:
        file = current.path
    if named is None or file is None:
        raise UsageError(
            f"{text!r} is neither FILE:LINE nor FILE:FIRST-LAST.", next="dbg source FILE:LINE"
        )
    first, last = int(named["first"]), named["last"]
    if last is not None and int(last) < first:
        raise UsageError(f"{text!r} ends before it begins.", next="dbg source FILE:FIRST-LAST")
    return Location(file=file, line=first), None if last is None else int(last)


@op(
    "backtrace",
    aliases=("bt", "stack", "stacktrace"),
    group="seeing",
    needs=Needs.STOPPED,
    example="backtrace",
    examples=("backtrace --locals --limit 5", "backtrace --all-threads"),
)
async def backtrace(
    ctx: Context,
    *,
    limit: Annotated[int, Arg("at most this many frames", short="-n", meta="N")] = 50,
    locals: Annotated[bool, Arg("with the variables of each frame", short="-l")] = False,
    all_threads: Annotated[bool, Arg("of every thread")] = False,
    all: Annotated[bool, Arg("frames of libraries too", short="-a")] = False,
) -> Backtrace:
    """Show how the program got where it is, innermost frame first."""
    session = ctx.session
    moment = await session.require_stopped()
    stacks = [await _stack(moment, limit, locals, all)]
    if all_threads:
        looks = _MOST_LOOKED_AT if locals else 0
        for thread in await moment.backend.threads():
            if thread.id != moment.thread.id:
                stacks.append(await _other_stack(moment, thread, limit, looks, all))
                looks = max(0, looks - len(stacks[-1].values))
    exception = None
    if moment.exception is not None:
        error = moment.exception
        exception = f"{error.type}: {error.message}" if error.message else error.type
    return Backtrace(tuple(stacks), exception, unfold=all)


async def _stack(moment: Moment, limit: int, locals: bool, all: bool) -> Stack:
    frames = await moment.frames(limit)
    values: dict[int, tuple[Value, ...]] = {}
    if locals:
        for frame in frames:
            if not frame.library or all:
                view = await moment.look(frame.index, open_values=len(values) < _OPENED_FRAMES)
                values[frame.index] = tuple(v for s in view.scopes for v in s.values)
    depth = moment.depth
    more = max(0, depth - len(frames)) if depth is not None else None
    return Stack(moment.thread, tuple(frames), more, moment.selected, values)


async def _other_stack(moment: Moment, thread: Thread, limit: int, looks: int, all: bool) -> Stack:
    """Return the stack of a thread, with the variables of up to *looks* frames of it."""
    try:
        frames, values = await moment.look_at_thread(thread.id, limit, looks, libraries=all)
    except DebuggerError as error:
        return Stack(thread, (), error=error.message)
    more = None if len(frames) == limit else 0
    return Stack(thread, tuple(frames), more, selected=-1, values=values)


async def _frame_answer(ctx: Context, view: FrameView, note: str | None = None) -> FrameAnswer:
    session = ctx.session
    moment = await session.require_stopped()
    return FrameAnswer(
        view.frame,
        moment.depth,
        await source_at(ctx, session, view.frame),
        view.scopes,
        note,
    )


@op(
    "frame",
    group="seeing",
    needs=Needs.STOPPED,
    effect=Effect.WRITES,
    aliases=("f",),
    example="frame 2",
    examples=("frame handle_request",),
)
async def frame(
    ctx: Context,
    which: Annotated[
        str | None, Arg("its number (0 is the innermost), or its function", meta="N|NAME")
    ] = None,
) -> FrameAnswer:
    """Select a frame of the stack; later commands speak of it. Without a number: show it.

    A function's name means its innermost frame; said again, the next one outside of that.
    """
    moment = await ctx.session.require_stopped()
    if which is None:
        return await _frame_answer(ctx, await ctx.session.select(moment.selected))
    try:
        index = int(which, 0)
    except ValueError:
        index = await _frame_of(moment, which)
    if index < 0:
        raise UsageError("frames are counted from 0, the innermost.", next="dbg backtrace")
    return await _frame_answer(ctx, await ctx.session.select(index))


async def _frame_of(moment: Moment, function: str) -> int:
    """Return the number of a function's innermost frame, or of the next outside the selected one.

    Raises NotFound, with the nearest name.
    """
    frames = await moment.frames(_MOST_SEARCHED)

    def is_meant(name: str) -> bool:
        return name == function or re.split(r"\.|::|#", name.partition("(")[0])[-1] == function

    found = [frame.index for frame in frames if is_meant(frame.function)]
    if not found:
        names = [frame.function for frame in frames]
        near = difflib.get_close_matches(function, names, 1, 0.5)
        raise NotFound(
            f"no frame of this stack is of a function {function}.",
            next=f"dbg frame {near[0]}" if near else "dbg backtrace",
        )
    outer = [index for index in found if index > moment.selected and moment.selected in found]
    return outer[0] if outer else found[0]


async def _move(ctx: Context, by: int) -> FrameAnswer:
    session = ctx.session
    moment = await session.require_stopped()
    goal = moment.selected + by
    note = None
    if goal < 0:
        goal, note = 0, "this is the innermost frame"
    try:
        view = await session.select(goal)
    except NotFound:
        depth = moment.depth or len(moment.known_frames())
        view = await session.select(depth - 1)
        note = "this is the outermost frame"
    return await _frame_answer(ctx, view, note)


@op("up", group="seeing", needs=Needs.STOPPED, effect=Effect.WRITES, example="up", aliases=("u",))
async def up(
    ctx: Context, count: Annotated[int, Arg("how many frames", meta="N")] = 1
) -> FrameAnswer:
    """Select the caller of the current frame."""
    return await _move(ctx, count)


@op("down", group="seeing", needs=Needs.STOPPED, effect=Effect.WRITES, example="down")
async def down(
    ctx: Context, count: Annotated[int, Arg("how many frames", meta="N")] = 1
) -> FrameAnswer:
    """Select the frame that the current one called."""
    return await _move(ctx, -count)


async def _variables(
    ctx: Context,
    kinds: frozenset[ScopeKind],
    range: str | None,
    open_values: bool,
    all: bool = False,
) -> Variables:
    moment = await ctx.session.require_stopped()
    frame = await moment.current_frame()
    wanted = read_range(range)
    start, end = wanted or (0, 1000)
    scopes = []
    told = await moment.scopes(frame.index)
    for raw in told:
        if raw.kind in kinds:
            scope, returned = await moment.scope(
                raw, start, end - start, open_values=open_values, definitions=all
            )
            if returned is not None:
                scope = replace(scope, values=(*scope.values, returned))
            scopes.append(scope)
    if not scopes and (not told or (frame.path is None and ScopeKind.LOCALS in kinds)):
        thrown = moment.exception
        raise NotFound(
            f"the debugger knows no variables of {frame.function}.",
            next=f"dbg catch raised {thrown.type}" if thrown is not None else "dbg backtrace",
        )
    if not scopes and ScopeKind.LOCALS in kinds:
        # Some leave out what would be empty (GDB's DAP).
        scopes.append(Scope("Locals", ScopeKind.LOCALS, ()))
    if not scopes:
        raise NotFound(
            f"the debugger tells no {'/'.join(sorted(kinds))} of {frame.function} apart.",
            next="dbg locals",
        )
    return Variables(frame, tuple(scopes), all=all)


@op(
    "locals",
    aliases=("vars", "variables"),
    group="seeing",
    needs=Needs.STOPPED,
    example="locals",
)
async def locals_(ctx: Context, *, range: _Range = None, all: _Definitions = False) -> Variables:
    """Show the arguments and local variables of the current frame."""
    return await _variables(
        ctx, frozenset({ScopeKind.LOCALS, ScopeKind.ARGUMENTS}), range, open_values=True, all=all
    )


@op("args", group="seeing", needs=Needs.STOPPED, aliases=("arguments",), example="args")
async def args(ctx: Context) -> Variables:
    """Show the arguments of the current function."""
    moment = await ctx.session.require_stopped()
    frame = await moment.current_frame()
    scopes = {raw.kind for raw in await moment.scopes(frame.index)}
    if ScopeKind.ARGUMENTS in scopes:
        return await _variables(ctx, frozenset({ScopeKind.ARGUMENTS}), None, open_values=True)
    names = await moment.backend.argument_names(moment.frame_id(frame.index))
    answer = await _variables(ctx, frozenset({ScopeKind.LOCALS}), None, open_values=True)
    if names is None:
        return answer
    by_name = {v.name: v for scope in answer.scopes for v in scope.values}
    chosen = tuple(by_name[name] for name in names if name in by_name)
    return replace(answer, scopes=(Scope("Arguments", ScopeKind.ARGUMENTS, chosen),))


@op("globals", group="seeing", needs=Needs.STOPPED, example="globals")
async def globals_(ctx: Context, *, range: _Range = None, all: _Definitions = False) -> Variables:
    """Show the global variables that the current frame sees.

    What a module defines and imports is left out without --all.
    """
    return await _variables(ctx, frozenset({ScopeKind.GLOBALS}), range, open_values=False, all=all)


@op(
    "threads",
    group="seeing",
    needs=Needs.LIVE,
    aliases=("info threads",),
    control=True,
    example="threads",
)
async def threads(ctx: Context) -> Threads:
    """List the threads, where each stands, and the tasks of event loops."""
    session = ctx.session
    backend = session.require_backend()
    moment = session.moment if session.phase is Phase.STOPPED else None
    listed = []
    for thread in await backend.threads():
        if moment is None:
            listed.append(replace(thread, state="running"))
            continue
        place, state = None, "running"
        if thread.id == moment.thread.id or moment.event.all_threads:
            with contextlib.suppress(DebuggerError):
                place, state = _standing(await moment.frames(_LOOKED_AT, thread=thread.id))
        if thread.state not in _PLAIN_STATES:
            # The debugger knows what it waits for, and who holds that.
            state = thread.state if state in _PLAIN_STATES else f"{thread.state}, {state}"
        current = thread.id == moment.thread.id
        listed.append(replace(thread, frame=place, current=current, state=state))
    seen = None
    if isinstance(backend, TakesSnapshots):
        with contextlib.suppress(DebuggerError):
            seen = await backend.snapshot(stacks=False)
    return Threads(tuple(listed), seen.tasks if seen is not None else ())


#: what is said of a thread that waits for nothing in particular
_PLAIN_STATES = ("stopped", "running")


def _standing(frames: Sequence[Frame]) -> tuple[Frame | None, str]:
    """Return where in the user's own code a thread stands, and what it does from there."""
    if not frames:
        return None, "running"
    own = next((frame for frame in frames if not frame.library), frames[0])
    if own.index == 0:
        return own, "stopped"
    inner = frames[: own.index]
    waits = next((frame.waits for frame in inner if frame.waits), None)
    return own, waits or f"in {inner[-1].function}"


@op("thread", group="seeing", needs=Needs.STOPPED, effect=Effect.WRITES, example="thread 2")
async def thread(
    ctx: Context,
    id: Annotated[int | None, Arg("id of the thread, as `threads` lists it", meta="ID")] = None,
) -> FrameAnswer:
    """Select a thread; later commands speak of it. Without an id: show the current one."""
    session = ctx.session
    moment = await session.require_stopped()
    if id is not None and id != moment.thread.id:
        known = [t.id for t in await moment.backend.threads()]
        if id not in known:
            raise NotFound(
                f"there is no thread {id}; there are {', '.join(map(str, known))}.",
                next="dbg threads",
            )
        await session.select_thread(id)
        moment = await session.require_stopped()
    chosen = moment.thread
    view = await current_view(session, moment)
    if view is None:
        raise NotFound(f"thread {chosen.id} shows no frames.", next="dbg threads")
    note = f"thread {chosen.id} {chosen.name}".rstrip()
    if moment.trouble:
        note += f": {moment.trouble}"
    return await _frame_answer(ctx, view, note)
